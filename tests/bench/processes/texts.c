/* Channels that transfer more than a number at once: pipes and sockets, many numbers or a text per call. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cases.h"

/* What side 0 writes, and what side 1 reads. */
typedef struct ends {
    int from;
    int to;
} ends;

static void *of_pair(const int both[2])
{
    ends *made = malloc(sizeof *made);
    BENCH_NEEDS(made != NULL);
    made->from = both[0];
    made->to = both[1];
    return made;
}

static void *open_pipe(void)
{
    int both[2];
    BENCH_NEEDS(pipe(both) == 0);
    return of_pair(both);
}

static void *open_unix(void)
{
    int both[2];
    BENCH_NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    return of_pair(both);
}

static void close_ends(void *channel)
{
    ends *both = channel;
    close(both->from);
    close(both->to);
    free(both);
}

static void put(int to, const void *from, size_t size)
{
    for (size_t had = 0; had < size;) {
        ssize_t part = write(to, (const char *)from + had, size - had);
        BENCH_NEEDS(part > 0);
        had += (size_t)part;
    }
}

static void get(int from, void *to, size_t size)
{
    for (size_t had = 0; had < size;) {
        ssize_t part = read(from, (char *)to + had, size - had);
        BENCH_NEEDS(part > 0);
        had += (size_t)part;
    }
}

static uint64_t produce(void *channel, uint64_t count)
{
    uint64_t batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        for (uint64_t at = 0; at < size; at++) batch[at] = i + at;
        put(((ends *)channel)->to, batch, size * sizeof *batch);
    }
    return 0;
}

static uint64_t consume(void *channel, uint64_t count)
{
    uint64_t sum = 0, batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        get(((ends *)channel)->from, batch, size * sizeof *batch);
        for (uint64_t at = 0; at < size; at++) sum += batch[at];
    }
    return sum;
}

/* The length, then the text, in one write. */
static uint64_t write_texts(void *channel, uint64_t count, uint64_t size)
{
    static char text[LONG + 8];
    memset(text, 'x', sizeof text);
    memcpy(text, &size, sizeof size);
    for (uint64_t i = 0; i < count; i++) put(((ends *)channel)->to, text, size + 8);
    return 0;
}

static uint64_t write_short(void *channel, uint64_t count)
{
    return write_texts(channel, count, SHORT);
}

static uint64_t write_long(void *channel, uint64_t count)
{
    return write_texts(channel, count, LONG);
}

static uint64_t read_texts(void *channel, uint64_t count)
{
    int from = ((ends *)channel)->from;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size;
        get(from, &size, sizeof size);
        char *text = malloc(size);
        BENCH_NEEDS(text != NULL);
        get(from, text, size);
        sum += size;
        free(text);
    }
    return sum;
}

#define MANY_AT_ONCE "pipe(2), 4096 bytes per call"
const bench_case pipe_batches = {MANY_AT_ONCE, open_pipe, {produce, consume}, close_ends, true, {0}};
const bench_case pipe_short_texts = {"pipe(2)", open_pipe, {write_short, read_texts}, close_ends, true,
                                     {0}};
const bench_case pipe_long_texts = {"pipe(2)", open_pipe, {write_long, read_texts}, close_ends, true,
                                    {0}};
const bench_case unix_short_texts = {"Unix socket pair", open_unix, {write_short, read_texts},
                                     close_ends, true, {0}};
const bench_case unix_long_texts = {"Unix socket pair", open_unix, {write_long, read_texts},
                                    close_ends, true, {0}};
