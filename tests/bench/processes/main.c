/*
 * What sessions between processes and over a Unix socket cost compared with what the machine and the system can do, in one program.
 *
 *   bench [--quick] [rounds [family]]
 *
 * Prints Markdown. With --quick every case transfers three values once, only to see that it works. A family
 * is selected by the beginning of its name.
 */
#include "cases.h"

static uint64_t sum_of_short(unsigned side, uint64_t count)
{
    return side == 0 ? 0 : count * SHORT;
}

static uint64_t sum_of_long(unsigned side, uint64_t count)
{
    return side == 0 ? 0 : count * LONG;
}

static const bench_bar ping_pong_bars[] = {
    {"duologue", "raw line (busy spin)", 1.10},
};
static const bench_bar stream_bars[] = {
    {"duologue", "pipe(2)", 1.0 / 150},
    {"duologue", "pipe(2), 4096 bytes per call", 1},
};
static const bench_bar text_bars[] = {
    {"duologue", "pipe(2)", 1},
};

static const bench_bar socket_bars[] = {
    {"duologue", "write and read", 1.10},
};
static const bench_bar socket_stream_bars[] = {
    {"duologue", "buffers of 64 KiB by hand", 2},
};

/* The same with the second side in another process. */
static bench_case apart(bench_case measured)
{
    measured.in_processes = true;
    return measured;
}

int main(int count, char **words)
{
    const bench_case ping_pong[] = {
        apart(raw_ping_pong),  shm_ping_pong,         apart(ring_ping_pong),
        apart(pipe_ping_pong), apart(unix_ping_pong),
    };
    const bench_case stream[] = {
        apart(ring_stream), shm_stream,         apart(raw_stream), pipe_batches,
        apart(pipe_stream), apart(unix_stream),
    };
    const bench_case short_texts[] = {pipe_short_texts, shm_short_texts, unix_short_texts};
    const bench_case long_texts[] = {pipe_long_texts, shm_long_texts, unix_long_texts};
    const bench_case socket_ping_pong[] = {by_hand_ping_pong, net_ping_pong};
    const bench_case socket_stream[] = {by_hand_stream, net_stream};
    const bench_case waking[] = {futex_ping_pong, signal_ping_pong, apart(pipe_ping_pong), shm_ping_pong};
    const bench_case filling[] = {apart(pipe_stream), shm_stream};
#define WAKING(name, affinity) {"waking, " name, "round trip", sum_of_ping_pong, waking, BENCH_COUNT(waking), NULL, 0, affinity}
#define FILLING(name, affinity) {"filling, " name, "number", sum_of_stream, filling, BENCH_COUNT(filling), NULL, 0, affinity}
    const bench_family families[] = {
        {"ping-pong, u64", "round trip", sum_of_ping_pong, ping_pong, BENCH_COUNT(ping_pong), ping_pong_bars,
         BENCH_COUNT(ping_pong_bars), BENCH_APART},
        {"stream, u64", "number", sum_of_stream, stream, BENCH_COUNT(stream), stream_bars,
         BENCH_COUNT(stream_bars), BENCH_APART},
        {"texts of 64 bytes", "text", sum_of_short, short_texts, BENCH_COUNT(short_texts), text_bars,
         BENCH_COUNT(text_bars), BENCH_APART},
        {"texts of 64 KiB", "text", sum_of_long, long_texts, BENCH_COUNT(long_texts), text_bars,
         BENCH_COUNT(text_bars), BENCH_APART},
        {"Unix socket, ping-pong", "round trip", sum_of_ping_pong, socket_ping_pong, BENCH_COUNT(socket_ping_pong),
         socket_bars, BENCH_COUNT(socket_bars), BENCH_APART},
        {"Unix socket, stream", "number", sum_of_stream, socket_stream, BENCH_COUNT(socket_stream), socket_stream_bars,
         BENCH_COUNT(socket_stream_bars), BENCH_APART},
        WAKING("a processor each", BENCH_APART),
        WAKING("no affinity", BENCH_ANYWHERE),
        WAKING("one processor", BENCH_TOGETHER),
        FILLING("a processor each", BENCH_APART),
        FILLING("no affinity", BENCH_ANYWHERE),
        FILLING("one processor", BENCH_TOGETHER),
    };
    return bench_run(families, BENCH_COUNT(families), count, words);
}
