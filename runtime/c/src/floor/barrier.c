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
 * Whether the call is there is decided once, when the process begins its first session. A process may refuse it to
 * itself later, with a filter for system calls. Then a receiver of an earlier session could miss a message, or sleep
 * although there is one, so the process aborts with a message that names the remedy.
 */
#define _GNU_SOURCE
#include "floor.h"

#ifdef DUO_NO_THREADS

/* One processor sees its own writes in order: only the compiler has to be restrained. */
bool duo_has_barrier(void)
{
    return true;
}

void duo_barrier(void)
{
    duo_signal_fence(memory_order_seq_cst);
}

bool duo_barrier_is_unwanted(void)
{
    return false;
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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From linux/membarrier.h, which old systems do not have. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

/* UNWANTED: new sessions do not use it, and nor do sessions in shared memory. */
enum { UNKNOWN, THERE, MISSING, UNWANTED };

/*
 * Two threads may query the call at once: the first result counts. It may be read late: it only determines how the
 * messages of a session that begins now are published.
 */
static DUO_ATOMIC int barrier_state;

static bool call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static bool run(void)
{
    return call(PRIVATE_EXPEDITED);
}

bool duo_barrier_is_unwanted(void)
{
    if (duo_atomic_load(&barrier_state, memory_order_relaxed) == UNWANTED) return true;
    const char *value = getenv("DUOLOGUE_NO_MEMBARRIER");
    return value != NULL && value[0] != 0 && strcmp(value, "0") != 0;
}

static bool ask(void)
{
    bool is_there = !duo_barrier_is_unwanted() && call(REGISTER_PRIVATE_EXPEDITED) && run();
    int unknown = UNKNOWN;
    duo_atomic_compare_exchange_strong(&barrier_state, &unknown, is_there ? THERE : MISSING, memory_order_relaxed,
                                       memory_order_relaxed);
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

/*
 * Registers again, because a process that continues from a checkpoint may have to. A lack of memory may pass, so then the
 * call is repeated for at least a second.
 */
static void run_or_abort(void)
{
    uint64_t end = duo_now() + DUO_SECOND;
    while (!call(REGISTER_PRIVATE_EXPEDITED) || !run()) {
        int error = errno;
        if (error != ENOMEM || duo_now() > end) {
            fprintf(stderr,
                    "duologue: the system call `membarrier` failed after sessions that rely on it began: %s\n"
                    "help: if a system call filter forbids it, install the filter before the first session begins, set "
                    "DUOLOGUE_NO_MEMBARRIER=1, or call `duo_without_membarrier()` before the first session begins\n",
                    strerror(error));
            abort();
        }
        duo_yield();
    }
}

void duo_barrier(void)
{
    if (!run()) run_or_abort();
}

void duo_without_membarrier(void)
{
    duo_atomic_store(&barrier_state, UNWANTED, memory_order_relaxed);
}

#else

bool duo_has_barrier(void)
{
    return false;
}

/* Only the thread sanitizer gets here, for which lanes use read-modify-writes: see net/operations.c. */
void duo_barrier(void)
{
}

bool duo_is_known_to_have_barrier(void)
{
    return false;
}

bool duo_barrier_is_unwanted(void)
{
    return true;
}

void duo_without_membarrier(void)
{
}

#endif

#endif
