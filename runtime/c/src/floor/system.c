/* What the runtime needs from the system: memory, time, threads, sleep, and the number of the processor. */
#define _GNU_SOURCE
#include "floor.h"

/* Memory allocation. pool.c has the memory of sessions. */
#ifndef DUO_NO_MALLOC

#include <stdlib.h>
#if defined(DUO_DEBUG) && defined(__GLIBC__)
#include <malloc.h>
#endif

static duo_memory functions = {malloc, aligned_alloc, free};

void duo_use_memory(duo_memory replacement)
{
    functions = replacement;
}

void *duo_allocate(size_t size)
{
    return functions.allocate(size);
}

void *duo_allocate_aligned(size_t alignment, size_t size)
{
    return functions.allocate_aligned(alignment, size);
}

void duo_release(void *block)
{
#if defined(DUO_DEBUG) && defined(__GLIBC__)
    if (functions.release == free && block != NULL) memset(block, DUO_POISON, malloc_usable_size(block));
#endif
    functions.release(block);
}

/* The space before a block, which keeps it aligned for any type. */
enum { BEFORE_BLOCK = (sizeof(const duo_allocator *) + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t) };

void *duo_allocate_block(const duo_allocator *allocator, size_t size)
{
    if (DUO_LIKELY(allocator == NULL)) return duo_allocate(size);
    if (size > SIZE_MAX - BEFORE_BLOCK) return NULL;
    char *whole = allocator->allocate(allocator->context, size + BEFORE_BLOCK);
    if (whole == NULL) return NULL;
    memcpy(whole, &allocator, sizeof allocator);
    return whole + BEFORE_BLOCK + 1;
}

void duo_release_block(void *block)
{
    if (DUO_LIKELY(((uintptr_t)block & 1) == 0)) {
        duo_release(block);
        return;
    }
    char *whole = (char *)duo_in_block(block) - BEFORE_BLOCK;
    const duo_allocator *allocator;
    memcpy(&allocator, whole, sizeof allocator);
    allocator->release(allocator->context, whole);
}

#endif

/* Time, in nanoseconds on a clock that cannot be set: a limit stays the same even if the time of day is changed. */
#ifdef DUO_NO_THREADS

uint64_t duo_now(void)
{
    return duo_clock();
}

#else

uint64_t duo_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * DUO_SECOND + (uint64_t)now.tv_nsec;
}

struct timespec duo_timespec(uint64_t nanoseconds)
{
    uint64_t seconds = nanoseconds / DUO_SECOND;
    if (sizeof(time_t) < 8 && seconds > INT32_MAX) seconds = INT32_MAX;
    return (struct timespec){(time_t)seconds, (long)(nanoseconds % DUO_SECOND)};
}

duo_time_limit duo_time_limit_in(uint64_t nanoseconds)
{
    return duo_time_limit_from(duo_now(), nanoseconds);
}

uint64_t duo_time_left(duo_time_limit limit)
{
    /* No clock is read for a limit that is never reached. */
    return limit.at == DUO_FOREVER ? DUO_FOREVER : duo_time_left_at(limit, duo_now());
}

#endif

uint64_t duo_until(uint64_t wait)
{
    if (wait == DUO_AT_ONCE || wait == DUO_FOREVER) return wait;
    return duo_time_limit_from(duo_now(), wait).at;
}

uint64_t duo_left(uint64_t until)
{
    if (until == DUO_AT_ONCE) return DUO_AT_ONCE;
    return duo_time_left((duo_time_limit){until});
}

bool duo_is_past(uint64_t until)
{
    return until == DUO_AT_ONCE || (until != DUO_FOREVER && duo_now() >= until);
}

uint64_t duo_soon(uint64_t until)
{
    uint64_t soon = duo_now() + DUO_SECOND / 1000;
    return until < soon ? until : soon;
}

#ifndef DUO_NO_THREADS

#include <signal.h>

int duo_start_thread(pthread_t *thread, void *(*body)(void *), void *context)
{
    pthread_t made;
    /* Signals are for the program's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&made, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0 && thread == NULL) pthread_detach(made);
    if (failed == 0 && thread != NULL) *thread = made;
    return failed;
}

void duo_make_condition(pthread_cond_t *made)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
#ifndef __APPLE__
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(made, &how);
    pthread_condattr_destroy(&how);
}

#endif

/*
 * Sleeping until a word changes: the futex of Linux, and elsewhere (or with DUO_NO_FUTEX) a small
 * table of locks and conditions that is indexed by address. Without threads, a wait calls `duo_idle`, which the program
 * defines.
 */
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

/*
 * The processor on which a thread runs, for the cost of a load.
 *
 * A receiver whose peer last ran on the same processor gains nothing by spinning, since the peer
 * does not run in the meantime. So a sender puts its processor into each message that reverses the
 * direction. The number is a hint: a thread may be moved at any time. Since version 2.35 the C
 * library registers an area with the kernel for each thread, in which the kernel keeps the number
 * as the second field, and provides the offset of the area from the thread pointer (`fs`).
 */

DUO_ATOMIC ptrdiff_t duo_processor_at;

#if defined(__linux__) && defined(__GLIBC__) && defined(__x86_64__) && !defined(__ILP32__) &&     \
    !defined(DUO_NO_THREADS)

/* Weak, because older C libraries do not have them. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

void duo_find_processor(void)
{
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0) return;
    duo_atomic_store(&duo_processor_at, __rseq_offset + 4, memory_order_relaxed);
}

#else

void duo_find_processor(void)
{
}

#endif
