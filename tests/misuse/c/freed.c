/* aborts: freed.c:19: bank: the message in state `login` is `none`, but the program reads it as `login` */
/* A message that was freed is none. */
#include "bank.h"

int main(void)
{
    bank_server_login_t server = {0};
    bank_client_login_t client = {0};
    bank_client_login_response_t waiting = {0};
    bank_login_t asked;
    if (bank_init(&server, &client) != DUO_OK) return 1;
    if (bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &waiting) != DUO_OK) return 2;
    if (bank_server_login_recv(server, &asked) != DUO_OK) return 3;
#ifdef RIGHT
    const bool is_right = duo_str_equal(bank_login_as_login(&asked)->username, DUO_STR("a"));
    bank_login_free(&asked);
#else
    bank_login_free(&asked);
    const bool is_right = duo_str_equal(bank_login_as_login(&asked)->username, DUO_STR("a"));
#endif
    if (!is_right || bank_server_login_response_close(asked.as.login.next) != DUO_OK) return 4;
    return bank_client_login_response_close(waiting) == DUO_OK ? 0 : 5;
}
