/*
 * Sleeping until a word changes: the futex of Linux, and elsewhere (or with DUO_NO_FUTEX) a small
 * table of locks and conditions that is indexed by address. Without threads, a wait calls `duo_idle`, which the program
 * defines.
 */
#define _GNU_SOURCE
#include "session.h"

#ifdef DUO_NO_THREADS

enum { NANOSECONDS = 1000000000 };

struct timespec duo_deadline(uint64_t wait)
{
    uint64_t now = duo_clock();
    uint64_t end = wait < UINT64_MAX - now ? now + wait : UINT64_MAX;
    return (struct timespec){(time_t)(end / NANOSECONDS), (long)(end % NANOSECONDS)};
}

/* What this waits for is done by code that `duo_idle` runs. */
bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, const struct timespec *deadline)
{
    (void)word;
    (void)half;
    (void)expected;
    duo_idle();
    if (deadline == NULL) return true;
    return duo_clock() < (uint64_t)deadline->tv_sec * NANOSECONDS + (uint64_t)deadline->tv_nsec;
}

void duo_wake(DUO_ATOMIC uint64_t *word, duo_half half)
{
    (void)word;
    (void)half;
}

void duo_yield(void)
{
    duo_idle();
}

#else

#include <errno.h>
#include <sched.h>

#if defined(__linux__) && !defined(DUO_NO_FUTEX)
#define DUO_FUTEX 1
#include <limits.h>

#include "futex.h"
#else
#include <pthread.h>
#endif

#define NANOSECONDS 1000000000

/* Not a clock that can be set: a time limit stays the same even if the time of day is changed. */
struct timespec duo_deadline(uint64_t wait)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    /* No program waits longer than a century, and a sum with this limit cannot overflow. */
    const uint64_t century = UINT64_C(100) * 366 * 24 * 3600;
    uint64_t seconds = wait / NANOSECONDS;
    deadline.tv_sec += (time_t)(seconds < century ? seconds : century);
    deadline.tv_nsec += (long)(wait % NANOSECONDS);
    if (deadline.tv_nsec >= NANOSECONDS) {
        deadline.tv_nsec -= NANOSECONDS;
        deadline.tv_sec += 1;
    }
    return deadline;
}

void duo_yield(void)
{
    sched_yield();
}

#ifdef DUO_FUTEX

static bool sleep_on(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, const struct timespec *deadline)
{
    uint32_t value = (uint32_t)(half == DUO_HIGH_HALF ? expected >> 32 : expected);
    long ended = duo_futex(duo_half_of(word, half), FUTEX_WAIT_BITSET_PRIVATE, value, deadline);
    return ended == 0 || errno != ETIMEDOUT;
}

void duo_wake(DUO_ATOMIC uint64_t *word, duo_half half)
{
    duo_futex(duo_half_of(word, half), FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

#else

enum { BUCKETS = 16 };

typedef struct bucket {
    pthread_mutex_t lock;
    pthread_cond_t woken;
} bucket;

static bucket buckets[BUCKETS];
static pthread_once_t are_initialized = PTHREAD_ONCE_INIT;

static void init_buckets(void)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
#ifndef __APPLE__
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
#endif
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].lock, NULL);
        pthread_cond_init(&buckets[i].woken, &how);
    }
    pthread_condattr_destroy(&how);
}

static bucket *bucket_of(DUO_ATOMIC uint64_t *word)
{
    pthread_once(&are_initialized, init_buckets);
    return &buckets[((uintptr_t)word / DUO_LINE) % BUCKETS];
}

/* Waits to be woken, or until a time of the monotonic clock; `ETIMEDOUT` once that has passed. */
static int wait_until(bucket *here, const struct timespec *deadline)
{
#ifdef __APPLE__
    /* Conditions on this system support only the time of day and relative times. */
    struct timespec left;
    clock_gettime(CLOCK_MONOTONIC, &left);
    left.tv_sec = deadline->tv_sec - left.tv_sec;
    left.tv_nsec = deadline->tv_nsec - left.tv_nsec;
    if (left.tv_nsec < 0) {
        left.tv_nsec += NANOSECONDS;
        left.tv_sec -= 1;
    }
    if (left.tv_sec < 0) return ETIMEDOUT;
    return pthread_cond_timedwait_relative_np(&here->woken, &here->lock, &left);
#else
    return pthread_cond_timedwait(&here->woken, &here->lock, deadline);
#endif
}

/*
 * The word changes before the waker takes the lock, and it is compared under the lock: a sleeper
 * either sees the change or is asleep when the waker arrives.
 */
static bool sleep_on(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, const struct timespec *deadline)
{
    (void)half;
    bucket *here = bucket_of(word);
    int ended = 0;
    pthread_mutex_lock(&here->lock);
    if (duo_atomic_load(word, memory_order_acquire) == expected) {
        ended = deadline == NULL ? pthread_cond_wait(&here->woken, &here->lock)
                                 : wait_until(here, deadline);
    }
    pthread_mutex_unlock(&here->lock);
    return ended != ETIMEDOUT;
}

void duo_wake(DUO_ATOMIC uint64_t *word, duo_half half)
{
    (void)half;
    bucket *here = bucket_of(word);
    pthread_mutex_lock(&here->lock);
    pthread_cond_broadcast(&here->woken);
    pthread_mutex_unlock(&here->lock);
}

#endif

#ifdef DUO_NO_MALLOC

bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, const struct timespec *deadline)
{
    return sleep_on(word, half, expected, deadline);
}

#else

static DUO_EACH_THREAD duo_sleeper *own_sleeper;

duo_sleeper *duo_own_sleeper(void)
{
    return own_sleeper;
}

void duo_set_sleeper(duo_sleeper *sleeper)
{
    own_sleeper = sleeper;
}

bool duo_is_canceled(void)
{
    const duo_sleeper *own = own_sleeper;
    return own != NULL && duo_atomic_load(&own->is_canceled, memory_order_relaxed);
}

bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, const struct timespec *deadline)
{
    duo_sleeper *own = own_sleeper;
    if (own == NULL) return sleep_on(word, half, expected, deadline);
    /* Sequentially consistent: see cancel.c. */
    duo_atomic_store(&own->word, word, memory_order_seq_cst);
    bool is_canceled = duo_atomic_load(&own->is_canceled, memory_order_seq_cst);
    bool in_time = !is_canceled && sleep_on(word, half, expected, deadline);
    duo_atomic_store(&own->word, NULL, memory_order_release);
    return in_time && !duo_is_canceled();
}

#endif

#endif

static bool is_earlier(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec : one->tv_nsec < other->tv_nsec;
}

bool duo_is_past(const struct timespec *deadline)
{
    if (duo_is_canceled()) return true;
    if (deadline == NULL) return false;
    struct timespec now = duo_deadline(0);
    return !is_earlier(&now, deadline);
}

struct timespec duo_soon(const struct timespec *deadline)
{
    struct timespec end = duo_deadline(UINT64_C(1000000));
    return deadline != NULL && is_earlier(deadline, &end) ? *deadline : end;
}
