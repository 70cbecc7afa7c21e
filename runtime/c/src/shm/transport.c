/* The operations of sessions in shared memory as a table, and waiting for many of them. The invariants are in shm.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lines.h"

/*
 * Waiting for many sessions between processes.
 *
 * A peer in another process cannot call a notifier of this one: it wakes the threads that sleep on the flags of
 * this side. So a thread that waits for several sides sets ASLEEP in the flags of each, runs one
 * barrier for all, checks all once more, and sleeps on all of these words and on one of its own process at
 * once (`futex_waitv`, Linux 5.16). What (b) in shm.h says about one word holds for each. Where the kernel
 * has no such call, and for more words than it accepts, the sleep ends after a millisecond.
 *
 * A watch is the list of such sides in a set. It is changed, and its sides are checked, under one lock of
 * the process: other threads may use or close an endpoint that is in a set, and the first thing they do is
 * take it off the list. Only the sleep is not under the lock. A word that was unmapped in the meantime ends
 * it (EFAULT), and one that was mapped again ends it early, or late by a period at most.
 *
 * A select (`sleep`) needs no lock: its endpoints belong to its caller and are in no set, because the check
 * that it begins with has taken each of them out. No other thread accesses their sides until it returns.
 */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* The length of a sleep that not every event can end. */
#define SHORT_PERIOD UINT64_C(1000000)

enum {
    /* How many words the call accepts, minus the one of this process. */
    MOST = 127,
    /* Flags of the call. */
    OF_32_BITS = 2,
    OF_THIS_PROCESS = 128
};

/* `struct futex_waitv`, which old systems do not have. */
typedef struct waitv {
    uint64_t expected;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
} waitv;

/* Words to sleep on; the first belongs to this process. */
typedef struct wait_list {
    waitv words[1 + MOST];
    unsigned count;
    /* There are more words than fit into it. */
    bool is_truncated;
    /* Some of the sleepers need the barrier. */
    bool is_light;
} wait_list;

struct duo_watch {
    duo_shm *first;
    /* Changes with everything that its thread must notice; the thread sleeps on it. */
    alignas(8) DUO_ATOMIC uint64_t changes;
    bool has_thread;
    bool is_over;
    pthread_t thread;
};

static void begin_wait_list(wait_list *made, DUO_ATOMIC uint64_t *word, uint64_t expected)
{
    made->count = 1;
    made->is_truncated = made->is_light = false;
    uint64_t address = (uint64_t)(uintptr_t)duo_half_of(word, DUO_LOW_HALF);
    made->words[0] = (waitv){(uint32_t)expected, address, OF_32_BITS | OF_THIS_PROCESS, 0};
}

/* Announces that this process sleeps on the flags of a side. */
static void announce_watched_sleep(wait_list *made, duo_shm *shm)
{
    if (made->count == 1 + MOST) {
        made->is_truncated = true;
        return;
    }
    uint32_t before =
        duo_atomic_fetch_or(&shm->own->flags, DUO_SHM_ASLEEP, memory_order_acq_rel);
    uint64_t address = (uint64_t)(uintptr_t)&shm->own->flags;
    made->words[made->count++] = (waitv){before | DUO_SHM_ASLEEP, address, OF_32_BITS, 0};
    /* A side that has not met its peer may do so in the check that follows, and needs the barrier from then on. */
    if (!shm->heavy || !shm->is_met) made->is_light = true;
}

