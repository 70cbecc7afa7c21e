/* Time limits that are a point in time, for several calls together. */
#define _GNU_SOURCE
#include "session.h"

#ifndef DUO_NO_THREADS

/* On the clock of `duo_deadline`, which cannot be set. */
static uint64_t limit_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

duo_time_limit duo_time_limit_in(uint64_t nanoseconds)
{
    return duo_time_limit_from(limit_clock(), nanoseconds);
}

uint64_t duo_time_left(duo_time_limit limit)
{
    /* No clock is read for a limit that is never reached. */
    return limit.at == DUO_FOREVER ? DUO_FOREVER : duo_time_left_at(limit, limit_clock());
}

#endif
