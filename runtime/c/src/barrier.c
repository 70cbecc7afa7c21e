/*
 * A barrier that costs only the side which sleeps.
 *
 * A sender writes a word and then reads the receiver's flags; a receiver that is about to sleep
 * writes its flags and then reads the word. At least one must see what the other wrote. For that
 * the write of each must come before its read, which processors do not promise: both would need a
 * full barrier, and the sender would pay for it with every message though hardly any receiver
 * sleeps. Linux runs the sender's barrier on behalf of the receiver: `membarrier` makes every
 * running thread of the process pass a full barrier between the call and its return, and a thread
 * that does not run passed one when it stopped. So the sender's barrier falls either behind its
 * write, and the receiver's read sees the message; or before, and the sender's later read sees
 * the flags. This is the asymmetric fence of the C++ proposal P1202. The sender's half keeps only
 * the compiler from moving the read.
 *
 * Where the call is missing, or the program does without it, every message is swapped and nobody comes
 * here. The thread sanitizer does not know the call and would not see what it orders, so it sees
 * swaps.
 *
 * A process may begin sessions and then forbid itself the call, by a filter for system calls. From the first
 * refusal on the barrier is lost, for good, and new sessions swap. Those that run go on with senders that have no
 * barrier, so neither side need see what the other wrote, until the store is visible to all. That it becomes so, in
 * some finite time, is all that is relied on:
 *
 * - A receiver that sleeps looks again after a pause, and again, until there is a message: see `duo_wait_a_while`.
 * - A receiver that leaves may miss a message. It first waits for a moment (`duo_grace`) in which the store can be
 *   expected to become visible, and the sender finds later that the receiver is gone: see leave.c.
 *
 * Whoever finds the call refused says so and then passes a full fence, before it looks for the last time. So a thread
 * that has passed a full fence of its own, and then does not find the barrier lost, passed it before: then the other
 * side sees what this thread wrote before its fence.
 */
#define _GNU_SOURCE
#include "session.h"

#ifdef DUO_NO_THREADS

/* One processor sees its own writes in their order: only the compiler has to be held. */
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

/* UNWANTED: new sessions do without it. LOST: it was refused after sessions had begun with it. */
enum { UNKNOWN, THERE, MISSING, UNWANTED, LOST };

/*
 * Two threads may ask at once: the first answer counts. Every state but LOST may be read late: it decides only how
 * the messages of a session are published that begins now.
 */
static DUO_ATOMIC(int) state;

static bool call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static bool replace(int known, int next)
{
    return duo_atomic_compare_exchange_strong(&state, &known, next, memory_order_relaxed,
                                              memory_order_relaxed);
}

bool duo_barrier_is_unwanted(void)
{
    if (duo_atomic_load(&state, memory_order_relaxed) == UNWANTED) return true;
    const char *value = getenv("DUOLOGUE_NO_MEMBARRIER");
    return value != NULL && value[0] != 0 && strcmp(value, "0") != 0;
}

static bool ask(void)
{
    bool is_there = !duo_barrier_is_unwanted() && call(REGISTER_PRIVATE_EXPEDITED) && call(PRIVATE_EXPEDITED);
    replace(UNKNOWN, is_there ? THERE : MISSING);
    return duo_atomic_load(&state, memory_order_relaxed) == THERE;
}

bool duo_has_barrier(void)
{
    int known = duo_atomic_load(&state, memory_order_relaxed);
    return known == UNKNOWN ? ask() : known == THERE;
}

bool duo_barrier_is_lost(void)
{
    return duo_atomic_load(&state, memory_order_relaxed) == LOST;
}

bool duo_barrier(void)
{
    /* Some filters end up in a log: nobody asks again. Nor is a refusal for lack of memory tried once more. */
    if (!duo_barrier_is_lost()) {
        if (call(PRIVATE_EXPEDITED) || (call(REGISTER_PRIVATE_EXPEDITED) && call(PRIVATE_EXPEDITED))) return true;
        duo_atomic_store(&state, LOST, memory_order_relaxed);
    }
    duo_full_fence();
    return false;
}

void duo_without_membarrier(void)
{
    if (!replace(UNKNOWN, UNWANTED)) replace(THERE, UNWANTED);
}

/*
 * In nanoseconds. What a sender has stored leaves the store buffer of its processor within a few microseconds, also
 * if the thread is stopped meanwhile; but no manual says so.
 */
#define GRACE 50000

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A sleep as short as this would take several times as long, and thousands of sessions may end in a row. */
void duo_grace(void)
{
    for (int64_t start = now(); now() - start < GRACE;) continue;
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
