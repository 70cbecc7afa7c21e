/* What the system has: pipes and sockets, a call for each number. The kernel puts a waiting side to sleep. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

static bench_ends *new_ends(void)
{
    bench_ends *made = calloc(1, sizeof *made);
    BENCH_NEEDS(made != NULL);
    return made;
}

void *bench_open_pipes(void)
{
    bench_ends *made = new_ends();
    for (int to = 0; to < 2; to++) {
        int both[2];
        BENCH_NEEDS(pipe(both) == 0);
        made->reads[to] = both[0];
        made->writes[1 - to] = both[1];
    }
    return made;
}

void *bench_open_unix(void)
{
    bench_ends *made = new_ends();
    BENCH_NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, made->reads) == 0);
    for (int side = 0; side < 2; side++) made->writes[side] = made->reads[side];
    return made;
}

void bench_close_ends(void *channel)
{
    bench_ends *both = channel;
    for (int side = 0; side < 2; side++) {
        close(both->reads[side]);
        if (both->writes[side] != both->reads[side]) close(both->writes[side]);
    }
    free(both);
}

void bench_write(int to, const void *from, size_t size)
{
    for (size_t had = 0; had < size;) {
        ssize_t part = write(to, (const char *)from + had, size - had);
        BENCH_NEEDS(part > 0);
        had += (size_t)part;
    }
}

void bench_read(int from, void *to, size_t size)
{
    for (size_t had = 0; had < size;) {
        ssize_t part = read(from, (char *)to + had, size - had);
        BENCH_NEEDS(part > 0);
        had += (size_t)part;
    }
}

static void put(int to, uint64_t value)
{
    bench_write(to, &value, sizeof value);
}

static uint64_t get(int from)
{
    uint64_t value;
    bench_read(from, &value, sizeof value);
    return value;
}

static uint64_t ping(void *channel, uint64_t count)
{
    bench_ends *both = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        put(both->writes[0], i);
        sum += get(both->reads[0]);
    }
    return sum;
}

static uint64_t pong(void *channel, uint64_t count)
{
    bench_ends *both = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = get(both->reads[1]);
        sum += value;
        put(both->writes[1], value + 1);
    }
    return sum;
}

static uint64_t produce(void *channel, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) put(((bench_ends *)channel)->writes[0], i);
    return 0;
}

static uint64_t consume(void *channel, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += get(((bench_ends *)channel)->reads[1]);
    return sum;
}

const bench_case pipe_ping_pong = {"two of pipe(2)", bench_open_pipes, {ping, pong}, bench_close_ends, false, {0}};
const bench_case pipe_stream = {"pipe(2)", bench_open_pipes, {produce, consume}, bench_close_ends, false, {0}};
const bench_case unix_ping_pong = {"Unix socket pair", bench_open_unix, {ping, pong}, bench_close_ends, false, {0}};
const bench_case unix_stream = {"Unix socket pair", bench_open_unix, {produce, consume}, bench_close_ends, false, {0}};
