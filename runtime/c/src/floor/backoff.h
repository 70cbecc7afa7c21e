/*
 * How a thread waits before it sleeps: one policy, with fixed limits, for every wait, in this process and
 * between processes.
 *
 * Sleeping and being woken takes a few microseconds where the processor stays awake and tens of microseconds
 * where it halts, while a running peer answers in a tenth of a microsecond. So a thread spins DUO_SPINS times,
 * which is about as long as an answer of a running peer takes. Then it yields YIELDS times: a peer that waits
 * for a processor gets this one, for a fraction of what sleeping and being woken costs. After that it sleeps,
 * so a long wait takes no time from other threads. If the peer last ran on this thread's own processor, it
 * cannot run while this thread spins, so this thread only yields.
 *
 * The short paths of a receive spin by themselves (`duo_spin`, and between processes shm/recv.c). They note that in
 * the side or in the session, and then the wait that follows begins with yielding.
 *
 * Without threads nothing changes during a spin or a yield, so there is neither: `duo_wait` lets the other side
 * run.
 */
#ifndef DUOLOGUE_BACKOFF_H
#define DUOLOGUE_BACKOFF_H

#include "floor.h"

/* The remaining checks that a thread makes before it sleeps. */
typedef struct duo_backoff {
    size_t spins;
    unsigned yields;
} duo_backoff;

/* `spins`: whether the peer may be running, on another processor. */
duo_backoff duo_backoff_begin(bool spins);

/* For a thread that does not spin any more: yields, or returns false if it is time to sleep. */
bool duo_backoff_yields(duo_backoff *backoff);

/* Lets the processor know that this thread spins. */
static inline void duo_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/*
 * Waits a little before the next check, after one that looked at `checks` endpoints. False if it is time to
 * sleep: then this does not wait.
 */
static inline bool duo_backoff_pass(duo_backoff *backoff, size_t checks)
{
    if (backoff->spins == 0) return duo_backoff_yields(backoff);
    backoff->spins -= checks < backoff->spins ? checks : backoff->spins;
    duo_relax();
    return true;
}

/*
 * Waits a little while another thread completes what it is about to do, a few instructions away: spins at
 * first, then yields, because that thread may have been interrupted on this processor. `passes` begins at 0.
 */
static inline void duo_pass(unsigned *passes)
{
    if (*passes == DUO_SPINS) {
        duo_yield();
        return;
    }
    *passes += 1;
    duo_relax();
}

#endif
