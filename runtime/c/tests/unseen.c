/*
 * What happens when the kernel refuses the barrier and a sender misses the flags that its receiver has set. No
 * test can bring this about by chance, so here a message is stored by hand, without the read of the flags that
 * follows. Each check has a process of its own, because the filter under which the kernel refuses the call is
 * permanent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/ring.h"
#include "check.h"
#include "golden.h"
#include "refuse.h"

static numbers_server_stream_t in, other_in;
static numbers_client_stream_t out, other_out;
static duo_ports *ports;

static duo_side *side_of(duo_endpoint endpoint)
{
    return &endpoint.session->sides[endpoint.turn & 1];
}

/* What `publish` does, except for reading the flags. */
static void store(duo_endpoint endpoint, uint64_t value, const duo_message *message)
{
    duo_side *side = side_of(endpoint);
    load_position(side);
    memcpy(payload_slot(endpoint.session, side), &value, sizeof value);
    uint64_t word = duo_word_with(side->line, side->at >> SLOT_SHIFT, slot_of(side->at), message->index,
                                  endpoint.session->shape.index_bits);
    atomic_store_explicit(&side->line->word, word, memory_order_release);
}

static void store_number(void)
{
    duo_message message = {.index = 0};
    store(out.sends, 7, &message);
}

static void *store_when_awaited(void *context)
{
    (void)context;
    _Atomic uint64_t *flags = flags_of(out.sends.session, (unsigned)(in.receives.turn & 1));
    while ((atomic_load(flags) & (WAITING | FLAGS_ARMED)) == 0) sched_yield();
    /* Most likely it is asleep after this. */
    take_a_moment();
    CHECK(duo_barrier_is_lost());
    store_number();
    return NULL;
}

static void check_message(duo_status status, const numbers_stream_t *got)
{
    CHECK(status == DUO_OK && got->as.send.value == 7);
}

static void a_thread_looks_again(void)
{
    numbers_stream_t got;
    check_message(numbers_server_stream_recv(in, &got), &got);
}

static void a_thread_that_waits_not_for_long_looks_again(void)
{
    numbers_stream_t got;
    check_message(numbers_server_stream_recv_within(in, UINT64_C(1000000000000), &got), &got);
}

static void check_select(uint64_t wait)
{
    duo_endpoint both[] = {other_in.receives, in.receives};
    size_t which = 0;
    CHECK(duo_select(both, 2, wait, &which) == DUO_OK && which == 1);
    a_thread_looks_again();
}

static void who_waits_for_one_of_several_looks_again(void)
{
    check_select(DUO_FOREVER);
}

static void who_waits_for_one_of_several_not_for_long_looks_again(void)
{
    check_select(UINT64_C(1000000000000));
}

static void fill_set(void)
{
    ports = duo_ports_new();
    CHECK(ports != NULL);
    CHECK(duo_ports_add(ports, other_in.receives, &other_in, NULL) == DUO_OK);
    CHECK(duo_ports_add(ports, in.receives, &in, NULL) == DUO_OK);
}

static void check_set(uint64_t wait)
{
    fill_set();
    void *with;
    CHECK(duo_ports_wait(ports, wait, &with) == DUO_OK && with == &in);
    a_thread_looks_again();
}

static void who_waits_for_a_set_looks_again(void)
{
    check_set(DUO_FOREVER);
}

static void who_waits_for_a_set_not_for_long_looks_again(void)
{
    check_set(UINT64_C(1000000000000));
}

/* Lets a thread wait for a message that is stored without reading the flags. */
static void check_waiting(void (*wait)(void))
{
    refuse_membarrier(EPERM);
    pthread_t thread = start(store_when_awaited, NULL);
    wait();
    finish(thread);
}

/* The receiver closes, and then its sender stores a message without reading the flags, and steps on. */
static void leave(courier_server_carry_t server, courier_client_carry_t client)
{
    refuse_membarrier(ENOMEM);
    CHECK(courier_server_carry_close(server) == DUO_OK);
    CHECK(duo_barrier_is_lost());
    duo_endpoint endpoint = client.sends;
    CHECK(atomic_load(flags_of(endpoint.session, (unsigned)(endpoint.turn & 1) ^ 1)) & GONE);
}

static void step(duo_endpoint *endpoint)
{
    duo_side *side = side_of(*endpoint);
    duo_message message = {.index = 3};
    static const duo_state same = {.stays = true};
    store(*endpoint, 0, &message);
    go_on(endpoint->session, side, &same);
    endpoint->turn += 2;
    atomic_store(&side->turn, endpoint->turn);
    set_position(side, side->at);
}

static courier_server_carry_t server;
static courier_client_carry_t client;

static bool is_given_back(const duo_session *session)
{
    courier_server_carry_t next_server = {0};
    courier_client_carry_t next_client = {0};
    CHECK(courier_init_with(9, &next_server, &next_client) == DUO_OK);
    return next_client.sends.session == session;
}

static void the_next_message_finds_that_the_receiver_left(void)
{
    const duo_session *session = client.sends.session;
    leave(server, client);
    step(&client.sends);
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("unread"), in, &client) == DUO_CLOSED);
    /* The endpoint in the message belongs to this side again. */
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(is_given_back(session));
}

static void the_last_message_finds_that_the_receiver_left(void)
{
    const duo_session *session = client.sends.session;
    leave(server, client);
    step(&client.sends);
    CHECK(courier_client_carry_send_done(client) == DUO_CLOSED);
    CHECK(is_given_back(session));
}

static void a_sender_that_leaves_finds_that_the_receiver_left(void)
{
    const duo_session *session = client.sends.session;
    leave(server, client);
    step(&client.sends);
    CHECK(courier_client_carry_close(client) == DUO_OK);
    CHECK(is_given_back(session));
}

/* A side that has sent its last message before an answer: its peer is gone, and the answer will never come. */
static void an_answer_is_not_waited_for_if_the_receiver_left(void)
{
    leave(server, client);
    step(&client.sends);
    duo_side *side = side_of(client.sends);
    CHECK(duo_is_ready(side));
    CHECK(duo_await_message(client.sends.session, side, DUO_FOREVER));
    CHECK(duo_was_left(side));
    duo_notifier notifier = {NULL};
    CHECK(duo_arm(side, &notifier, false) == DUO_NOT_ARMED);
}

static void check_leaving(void (*check)(void))
{
    check();
}

static void alone(void (*run)(void (*)(void)), void (*check)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* A process that sleeps forever is stopped. */
        alarm(60);
        CHECK(numbers_init(&in, &out) == DUO_OK && numbers_init(&other_in, &other_out) == DUO_OK);
        CHECK(courier_init_with(9, &server, &client) == DUO_OK);
        if (duo_has_barrier()) run(check);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(unseen)
{
    alone(check_waiting, a_thread_looks_again);
    alone(check_waiting, a_thread_that_waits_not_for_long_looks_again);
    alone(check_waiting, who_waits_for_one_of_several_looks_again);
    alone(check_waiting, who_waits_for_one_of_several_not_for_long_looks_again);
    alone(check_waiting, who_waits_for_a_set_looks_again);
    alone(check_waiting, who_waits_for_a_set_not_for_long_looks_again);
    alone(check_leaving, the_next_message_finds_that_the_receiver_left);
    alone(check_leaving, the_last_message_finds_that_the_receiver_left);
    alone(check_leaving, a_sender_that_leaves_finds_that_the_receiver_left);
    alone(check_leaving, an_answer_is_not_waited_for_if_the_receiver_left);
}
