/* A process forks while its other threads create, use and end sessions: the child can create its own. */
#include <stdatomic.h>

#include "bump.h"
#include "talk.h"
#include "waits.h"

enum { CHILDREN = 40 };

static _Atomic bool is_over;

/* Takes sessions from the pool and gives them back, as often as it can. */
static void *begin_and_end(void *context)
{
    (void)context;
    while (!atomic_load(&is_over)) {
        bump_server_ask_t server;
        bump_client_ask_t client;
        CHECK(bump_init(&server, &client) == DUO_OK);
        CHECK(bump_server_ask_close(server) == DUO_OK && bump_client_ask_close(client) == DUO_OK);
    }
    return NULL;
}

/* The same with what sessions between processes share: it attaches to something that is not a region. */
static void *attach_in_vain(void *context)
{
    int nothing = *(int *)context;
    while (!atomic_load(&is_over)) {
        talk_client_ask_t client;
        CHECK(talk_client_attach(nothing, NULL, &client) != DUO_OK);
    }
    return NULL;
}

/* What a child does that never waits for anything held by its parent's threads. */
static void live(int region)
{
    /* A child that cannot go on ends all the same. */
    alarm(300);
    bump_server_ask_t server;
    bump_client_ask_t client;
    CHECK(bump_init(&server, &client) == DUO_OK);
    CHECK(bump_client_ask_send_end(client) == DUO_OK);
    bump_ask_t asked;
    CHECK(bump_server_ask_recv(server, &asked) == DUO_OK);
    talk_client_answer_t waiting;
    CHECK(talk_client_ask_send_number(attach_client(region), 3, &waiting) == DUO_OK);
    wait_by(BY_SET, DUO_READY(waiting));
    talk_answer_t answer;
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.as.number.value == 3);
    CHECK(talk_client_ask_send_end(answer.as.number.next) == DUO_OK);
    /* The parent's threads do not exist here and cannot be waited for. */
    _exit(0);
}

TEST(fork)
{
    int nothing[2];
    CHECK(pipe(nothing) == 0);
    pthread_t threads[] = {start(begin_and_end, NULL), start(attach_in_vain, &nothing[0])};
    for (int i = 0; i < CHILDREN; i++) {
        int region = region_of(4096);
        pid_t child = start_child(live, region);
        serve(region);
        finish_child(child);
        close(region);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 2; i++) finish(threads[i]);
}
