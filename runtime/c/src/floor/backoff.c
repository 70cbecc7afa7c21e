/*
 * Yielding to other threads before going to sleep, as long as that is not more expensive than
 * sleeping.
 *
 * If the peer is about to run on this processor, yielding lets it run for a fraction of the cost of
 * sleeping and being woken. But the kernel may run any thread instead: where other programs compute,
 * the processor comes back after milliseconds, while a thread that sleeps runs soon after it was
 * woken. So some yields are timed. After a slow one no thread of the process yields for 32 times as
 * long, so that no more than a thirtieth of the time is lost by trying.
 */
#define _GNU_SOURCE
#include "backoff.h"

#ifdef DUO_NO_THREADS

duo_backoff duo_backoff_begin(bool spins)
{
    (void)spins;
    return (duo_backoff){0, 0};
}

bool duo_backoff_yields(duo_backoff *backoff)
{
    (void)backoff;
    return false;
}

#else

/* How often a thread yields before it sleeps. */
enum { YIELDS = 32 };

/*
 * A yield that takes longer than this, in nanoseconds, is slow. This is less than the kernel lets a
 * thread run that only computes, and more than a hundred threads take that each handle one message
 * and yield.
 */
#define SLOW UINT64_C(1000000)
/* After a slow yield there is none for this many times as long as it took. */
#define PAUSE UINT64_C(32)

/*
 * After that each yield is timed for one second. If none of them is slow, only one in SAMPLE is
 * timed again, because reading the clock costs a tenth of a yield.
 */
enum { SAMPLE = 32 };

/*
 * When to try yields again; 0 if there is no reason to doubt them. A stale value does no harm, so
 * nothing is ordered.
 */
static DUO_ATOMIC uint64_t again;

/* How many yields of this thread have not been timed since the last one that was. */
static DUO_EACH_THREAD unsigned untimed = SAMPLE;

static bool yield_unless_slow(void)
{
    uint64_t doubted_until = duo_atomic_load(&again, memory_order_relaxed);
    if (doubted_until == 0 && untimed < SAMPLE) {
        untimed += 1;
        duo_yield();
        return true;
    }
    untimed = 1;
    uint64_t start = duo_now();
    if (start < doubted_until) return false;
    if (doubted_until != 0 && start - doubted_until > DUO_SECOND)
        duo_atomic_store(&again, 0, memory_order_relaxed);
    duo_yield();
    uint64_t end = duo_now();
    if (end - start > SLOW)
        duo_atomic_store(&again, end + (end - start) * PAUSE, memory_order_relaxed);
    return true;
}

duo_backoff duo_backoff_begin(bool spins)
{
    return (duo_backoff){spins ? DUO_SPINS : 0, YIELDS};
}

bool duo_backoff_yields(duo_backoff *backoff)
{
    bool yields = backoff->yields > 0 && yield_unless_slow();
    backoff->yields = yields ? backoff->yields - 1 : 0;
    return yields;
}

#endif
