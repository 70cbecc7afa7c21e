/*
 * Ending the waits of some threads from another one. Each of these threads has a record with the word on which it sleeps.
 *
 * Why no thread stays asleep: a thread publishes the word, then checks whether it is canceled, then sleeps. Canceling sets
 * the flag, then reads the word. All four accesses are sequentially consistent, so either the thread sees the flag, or
 * the canceler sees the word. In the second case the thread may not be asleep yet, and would miss a single wake. So it is
 * woken again and again until it has withdrawn the word.
 *
 * Only threads that sleep, or are about to, access a record; messages that have already arrived are received without it.
 */
#define _GNU_SOURCE
#include "session.h"

#if !defined(DUO_NO_MALLOC) && !defined(DUO_NO_THREADS)

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
};

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
    return made;
}

void duo_canceler_free(duo_canceler *canceler)
{
    if (canceler == NULL) return;
    close(canceler->ends[0]);
    close(canceler->ends[1]);
    pthread_mutex_destroy(&canceler->lock);
    duo_release(canceler);
}

static void leave_canceler(canceler_member *own)
{
    duo_set_sleeper(NULL);
    pthread_mutex_lock(&own->canceler->lock);
    *own->place = own->next;
    if (own->next != NULL) own->next->place = own->place;
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
    own->next = canceler->first;
    own->place = &canceler->first;
    if (own->next != NULL) own->next->place = &own->next;
    canceler->first = own;
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

void duo_canceler_reset(duo_canceler *canceler)
{
    char byte;
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
