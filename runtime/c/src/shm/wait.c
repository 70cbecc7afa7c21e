/* Waiting for a peer in another process, and detecting that it is gone. */
#define _GNU_SOURCE
#include "../floor/backoff.h"
#include "shm.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>

#include "../floor/futex.h"

void duo_shm_futex_wait(DUO_ATOMIC uint32_t *word, uint32_t expected, uint64_t wait)
{
    const struct timespec limit = duo_timespec(wait);
    duo_futex((uint32_t *)(void *)word, FUTEX_WAIT, expected, &limit);
}

bool duo_shm_register_barrier(void)
{
#ifdef DUO_NO_MEMBARRIER
    return false;
#else
    if (duo_barrier_is_unwanted()) return false;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
#endif
}

void duo_shm_wake(duo_shm *shm)
{
    uint32_t before = duo_atomic_fetch_and(&shm->peer->flags, ~DUO_SHM_ASLEEP,
                                           memory_order_acq_rel);
    if (before & DUO_SHM_ASLEEP)
        duo_futex((uint32_t *)(void *)&shm->peer->flags, FUTEX_WAKE, INT_MAX, NULL);
}

void duo_shm_leave(duo_shm *shm, uint32_t how)
{
    duo_atomic_fetch_or(&shm->own->flags, how, memory_order_release);
    /*
     * This is a read-modify-write of the word in which the peer announces that it sleeps, so one of the two
     * comes first.
     */
    duo_shm_wake(shm);
    duo_shm_detach(shm);
}

/* Whether the peer runs on the processor of this thread, so that it cannot answer while this thread spins. */
static bool shares_processor(duo_shm *shm)
{
    uint32_t here = (uint32_t)sched_getcpu() + 1;
    if (duo_atomic_load(&shm->own->processor, memory_order_relaxed) != here)
        duo_atomic_store(&shm->own->processor, here, memory_order_relaxed);
    return duo_atomic_load(&shm->peer->processor, memory_order_relaxed) == here;
}

bool duo_shm_may_spin(duo_shm *shm)
{
    return !shm->has_spun && !shares_processor(shm);
}

/* Spins, if that was not done before, and yields for a while; false if what it waits for has not arrived. */
static bool polls_region(duo_shm *shm, duo_shm_check *check)
{
    duo_backoff backoff = duo_backoff_begin(duo_shm_may_spin(shm));
    shm->has_spun = false;
    while (duo_backoff_pass(&backoff, 1)) {
        if (check(shm)) return true;
    }
    return false;
}

static bool has_left(const duo_shm *shm)
{
    uint32_t flags = duo_atomic_load(&shm->peer->flags, memory_order_acquire);
    return (flags & (DUO_SHM_LEFT | DUO_SHM_DONE)) != 0;
}

/* Whether the peer is gone; queries the kernel now and then. */
static bool is_gone(duo_shm *shm, uint64_t now)
{
    if (has_left(shm) || shm->is_dead) return true;
    if (now - shm->peer_checked_at < DUO_SHM_PERIOD) return false;
    shm->peer_checked_at = now;
    shm->is_dead = duo_shm_is_dead(shm);
    return shm->is_dead;
}

bool duo_shm_has_died(duo_shm *shm)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t coarse = (uint64_t)now.tv_sec * DUO_SECOND + (uint64_t)now.tv_nsec;
    /* The other clock may be a few milliseconds ahead of this one. */
    if (coarse < shm->peer_checked_at + DUO_SHM_PERIOD) return shm->is_dead;
    shm->peer_checked_at = coarse;
    shm->is_dead = duo_shm_is_dead(shm);
    return shm->is_dead;
}

duo_status duo_shm_why_gone(const duo_shm *shm)
{
    /* A peer that disconnects sets its flag before it releases the lock of its side. */
    return has_left(shm) ? DUO_CLOSED : DUO_LOST;
}

/*
 * Announces that this side sleeps, in the order that (b) in shm.h requires; returns its flags after that.
 * They contain nothing else, unless the peer writes there what it should not.
 */
static uint32_t announce_sleep(duo_shm *shm)
{
    uint32_t before = duo_atomic_fetch_or(&shm->own->flags, DUO_SHM_ASLEEP, memory_order_acq_rel);
    if (!shm->heavy) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return before | DUO_SHM_ASLEEP;
}

duo_status duo_shm_await(duo_shm *shm, duo_shm_check *check, uint64_t wait)
{
    if (check(shm)) return DUO_OK;
    if (wait != DUO_AT_ONCE && polls_region(shm, check)) return DUO_OK;
    uint64_t now = duo_now();
    uint64_t end = duo_time_limit_from(now, wait).at;
    for (;;) {
        if (is_gone(shm, now)) return check(shm) ? DUO_OK : duo_shm_why_gone(shm);
        if (now >= end || duo_is_canceled()) return DUO_EMPTY;
        uint32_t said = announce_sleep(shm);
        bool is_there = check(shm) || has_left(shm);
        if (!is_there) {
            uint64_t limit = end - now < DUO_SHM_PERIOD ? end - now : DUO_SHM_PERIOD;
            duo_shm_futex_wait(&shm->own->flags, said, limit);
        }
        duo_atomic_fetch_and(&shm->own->flags, ~DUO_SHM_ASLEEP, memory_order_relaxed);
        if (check(shm)) return DUO_OK;
        now = duo_now();
    }
}
