/*
 * A barrier that costs only the side that sleeps.
 *
 * A sender writes a word and then reads the receiver's flags; a receiver that is about to sleep writes its flags and
 * then reads the word. At least one must see what the other wrote. For that the write of each must come before its
 * read, which processors do not guarantee: both would need a full barrier, and the sender would pay for it with every
 * message although hardly any receiver sleeps. Linux runs the sender's barrier on behalf of the receiver:
 * `membarrier` makes every running thread of the process pass a full barrier between the call and its return, and a
 * thread that is not running passed one when it stopped. So either the sender's barrier comes after its write, and
 * the receiver's read sees the message; or it comes before, and the sender's later read sees the flags. This is the
 * asymmetric fence of the C++ proposal P1202. The sender's half only keeps the compiler from moving the read.
 *
 * Where the call is missing, or the program opts out of it, every message is swapped and this barrier is not used.
 * The thread sanitizer does not understand the call and would not see what it orders, so under it messages are
 * swapped.
 *
 * A process may begin sessions and then block the call with a filter for system calls. From the first refusal on, the
 * barrier is permanently lost, and new sessions swap. Running sessions continue with senders that have no barrier, so
 * until a store is visible to all, neither side need see what the other wrote. That it becomes visible in some finite
 * time is all that these sessions rely on:
 *
 * - A receiver that sleeps checks again after a pause, repeatedly, until there is a message: see `duo_wait_a_while`.
 * - A receiver that disconnects may miss a message. It first waits for a short time (`duo_grace`) in which the store
 *   can be expected to become visible, and the sender finds later that the receiver is gone: see leave.c.
 *
 * A thread that finds the call refused records that and then passes a full fence, before it checks for the last time.
 * So if the thread on the other side has passed a full fence of its own, and then does not find the barrier lost, its
 * fence came first: then the thread that was refused sees what the other wrote before its fence.
 */
#define _GNU_SOURCE
#include "session.h"

#ifdef DUO_NO_THREADS

/* One processor sees its own writes in order: only the compiler has to be restrained. */
bool duo_has_barrier(void)
{
    return true;
}

bool duo_barrier(void)
{
    duo_signal_fence(memory_order_seq_cst);
    return true;
}

bool duo_barrier_is_lost(void)
{
    return false;
}

bool duo_barrier_is_unwanted(void)
{
    return false;
}

void duo_grace(void)
{
}

void duo_without_membarrier(void)
{
}

#else

#ifdef DUO_THREAD_SANITIZER
#define DUO_NO_MEMBARRIER 1
#endif

#if defined(__linux__) && !defined(DUO_NO_MEMBARRIER)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef SYS_membarrier

#include <stdlib.h>
#include <string.h>

/* From linux/membarrier.h, which old systems do not have. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

/* UNWANTED: new sessions do not use it. LOST: it was refused after sessions had begun with it. */
enum { UNKNOWN, THERE, MISSING, UNWANTED, LOST };

/*
 * Two threads may query the call at once: the first result counts. Every state except LOST may be read late: it
 * only determines how the messages of a session that begins now are published.
 */
static DUO_ATOMIC int barrier_state;

static bool call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static bool replace(int known, int next)
{
    return duo_atomic_compare_exchange_strong(&barrier_state, &known, next, memory_order_relaxed,
                                              memory_order_relaxed);
}

bool duo_barrier_is_unwanted(void)
{
    if (duo_atomic_load(&barrier_state, memory_order_relaxed) == UNWANTED) return true;
    const char *value = getenv("DUOLOGUE_NO_MEMBARRIER");
    return value != NULL && value[0] != 0 && strcmp(value, "0") != 0;
}

static bool ask(void)
{
    bool is_there = !duo_barrier_is_unwanted() && call(REGISTER_PRIVATE_EXPEDITED) && call(PRIVATE_EXPEDITED);
    replace(UNKNOWN, is_there ? THERE : MISSING);
    return duo_atomic_load(&barrier_state, memory_order_relaxed) == THERE;
}

bool duo_has_barrier(void)
{
    int known = duo_atomic_load(&barrier_state, memory_order_relaxed);
    return known == UNKNOWN ? ask() : known == THERE;
}

bool duo_is_known_to_have_barrier(void)
{
    return duo_atomic_load(&barrier_state, memory_order_relaxed) == THERE;
}

bool duo_barrier_is_lost(void)
{
    return duo_atomic_load(&barrier_state, memory_order_relaxed) == LOST;
}

bool duo_barrier(void)
{
    /*
     * Some filters log every refusal, so the call is not made again. A refusal for lack of memory is not
     * retried either.
     */
    if (!duo_barrier_is_lost()) {
        if (call(PRIVATE_EXPEDITED) || (call(REGISTER_PRIVATE_EXPEDITED) && call(PRIVATE_EXPEDITED))) return true;
        duo_atomic_store(&barrier_state, LOST, memory_order_relaxed);
    }
    duo_full_fence();
    return false;
}

void duo_without_membarrier(void)
{
    if (!replace(UNKNOWN, UNWANTED)) replace(THERE, UNWANTED);
}

/*
 * In nanoseconds. A store leaves the store buffer of its processor within a few microseconds, even if the thread is
 * stopped in the meantime, but no manual guarantees this.
 */
#define GRACE 50000

static int64_t time_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A sleep this short would take several times as long, and thousands of sessions may end in a row. */
void duo_grace(void)
{
    for (int64_t start = time_now(); time_now() - start < GRACE;) continue;
    duo_full_fence();
}

#else

bool duo_has_barrier(void)
{
    return false;
}

bool duo_barrier(void)
{
    duo_full_fence();
    return true;
}

bool duo_is_known_to_have_barrier(void)
{
    return false;
}

bool duo_barrier_is_lost(void)
{
    return false;
}

bool duo_barrier_is_unwanted(void)
{
    return true;
}

void duo_grace(void)
{
}

void duo_without_membarrier(void)
{
}

#endif

#endif
