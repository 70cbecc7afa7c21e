/* fails: implicit declaration of function 'bank_client_login_send_deposit' */
/* A state has functions only for its own messages: before the login nothing can be deposited. */
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
