/*
 * One ring serves both directions: a side that sends and then receives must not mistake its own
 * message for the answer, however slow the peer is.
 */
#include "check.h"
#include "golden.h"

static void alone(void)
{
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    CHECK(ping_init(&server, &client) == DUO_OK);
    for (uint64_t i = 0; i < 100; i++) {
        ping_client_pong_t waiting;
        ping_pong_t answer;
        CHECK(ping_client_ping_send_ping(client, i, &waiting) == DUO_OK);
        CHECK(ping_client_pong_try_recv(waiting, &answer) == DUO_EMPTY);
        CHECK(ping_client_pong_recv_within(waiting, 1000, &answer) == DUO_EMPTY);
        CHECK(answer.tag == 0);
        ping_ping_t asked;
        CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
        CHECK(asked.tag == PING_PING_PING && asked.as.ping.value == i);
        CHECK(ping_client_pong_try_recv(waiting, &answer) == DUO_EMPTY);
        CHECK(ping_server_pong_send_pong(asked.as.ping.next, i + 1, &server) == DUO_OK);
        CHECK(ping_client_pong_recv(waiting, &answer) == DUO_OK);
        CHECK(answer.tag == PING_PONG_PONG && answer.as.pong.value == i + 1);
        client = answer.as.pong.next;
    }
    CHECK(ping_client_ping_close(client) == DUO_OK);
    CHECK(ping_server_ping_close(server) == DUO_OK);
}

static void *slow_server(void *context)
{
    ping_server_ping_t server = *(ping_server_ping_t *)context;
    for (int i = 0; i < 5; i++) {
        take_a_moment();
        ping_ping_t asked;
        CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
        take_a_moment();
        CHECK(ping_server_pong_send_pong(asked.as.ping.next, asked.as.ping.value * 2, &server) ==
              DUO_OK);
    }
    ping_ping_t asked;
    CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
    CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_OK);
    return NULL;
}

static void with_a_slow_peer(void)
{
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    CHECK(ping_init(&server, &client) == DUO_OK);
    pthread_t thread = start(slow_server, &server);
    for (uint64_t i = 0;; i++) {
        ping_client_pong_t waiting;
        ping_pong_t answer;
        CHECK(ping_client_ping_send_ping(client, i, &waiting) == DUO_OK);
        CHECK(ping_client_pong_recv(waiting, &answer) == DUO_OK);
        if (answer.tag == PING_PONG_ENOUGH) {
            CHECK(i == 5);
            break;
        }
        CHECK(answer.as.pong.value == 2 * i);
        client = answer.as.pong.next;
    }
    finish(thread);
}

/* A run fills several slots before the turn; what they held must not look like an answer. */
static void after_a_run(void)
{
    bank_server_login_t server = {0};
    bank_client_login_t client = {0};
    CHECK(bank_init(&server, &client) == DUO_OK);
    bank_client_login_response_t waiting;
    CHECK(bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &waiting) ==
          DUO_OK);
    bank_login_t asked;
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    CHECK(duo_str_equal(asked.as.login.username, DUO_STR("holk")));
    CHECK(duo_str_equal(asked.as.login.password, DUO_STR("1234")));
    bank_server_connected_t serving;
    CHECK(bank_server_login_response_send_ok(asked.as.login.next, &serving) == DUO_OK);
    bank_login_free(&asked);
    bank_login_free(&asked);
    bank_login_response_t answer;
    CHECK(bank_client_login_response_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.tag == BANK_LOGIN_RESPONSE_OK);
    bank_client_connected_t shopping = answer.as.ok.next;
    for (int i = 0; i < 10; i++)
        CHECK(bank_client_connected_send_deposit(shopping, i, &shopping) == DUO_OK);
    for (int i = 0; i < 10; i++) {
        bank_connected_t said;
        CHECK(bank_server_connected_recv(serving, &said) == DUO_OK);
        CHECK(said.tag == BANK_CONNECTED_DEPOSIT && said.as.deposit.money == i);
        serving = said.as.deposit.next;
    }
    CHECK(bank_client_connected_send_quit(shopping) == DUO_OK);
    bank_connected_t said;
    CHECK(bank_server_connected_recv(serving, &said) == DUO_OK);
    CHECK(said.tag == BANK_CONNECTED_QUIT);
}

TEST(turn)
{
    alone();
    with_a_slow_peer();
    after_a_run();
}
