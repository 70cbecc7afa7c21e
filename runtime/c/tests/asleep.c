/*
 * The kernel does not let a side sleep if the other side has done something since the last check: whatever that was, it
 * has changed the half that is compared. Here the actions of the other side take place where the kernel would be
 * called.
 */
#define duo_spin real_spin
#define duo_await_message real_await_message
#define duo_await_credit real_await_credit
#define duo_wait real_wait
#define duo_backoff_begin counted_begin
#include "../src/link/park.c"

#include "check.h"
#include "golden.h"

/* What happens between the last check of a side and its sleep. */
static void (*meanwhile)(void);
static unsigned slept;

static uint32_t compared(uint64_t word, duo_half half)
{
    return (uint32_t)(half == DUO_HIGH_HALF ? word >> 32 : word);
}

/* How many waits began with spinning, and how many without. */
static unsigned waits[2];

duo_backoff counted_begin(bool spins)
{
    waits[spins ? 0 : 1] += 1;
    return (duo_backoff){0, 0};
}

bool real_wait(_Atomic uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    (void)until;
    slept += 1;
    void (*happens)(void) = meanwhile;
    meanwhile = NULL;
    /* A side that would sleep forever ends its wait instead. */
    if (happens == NULL) return false;
    happens();
    CHECK(compared(atomic_load(word), half) != compared(expected, half));
    return true;
}

static bool awaits(duo_endpoint endpoint)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    load_position(side);
    return real_await_message(endpoint.session, side, DUO_FOREVER);
}

static ping_client_ping_t client;
static ping_server_ping_t server;
static ping_client_pong_t asking;
static ping_server_pong_t asked;

static void asks_and_waits(void)
{
    CHECK(ping_client_ping_send_ping(client, 1, &asking) == DUO_OK);
    CHECK(!awaits(asking.receives));
}

static void answers_and_waits(void)
{
    CHECK(ping_server_pong_send_pong(asked, 1, &server) == DUO_OK);
    CHECK(!awaits(server.receives));
}

/* Each message comes from a side that waits for the next one in the same word. */
static void an_exchange(void)
{
    CHECK(ping_init(&server, &client) == DUO_OK);
    for (unsigned round = 0; round < 20; round++) {
        slept = 0;
        ping_ping_t ping;
        meanwhile = asks_and_waits;
        CHECK(awaits(server.receives) && slept == 2);
        CHECK(ping_server_ping_recv(server, &ping) == DUO_OK);
        asked = ping.as.ping.next;

        ping_pong_t pong;
        meanwhile = answers_and_waits;
        CHECK(awaits(asking.receives) && slept == 4);
        CHECK(ping_client_pong_recv(asking, &pong) == DUO_OK);
        client = pong.as.pong.next;
    }
    CHECK(ping_client_ping_close(client) == DUO_OK);
    CHECK(ping_server_ping_close(server) == DUO_OK);
}

static numbers_client_stream_t out;

static void sends(void)
{
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_OK);
}

static void closes(void)
{
    CHECK(numbers_client_stream_close(out) == DUO_OK);
}

/* A run that ends anywhere in a line, with everything before that read. */
static void a_run(void)
{
    for (unsigned count = 0; count < 20; count++) {
        numbers_server_stream_t in = {0};
        CHECK(numbers_init_with(64, &in, &out) == DUO_OK);
        numbers_stream_t got;
        for (unsigned n = 0; n < count; n++) {
            slept = 0;
            meanwhile = sends;
            CHECK(awaits(in.receives) && slept == 1);
            CHECK(numbers_server_stream_recv(in, &got) == DUO_OK);
            in = got.as.send.next;
        }
        slept = 0;
        meanwhile = closes;
        CHECK(awaits(in.receives) && slept == 1);
        CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);
    }
}

/* What a receiver spins before it calls the library counts for the wait that follows, and for no later one. */
static void a_wait_spins_once(void)
{
    numbers_server_stream_t in = {0};
    CHECK(numbers_init_with(64, &in, &out) == DUO_OK);
    duo_side *side = &in.receives.session->sides[in.receives.turn & 1];
    load_position(side);
    waits[0] = waits[1] = 0;
    CHECK(!awaits(in.receives) && waits[0] == 1 && waits[1] == 0);
    CHECK(real_spin(side, side->line, side->at) == 0);
    CHECK(!awaits(in.receives) && waits[0] == 1 && waits[1] == 1);
    CHECK(!awaits(in.receives) && waits[0] == 2 && waits[1] == 1);

    /* A message that has arrived in the meantime ends the wait that it was spun for. */
    CHECK(real_spin(side, side->line, side->at) == 0);
    sends();
    CHECK(awaits(in.receives) && !side->has_spun);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
}

TEST(asleep)
{
    an_exchange();
    a_run();
    a_wait_spins_once();
}
