/*
 * Ending the waits of some threads from another one. Each of these threads has a record with the word on which it sleeps.
 *
 * Why no thread stays asleep: a thread publishes the word, then checks whether it is canceled, then sleeps. Canceling sets
 * the flag, then reads the word. All four accesses are sequentially consistent, so either the thread sees the flag, or
 * the canceler sees the word. In the second case the thread may not be asleep yet, and would miss a single wake. So it is
 * woken again and again until it has withdrawn the word.
 *
 * Only threads that sleep, or are about to, access a record; messages that have already arrived are received without it.
 *
 * One thread cancels at the times of `duo_cancel_at`. It runs only while there are any, and holds `timed` while it cancels,
 * so a canceler that is removed from the list under that lock may be freed.
 */
#define _GNU_SOURCE
#include "floor.h"

#if !defined(DUO_NO_MALLOC) && !defined(DUO_NO_THREADS)

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "duologue/ready.h"

/* A thread that can be canceled. */
typedef struct canceler_member {
    duo_sleeper sleeper;
    duo_canceler *canceler;
    struct canceler_member *next;
    struct canceler_member **place;
} canceler_member;

struct duo_canceler {
    /* Protects everything below, and the links in the members. */
    pthread_mutex_t lock;
    bool is_canceled;
    canceler_member *first;
    /* A pipe from which a byte can be read while it is canceled, for threads that wait for descriptors. */
    int ends[2];
    /* When it cancels, and the others that do so at some time: `timed` protects them. `place` is NULL if it never does. */
    uint64_t at;
    duo_canceler *next;
    duo_canceler **place;
};

static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER;
static duo_canceler *first_timed;
static bool has_timer;
/* Changes whenever the list does. */
static DUO_ATOMIC uint64_t timed_changes;

static DUO_EACH_THREAD canceler_member own_membership;

/* Neither end is inherited by programs that this process starts. */
static bool open_pipe(int ends[2])
{
#ifdef __linux__
    return pipe2(ends, O_CLOEXEC) == 0;
#else
    if (pipe(ends) != 0) return false;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return true;
#endif
}

