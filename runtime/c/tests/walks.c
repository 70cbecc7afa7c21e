/*
 * Two threads walk through a session at random speeds and end it anywhere: with its last message, or by closing as
 * sender or as receiver, with what was sent unread or half read. Every parcel holds one side of a session of its own;
 * whatever happens, exactly one of the two threads has it in the end, and the other half is notified.
 */
#include <sched.h>

#include "check.h"
#include "golden.h"

enum { WALKS = 1500, MOST = 40 };

static _Thread_local uint64_t seed;

static uint64_t below(uint64_t limit)
{
    return draw(&seed) % limit;
}

/* No pause, a moment, or long enough for the other side to spin without success, yield or sleep. */
static void dawdle(void)
{
    uint64_t how = below(400);
    if (how < 80) sched_yield();
    else if (how < 83) nanosleep(&(struct timespec){0, (long)below(200000)}, NULL);
    else if (how < 200) for (volatile uint64_t i = below(300); i > 0; i--) continue;
}

typedef struct walk {
    uint64_t seed;
    courier_server_carry_t server;
    courier_client_carry_t client;
    numbers_client_stream_t halves[MOST];
    /* How many parcels the receiver has, or were destroyed with the session. */
    uint64_t sent;
} walk;

static void *send(void *context)
{
    walk *self = context;
    seed = self->seed;
    uint64_t parcels = below(MOST);
    for (; self->sent < parcels; self->sent++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t *half = &self->halves[self->sent];
        CHECK(numbers_init(&in, half) == DUO_OK);
        CHECK(numbers_client_stream_send_send(*half, self->sent, half) == DUO_OK);
        dawdle();
        duo_str note = below(2) ? DUO_STR("a note that is longer") : DUO_STR("");
        duo_status status =
            courier_client_carry_send_parcel(self->client, note, in, &self->client);
        if (status == DUO_OK) continue;
        /* The endpoint in the parcel belongs to this side again, and is good for one use. */
        CHECK(status == DUO_CLOSED);
        CHECK(numbers_server_stream_close(in) == DUO_OK);
        CHECK(numbers_server_stream_close(in) == DUO_USED);
        CHECK(numbers_client_stream_close(*half) == DUO_OK);
        return NULL;
    }
    dawdle();
    if (below(2)) {
        CHECK(courier_client_carry_close(self->client) == DUO_OK);
        return NULL;
    }
    duo_status status = courier_client_carry_send_done(self->client);
    CHECK(status == DUO_OK || status == DUO_CLOSED);
    return NULL;
}

static void receive(courier_server_carry_t server)
{
    uint64_t parcels = below(MOST);
    numbers_server_stream_t kept[MOST];
    bool is_over = false;
    uint64_t heard = 0;
    while (heard < parcels && !is_over) {
        courier_carry_t parcel;
        dawdle();
        duo_status status = courier_server_carry_recv(server, &parcel);
        is_over = status == DUO_CLOSED || parcel.tag == COURIER_CARRY_DONE;
        if (is_over) break;
        CHECK(status == DUO_OK && parcel.tag == COURIER_CARRY_PARCEL);
        kept[heard++] = numbers_server_stream_take(&parcel.as.parcel.inner);
        server = parcel.as.parcel.next;
        courier_carry_free(&parcel);
    }
    dawdle();
    if (!is_over) CHECK(courier_server_carry_close(server) == DUO_OK);
    for (uint64_t i = 0; i < heard; i++) {
        numbers_stream_t got;
        CHECK(numbers_server_stream_recv(kept[i], &got) == DUO_OK && got.as.send.value == i);
        CHECK(numbers_server_stream_close(got.as.send.next) == DUO_OK);
    }
}

static void begin(walk *begun, uint64_t number)
{
    *begun = (walk){.seed = seed ^ (number << 32)};
    CHECK(courier_init_with(below(2) ? 2 : 64, &begun->server, &begun->client) == DUO_OK);
}

static void go(walk *walked)
{
    pthread_t thread = start(send, walked);
    receive(walked->server);
    finish(thread);
    /* Whichever side had the parcels has closed their sessions. */
    for (uint64_t n = 0; n < walked->sent; n++) {
        numbers_client_stream_t half = walked->halves[n];
        CHECK(numbers_client_stream_send_send(half, 0, &half) == DUO_CLOSED);
    }
}

TEST(walks)
{
    seed = 88172645463325252;
    for (uint64_t i = 0; i < WALKS; i++) {
        static walk walked;
        begin(&walked, i);
        go(&walked);
    }
}
