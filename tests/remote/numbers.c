/*
 * Numbers of a run over a socket, which code in the header sends and receives without a call: they arrive in order among
 * other messages, whatever is done with the endpoints in between, and without another call of the sender.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carry.h"
#include "check.h"
#include "duologue/ready.h"
#include "flow_net.h"
#include "meet.h"
#include "mixed_net.h"

enum { MANY = 1000 };

struct flowing {
    flow_client_flow_t client;
    flow_server_flow_t server;
};

static struct flowing begin_flow(void)
{
    struct flowing flowing;
    meet_both(&duo_wire_of_flow, &flowing.client.sends, &flowing.server.receives);
    return flowing;
}

static void send_some(struct flowing *flowing, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        CHECK(flow_client_flow_send_number(flowing->client, i, &flowing->client) == DUO_OK);
}

static void recv_some(struct flowing *flowing, uint64_t from, uint64_t count)
{
    flow_flow_t got;
    for (uint64_t i = from; i < from + count; i++) {
        CHECK(flow_server_flow_recv(flowing->server, &got) == DUO_OK && got.as.number.value == i);
        flowing->server = got.as.number.next;
    }
}

/* The receiver waits without a time limit, so a number that is left unwritten hangs here. */
static void asleep(void)
{
    struct flowing flowing = begin_flow();
    uint64_t sent = 0;
    for (unsigned round = 0; round < 300; round++) {
        uint64_t count = round % 3 == 0 ? 1 : 20 + round;
        send_some(&flowing, sent, count);
        recv_some(&flowing, sent, count);
        sent += count;
        /* Around the time at which the writer finds nothing new. */
        nanosleep(&(struct timespec){0, 100000 * (long)(round % 50)}, NULL);
    }
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
    flow_flow_t got;
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_CLOSED);
}

/* What is used in the middle of a run: everything that was sent before still arrives first. */
static void interrupted(void)
{
    struct flowing flowing = begin_flow();
    flow_flow_t got;
    uint64_t sent = 0, received = 0;
    for (unsigned round = 0; round < 20; round++) {
        send_some(&flowing, sent, MANY);
        sent += MANY;
        CHECK(DUO_FLUSH(flowing.client) == DUO_OK);
        /* A used endpoint stays one. */
        flow_server_flow_t old = flowing.server;
        recv_some(&flowing, received, 100);
        CHECK(flow_server_flow_recv(old, &got) == DUO_USED);
        received += 100;
        /* By select, by a set, and with a limit, while numbers have arrived that were not received. */
        const duo_endpoint waits = DUO_READY(flowing.server);
        size_t which;
        CHECK(duo_select(&waits, 1, DUO_FOREVER, &which) == DUO_OK);
        recv_some(&flowing, received++, 1);
        duo_ports *ports = duo_ports_new();
        void *with;
        CHECK(ports != NULL && duo_ports_add(ports, DUO_READY(flowing.server), &flowing, NULL) == DUO_OK);
        if (round % 2 == 0) CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &flowing);
        recv_some(&flowing, received++, 1);
        /* It was used, so it is not in the first set any more. */
        duo_ports *others = duo_ports_new();
        CHECK(others != NULL && duo_ports_add(others, DUO_READY(flowing.server), &flowing, NULL) == DUO_OK);
        recv_some(&flowing, received++, 1);
        duo_ports_free(others);
        duo_ports_free(ports);
        CHECK(flow_server_flow_recv_within(flowing.server, UINT64_C(600000000000), &got) == DUO_OK);
        CHECK(got.as.number.value == received++);
        flowing.server = got.as.number.next;
        /* Both endpoints go through another session. */
        carry_client_carry_t gives;
        carry_server_carry_t takes;
        carry_carry_t carried;
        CHECK(carry_init(&takes, &gives) == DUO_OK);
        CHECK(carry_client_carry_send_give(gives, flowing.client, &gives) == DUO_OK);
        CHECK(carry_client_carry_send_take(gives, flowing.server, &gives) == DUO_OK);
        CHECK(flow_client_flow_send_number(flowing.client, 0, &flowing.client) == DUO_USED);
        CHECK(carry_server_carry_recv(takes, &carried) == DUO_OK);
        flowing.client = flow_client_flow_take(&carried.as.give.value);
        CHECK(carry_server_carry_recv(carried.as.give.next, &carried) == DUO_OK);
        flowing.server = flow_server_flow_take(&carried.as.take.value);
        CHECK(carry_server_carry_close(carried.as.take.next) == DUO_OK);
        CHECK(carry_client_carry_close(gives) == DUO_OK);
        recv_some(&flowing, received, sent - received);
        received = sent;
        CHECK(flow_server_flow_try_recv(flowing.server, &got) == DUO_EMPTY);
    }
    /* A shared sender continues a run. */
    send_some(&flowing, sent, 100);
    flow_client_flow_shared_t shared;
    CHECK(flow_client_flow_share(flowing.client, &shared) == DUO_OK);
    for (uint64_t i = 100; i < MANY; i++) CHECK(flow_client_flow_shared_send_number(shared, sent + i) == DUO_OK);
    flow_client_flow_shared_release(shared);
    recv_some(&flowing, received, MANY);
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_CLOSED);
}