/* Between the announcements and the last check. */
static void run_barrier(const wait_list *made)
{
    if (made->is_light) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/* Sleeps until one of the words has changed, or until `end`; false if the system does not allow it. */
static bool sleep_on_all(const wait_list *made, uint64_t end)
{
#if defined(DUO_NO_FUTEX) || defined(DUO_NO_FUTEX_WAITV)
    (void)made, (void)end;
    return false;
#else
    /* The call expects 64 bits for each, whatever `struct timespec` has. */
    int64_t until[2] = {(int64_t)(end / DUO_SECOND), (int64_t)(end % DUO_SECOND)};
    long ended = syscall(SYS_futex_waitv, made->words, made->count, 0, until, CLOCK_MONOTONIC);
    /* Any other error (a filter, no memory, a word that is gone) would occur again at once. */
    return ended >= 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
#endif
}

/* Sleeps for a period, or until `end` if that is earlier. */
static void sleep_in(const wait_list *made, uint64_t end)
{
    uint64_t now = duo_now();
    uint64_t most = made->is_truncated ? SHORT_PERIOD : DUO_SHM_PERIOD;
    if (end <= now || sleep_on_all(made, end - now < most ? end : now + most)) return;
    const struct timespec rest = duo_timespec(end - now < SHORT_PERIOD ? end - now : SHORT_PERIOD);
    nanosleep(&rest, NULL);
}

static bool side_is_ready(duo_shm *shm, bool asks_writable)
{
    return (asks_writable ? duo_shm_check_credit(shm) : duo_shm_await_message(shm, DUO_AT_ONCE)) != DUO_EMPTY;
}

/* `is_unfinished` stays set for a caller that goes to sleep if there is nothing. */
static bool is_ready(duo_endpoint asked)
{
    duo_endpoint endpoint = duo_asked(asked);
    duo_shm *shm = shm_of(endpoint);
    duo_shm_leave_set(shm, endpoint);
    settle(shm, endpoint.turn);
    return side_is_ready(shm, duo_asks_writable(asked));
}

/* Whether an endpoint belongs to this transport. */
static bool is_here(duo_endpoint endpoint)
{
    return duo_is_remote(endpoint) && duo_remote_of(endpoint)->transport == &duo_shm_transport;
}

static bool sleep_shm(const duo_endpoint *endpoints, size_t count, DUO_ATOMIC uint64_t *word,
                  uint64_t until)
{
    wait_list made;
    bool is_there = false, is_unfinished = false;
    begin_wait_list(&made, word, 0);
    for (size_t i = 0; i < count; i++)
        if (is_here(endpoints[i])) announce_watched_sleep(&made, shm_of(endpoints[i]));
    run_barrier(&made);
    for (size_t i = 0; i < count && !is_there; i++) {
        if (!is_here(endpoints[i])) continue;
        is_there = side_is_ready(shm_of(endpoints[i]), duo_asks_writable(endpoints[i]));
        is_unfinished = is_unfinished || shm_of(endpoints[i])->is_unfinished;
    }
    if (!is_there && !is_unfinished) sleep_in(&made, until);
    for (size_t i = 0; i < count; i++)
        if (is_here(endpoints[i])) duo_shm_retract_sleep(shm_of(endpoints[i]));
    return is_there || !duo_gives_up(until);
}

/* The result of checking the sides of a watch. */
typedef enum watch_news { NO_NEWS, UNFINISHED, NEWS } watch_news;

/* Calls the notifiers of all that are ready, under the lock. */
static watch_news notify_ready(duo_watch *watch)
{
    watch_news seen = NO_NEWS;
    for (duo_shm *shm = watch->first, *next; shm != NULL; shm = next) {
        next = shm->next_watched;
        if (!side_is_ready(shm, shm->asks_writable)) {
            if (shm->is_unfinished && seen == NO_NEWS) seen = UNFINISHED;
            continue;
        }
        duo_side *side = &shm->remote.session.sides[shm->role];
        duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_relaxed);
        notifier->notify(notifier);
        duo_shm_unlink_side(shm);
        seen = NEWS;
    }
    return seen;
}

/* Called under the lock, which is released during the sleep. */
static void sleep_once(duo_watch *watch, DUO_ATOMIC uint64_t *word, uint64_t expected, uint64_t end)
{
    wait_list made;
    begin_wait_list(&made, word, expected);
    for (duo_shm *shm = watch->first; shm != NULL; shm = shm->next_watched) announce_watched_sleep(&made, shm);
    run_barrier(&made);
    watch_news seen = notify_ready(watch);
    if (seen != NEWS) {
        duo_shm_unlock();
        /* Others may be waiting for the lock. */
        if (seen == UNFINISHED) duo_yield();
        else sleep_in(&made, end);
        duo_shm_lock();
    }
    for (duo_shm *shm = watch->first; shm != NULL; shm = shm->next_watched) duo_shm_retract_sleep(shm);
}

