/* Sessions over a Unix socket, and the same bytes by hand. Both sides are threads of one process. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "ping_pong_net.h"
#include "stream_net.h"

/* Each side joins with its descriptor and closes it, as a session does, so that only the memory is left to free. */
#define JOINS(name, side, function, type)                                                          \
    BENCH_JOINS(name, type, function(((bench_ends *)channel)->reads[side], NULL, made) == DUO_OK)
JOINS(join_ping, 0, ping_pong_client_connect_over, ping_pong_client_ping_t)
JOINS(join_pong, 1, ping_pong_server_accept_over, ping_pong_server_ping_t)
JOINS(join_source, 0, stream_client_connect_over, stream_client_stream_t)
JOINS(join_sink, 1, stream_server_accept_over, stream_server_stream_t)

/* A frame of a number: the position of its message, and eight bytes. */
enum { FRAME = 9, COLLECTED = 65536 / FRAME * FRAME };

static void put_frame(unsigned char *frame, uint64_t number)
{
    frame[0] = 0;
    memcpy(frame + 1, &number, sizeof number);
}

static uint64_t number_in(const unsigned char *frame)
{
    uint64_t number;
    BENCH_NEEDS(frame[0] == 0);
    memcpy(&number, frame + 1, sizeof number);
    return number;
}

/* Reads at least one whole frame; returns how many bytes there are, of which the last may be part of a frame. */
static size_t read_some(int from, unsigned char *bytes, size_t had, size_t most)
{
    do {
        ssize_t count = read(from, bytes + had, most - had);
        BENCH_NEEDS(count > 0);
        had += (size_t)count;
    } while (had < FRAME);
    return had;
}

static uint64_t ping_by_hand(void *channel, uint64_t count)
{
    int end = ((bench_ends *)channel)->reads[0];
    unsigned char frame[FRAME];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        put_frame(frame, i);
        bench_write(end, frame, FRAME);
        read_some(end, frame, 0, FRAME);
        sum += number_in(frame);
    }
    close(end);
    return sum;
}

static uint64_t pong_by_hand(void *channel, uint64_t count)
{
    int end = ((bench_ends *)channel)->reads[1];
    unsigned char frame[FRAME];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        read_some(end, frame, 0, FRAME);
        uint64_t number = number_in(frame);
        sum += number;
        put_frame(frame, number + 1);
        bench_write(end, frame, FRAME);
    }
    close(end);
    return sum;
}

static uint64_t produce_by_hand(void *channel, uint64_t count)
{
    static unsigned char bytes[COLLECTED];
    int end = ((bench_ends *)channel)->reads[0];
    size_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        put_frame(bytes + size, i);
        size += FRAME;
        if (size == COLLECTED) {
            bench_write(end, bytes, size);
            size = 0;
        }
    }
    bench_write(end, bytes, size);
    close(end);
    return 0;
}

static uint64_t consume_by_hand(void *channel, uint64_t count)
{
    static unsigned char bytes[COLLECTED];
    int end = ((bench_ends *)channel)->reads[1];
    size_t size = 0, at = 0;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (size - at < FRAME) {
            memmove(bytes, bytes + at, size - at);
            size = read_some(end, bytes, size - at, COLLECTED);
            at = 0;
        }
        sum += number_in(bytes + at);
        at += FRAME;
    }
    close(end);
    return sum;
}

const bench_case by_hand_ping_pong = {"write and read", bench_open_unix, {ping_by_hand, pong_by_hand}, free, false, {0}};
const bench_case by_hand_stream = {"buffers of 64 KiB by hand", bench_open_unix, {produce_by_hand, consume_by_hand},
                                   free, false, {0}};
const bench_case net_ping_pong = {"duologue", bench_open_unix, {session_ping, session_pong}, free, false, {join_ping, join_pong}};
const bench_case net_stream = {"duologue", bench_open_unix, {session_produce, session_consume}, free, false, {join_source, join_sink}};
