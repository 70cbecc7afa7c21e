/* fails: duologue::visit needs one handler for BANK_LOGIN_LOGIN */
/* Of two handlers for one message, none is preferred. */
#include "bank.h"
#include "duologue.hpp"

bool misuse(bank_login_t &asked);

bool misuse(bank_login_t &asked)
{
    return duologue::visit(
#ifndef RIGHT
        asked, duologue::on<BANK_LOGIN_LOGIN>([] { return false; }),
#else
        asked,
#endif
        duologue::on<BANK_LOGIN_LOGIN>([](auto &login) { return login.username.size > 0; }));
}
