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
 * Where the call is missing, or with DUO_NO_MEMBARRIER, every message is swapped and nobody comes
 * here. The thread sanitizer does not know the call and would not see what it orders, so it sees
 * swaps.
 */
#define _GNU_SOURCE
#include "session.h"

#ifdef DUO_NO_THREADS

/* One processor sees its own writes in their order: only the compiler has to be held. */
bool duo_has_barrier(void)
{
    return true;
}

void duo_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

#else

#if defined(__SANITIZE_THREAD__)
#define DUO_NO_MEMBARRIER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUO_NO_MEMBARRIER 1
#endif
#endif

#if defined(__linux__) && !defined(DUO_NO_MEMBARRIER)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef SYS_membarrier

#include <stdlib.h>

/* From linux/membarrier.h, which old systems do not have. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

enum { UNKNOWN, THERE, MISSING };

/* Two threads may ask at once: both get the same answer from the kernel. */
static _Atomic int state;

static bool ask(void)
{
    bool is_there = syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
                    syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0;
    atomic_store_explicit(&state, is_there ? THERE : MISSING, memory_order_relaxed);
    return is_there;
}

bool duo_has_barrier(void)
{
    int known = atomic_load_explicit(&state, memory_order_relaxed);
    return known == UNKNOWN ? ask() : known == THERE;
}

void duo_barrier(void)
{
    if (syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0) return;
    /* A filter that came after the first session may forbid the call; then to sleep could be for ever. */
    if (!ask()) abort();
}

#else

bool duo_has_barrier(void)
{
    return false;
}

void duo_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

#endif

#endif
