/* aborts: the bank_login_t is `none`, which has no handler */
/* A message that was freed, or has never arrived, cannot be visited. */
#include "bank.h"
#include "duologue.hpp"

int main()
{
    duologue::message<bank_login_free> asked;
    asked->tag = BANK_LOGIN_LOGIN;
#ifndef RIGHT
    asked.free();
#endif
    return duologue::visit(asked, duologue::on<BANK_LOGIN_LOGIN>([] { return 0; }));
}