/* A session that ends in the middle of a run: what was sent is read, and a sender learns that its peer is gone. */
static void ended(void)
{
    struct flowing flowing = begin_flow();
    send_some(&flowing, 0, MANY);
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
    recv_some(&flowing, 0, MANY);
    flow_flow_t got;
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_CLOSED);

    flowing = begin_flow();
    send_some(&flowing, 0, MANY);
    recv_some(&flowing, 0, 50);
    CHECK(flow_server_flow_close(flowing.server) == DUO_OK);
    duo_status status = DUO_OK;
    for (uint64_t i = MANY; status == DUO_OK; i++) status = flow_client_flow_send_number(flowing.client, i, &flowing.client);
    CHECK(status == DUO_CLOSED || status == DUO_LOST);
    CHECK(flow_client_flow_send_number(flowing.client, 0, &flowing.client) == DUO_USED);
}

#ifndef DUO_THREAD_SANITIZER
/* A child process goes on with a run: it has no thread that writes. */
static void in_a_child(void)
{
    struct flowing flowing = begin_flow();
    send_some(&flowing, 0, MANY);
    /* So that nothing is left that both processes would write. */
    recv_some(&flowing, 0, MANY);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        send_some(&flowing, MANY, 100);
        take_a_moment();
        _exit(flow_client_flow_close(flowing.client) == DUO_OK ? 0 : 1);
    }
    recv_some(&flowing, MANY, 100);
    flow_flow_t got;
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_CLOSED);
    int how;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
}
#endif

