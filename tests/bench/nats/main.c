/*
 * What sessions over a NATS server cost compared with what the client library takes to move the same bytes, in one program.
 *
 *   bench [--quick] [rounds [family]]
 *
 * Prints Markdown. BENCH_NATS names the server. Both sides are threads of this process, which has one connection for each way to use the
 * server: the one of the sessions, and the one of the client library alone. All threads are on one processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"

/* The number of rounds if the command line has none; 0 is like --quick. */
#ifndef BENCH_ROUNDS
#define BENCH_ROUNDS 101
#endif

static const bench_bar ping_pong_bars[] = {
    {"duologue", "publish and subscribe of nats.c", 1.15},
    {"duologue", "request of nats.c", 1},
};
static const bench_bar stream_bars[] = {
    {"duologue", "publish of nats.c, 64 KiB each", 1},
    {"duologue", "publish of nats.c, each number", 1},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(int count, char **words)
{
    unsigned rounds = BENCH_ROUNDS;
    if (count > 1) rounds = strcmp(words[1], "--quick") == 0 ? 0 : (unsigned)strtoul(words[1], NULL, 10);
    const char *wanted = count > 2 ? words[2] : "";
    const char *server = getenv("BENCH_NATS");
    BENCH_NEEDS(server != NULL);
    /* Before there are threads, which inherit it. */
    bench_pin(0);
    library_begin(server);
    sessions_begin(server);
    const bench_case ping_pong[] = {library_ping_pong, nats_ping_pong, library_request};
    const bench_case stream[] = {library_batches, nats_stream, library_numbers};
    const bench_family families[] = {
        {"ping-pong over NATS, u64", "round trip", sum_of_ping_pong, ping_pong, COUNT(ping_pong), ping_pong_bars,
         COUNT(ping_pong_bars)},
        {"stream over NATS, u64", "number", sum_of_stream, stream, COUNT(stream), stream_bars, COUNT(stream_bars)},
    };
    for (size_t i = 0; i < COUNT(families); i++)
        if (strncmp(families[i].name, wanted, strlen(wanted)) == 0) bench_measure(&families[i], rounds);
    sessions_end();
    library_end();
    if (rounds == 0) printf("every case works\n");
    return 0;
}
