/* aborts: misread.c:15: bank: the message in state `login_response` is `invalid`, but the program reads it as `ok` */
/* A program that reads another message than the one that arrived ends where it does. */
#include "bank.h"

static duo_status misuse(bank_client_login_response_t waiting)
{
    bank_login_response_t answer;
    duo_status status = bank_client_login_response_recv(waiting, &answer);
    if (status != DUO_OK) return status;
#ifdef RIGHT
    if (answer.tag == BANK_LOGIN_RESPONSE_INVALID)
        return bank_client_login_close(bank_login_response_as_invalid(&answer)->next);
    return bank_client_connected_close(bank_login_response_as_ok(&answer)->next);
#else
    return bank_client_connected_close(bank_login_response_as_ok(&answer)->next);
#endif
}

int main(void)
{
    bank_server_login_t server = {0};
    bank_client_login_t client = {0};
    bank_client_login_response_t waiting = {0};
    bank_login_t asked;
    if (bank_init(&server, &client) != DUO_OK) return 1;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &waiting) != DUO_OK) return 2;
    if (bank_server_login_recv(server, &asked) != DUO_OK) return 3;
    duo_status status = bank_server_login_response_send_invalid(bank_login_as_login(&asked)->next, &server);
    bank_login_free(&asked);
    if (status != DUO_OK || misuse(waiting) != DUO_OK) return 4;
    return bank_server_login_close(server) == DUO_OK ? 0 : 5;
}
