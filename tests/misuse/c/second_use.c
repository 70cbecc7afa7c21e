/* runs */
/* A second use compiles, and is reported at run time: DUO_USED, whatever became of the session. */
#include "bank.h"

int main(void)
{
    bank_server_login_t server = {0};
    bank_client_login_t client = {0};
    bank_client_login_response_t waiting;
    bank_client_login_response_t again = {0};
    if (bank_init(&server, &client) != DUO_OK) return 1;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &waiting) != DUO_OK)
        return 2;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &again) != DUO_USED)
        return 3;
    if (again.receives.session != NULL) return 4;
    if (bank_client_login_close(client) != DUO_USED) return 5;

    if (bank_client_login_response_close(waiting) != DUO_OK) return 6;
    if (bank_server_login_close(server) != DUO_OK) return 7;
    bank_login_response_t answer;
    if (bank_client_login_response_recv(waiting, &answer) != DUO_USED) return 8;

    /* The memory is used by another session, which the old endpoint cannot affect. */
    bank_client_login_t other = {0};
    if (bank_init(&server, &other) != DUO_OK) return 9;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &again) != DUO_USED)
        return 10;
    if (bank_client_login_close(other) != DUO_OK) return 11;
    return bank_server_login_close(server) == DUO_OK ? 0 : 12;
}
