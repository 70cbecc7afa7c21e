/* What it costs to wake the other process and to sleep, and nothing else: with a futex, and with a signal. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"

/* For each side, a word that it waits for, in a line of its own, and its process. */
typedef struct bells {
    struct {
        _Alignas(128) _Atomic uint32_t word;
        pid_t process;
    } sides[2];
    /* Rings for the other side with `value`, and waits for its next value. */
    void (*turn)(struct bells *both, unsigned side, uint32_t value, bool rings, bool waits);
} bells;

static void close_bells(void *channel)
{
    bench_unshared(channel, sizeof(bells));
}

static void by_futex(bells *both, unsigned side, uint32_t value, bool rings, bool waits)
{
    _Atomic uint32_t *own = &both->sides[side].word, *other = &both->sides[1 - side].word;
    /* The other side answers what rings; only the first value may already be there. */
    uint32_t had = rings ? atomic_load(own) : 0;
    if (rings) {
        atomic_store(other, value);
        syscall(SYS_futex, other, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    while (waits && atomic_load(own) == had) syscall(SYS_futex, own, FUTEX_WAIT, had, NULL, NULL, 0);
}

static void by_signal(bells *both, unsigned side, uint32_t value, bool rings, bool waits)
{
    if (rings) {
        atomic_store(&both->sides[1 - side].word, value);
        BENCH_NEEDS(kill(both->sides[1 - side].process, SIGUSR1) == 0);
    }
    sigset_t awaited;
    int got;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR1);
    if (waits) BENCH_NEEDS(sigwait(&awaited, &got) == 0);
}

/* Values are one larger than numbers, because words begin with 0. */
static uint64_t ping(void *channel, uint64_t count)
{
    bells *both = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        both->turn(both, 0, (uint32_t)i + 1, true, true);
        sum += atomic_load(&both->sides[0].word) - 1;
    }
    return sum;
}

static uint64_t pong(void *channel, uint64_t count)
{
    bells *both = channel;
    uint64_t sum = 0;
    uint32_t value = 0;
    for (uint64_t i = 0; i < count; i++) {
        both->turn(both, 1, value + 1, i > 0, true);
        value = atomic_load(&both->sides[1].word);
        sum += value - 1;
    }
    both->turn(both, 1, value + 1, true, false);
    return sum;
}

static void *open_futexes(void)
{
    bells *both = bench_shared(sizeof *both);
    both->turn = by_futex;
    return both;
}

static void *open_signals(void)
{
    bells *both = bench_shared(sizeof *both);
    both->turn = by_signal;
    return both;
}

/* The signal stays pending until the side waits for it. */
static void *join(bells *both, unsigned side)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    BENCH_NEEDS(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
    both->sides[side].process = getpid();
    return both;
}

static void *join_ping(void *channel)
{
    return join(channel, 0);
}

static void *join_pong(void *channel)
{
    return join(channel, 1);
}

const bench_case futex_ping_pong = {"futex", open_futexes, {ping, pong}, close_bells, true, {0}};
const bench_case signal_ping_pong = {"signal", open_signals, {ping, pong}, close_bells, true,
                                     {join_ping, join_pong}};
