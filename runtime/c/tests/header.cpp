// The headers compile as C++17 too, and so do the programs that use them in the obvious way.
#include "golden.h"

#include "duologue/generated.h"

#include <cstdio>

struct maybe {
    bool some;
    int value;
};

struct numbers {
    const int *data;
    size_t size;
};

int main()
{
    const int items[] = {1, 2, 3};
    if (!DUO_SOME(maybe, 7).some || DUO_NONE(maybe).some) return 8;
    if (DUO_ITEMS(numbers, items).size != 3) return 9;
    bank_server_login_t server = {};
    bank_client_login_t client = {};
    bank_client_login_response_t waiting = {};
    bank_login_t asked = {};
    if (bank_init(&server, &client) != DUO_OK) return 1;
    if (bank_client_login_send_login(client, DUO_STR("holk"), duo_str_from("1234"), &waiting) != DUO_OK) return 2;
    if (bank_server_login_recv(server, &asked) != DUO_OK) return 3;
    if (asked.tag != BANK_LOGIN_LOGIN) return 4;
    if (!duo_str_equal(asked.as.login.password, DUO_STR("1234"))) return 5;
    bank_server_login_response_close(asked.as.login.next);
    bank_login_free(&asked);
    bank_login_response_t answer = {};
    if (bank_client_login_response_recv(waiting, &answer) != DUO_CLOSED) return 6;
    std::printf("%.*s", DUO_PRINT(DUO_STR("")));
    return 0;
}
