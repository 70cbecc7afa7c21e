/* With DUO_DEBUG, what a freed message has shown is gone at once, and not only when its memory is used again. */
#include <string.h>

#include "bank.h"
#include "check.h"

int main(void)
{
    bank_server_login_t server;
    bank_client_login_t client;
    bank_client_login_response_t waiting;
    bank_login_t asked;
    CHECK(bank_init(&server, &client) == DUO_OK);
    CHECK(bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &waiting) == DUO_OK);
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    CHECK(duo_str_equal(asked.as.login.username, DUO_STR("holk")));
    bank_login_free(&asked);
    const duo_str *const views[] = {&asked.as.login.username, &asked.as.login.password};
    for (size_t i = 0; i < 2; i++) {
        unsigned char bytes[sizeof(duo_str)], poison[sizeof(duo_str)];
        memcpy(bytes, views[i], sizeof bytes);
        memset(poison, 0xDD, sizeof poison);
        CHECK(memcmp(bytes, poison, sizeof bytes) == 0);
    }
    /* The next endpoint is not part of what was freed. */
    bank_server_login_t again;
    CHECK(bank_server_login_response_send_invalid(asked.as.login.next, &again) == DUO_OK);
    CHECK(bank_server_login_close(again) == DUO_OK && bank_client_login_response_close(waiting) == DUO_OK);
    bank_login_free(&asked);
    return 0;
}