duo_canceler *duo_canceler_new(void)
{
    duo_canceler *made = duo_allocate(sizeof *made);
    if (made == NULL) return NULL;
    if (!open_pipe(made->ends)) {
        int reason = errno;
        duo_release(made);
        errno = reason;
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->is_canceled = false;
    made->first = NULL;
    made->at = DUO_FOREVER;
    made->place = NULL;
    return made;
}

/* The caller holds `timed`. */
static void remove_timed(duo_canceler *canceler)
{
    if (canceler->place == NULL) return;
    DUO_LIST_REMOVE(canceler, next, place);
    canceler->at = DUO_FOREVER;
}

/* The caller holds `timed`. */
static void tell_timer(void)
{
    uint64_t changes = duo_atomic_load(&timed_changes, memory_order_relaxed);
    duo_atomic_store(&timed_changes, changes + 1, memory_order_release);
    duo_wake(&timed_changes, DUO_LOW_HALF);
}

static void cancel_never(duo_canceler *canceler)
{
    pthread_mutex_lock(&timed);
    if (canceler->place != NULL) {
        remove_timed(canceler);
        tell_timer();
    }
    pthread_mutex_unlock(&timed);
}

void duo_canceler_free(duo_canceler *canceler)
{
    if (canceler == NULL) return;
    cancel_never(canceler);
    close(canceler->ends[0]);
    close(canceler->ends[1]);
    pthread_mutex_destroy(&canceler->lock);
    duo_release(canceler);
}

static void leave_canceler(canceler_member *own)
{
    duo_set_sleeper(NULL);
    pthread_mutex_lock(&own->canceler->lock);
    DUO_LIST_REMOVE(own, next, place);
    pthread_mutex_unlock(&own->canceler->lock);
}

void duo_canceler_use(duo_canceler *canceler)
{
    canceler_member *own = &own_membership;
    if (own->canceler != NULL) leave_canceler(own);
    own->canceler = canceler;
    if (canceler == NULL) return;
    duo_atomic_init(&own->sleeper.word, NULL);
    own->sleeper.descriptor = canceler->ends[0];
    pthread_mutex_lock(&canceler->lock);
    duo_atomic_init(&own->sleeper.is_canceled, canceler->is_canceled);
    DUO_LIST_ADD(&canceler->first, own, next, place);
    pthread_mutex_unlock(&canceler->lock);
    duo_set_sleeper(&own->sleeper);
}

/* Wakes a thread until it no longer sleeps. */
static void end_sleep(duo_sleeper *sleeper)
{
    const struct timespec moment = {0, 20000};
    DUO_ATOMIC uint64_t *word;
    while ((word = duo_atomic_load(&sleeper->word, memory_order_seq_cst)) != NULL) {
        duo_wake(word, DUO_LOW_HALF);
        duo_wake(word, DUO_HIGH_HALF);
        nanosleep(&moment, NULL);
    }
}

void duo_cancel(duo_canceler *canceler)
{
    char byte = 0;
    pthread_mutex_lock(&canceler->lock);
    if (!canceler->is_canceled) {
        canceler->is_canceled = true;
        while (write(canceler->ends[1], &byte, 1) < 0 && errno == EINTR) continue;
        for (canceler_member *one = canceler->first; one != NULL; one = one->next)
            duo_atomic_store(&one->sleeper.is_canceled, true, memory_order_seq_cst);
        for (canceler_member *one = canceler->first; one != NULL; one = one->next) end_sleep(&one->sleeper);
    }
    pthread_mutex_unlock(&canceler->lock);
}

/* The one that cancels first; NULL if none does. */
static duo_canceler *earliest(void)
{
    duo_canceler *found = first_timed;
    for (duo_canceler *one = first_timed; one != NULL; one = one->next)
        if (one->at < found->at) found = one;
    return found;
}

static void *run_timer(void *context)
{
    duo_canceler *next;
    (void)context;
    pthread_mutex_lock(&timed);
    while ((next = earliest()) != NULL) {
        if (duo_is_past(next->at)) {
            remove_timed(next);
            duo_cancel(next);
            continue;
        }
        uint64_t changes = duo_atomic_load(&timed_changes, memory_order_relaxed), at = next->at;
        pthread_mutex_unlock(&timed);
        duo_wait(&timed_changes, DUO_LOW_HALF, changes, at);
        pthread_mutex_lock(&timed);
    }
    has_timer = false;
    pthread_mutex_unlock(&timed);
    return NULL;
}

static void hold_timed(void)
{
    pthread_mutex_lock(&timed);
}

static void release_timed(void)
{
    pthread_mutex_unlock(&timed);
}

/* A forked process has only the thread that forked: canceling for others would wait for threads that it does not have. */
static void forget_timer(void)
{
    while (first_timed != NULL) remove_timed(first_timed);
    has_timer = false;
    pthread_mutex_unlock(&timed);
}

static void watch_forks(void)
{
    (void)pthread_atfork(hold_timed, release_timed, forget_timer);
}

duo_status duo_cancel_at(duo_canceler *canceler, duo_time_limit limit)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int failed = 0;
    pthread_once(&once, watch_forks);
    if (limit.at == DUO_FOREVER) {
        cancel_never(canceler);
        return DUO_OK;
    }
    pthread_mutex_lock(&timed);
    if (!has_timer) failed = duo_start_thread(NULL, run_timer, NULL);
    if (failed == 0) has_timer = true;
    if (failed == 0) {
        remove_timed(canceler);
        canceler->at = limit.at;
        DUO_LIST_ADD(&first_timed, canceler, next, place);
        tell_timer();
    }
    pthread_mutex_unlock(&timed);
    if (failed == 0) return DUO_OK;
    errno = failed;
    return DUO_SYSTEM;
}

void duo_canceler_reset(duo_canceler *canceler)
{
    char byte;
    cancel_never(canceler);
    pthread_mutex_lock(&canceler->lock);
    if (canceler->is_canceled) {
        canceler->is_canceled = false;
        while (read(canceler->ends[0], &byte, 1) < 0 && errno == EINTR) continue;
        for (canceler_member *one = canceler->first; one != NULL; one = one->next)
            duo_atomic_store(&one->sleeper.is_canceled, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&canceler->lock);
}

#endif
