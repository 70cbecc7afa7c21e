/*
 * Servers that are full leave the group of their subject at a broker, so that clients get others, and come back when a session has ended.
 * If all are full, a client learns that.
 */
#include <poll.h>

#include "memory_broker.h"
#include "numbers_net.h"

#define SECOND UINT64_C(1000000000)

/* Longer than anything takes on a busy machine. */
#define LONG (120 * SECOND)

static const char ready[] = "duo.numbers.", full[] = "duo.numbers.full-";

/* How many servers are in the group of those that can take a session. */
static unsigned count_ready(void)
{
    return memory_count(ready) - memory_count(full);
}

static void await_ready(unsigned count)
{
    for (unsigned moments = 0; count_ready() != count; moments++) {
        CHECK(moments < 10000);
        take_a_moment();
    }
}

static void receive(numbers_server_stream_t in, const duo_peer *peer, void *context)
{
    numbers_stream_t got;
    (void)peer, (void)context;
    while (numbers_server_stream_recv(in, &got) == DUO_OK) in = got.as.send.next;
}

static void *run(void *listener)
{
    CHECK(duo_listener_run(listener) == DUO_OK);
    return NULL;
}

static duo_listener *listen_at(const char *address, size_t sessions)
{
    const duo_net_options options = {.hello = LONG, .sessions = sessions};
    duo_listener *listener;
    CHECK(duo_listen(address, &options, &listener) == DUO_OK);
    CHECK(numbers_server_serve(listener, NULL, receive, NULL) == DUO_OK);
    return listener;
}

/* On a busy machine, an attempt that the client has given up may have the last place for a moment. */
static numbers_client_stream_t connect_one(void)
{
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.hello = LONG, .refusal = &refusal};
    numbers_client_stream_t made;
    duo_status status;
    for (unsigned moments = 0; (status = numbers_client_connect("memory://client:1/numbers", &options, &made)) == DUO_REFUSED; moments++) {
        CHECK(refusal.verdict == DUO_VERDICT_SESSIONS_FULL && moments < 1000);
        take_a_moment();
    }
    CHECK(status == DUO_OK);
    return made;
}

static void expect_refusal(unsigned verdict)
{
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.hello = LONG, .refusal = &refusal};
    numbers_client_stream_t none;
    CHECK(numbers_client_connect("memory://client:1/numbers", &options, &none) == DUO_REFUSED);
    CHECK(refusal.verdict == verdict);
}

static void end(numbers_client_stream_t client)
{
    CHECK(numbers_client_stream_close(client) == DUO_OK);
}

/* Two servers that have one session each. */
static void servers(void)
{
    duo_listener *one = listen_at("memory://one:1/numbers", 1), *two = listen_at("memory://two:1/numbers", 1);
    pthread_t first = start(run, one), second = start(run, two);
    await_ready(2);
    for (unsigned round = 0; round < 10; round++) {
        numbers_client_stream_t here = connect_one();
        await_ready(1);
        numbers_client_stream_t there = connect_one();
        await_ready(0);
        expect_refusal(DUO_VERDICT_SESSIONS_FULL);
        CHECK(memory_count(full) == 2);
        end(here);
        await_ready(1);
        end(connect_one());
        end(there);
        await_ready(2);
    }
    numbers_client_stream_t held[] = {connect_one(), connect_one()};
    await_ready(0);
    /* A server that drains while it is full does not come back. */
    duo_listener_drain(one, 0);
    finish(first);
    duo_listener_close(one);
    CHECK(count_ready() == 0 && memory_count(full) == 1);
    for (unsigned i = 0; i < 2; i++) (void)numbers_client_stream_close(held[i]);
    await_ready(1);
    end(connect_one());
    duo_listener_drain(two, LONG);
    finish(second);
    duo_listener_close(two);
    memory_await(ready, 0);
    expect_refusal(DUO_VERDICT_UNKNOWN_PROTOCOL);
}

/* Accepts without waiting, once the descriptor reports something. */
static duo_status accept_one(duo_listener *listener, numbers_server_stream_t *server)
{
    struct pollfd polled = {duo_listener_descriptor(listener), POLLIN, 0};
    CHECK(poll(&polled, 1, (int)(LONG / 1000000)) == 1);
    return numbers_server_accept(listener, DUO_AT_ONCE, server);
}

static void *connect_and_close(void *context)
{
    (void)context;
    end(connect_one());
    return NULL;
}

/* A program with a loop of its own, which only accepts when the descriptor of its listener says so. */
static void loop(void)
{
    duo_listener *listener = listen_at("memory://three:1/numbers", 1);
    numbers_server_stream_t server;
    numbers_stream_t got;
    CHECK(accept_one(listener, &server) == DUO_EMPTY);
    await_ready(1);
    for (unsigned round = 0; round < 10; round++) {
        pthread_t client = start(connect_and_close, NULL);
        duo_status status;
        do {
            while ((status = accept_one(listener, &server)) == DUO_EMPTY) continue;
            CHECK(status == DUO_OK && count_ready() == 0);
            status = numbers_server_stream_recv(server, &got);
            /* Lost is an attempt that the client has given up. */
        } while (status == DUO_LOST);
        CHECK(status == DUO_CLOSED);
        finish(client);
        while (count_ready() == 0) CHECK(accept_one(listener, &server) == DUO_EMPTY);
    }
    duo_listener_close(listener);
    memory_await(ready, 0);
}

int main(void)
{
    memory_start();
    servers();
    loop();
    return 0;
}