/* Both sides derive each step of a session from the same random numbers. */
static uint64_t after(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { STEPS = 200000 };

struct mixing {
    mixed_client_one_t client;
    mixed_server_one_t server;
    uint64_t seed;
};

/* Which message comes next: mostly many numbers of one kind. */
static unsigned kind_after(uint64_t *state, unsigned kind)
{
    uint64_t drawn = after(state) % 200;
    return drawn < 6 ? (unsigned)drawn : kind;
}

static mixed_client_one_t talk(mixed_client_two_t two, uint64_t *state, uint64_t value)
{
    mixed_client_one_t one;
    for (uint64_t left = after(state) % 100; left > 0; left--)
        CHECK(mixed_client_two_send_g(two, value + left, &two) == DUO_OK);
    CHECK(mixed_client_two_send_i(two, value, &one) == DUO_OK);
    return one;
}

static void *mix(void *context)
{
    struct mixing *mixing = context;
    uint64_t state = mixing->seed;
    unsigned kind = 0;
    mixed_client_one_t one = mixing->client;
    for (unsigned step = 0; step < STEPS; step++) {
        kind = kind_after(&state, kind);
        uint64_t value = after(&state);
        mixed_client_two_t two;
        switch (kind) {
        case 0: CHECK(mixed_client_one_send_a(one, value, &one) == DUO_OK); break;
        case 1: CHECK(mixed_client_one_send_b(one, (int64_t)value, &one) == DUO_OK); break;
        case 2: CHECK(mixed_client_one_send_c(one, (uint32_t)value, (uint32_t)(value >> 32), &one) == DUO_OK); break;
        case 3: CHECK(mixed_client_one_send_d(one, (uint8_t)value, &one) == DUO_OK); break;
        case 4:
            CHECK(mixed_client_one_send_e(one, (double)(value >> 20), &two) == DUO_OK);
            one = talk(two, &state, value);
            kind = 0;
            break;
        default:
            CHECK(mixed_client_one_send_f(one, &one) == DUO_OK);
            kind = 1;
        }
        if (value % 4096 == 0) take_a_moment();
    }
    CHECK(mixed_client_one_send_end(one) == DUO_OK);
    return NULL;
}

static mixed_server_one_t answer(mixed_server_two_t two, uint64_t *state, uint64_t value)
{
    mixed_two_t said;
    for (uint64_t left = after(state) % 100; left > 0; left--) {
        CHECK(mixed_server_two_recv(two, &said) == DUO_OK);
        CHECK(said.tag == MIXED_TWO_G && said.as.g.value == value + left);
        two = said.as.g.next;
    }
    CHECK(mixed_server_two_recv(two, &said) == DUO_OK && said.tag == MIXED_TWO_I && said.as.i.value == value);
    return said.as.i.next;
}

/* Waits for a message in one of the ways that there are. */
static void hear(mixed_server_one_t one, uint64_t way, mixed_one_t *said)
{
    if (way % 64 == 0) {
        const duo_endpoint waits = DUO_READY(one);
        size_t which;
        CHECK(duo_select(&waits, 1, DUO_FOREVER, &which) == DUO_OK);
    }
    if (way % 2 == 0) {
        duo_status status;
        while ((status = mixed_server_one_try_recv(one, said)) == DUO_EMPTY) continue;
        CHECK(status == DUO_OK);
    } else {
        CHECK(mixed_server_one_recv(one, said) == DUO_OK);
    }
}

static void mixed(uint64_t seed)
{
    struct mixing mixing = {.seed = seed};
    meet_both(&duo_wire_of_mixed, &mixing.client.sends, &mixing.server.receives);
    pthread_t thread = start(mix, &mixing);
    uint64_t state = seed;
    unsigned kind = 0;
    mixed_one_t said;
    mixed_server_one_t one = mixing.server;
    for (unsigned step = 0; step < STEPS; step++) {
        kind = kind_after(&state, kind);
        uint64_t value = after(&state);
        hear(one, value >> 8, &said);
        CHECK(said.tag == kind + MIXED_ONE_A);
        switch (said.tag) {
        case MIXED_ONE_A:
            CHECK(said.as.a.value == value);
            one = said.as.a.next;
            break;
        case MIXED_ONE_B:
            CHECK(said.as.b.value == (int64_t)value);
            one = said.as.b.next;
            break;
        case MIXED_ONE_C:
            CHECK(said.as.c.value_0 == (uint32_t)value && said.as.c.value_1 == (uint32_t)(value >> 32));
            one = said.as.c.next;
            break;
        case MIXED_ONE_D:
            CHECK(said.as.d.value == (uint8_t)value);
            one = said.as.d.next;
            break;
        case MIXED_ONE_E:
            CHECK(said.as.e.value == (double)(value >> 20));
            one = answer(said.as.e.next, &state, value);
            kind = 0;
            break;
        case MIXED_ONE_F:
            one = said.as.f.next;
            kind = 1;
            break;
        case MIXED_ONE_END: CHECK(false);
        }
    }
    CHECK(mixed_server_one_recv(one, &said) == DUO_OK && said.tag == MIXED_ONE_END);
    finish(thread);
}

TEST(numbers)
{
    asleep();
    interrupted();
    ended();
#ifndef DUO_THREAD_SANITIZER
    in_a_child();
#endif
    mixed(UINT64_C(88172645463325252));
    mixed(UINT64_C(1));
    CHECK(duo_shutdown() == 0);
}
