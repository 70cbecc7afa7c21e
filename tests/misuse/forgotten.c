/* With DUO_DEBUG, a session whose next endpoint was forgotten is reported, with the function in which it began. */
#include <string.h>

#include "bank.h"
#include "check.h"

__attribute__((noinline)) static bank_client_login_t begin(bank_server_login_t *server)
{
    bank_client_login_t client;
    CHECK(bank_init(server, &client) == DUO_OK);
    return client;
}

/* The address in `[0x...]`, which comes last. */
static unsigned long place_in(const char *report)
{
    const char *found = strstr(report, "[0x");
    CHECK(found != NULL);
    return strtoul(found + 1, NULL, 16);
}

static void reported(void)
{
    char report[1000] = "";
    bank_server_login_t server;
    bank_client_login_response_t waiting;
    bank_login_t asked;
    /* One that is over, and one of which the server forgets `next`. */
    bank_client_login_t client = begin(&server);
    CHECK(bank_client_login_close(client) == DUO_OK && bank_server_login_close(server) == DUO_OK);
    client = begin(&server);
    CHECK(bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &waiting) == DUO_OK);
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    bank_login_free(&asked);
    CHECK(bank_client_login_response_close(waiting) == DUO_OK);

    CHECK(freopen(REPORT, "w+", stderr) != NULL);
    CHECK(duo_shutdown() == 1);
    rewind(stderr);
    size_t size = fread(report, 1, sizeof report - 1, stderr);
    CHECK(size > 0 && strchr(report, '\n') == report + size - 1);
    CHECK(strstr(report, "duologue: a session that began in ") == report && strstr(report, " is not over\n") != NULL);
    unsigned long begun = (unsigned long)(uintptr_t)begin;
    CHECK(place_in(report) > begun && place_in(report) < begun + 1000);

    CHECK(bank_server_login_response_close(asked.as.login.next) == DUO_OK);
    CHECK(freopen(REPORT, "w+", stderr) != NULL);
    CHECK(duo_shutdown() == 0);
    rewind(stderr);
    CHECK(fread(report, 1, sizeof report, stderr) == 0);
}

int main(void)
{
    reported();
    return 0;
}
