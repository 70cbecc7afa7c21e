/*
 * Numbers of a run over a socket, which code in the header sends and receives without a call: they arrive in order among
 * other messages, whatever is done with the endpoints in between, and without another call of the sender.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carry.h"
#include "check.h"
#include "flows.h"
#include "mix.h"
#include "mixed_net.h"

enum { MANY = 1000 };

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
    expect_end(flowing);
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
    expect_end(flowing);
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
    expect_end(flowing);
    int how;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
}
#endif

enum { STEPS = 200000 };

struct mixing {
    mixed_client_one_t client;
    uint64_t seed;
};

static void *mix(void *context)
{
    const struct mixing *mixing = context;
    say_all(mixing->client, mixing->seed, STEPS);
    return NULL;
}

static void mixed(uint64_t seed)
{
    struct mixing mixing = {.seed = seed};
    mixed_server_one_t server;
    meet_both(&duo_wire_of_mixed, &mixing.client.sends, &server.receives);
    pthread_t thread = start(mix, &mixing);
    hear_all(server, seed, STEPS);
    finish(thread);
}

TEST(numbers)
{
    asleep();
    interrupted();
#ifndef DUO_THREAD_SANITIZER
    in_a_child();
#endif
    mixed(UINT64_C(88172645463325252));
    mixed(UINT64_C(1));
    CHECK(duo_shutdown() == 0);
}
