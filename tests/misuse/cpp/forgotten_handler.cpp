/* fails: duologue::visit needs one handler for BANK_LOGIN_RESPONSE_INVALID */
/* The compiler's first error names the message that was forgotten. */
#include "bank.h"
#include "duologue.hpp"

duo_status misuse(bank_login_response_t &answer);

duo_status misuse(bank_login_response_t &answer)
{
    return duologue::visit(
#ifdef RIGHT
        answer, duologue::on<BANK_LOGIN_RESPONSE_INVALID>([](auto &invalid) { return bank_client_login_close(invalid.next); }),
#else
        answer,
#endif
        duologue::on<BANK_LOGIN_RESPONSE_OK>([](auto &ok) { return bank_client_connected_close(ok.next); }));
}
