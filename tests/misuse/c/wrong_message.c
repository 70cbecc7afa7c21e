/* fails: implicit declaration of function 'bank_client_login_send_deposit' */
/* A state has functions for its own messages and no others: before the login there is nothing to deposit. */
#include "bank.h"

duo_status misuse(bank_client_login_t login, bank_client_login_response_t *waiting);

duo_status misuse(bank_client_login_t login, bank_client_login_response_t *waiting)
{
#ifdef RIGHT
    return bank_client_login_send_login(login, DUO_STR("holk"), DUO_STR("1234"), waiting);
#else
    return bank_client_login_send_deposit(login, 1.0, waiting);
#endif
}
