/*
 * Threads that wait for each other in turn, through runs of messages: a message is sent only after the one before it
 * has been answered. So if a thread is not woken by its own message, nothing else wakes it, and the test never ends.
 * There is no time limit, and nothing is polled in between. The delays are random, so that every thread is sometimes
 * asleep, sometimes about to fall asleep, and sometimes not waiting yet.
 */
#include <sched.h>

#include "check.h"
#include "golden.h"

enum { ROUNDS = 10000, CROWD = 20, PUSHES = 2000 };

static _Thread_local uint64_t seed;

static uint64_t below(uint64_t limit)
{
    return draw(&seed) % limit;
}

/* Mostly about as long as the other side spins before it sleeps. */
static void dawdle(void)
{
    uint64_t how = below(1000);
    if (how < 2) nanosleep(&(struct timespec){0, (long)below(100000)}, NULL);
    else if (how < 50) sched_yield();
    else if (how < 600) for (volatile uint64_t i = below(3000); i > 0; i--) continue;
}

/* How a side waits for its next message. */
typedef enum how { BY_RECV, BY_SELECT, BY_SET, WAYS } how;

/* One of two streams each way, and one that sends nothing. */
typedef struct partner {
    uint64_t seed;
    numbers_server_stream_t in, quiet;
    numbers_client_stream_t out;
    how way;
} partner;

static uint64_t hear(partner *self, duo_ports *set)
{
    size_t which = 0;
    void *with = NULL;
    duo_endpoint both[] = {self->quiet.receives, self->in.receives};
    if (self->way == BY_SELECT) CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    if (self->way == BY_SET) {
        CHECK(duo_ports_add(set, self->in.receives, self, NULL) == DUO_OK);
        CHECK(duo_ports_wait(set, DUO_FOREVER, &with) == DUO_OK && with == self);
    }
    numbers_stream_t got;
    CHECK(numbers_server_stream_recv(self->in, &got) == DUO_OK);
    self->in = got.as.send.next;
    return got.as.send.value;
}

static duo_ports *set_of(partner *self)
{
    duo_ports *set = duo_ports_new();
    CHECK(set != NULL);
    CHECK(duo_ports_add(set, self->quiet.receives, NULL, NULL) == DUO_OK);
    return set;
}

static void *answer(void *context)
{
    partner *self = context;
    seed = self->seed;
    duo_ports *set = set_of(self);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        dawdle();
        CHECK(hear(self, set) == round);
        dawdle();
        CHECK(numbers_client_stream_send_send(self->out, round, &self->out) == DUO_OK);
    }
    duo_ports_free(set);
    return NULL;
}

static void *ask(void *context)
{
    partner *self = context;
    seed = self->seed;
    duo_ports *set = set_of(self);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        dawdle();
        CHECK(numbers_client_stream_send_send(self->out, round, &self->out) == DUO_OK);
        dawdle();
        CHECK(hear(self, set) == round);
    }
    duo_ports_free(set);
    return NULL;
}

static void pairs(void)
{
    enum { PAIRS = 3 * WAYS };
    static partner partners[2 * PAIRS];
    static numbers_client_stream_t quiet[2 * PAIRS];
    pthread_t threads[2 * PAIRS];
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        partner *asks = &partners[i], *answers = &partners[i + 1];
        CHECK(numbers_init(&answers->in, &asks->out) == DUO_OK);
        CHECK(numbers_init(&asks->in, &answers->out) == DUO_OK);
        CHECK(numbers_init(&asks->quiet, &quiet[i]) == DUO_OK);
        CHECK(numbers_init(&answers->quiet, &quiet[i + 1]) == DUO_OK);
        asks->way = (how)(i / 2 % WAYS);
        answers->way = (how)(i / 2 / WAYS % WAYS);
    }
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        partners[i].seed = UINT64_C(88172645463325252) + i;
        threads[i] = start(i % 2 == 0 ? ask : answer, &partners[i]);
    }
    for (size_t i = 0; i < 2 * PAIRS; i++) finish(threads[i]);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        CHECK(numbers_server_stream_close(partners[i].in) == DUO_OK);
        CHECK(numbers_client_stream_close(partners[i].out) == DUO_OK);
        CHECK(numbers_server_stream_close(partners[i].quiet) == DUO_OK);
        CHECK(numbers_client_stream_close(quiet[i]) == DUO_OK);
    }
}

typedef struct crowd {
    uint64_t seed;
    numbers_client_stream_shared_t shared;
} crowd;

static void *push(void *context)
{
    crowd *self = context;
    seed = self->seed;
    for (uint64_t round = 0; round < PUSHES; round++)
        CHECK(numbers_client_stream_shared_send_send(self->shared, round) == DUO_OK);
    duo_shared_release(self->shared.shared);
    return NULL;
}

/*
 * More senders than the ring has slots, nearly all of which wait; the receiver receives one message at a time, and
 * sleeps.
 */
static void crowded(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_client_stream_shared_t shared = {NULL};
    CHECK(numbers_init_with(2, &in, &out) == DUO_OK);
    CHECK(numbers_client_stream_share(out, &shared) == DUO_OK);
    crowd crowds[CROWD];
    pthread_t threads[CROWD];
    for (uint64_t i = 0; i < CROWD; i++) {
        crowds[i] = (crowd){UINT64_C(88172645463325252) + i, {duo_shared_retain(shared.shared)}};
        threads[i] = start(push, &crowds[i]);
    }
    duo_shared_release(shared.shared);
    seed = 88172645463325252;
    numbers_stream_t got;
    uint64_t count = 0;
    for (; numbers_server_stream_recv(in, &got) == DUO_OK; count++) {
        if (count % 4 == 0) dawdle();
        in = got.as.send.next;
    }
    CHECK(count == (uint64_t)CROWD * PUSHES);
    for (uint64_t i = 0; i < CROWD; i++) finish(threads[i]);
}

TEST(lockstep)
{
    pairs();
    crowded();
}