static duo_status watch_shm(duo_watch **watch, duo_endpoint asked, duo_notifier *notifier)
{
    duo_endpoint endpoint = duo_asked(asked);
    duo_shm *shm = shm_of(endpoint);
    if (*watch == NULL) {
        *watch = duo_allocate(sizeof **watch);
        if (*watch == NULL) return DUO_NO_MEMORY;
        memset(*watch, 0, sizeof **watch);
    }
    settle(shm, endpoint.turn);
    duo_shm_lock();
    shm->role = endpoint.turn & 1;
    shm->asks_writable = duo_asks_writable(asked);
    DUO_LIST_ADD(&(*watch)->first, shm, next_watched, watched_by);
    duo_atomic_store(&shm->remote.session.sides[shm->role].notifier, notifier, memory_order_release);
    bool has_thread = (*watch)->has_thread;
    duo_atomic_fetch_add(&(*watch)->changes, 1, memory_order_relaxed);
    duo_shm_unlock();
    if (has_thread) duo_wake(&(*watch)->changes, DUO_LOW_HALF);
    return DUO_OK;
}

static void poll_watch(duo_watch *watch)
{
    duo_shm_lock();
    notify_ready(watch);
    duo_shm_unlock();
}

static bool sleep_watch(duo_watch *watch, DUO_ATOMIC uint64_t *word, uint64_t expected,
                         uint64_t until)
{
    duo_shm_lock();
    bool is_alone = watch->has_thread || watch->first == NULL;
    if (!is_alone) sleep_once(watch, word, expected, until);
    duo_shm_unlock();
    /* Then only this process has anything to report. */
    if (is_alone) return duo_wait(word, DUO_LOW_HALF, expected, until);
    return !duo_gives_up(until);
}

static void *watch_thread(void *context)
{
    duo_watch *watch = context;
    duo_shm_lock();
    while (!watch->is_over) {
        uint64_t changes = duo_atomic_load(&watch->changes, memory_order_relaxed);
        sleep_once(watch, &watch->changes, changes, DUO_FOREVER);
    }
    duo_shm_unlock();
    return NULL;
}

static duo_status start_thread(duo_watch *watch)
{
    if (watch->has_thread) return DUO_OK;
    duo_shm_lock();
    int failed = duo_start_thread(&watch->thread, watch_thread, watch);
    watch->has_thread = failed == 0;
    duo_shm_unlock();
    errno = failed;
    return failed == 0 ? DUO_OK : DUO_SYSTEM;
}

static void free_watch(duo_watch *watch)
{
    duo_shm_lock();
    while (watch->first != NULL) duo_shm_unlink_side(watch->first);
    watch->is_over = true;
    duo_atomic_fetch_add(&watch->changes, 1, memory_order_relaxed);
    bool has_thread = watch->has_thread;
    duo_shm_unlock();
    if (has_thread) {
        duo_wake(&watch->changes, DUO_LOW_HALF);
        pthread_join(watch->thread, NULL);
    }
    duo_release(watch);
}

static duo_status shm_close(duo_endpoint endpoint, const duo_state *state)
{
    (void)state;
    duo_shm *shm = shm_of(endpoint);
    if (!claim(shm, endpoint)) return DUO_USED;
    duo_shm_leave_set(shm, endpoint);
    duo_shm_leave(shm, DUO_SHM_LEFT);
    return DUO_OK;
}

const duo_transport duo_shm_transport = {
    .send = duo_shm_send_message,
    .recv = duo_shm_recv_message,
    .close = shm_close,
    .lane_go_on = duo_shm_lane_go_on,
    .lane_line_ends = duo_shm_lane_line_ends,
    .answer_peer = duo_shm_answer,
    .is_ready = is_ready,
    .sleep = sleep_shm,
    .watch = watch_shm,
    .unwatch = duo_shm_unwatch,
    .poll_watch = poll_watch,
    .sleep_watch = sleep_watch,
    .start_thread = start_thread,
    .free_watch = free_watch,
    .wakes_on_words = true,
};
