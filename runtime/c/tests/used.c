/* A second use of an endpoint is DUO_USED in every variant, changes nothing, and is never undefined. */
#include "check.h"
#include "golden.h"

static void stale_copies(void)
{
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    ping_client_pong_t waiting;
    ping_client_pong_t untouched = {{0}};
    CHECK(ping_init(&server, &client) == DUO_OK);
    ping_client_ping_t copy = client;
    CHECK(ping_client_ping_send_ping(client, 1, &waiting) == DUO_OK);
    CHECK(ping_client_ping_send_ping(client, 2, &untouched) == DUO_USED);
    CHECK(ping_client_ping_send_ping(copy, 2, &untouched) == DUO_USED);
    CHECK(ping_client_ping_close(copy) == DUO_USED);
    CHECK(untouched.receives.session == NULL);

    ping_ping_t asked;
    CHECK(ping_server_ping_recv(server, &asked) == DUO_OK && asked.as.ping.value == 1);
    ping_ping_t again;
    CHECK(ping_server_ping_recv(server, &again) == DUO_USED && again.tag == 0);
    CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_OK);
    CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_USED);
    ping_pong_t answer;
    CHECK(ping_client_pong_recv(waiting, &answer) == DUO_OK && answer.tag == PING_PONG_ENOUGH);
    CHECK(ping_client_pong_recv(waiting, &answer) == DUO_USED);
    CHECK(ping_client_pong_close(waiting) == DUO_USED);
}

static void zeroed(void)
{
    ping_client_ping_t nothing = {0};
    ping_client_pong_t waiting = {0};
    ping_pong_t answer;
    CHECK(ping_client_ping_send_ping(nothing, 1, &waiting) == DUO_USED);
    CHECK(ping_client_pong_recv(waiting, &answer) == DUO_USED);
    CHECK(ping_client_ping_close(nothing) == DUO_USED);
}

/* The memory of a session that is over is reused for the next one; the old handles stay used. */
static void recycled(void)
{
    ping_client_ping_t old_client[10];
    ping_server_ping_t old_server[10];
    for (int i = 0; i < 10; i++) {
        ping_server_ping_t server = {0};
        ping_client_ping_t client = {0};
        CHECK(ping_init(&server, &client) == DUO_OK);
        old_client[i] = client;
        old_server[i] = server;
        for (int old = 0; old < i; old++) {
            ping_client_pong_t waiting;
            ping_ping_t asked;
            CHECK(ping_client_ping_send_ping(old_client[old], 1, &waiting) == DUO_USED);
            CHECK(ping_server_ping_recv(old_server[old], &asked) == DUO_USED);
            CHECK(ping_client_ping_close(old_client[old]) == DUO_USED);
        }
        CHECK(ping_server_ping_close(server) == DUO_OK);
        CHECK(ping_client_ping_close(client) == DUO_OK);
    }
}

/* An endpoint that was sent belongs to the message; one that could not be sent stays with the sender. */
static void sent_away(void)
{
    courier_server_carry_t server = {0};
    courier_client_carry_t client = {0};
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_client_stream_t other = {0};
    numbers_server_stream_t other_in = {0};
    numbers_stream_t got;
    courier_carry_t parcel;
    CHECK(courier_init_with(64, &server, &client) == DUO_OK);
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(numbers_init(&other_in, &other) == DUO_OK);

    CHECK(courier_client_carry_send_parcel(client, DUO_STR("in"), in, &client) == DUO_OK);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_USED);
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("twice"), in, &client) == DUO_USED);

    /* One of two endpoints is used: the other is given back, and so is the sender's own. */
    CHECK(courier_client_carry_send_pair(client, out, out, &client) == DUO_USED);
    CHECK(courier_client_carry_send_pair(client, out, (numbers_client_stream_t){{0}}, &client) ==
          DUO_USED);
    CHECK(numbers_client_stream_send_send(out, 5, &out) == DUO_OK);
    CHECK(courier_client_carry_send_pair(client, out, other, &client) == DUO_OK);
    CHECK(numbers_client_stream_send_send(out, 6, &out) == DUO_USED);

    CHECK(courier_server_carry_recv(server, &parcel) == DUO_OK);
    CHECK(parcel.tag == COURIER_CARRY_PARCEL);
    CHECK(duo_str_equal(parcel.as.parcel.note, DUO_STR("in")));
    server = parcel.as.parcel.next;
    in = numbers_server_stream_take(&parcel.as.parcel.inner);
    courier_carry_free(&parcel);
    CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == 5);
    in = got.as.send.next;

    /* Not taken out: freeing the message closes them. `next` stays. */
    CHECK(courier_server_carry_recv(server, &parcel) == DUO_OK);
    CHECK(parcel.tag == COURIER_CARRY_PAIR);
    server = parcel.as.pair.next;
    courier_carry_free(&parcel);
    courier_carry_free(&parcel);
    CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);
    CHECK(numbers_server_stream_recv(other_in, &got) == DUO_CLOSED);

    /* The peer has gone: the endpoint comes back. */
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(courier_server_carry_close(server) == DUO_OK);
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("late"), in, &client) == DUO_CLOSED);
    CHECK(numbers_client_stream_send_send(out, 8, &out) == DUO_OK);
    CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == 8);
    CHECK(numbers_server_stream_close(got.as.send.next) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
}

#ifdef DUO_CHECKED
/* An endpoint from another member of the message's union has the turn of the right one, but its type is that of another state. */
static void wrong_member(void)
{
    bank_server_login_t server = {0};
    bank_client_login_t client = {0};
    bank_client_login_response_t waiting;
    bank_login_t asked;
    bank_login_response_t answer;
    bank_server_connected_t serving;
    bank_connected_t said, nothing;
    CHECK(bank_init(&server, &client) == DUO_OK);
    CHECK(bank_client_login_send_login(client, DUO_STR("a"), DUO_STR("b"), &waiting) == DUO_OK);
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    CHECK(bank_server_login_response_send_ok(asked.as.login.next, &serving) == DUO_OK);
    bank_login_free(&asked);
    CHECK(bank_client_login_response_recv(waiting, &answer) == DUO_OK && answer.tag == BANK_LOGIN_RESPONSE_OK);
    bank_client_connected_t customer = answer.as.ok.next;
    CHECK(bank_client_login_send_login(answer.as.invalid.next, DUO_STR("a"), DUO_STR("b"), &waiting) == DUO_USED);
    CHECK(bank_client_login_close(answer.as.invalid.next) == DUO_USED);
    /* Nothing has changed. */
    CHECK(bank_client_connected_send_deposit(customer, 1.0, &customer) == DUO_OK);
    CHECK(bank_server_connected_recv(serving, &said) == DUO_OK && said.tag == BANK_CONNECTED_DEPOSIT);
    serving = said.as.deposit.next;
    CHECK(bank_server_login_close((bank_server_login_t){serving.receives}) == DUO_USED);
    CHECK(bank_server_login_recv((bank_server_login_t){serving.receives}, &asked) == DUO_USED && asked.tag == 0);
    CHECK(bank_client_connected_send_quit(customer) == DUO_OK);
    CHECK(bank_server_connected_recv(serving, &nothing) == DUO_OK && nothing.tag == BANK_CONNECTED_QUIT);
}
#endif

TEST(used)
{
#ifdef DUO_CHECKED
    wrong_member();
#endif
    stale_copies();
    zeroed();
    recycled();
    sent_away();
}
