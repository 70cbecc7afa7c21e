/*
 * The processor on which a thread runs, at the price of a load.
 *
 * A receiver whose peer last ran on the same processor cannot win by looking again and again: the
 * peer does not run meanwhile. So a sender stamps its processor on each message that turns the
 * direction. The number is a hint: a thread may be moved at any time. From 2.35 on the C library
 * registers an area with the kernel for each thread, in which the kernel keeps the number as the
 * second field, and says at which offset from the thread's pointer (`fs`) the area lies.
 */
#include "session.h"

DUO_ATOMIC(ptrdiff_t) duo_processor_at;

#if defined(__linux__) && defined(__GLIBC__) && defined(__x86_64__) && !defined(__ILP32__) &&     \
    !defined(DUO_NO_THREADS)

/* Weak: an older C library does not have them. */
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
