/* Sessions over a Unix socket, and the same bytes by hand. Both sides are threads of one process. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cases.h"
#include "numbers_net.h"
#include "rally_net.h"

typedef struct ends {
    int sides[2];
} ends;

/* Each side joins with its descriptor, and a session closes it. */
static void *open_pair(void)
{
    ends *made = malloc(sizeof *made);
    BENCH_NEEDS(made != NULL && socketpair(AF_UNIX, SOCK_STREAM, 0, made->sides) == 0);
    return made;
}

static void close_pair(void *channel)
{
    free(channel);
}

#define JOINS(name, side, function, type)                                                          \
    static void *name(void *channel)                                                               \
    {                                                                                              \
        type *made = malloc(sizeof *made);                                                         \
        BENCH_NEEDS(made != NULL && function(((ends *)channel)->sides[side], NULL, made) == DUO_OK); \
        return made;                                                                               \
    }
JOINS(join_ping, 0, rally_client_connect_over, rally_client_ping_t)
JOINS(join_pong, 1, rally_server_accept_over, rally_server_ping_t)
JOINS(join_source, 0, numbers_client_connect_over, numbers_client_stream_t)
JOINS(join_sink, 1, numbers_server_accept_over, numbers_server_stream_t)

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

static void write_all(int to, const unsigned char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = write(to, bytes + done, size - done);
        BENCH_NEEDS(count > 0);
        done += (size_t)count;
    }
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
    int end = ((ends *)channel)->sides[0];
    unsigned char frame[FRAME];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        put_frame(frame, i);
        write_all(end, frame, FRAME);
        read_some(end, frame, 0, FRAME);
        sum += number_in(frame);
    }
    close(end);
    return sum;
}

static uint64_t pong_by_hand(void *channel, uint64_t count)
{
    int end = ((ends *)channel)->sides[1];
    unsigned char frame[FRAME];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        read_some(end, frame, 0, FRAME);
        uint64_t number = number_in(frame);
        sum += number;
        put_frame(frame, number + 1);
        write_all(end, frame, FRAME);
    }
    close(end);
    return sum;
}

static uint64_t produce_by_hand(void *channel, uint64_t count)
{
    static unsigned char bytes[COLLECTED];
    int end = ((ends *)channel)->sides[0];
    size_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        put_frame(bytes + size, i);
        size += FRAME;
        if (size == COLLECTED) {
            write_all(end, bytes, size);
            size = 0;
        }
    }
    write_all(end, bytes, size);
    close(end);
    return 0;
}

static uint64_t consume_by_hand(void *channel, uint64_t count)
{
    static unsigned char bytes[COLLECTED];
    int end = ((ends *)channel)->sides[1];
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

const bench_case by_hand_ping_pong = {"write and read", open_pair, {ping_by_hand, pong_by_hand}, close_pair, false, {0}};
const bench_case by_hand_stream = {"buffers of 64 KiB by hand", open_pair, {produce_by_hand, consume_by_hand},
                                   close_pair, false, {0}};
const bench_case net_ping_pong = {"duologue", open_pair, {session_ping, session_pong}, close_pair, false, {join_ping, join_pong}};
const bench_case net_stream = {"duologue", open_pair, {session_produce, session_consume}, close_pair, false, {join_source, join_sink}};
