/*
 * The processor on which a thread runs, for the cost of a load.
 *
 * A receiver whose peer last ran on the same processor gains nothing by spinning, since the peer
 * does not run in the meantime. So a sender puts its processor into each message that reverses the
 * direction. The number is a hint: a thread may be moved at any time. Since version 2.35 the C
 * library registers an area with the kernel for each thread, in which the kernel keeps the number
 * as the second field, and provides the offset of the area from the thread pointer (`fs`).
 */
#include "floor.h"

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
