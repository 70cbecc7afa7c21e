/* Time, in nanoseconds on a clock that cannot be set: a limit stays the same even if the time of day is changed. */
#define _GNU_SOURCE
#include "floor.h"

#ifdef DUO_NO_THREADS

uint64_t duo_now(void)
{
    return duo_clock();
}

#else

uint64_t duo_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * DUO_SECOND + (uint64_t)now.tv_nsec;
}

struct timespec duo_timespec(uint64_t nanoseconds)
{
    uint64_t seconds = nanoseconds / DUO_SECOND;
    if (sizeof(time_t) < 8 && seconds > INT32_MAX) seconds = INT32_MAX;
    return (struct timespec){(time_t)seconds, (long)(nanoseconds % DUO_SECOND)};
}

duo_time_limit duo_time_limit_in(uint64_t nanoseconds)
{
    return duo_time_limit_from(duo_now(), nanoseconds);
}

uint64_t duo_time_left(duo_time_limit limit)
{
    /* No clock is read for a limit that is never reached. */
    return limit.at == DUO_FOREVER ? DUO_FOREVER : duo_time_left_at(limit, duo_now());
}

#endif

uint64_t duo_until(uint64_t wait)
{
    if (wait == DUO_AT_ONCE || wait == DUO_FOREVER) return wait;
    return duo_time_limit_from(duo_now(), wait).at;
}

uint64_t duo_left(uint64_t until)
{
    if (until == DUO_AT_ONCE) return DUO_AT_ONCE;
    return duo_time_left((duo_time_limit){until});
}

bool duo_is_past(uint64_t until)
{
    return until == DUO_AT_ONCE || (until != DUO_FOREVER && duo_now() >= until);
}

uint64_t duo_soon(uint64_t until)
{
    uint64_t soon = duo_now() + DUO_SECOND / 1000;
    return until < soon ? until : soon;
}
