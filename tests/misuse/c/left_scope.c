/* runs */
/* Endpoints and messages that a function does not close and free are closed and freed when it returns. */
#include "bank.h"

/* Returns with two open endpoints and a message. */
static void forgets(bank_client_login_response_t *waiting, bool *is_right)
{
    DUO_AUTO(bank_server_login) server = {0};
    DUO_AUTO(bank_client_login) client = {0};
    DUO_AUTO_FREE(bank_login) asked = {0};
    *is_right = false;
    if (bank_init(&server, &client) != DUO_OK) return;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), waiting) != DUO_OK) return;
    if (bank_server_login_recv(server, &asked) != DUO_OK) return;
    DUO_AUTO(bank_server_login_response) answering = asked.as.login.next;
    *is_right = answering.sends.session != NULL && duo_str_equal(asked.as.login.username, DUO_STR("a"));
}

/* An endpoint that was used is not closed when the scope is left. */
static bool hands_over(bank_server_login_t *server)
{
    DUO_AUTO(bank_client_login) client = {0};
    bank_client_login_response_t waiting;
    if (bank_init(server, &client) != DUO_OK) return false;
    return bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &waiting) == DUO_OK &&
           bank_client_login_response_close(waiting) == DUO_OK;
}

int main(void)
{
    bank_client_login_response_t waiting;
    bank_login_response_t answer;
    bool is_right;
    forgets(&waiting, &is_right);
    if (!is_right) return 1;
    if (bank_client_login_response_recv(waiting, &answer) != DUO_CLOSED) return 2;
    bank_server_login_t server;
    bank_login_t asked;
    if (!hands_over(&server) || bank_server_login_recv(server, &asked) != DUO_OK) return 3;
    bank_login_free(&asked);
    return bank_server_login_response_close(asked.as.login.next) == DUO_OK ? 0 : 4;
}
