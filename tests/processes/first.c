/* A process forks while another thread is in the middle of its first session: the child can create its own. */
#include <stdatomic.h>
#include <time.h>

#include "bump.h"
#include "talk.h"

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

/* The thread may begin; it holds a lock now; the lock of a use that was tested before. */
static _Atomic bool begins, holds;
static pthread_mutex_t *_Atomic known;

/* The thread that the fork is to meet holds a lock for as long as a fork takes. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (atomic_load(&begins) && mutex != atomic_load(&known) && !atomic_exchange(&holds, true)) {
        nanosleep(&(struct timespec){0, 500000000}, NULL);
        atomic_store(&known, mutex);
    }
    return __real_pthread_mutex_unlock(mutex);
}

static void use_within(void)
{
    bump_server_ask_t server;
    bump_client_ask_t client;
    CHECK(bump_init(&server, &client) == DUO_OK);
    CHECK(bump_server_ask_close(server) == DUO_OK && bump_client_ask_close(client) == DUO_OK);
}

/* It attaches a side, and does not wait for the peer. */
static void use_between(void)
{
    static const duo_shm_options at_once = {.at_once = true};
    int region;
    talk_client_ask_t client;
    CHECK(duo_shm_create(0, &region) == DUO_OK);
    CHECK(talk_client_attach(region, &at_once, &client) == DUO_OK);
    CHECK(talk_client_ask_close(client) == DUO_OK && close(region) == 0);
}

static void (*_Atomic use)(void);

static void *use_first(void *context)
{
    (void)context;
    while (!atomic_load(&begins)) continue;
    atomic_load(&use)();
    return NULL;
}

/*
 * The last moment before the fork in which a thread can do anything: what is prepared later has no effect on this
 * fork.
 */
static void let_begin(void)
{
    atomic_store(&begins, true);
    while (!atomic_load(&holds)) continue;
}

static void use_in_child(int region)
{
    (void)region;
    /* A child that waits for a thread that it does not have ends all the same. */
    alarm(300);
    atomic_store(&begins, false);
    atomic_load(&use)();
    /* The child may become a parent, too. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        finish_child(child);
    } else {
        alarm(300);
        atomic_load(&use)();
    }
    _exit(0);
}

TEST(first)
{
    void (*const uses[])(void) = {use_within, use_between};
    CHECK(pthread_atfork(let_begin, NULL, NULL) == 0);
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&use, uses[i]);
        pthread_t thread = start(use_first, NULL);
        finish_child(start_child(use_in_child, -1));
        finish(thread);
        atomic_store(&begins, false);
        atomic_store(&holds, false);
    }
}
