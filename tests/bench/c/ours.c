/* The pipes of the C runtime, through generated code. How a session begins is up to `open` and `join`. */
#include <stdlib.h>

#include "bench.h"
#include "ping_pong.h"
#include "stream.h"

typedef struct ping_pong {
    ping_pong_server_ping_t server;
    ping_pong_client_ping_t client;
} ping_pong;

static void *open_ping_pong(void)
{
    ping_pong *made = calloc(1, sizeof *made);
    BENCH_NEEDS(made != NULL && ping_pong_init(&made->server, &made->client) == DUO_OK);
    return made;
}

uint64_t session_ping(void *joined, uint64_t count)
{
    ping_pong_client_ping_t self = *(ping_pong_client_ping_t *)joined;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        ping_pong_client_pong_t waiting;
        ping_pong_pong_t pong;
        BENCH_NEEDS(ping_pong_client_ping_send_ping(self, i, &waiting) == DUO_OK);
        BENCH_NEEDS(ping_pong_client_pong_recv(waiting, &pong) == DUO_OK);
        sum += pong.as.pong.value;
        self = pong.as.pong.next;
    }
    ping_pong_client_ping_close(self);
    return sum;
}

uint64_t session_pong(void *joined, uint64_t count)
{
    ping_pong_server_ping_t self = *(ping_pong_server_ping_t *)joined;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        ping_pong_ping_t asked;
        BENCH_NEEDS(ping_pong_server_ping_recv(self, &asked) == DUO_OK);
        uint64_t value = asked.as.ping.value;
        sum += value;
        BENCH_NEEDS(ping_pong_server_pong_send_pong(asked.as.ping.next, value + 1, &self) == DUO_OK);
    }
    ping_pong_server_ping_close(self);
    return sum;
}

BENCH_JOINS(join_ping, ping_pong_client_ping_t, (*made = ((ping_pong *)channel)->client, true))
BENCH_JOINS(join_pong, ping_pong_server_ping_t, (*made = ((ping_pong *)channel)->server, true))
const bench_case ours_ping_pong = {"duologue", open_ping_pong, {session_ping, session_pong}, free, false,
                                   {join_ping, join_pong}};

typedef struct numbers {
    stream_server_stream_t server;
    stream_client_stream_t client;
} numbers;

static void *open_stream(void)
{
    numbers *made = calloc(1, sizeof *made);
    BENCH_NEEDS(made != NULL && stream_init(&made->server, &made->client) == DUO_OK);
    return made;
}

uint64_t session_produce(void *joined, uint64_t count)
{
    stream_client_stream_t out = *(stream_client_stream_t *)joined;
    for (uint64_t i = 0; i < count; i++)
        BENCH_NEEDS(stream_client_stream_send_send(out, i, &out) == DUO_OK);
    stream_client_stream_close(out);
    return 0;
}

uint64_t session_consume(void *joined, uint64_t count)
{
    stream_server_stream_t in = *(stream_server_stream_t *)joined;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        stream_stream_t got;
        BENCH_NEEDS(stream_server_stream_recv(in, &got) == DUO_OK);
        sum += got.as.send.value;
        in = got.as.send.next;
    }
    stream_server_stream_close(in);
    return sum;
}

BENCH_JOINS(join_source, stream_client_stream_t, (*made = ((numbers *)channel)->client, true))
BENCH_JOINS(join_sink, stream_server_stream_t, (*made = ((numbers *)channel)->server, true))
const bench_case ours_stream = {"duologue", open_stream, {session_produce, session_consume}, free, false,
                                {join_source, join_sink}};
