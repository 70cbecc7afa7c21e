/*
 * Sleeping until a word changes: the futex of Linux, and elsewhere (or with DUO_NO_FUTEX) a small
 * table of locks and conditions that is indexed by address. Without threads, a wait calls `duo_idle`, which the program
 * defines.
 */
#define _GNU_SOURCE
#include "floor.h"

#ifdef DUO_NO_THREADS

/* What this waits for is done by code that `duo_idle` runs. */
bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    (void)word;
    (void)half;
    (void)expected;
    duo_idle();
    return until == DUO_FOREVER || duo_clock() < until;
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
#endif

void duo_yield(void)
{
    sched_yield();
}

#ifdef DUO_FUTEX

static bool sleep_on(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    uint32_t value = (uint32_t)(half == DUO_HIGH_HALF ? expected >> 32 : expected);
    const struct timespec end = duo_timespec(until);
    long ended = duo_futex(duo_half_of(word, half), FUTEX_WAIT_BITSET_PRIVATE, value, until == DUO_FOREVER ? NULL : &end);
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
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].lock, NULL);
        duo_make_condition(&buckets[i].woken);
    }
}

static bucket *bucket_of(DUO_ATOMIC uint64_t *word)
{
    pthread_once(&are_initialized, init_buckets);
    return &buckets[((uintptr_t)word / DUO_LINE) % BUCKETS];
}

/* Waits to be woken, or until that time; `ETIMEDOUT` once it has passed. */
static int wait_until(bucket *here, uint64_t until)
{
#ifdef __APPLE__
    /* Conditions on this system support only the time of day and relative times. */
    const struct timespec left = duo_timespec(duo_left(until));
    return pthread_cond_timedwait_relative_np(&here->woken, &here->lock, &left);
#else
    const struct timespec end = duo_timespec(until);
    return pthread_cond_timedwait(&here->woken, &here->lock, &end);
#endif
}

/*
 * The word changes before the waker takes the lock, and it is compared under the lock: a sleeper
 * either sees the change or is asleep when the waker arrives.
 */
static bool sleep_on(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    (void)half;
    bucket *here = bucket_of(word);
    int ended = 0;
    pthread_mutex_lock(&here->lock);
    if (duo_atomic_load(word, memory_order_acquire) == expected) {
        ended = until == DUO_FOREVER ? pthread_cond_wait(&here->woken, &here->lock) : wait_until(here, until);
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

bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    return sleep_on(word, half, expected, until);
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

bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until)
{
    duo_sleeper *own = own_sleeper;
    if (own == NULL) return sleep_on(word, half, expected, until);
    /* Sequentially consistent: see cancel.c. */
    duo_atomic_store(&own->word, word, memory_order_seq_cst);
    bool is_canceled = duo_atomic_load(&own->is_canceled, memory_order_seq_cst);
    bool in_time = !is_canceled && sleep_on(word, half, expected, until);
    duo_atomic_store(&own->word, NULL, memory_order_release);
    return in_time && !duo_is_canceled();
}

#endif

#endif

bool duo_gives_up(uint64_t until)
{
    return duo_is_canceled() || duo_is_past(until);
}
