/* Endpoints that another thread uses while they are in a set, and that are waited for in two places. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "duologue/ready.h"
#include "golden.h"


enum { ROUNDS = 30000 };

/* One stream, whose receiving end is in a set of one thread and is used by another; a third one sends. */
typedef struct stream {
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    /* The round in which all three act, and how many are done with it. */
    _Atomic unsigned round;
    _Atomic unsigned done;
} stream;

static void await(_Atomic unsigned *number, unsigned wanted)
{
    for (unsigned looks = 0; atomic_load_explicit(number, memory_order_acquire) != wanted; looks++)
        if (looks > 100) sched_yield();
}

static void *say_each(void *context)
{
    stream *with = context;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        await(&with->round, round);
        CHECK(numbers_client_stream_send_send(with->out, round, &with->out) == DUO_OK);
        atomic_fetch_add(&with->done, 1);
    }
    return NULL;
}

static void *hear_each(void *context)
{
    stream *with = context;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        await(&with->round, round);
        numbers_stream_t got;
        duo_status status;
        /* A use that finds nothing takes the endpoint out of the set as well. */
        do status = numbers_server_stream_try_recv(with->in, &got);
        while (status == DUO_EMPTY);
        CHECK(status == DUO_OK && got.as.send.value == round);
        with->in = got.as.send.next;
        atomic_fetch_add(&with->done, 1);
    }
    return NULL;
}

/* The set removes an endpoint just when another thread uses it and a third one makes it ready. */
static void used_elsewhere(void)
{
    stream with = {0};
    CHECK(numbers_init(&with.in, &with.out) == DUO_OK);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    pthread_t threads[] = {start(say_each, &with), start(hear_each, &with)};
    for (unsigned round = 1; round <= ROUNDS; round++) {
        duo_port port;
        void *told;
        CHECK(duo_ports_add(ports, DUO_READY(with.in), &with, &port) == DUO_OK);
        atomic_store_explicit(&with.round, round, memory_order_release);
        for (unsigned looks = 0; looks < round % 7; looks++)
            if (duo_ports_wait(ports, DUO_AT_ONCE, &told) == DUO_OK) CHECK(told == &with);
        if (round % 3 == 0) {
            duo_ports_free(ports);
            ports = duo_ports_new();
            CHECK(ports != NULL);
        } else {
            duo_ports_remove(ports, port);
        }
        CHECK(duo_ports_count(ports) == 0);
        await(&with.done, 2 * round);
    }
    for (size_t i = 0; i < 2; i++) finish(threads[i]);
    duo_ports_free(ports);
    CHECK(numbers_client_stream_close(with.out) == DUO_OK);
    CHECK(numbers_server_stream_close(with.in) == DUO_OK);
}

/* A select takes endpoints out of a set, like any use, and may be given one of them twice. */
static void in_two_places(void)
{
    const uint64_t moment = 2000000;
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    CHECK(duo_ports_add(ports, DUO_READY(in), NULL, NULL) == DUO_OK);
    duo_endpoint twice[] = {DUO_READY(in), DUO_READY(in)};
    size_t which;
    CHECK(duo_select(twice, 2, moment, &which) == DUO_EMPTY);
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_OK);
    CHECK(duo_select(twice, 2, moment, &which) == DUO_OK);
    void *told;
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &told) == DUO_EMPTY && duo_ports_count(ports) == 1);
    duo_ports_free(ports);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
}

/*
 * Memory provided by the caller may be freed when its session is over, before a set that has reported an
 * endpoint of it.
 */
static void before_the_set(void)
{
    const duo_protocol protocol = {
        .capacity = 1, .payload = sizeof(void *), .messages = 2, .first = duo_states_of_ping};
    const size_t size = DUO_SESSION_SIZE(1, sizeof(void *), 2);
    duo_ports *ports = duo_ports_new();
    void *memory = aligned_alloc(64, size);
    CHECK(ports != NULL && memory != NULL);
    memset(memory, 0, size);
    ping_server_ping_t server;
    ping_client_ping_t client;
    CHECK(duo_open_in(&protocol, memory, size, &server.receives, &client.sends) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(server), NULL, NULL) == DUO_OK);
    CHECK(ping_client_ping_close(client) == DUO_OK);
    void *told;
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &told) == DUO_OK);
    ping_ping_t asked;
    CHECK(ping_server_ping_recv(server, &asked) == DUO_CLOSED);
    free(memory);
    duo_ports_free(ports);
}

TEST(taken)
{
    in_two_places();
    before_the_set();
    used_elsewhere();
}
