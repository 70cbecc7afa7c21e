/* Channels that transfer more than a number at once: pipes and sockets, many numbers or a text per call. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static uint64_t produce(void *channel, uint64_t count)
{
    uint64_t batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        for (uint64_t at = 0; at < size; at++) batch[at] = i + at;
        bench_write(((bench_ends *)channel)->writes[0], batch, size * sizeof *batch);
    }
    return 0;
}

static uint64_t consume(void *channel, uint64_t count)
{
    uint64_t sum = 0, batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        bench_read(((bench_ends *)channel)->reads[1], batch, size * sizeof *batch);
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
    for (uint64_t i = 0; i < count; i++) bench_write(((bench_ends *)channel)->writes[0], text, size + 8);
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
    int from = ((bench_ends *)channel)->reads[1];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size;
        bench_read(from, &size, sizeof size);
        char *text = malloc(size);
        BENCH_NEEDS(text != NULL);
        bench_read(from, text, size);
        sum += size;
        free(text);
    }
    return sum;
}

#define MANY_AT_ONCE "pipe(2), 4096 bytes per call"
const bench_case pipe_batches = {MANY_AT_ONCE, bench_open_pipes, {produce, consume}, bench_close_ends, true, {0}};
const bench_case pipe_short_texts = {"pipe(2)", bench_open_pipes, {write_short, read_texts}, bench_close_ends, true,
                                     {0}};
const bench_case pipe_long_texts = {"pipe(2)", bench_open_pipes, {write_long, read_texts}, bench_close_ends, true,
                                    {0}};
const bench_case unix_short_texts = {"Unix socket pair", bench_open_unix, {write_short, read_texts},
                                     bench_close_ends, true, {0}};
const bench_case unix_long_texts = {"Unix socket pair", bench_open_unix, {write_long, read_texts},
                                    bench_close_ends, true, {0}};
