/* fails: ignoring return value of 'bank_client_connected_send_quit' declared with attribute 'warn_unused_result' [-Werror=unused-result] */
/* The status of an operation must be checked. */
#include "bank.h"

duo_status misuse(bank_client_connected_t connected);

duo_status misuse(bank_client_connected_t connected)
{
#ifdef RIGHT
    return bank_client_connected_send_quit(connected);
#else
    bank_client_connected_send_quit(connected);
    return DUO_OK;
#endif
}
