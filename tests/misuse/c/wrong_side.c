/* fails: incompatible type for argument 1 of 'bank_client_connected_send_quit' */
/* The two sides of one state have different types. */
#include "bank.h"

duo_status misuse(bank_client_connected_t client, bank_server_connected_t server);

duo_status misuse(bank_client_connected_t client, bank_server_connected_t server)
{
    (void)client;
    (void)server;
#ifdef RIGHT
    return bank_client_connected_send_quit(client);
#else
    duo_status status = DUO_OK;
    status = bank_client_connected_send_quit(server);
    return status;
#endif
}
