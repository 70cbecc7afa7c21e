/*
 * What the C pipes cost compared with what the machine and the system can do, in one program.
 *
 *   bench [--quick | --serve] [rounds [family]]
 *
 * Prints Markdown. With --quick every case transfers three values once, only to see that it works. A family
 * is selected by the beginning of its name.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* What each session pays its customer; the other thread is idle. */
static uint64_t sum_of_sessions(unsigned side, uint64_t count)
{
    return side == 0 ? sum_below(count) : 0;
}

static const bench_bar session_bars[] = {
    {"duologue", "six calls, malloc and free", 5.00},
};
static const bench_bar fan_in_bars[] = {
    {"duologue, duo_ports", "pipe(2), shared", 0.10},
    {"duologue, duo_ports", "four of ck_ring, polled", 1.00},
};
static const bench_bar ping_pong_bars[] = {
    {"duologue", "raw line (busy spin)", 1.10},
};
static const bench_bar stream_bars[] = {
    {"duologue", "raw lines (busy spin)", 1.25},
};

/*
 * Reads lines with the word msgsend, a number of senders, how many numbers each sends, and a case, and answers
 * each with the sum of what arrived and the nanoseconds that it took, for `cargo bench --bench origins`.
 */
static int serve(void)
{
    const bench_case cases[] = {ours_fan_in, shared_fan_in};
    const bench_family family = {.sum_of = sum_of_fan_in};
    unsigned long count;
    char name[64];
    while (scanf(" msgsend %u %lu %63[^\n]", &bench_senders, &count, name) == 3) {
        for (size_t i = 0; i < BENCH_COUNT(cases); i++) {
            if (strcmp(cases[i].name, name) != 0) continue;
            uint64_t all = bench_senders * count;
            double each = bench_slice(&family, &cases[i], all);
            printf("%llu %.0f\n", (unsigned long long)sum_of_fan_in(1, all), each * (double)all);
            fflush(stdout);
        }
    }
    return 0;
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--serve") == 0) return serve();
    const bench_case ping_pong[] = {
        raw_ping_pong, ours_ping_pong, ring_ping_pong,
#ifdef BENCH_HAS_CK
        ck_ping_pong,
#endif
        pipe_ping_pong, unix_ping_pong,
    };
    const bench_case stream[] = {
        raw_stream, ours_stream, ring_stream,
#ifdef BENCH_HAS_CK
        ck_stream,
#endif
        pipe_stream, unix_stream,
    };
    const bench_case sessions[] = {calls_session, ours_session, pipe_session};
    const bench_case fan_in[] = {
        pipe_fan_in, ours_fan_in, shared_fan_in,
#ifdef BENCH_HAS_CK
        ck_fan_in,
#endif
    };
    const bench_family families[] = {
        {"ping-pong, u64", "round trip", sum_of_ping_pong, ping_pong, BENCH_COUNT(ping_pong), ping_pong_bars,
         BENCH_COUNT(ping_pong_bars), BENCH_APART},
        {"stream, u64", "number", sum_of_stream, stream, BENCH_COUNT(stream), stream_bars,
         BENCH_COUNT(stream_bars), BENCH_APART},
        {"bank session, one thread", "session", sum_of_sessions, sessions, BENCH_COUNT(sessions), session_bars,
         BENCH_COUNT(session_bars), BENCH_APART},
        {"fan-in of 4, u64", "number", sum_of_fan_in, fan_in, BENCH_COUNT(fan_in), fan_in_bars, BENCH_COUNT(fan_in_bars),
         BENCH_APART},
    };
#ifndef BENCH_HAS_CK
    printf("ck_ring is left out: <ck_ring.h> is not installed (Debian: libck-dev).\n\n");
#endif
    return bench_run(families, BENCH_COUNT(families), count, words);
}
