/*
 * The processor on which a thread runs, at the price of a load.
 *
 * A receiver whose peer last ran on the same processor cannot win by looking again and again: the peer
 * does not run meanwhile. So a sender stamps its processor on each message that turns the direction.
 * The number is a hint: a thread may be moved at any time. From 2.35 on the C library registers an area
 * with the kernel for each thread, in which the kernel keeps the number, and says where it lies.
 */
#ifndef DUOLOGUE_PROCESSOR_H
#define DUOLOGUE_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "position.h"

#if defined(__linux__) && defined(__GLIBC__) && defined(__x86_64__) && !defined(__ILP32__)

/* Weak: an older C library does not have them. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The processor of this thread as words have it; 0 if that cannot be known. */
static inline uint64_t processor_stamp(void)
{
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0) return 0;
    uint32_t number;
    /* `fs` holds the thread pointer; the second field of the area is the number. */
    __asm__ __volatile__("movl %%fs:4(%1), %0" : "=r"(number) : "r"(__rseq_offset));
    return number < 255 ? (uint64_t)(number + 1) << PROCESSOR_SHIFT : 0;
}

#else

static inline uint64_t processor_stamp(void)
{
    return 0;
}

#endif

#endif
