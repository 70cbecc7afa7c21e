/* fails: incompatible type for argument 1 of 'bank_client_login_response_recv' */
/* The side whose turn it is to send cannot receive: a sending endpoint is not accepted by a receiving function. */
#include "bank.h"

duo_status misuse(bank_client_login_t login, bank_login_response_t *answer);

duo_status misuse(bank_client_login_t login, bank_login_response_t *answer)
{
#ifdef RIGHT
    bank_client_login_response_t waiting;
    duo_status status = bank_client_login_send_login(login, DUO_STR("a"), DUO_STR("b"), &waiting);
    return status == DUO_OK ? bank_client_login_response_recv(waiting, answer) : status;
#else
    duo_status status = DUO_OK;
    status = bank_client_login_response_recv(login, answer);
    return status;
#endif
}
