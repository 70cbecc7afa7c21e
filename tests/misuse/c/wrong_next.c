/* fails: passing argument 3 of 'bank_client_connected_send_withdrawal' from incompatible pointer type */
/* The endpoint after a message has one type only. A pointer is the one case in which old compilers only warn. */
#include "bank.h"

duo_status misuse(bank_client_connected_t connected);

duo_status misuse(bank_client_connected_t connected)
{
#ifdef RIGHT
    bank_client_withdrawal_response_t waiting;
    return bank_client_connected_send_withdrawal(connected, 1.0, &waiting);
#else
    return bank_client_connected_send_withdrawal(connected, 1.0, &connected);
#endif
}
