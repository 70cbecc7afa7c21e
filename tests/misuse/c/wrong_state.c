/* fails: incompatible type for argument 1 of 'bank_client_connected_send_quit' */
/* Each state has a type of its own, and endpoints are passed by value, where C does not convert. */
#include "bank.h"

duo_status misuse(bank_client_login_t login, bank_client_connected_t connected);

duo_status misuse(bank_client_login_t login, bank_client_connected_t connected)
{
#ifdef RIGHT
    (void)login;
    return bank_client_connected_send_quit(connected);
#else
    (void)connected;
    duo_status status = DUO_OK;
    status = bank_client_connected_send_quit(login);
    return status;
#endif
}
