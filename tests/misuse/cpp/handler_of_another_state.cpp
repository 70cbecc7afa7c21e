/* fails: a handler is for a message of another state */
/* Nothing is handled that cannot arrive. */
#include "bank.h"
#include "duologue.hpp"

bool misuse(bank_login_t &asked);

bool misuse(bank_login_t &asked)
{
    return duologue::visit(
#ifndef RIGHT
        asked, duologue::on<BANK_CONNECTED_QUIT>([] { return false; }),
#else
        asked,
#endif
        duologue::on<BANK_LOGIN_LOGIN>([](auto &login) { return login.username.size > 0; }));
}
