/*
 * The futex of Linux. 32-bit systems have two calls, for times of 32 and of 64 bits, and the program is
 * compiled with one of these as its `struct timespec`.
 */
#ifndef DUOLOGUE_FUTEX_H
#define DUOLOGUE_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if !defined(SYS_futex)
#define DUO_SYS_FUTEX SYS_futex_time64
#elif defined(SYS_futex_time64)
#define DUO_SYS_FUTEX (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define DUO_SYS_FUTEX SYS_futex
#endif

/* The meaning of `time` depends on `how`; NULL means indefinitely. */
static inline long duo_futex(uint32_t *word, int how, uint32_t value, const struct timespec *time)
{
    return syscall(DUO_SYS_FUTEX, word, how, value, time, NULL, FUTEX_BITSET_MATCH_ANY);
}

#endif
