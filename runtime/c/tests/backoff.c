/*
 * A thread that waits yields as long as that is cheap, and after a slow yield it sleeps at once for some time. The test
 * supplies the clock and the yields, and compiles the file that decides once more with them.
 */
#define duo_now told_now
#define duo_yield told_yield
#define duo_backoff_begin told_begin
#define duo_backoff_yields told_yields
#include "../src/floor/backoff.c"

#include "check.h"

static uint64_t time_now = 1;
static uint64_t yield_takes;
static unsigned yields;
static unsigned looks_at_the_clock;

uint64_t told_now(void)
{
    looks_at_the_clock += 1;
    return time_now;
}

void told_yield(void)
{
    yields += 1;
    time_now += yield_takes;
}

static void cheap_yields_are_timed_now_and_then(void)
{
    yield_takes = SLOW;
    for (unsigned call = 0; call < 10 * SAMPLE; call++) CHECK(yield_unless_slow());
    CHECK(yields == 10 * SAMPLE);
    CHECK(looks_at_the_clock == 2 * 10);
}

static void after_a_slow_one_there_is_none_for_a_while(void)
{
    yield_takes = SLOW + 1;
    unsigned before = yields;
    uint64_t then = time_now;
    while (yield_unless_slow()) CHECK(yields <= before + SAMPLE);
    CHECK(time_now - then <= SAMPLE * yield_takes);
    uint64_t next = atomic_load(&again);
    CHECK(next > time_now && next - time_now <= PAUSE * yield_takes);

    before = yields;
    time_now = next - 1;
    CHECK(!yield_unless_slow() && yields == before);
    time_now = next;
    CHECK(yield_unless_slow() && yields == before + 1);
    CHECK(!yield_unless_slow());
}

static void cheap_ones_are_trusted_again_after_a_second(void)
{
    yield_takes = 1;
    time_now = atomic_load(&again);
    unsigned looks = looks_at_the_clock;
    CHECK(yield_unless_slow() && yield_unless_slow());
    CHECK(looks_at_the_clock == looks + 4);
    time_now += DUO_SECOND + 1;
    CHECK(yield_unless_slow());
    CHECK(atomic_load(&again) == 0);
    looks = looks_at_the_clock;
    CHECK(yield_unless_slow());
    CHECK(looks_at_the_clock == looks);
}

static void a_thread_checks_a_limited_number_of_times_before_it_sleeps(void)
{
    yield_takes = 1;
    duo_backoff backoff = told_begin(true);
    unsigned checks = 0, before = yields;
    while (duo_backoff_pass(&backoff, 1)) checks += 1;
    CHECK(checks == DUO_SPINS + YIELDS && yields == before + YIELDS);
    CHECK(!duo_backoff_pass(&backoff, 1));

    /* A check of many endpoints counts as many. */
    backoff = told_begin(true);
    for (checks = 0; duo_backoff_pass(&backoff, DUO_SPINS - 1);) checks += 1;
    CHECK(checks == 2 + YIELDS);

    before = yields;
    backoff = told_begin(false);
    CHECK(duo_backoff_pass(&backoff, 1) && yields == before + 1);
}

TEST(backoff)
{
    cheap_yields_are_timed_now_and_then();
    after_a_slow_one_there_is_none_for_a_while();
    cheap_ones_are_trusted_again_after_a_second();
    a_thread_checks_a_limited_number_of_times_before_it_sleeps();
}
