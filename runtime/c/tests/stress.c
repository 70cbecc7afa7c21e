/* Two threads, many messages: in a stream, in an exchange, with text, and with sessions that come and go. */
#include <sched.h>

#include "check.h"
#include "golden.h"

enum { MESSAGES = 200000, ROUNDS = 20000, SESSIONS = 3000 };

static void *produce(void *context)
{
    numbers_client_stream_t out = *(numbers_client_stream_t *)context;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        /* Sometimes too fast, sometimes too slow for the other side. */
        if (i % 5000 == 0) take_a_moment();
        if (is_rescued && i % 3 == 0) {
            duo_status status;
            while ((status = numbers_client_stream_try_send_send(out, i, &out)) == DUO_FULL)
                sched_yield();
            CHECK(status == DUO_OK);
        } else {
            CHECK(numbers_client_stream_send_send(out, i, &out) == DUO_OK);
        }
    }
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    return NULL;
}

static void stream(size_t capacity)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(numbers_init_with(capacity, &in, &out) == DUO_OK);
    pthread_t thread = start(produce, &out);
    uint64_t expected = 0;
    for (;;) {
        numbers_stream_t got = {0};
        duo_status status;
        if (is_rescued && expected % 3 == 0) status = numbers_server_stream_recv_within(in, 1000, &got);
        else status = numbers_server_stream_recv(in, &got);
        if (status == DUO_EMPTY) continue;
        if (status == DUO_CLOSED) break;
        CHECK(status == DUO_OK && got.as.send.value == expected);
        if (expected % 7000 == 0) take_a_moment();
        expected++;
        in = got.as.send.next;
    }
    CHECK(expected == MESSAGES);
    finish(thread);
}

static void *answer(void *context)
{
    ping_server_ping_t server = *(ping_server_ping_t *)context;
    ping_ping_t asked;
    for (;;) {
        CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
        if (asked.as.ping.value == ROUNDS) break;
        CHECK(ping_server_pong_send_pong(asked.as.ping.next, asked.as.ping.value, &server) ==
              DUO_OK);
    }
    CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_OK);
    return NULL;
}

static void exchange(void)
{
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    CHECK(ping_init(&server, &client) == DUO_OK);
    pthread_t thread = start(answer, &server);
    for (uint64_t i = 0;; i++) {
        ping_client_pong_t waiting;
        ping_pong_t got;
        CHECK(ping_client_ping_send_ping(client, i, &waiting) == DUO_OK);
        CHECK(ping_client_pong_recv(waiting, &got) == DUO_OK);
        if (got.tag == PING_PONG_ENOUGH) {
            CHECK(i == ROUNDS);
            break;
        }
        CHECK(got.as.pong.value == i);
        client = got.as.pong.next;
    }
    finish(thread);
}

/* Serves every session that arrives, and closes some of them early. */
static void *serve(void *context)
{
    courier_server_carry_t server = *(courier_server_carry_t *)context;
    for (int i = 0;; i++) {
        courier_carry_t parcel;
        CHECK(courier_server_carry_recv(server, &parcel) == DUO_OK);
        if (parcel.tag == COURIER_CARRY_DONE) break;
        CHECK(parcel.tag == COURIER_CARRY_PARCEL);
        CHECK(duo_str_equal(parcel.as.parcel.note, DUO_STR("a stream")));
        server = parcel.as.parcel.next;
        numbers_server_stream_t in = numbers_server_stream_take(&parcel.as.parcel.inner);
        courier_carry_free(&parcel);
        for (int n = 0; n < i % 4; n++) {
            numbers_stream_t got;
            duo_status status = numbers_server_stream_recv(in, &got);
            if (status == DUO_CLOSED) break;
            CHECK(status == DUO_OK);
            in = got.as.send.next;
        }
        /* Already used if it was closed above. */
        (void)numbers_server_stream_close(in);
    }
    return NULL;
}

static void churn(void)
{
    courier_server_carry_t server = {0};
    courier_client_carry_t client = {0};
    CHECK(courier_init_with(64, &server, &client) == DUO_OK);
    pthread_t thread = start(serve, &server);
    for (int i = 0; i < SESSIONS; i++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        CHECK(numbers_init(&in, &out) == DUO_OK);
        CHECK(courier_client_carry_send_parcel(client, DUO_STR("a stream"), in, &client) == DUO_OK);
        for (uint64_t n = 0; n < (uint64_t)i % 5; n++) {
            duo_status status = numbers_client_stream_send_send(out, n, &out);
            if (status == DUO_CLOSED) break;
            CHECK(status == DUO_OK);
        }
        (void)numbers_client_stream_close(out);
    }
    CHECK(courier_client_carry_send_done(client) == DUO_OK);
    finish(thread);
}

TEST(stress)
{
    stream(2);
    stream(64);
    exchange();
    churn();
}
