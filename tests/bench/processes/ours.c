/* Sessions between processes, through generated code. Each side attaches before a slice begins. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "numbers_shm.h"
#include "rally_shm.h"
#include "texts_shm.h"

static void *open_region(void)
{
    int *region = malloc(sizeof *region);
    BENCH_NEEDS(region != NULL && duo_shm_create(0, region) == DUO_OK);
    return region;
}

static void close_region(void *channel)
{
    close(*(int *)channel);
    free(channel);
}

/* The generated functions attach at different types; a slice frees what it was given. */
#define JOINS(name, function, type)                                                                \
    static void *name(void *channel)                                                               \
    {                                                                                              \
        type *made = malloc(sizeof *made);                                                         \
        BENCH_NEEDS(made != NULL && function(*(int *)channel, NULL, made) == DUO_OK);              \
        return made;                                                                               \
    }
JOINS(join_ping, rally_client_attach, rally_client_ping_t)
JOINS(join_pong, rally_server_attach, rally_server_ping_t)
JOINS(join_source, numbers_client_attach, numbers_client_stream_t)
JOINS(join_sink, numbers_server_attach, numbers_server_stream_t)
JOINS(join_writer, texts_client_attach, texts_client_stream_t)
JOINS(join_reader, texts_server_attach, texts_server_stream_t)

uint64_t session_ping(void *joined, uint64_t count)
{
    rally_client_ping_t self = *(rally_client_ping_t *)joined;
    free(joined);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        rally_client_pong_t waiting;
        rally_pong_t answer;
        BENCH_NEEDS(rally_client_ping_send_ping(self, i, &waiting) == DUO_OK);
        BENCH_NEEDS(rally_client_pong_recv(waiting, &answer) == DUO_OK);
        sum += answer.as.pong.value;
        self = answer.as.pong.next;
    }
    BENCH_NEEDS(rally_client_ping_send_stop(self) == DUO_OK);
    return sum;
}

uint64_t session_pong(void *joined, uint64_t count)
{
    rally_server_ping_t self = *(rally_server_ping_t *)joined;
    free(joined);
    uint64_t sum = 0;
    rally_ping_t asked;
    for (uint64_t i = 0; i < count; i++) {
        BENCH_NEEDS(rally_server_ping_recv(self, &asked) == DUO_OK);
        uint64_t value = asked.as.ping.value;
        sum += value;
        BENCH_NEEDS(rally_server_pong_send_pong(asked.as.ping.next, value + 1, &self) == DUO_OK);
    }
    BENCH_NEEDS(rally_server_ping_recv(self, &asked) == DUO_OK && asked.tag == RALLY_PING_STOP);
    return sum;
}

uint64_t session_produce(void *joined, uint64_t count)
{
    numbers_client_stream_t self = *(numbers_client_stream_t *)joined;
    free(joined);
    for (uint64_t i = 0; i < count; i++)
        BENCH_NEEDS(numbers_client_stream_send_number(self, i, &self) == DUO_OK);
    BENCH_NEEDS(numbers_client_stream_send_stop(self) == DUO_OK);
    return 0;
}

uint64_t session_consume(void *joined, uint64_t count)
{
    numbers_server_stream_t self = *(numbers_server_stream_t *)joined;
    free(joined);
    uint64_t sum = 0;
    numbers_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        BENCH_NEEDS(numbers_server_stream_recv(self, &got) == DUO_OK);
        sum += got.as.number.value;
        self = got.as.number.next;
    }
    BENCH_NEEDS(numbers_server_stream_recv(self, &got) == DUO_OK && got.tag == NUMBERS_STREAM_STOP);
    return sum;
}

static uint64_t write_texts(void *joined, uint64_t count, size_t size)
{
    static char text[LONG];
    texts_client_stream_t self = *(texts_client_stream_t *)joined;
    free(joined);
    memset(text, 'x', size);
    duo_str view = {text, size};
    for (uint64_t i = 0; i < count; i++)
        BENCH_NEEDS(texts_client_stream_send_text(self, view, &self) == DUO_OK);
    BENCH_NEEDS(texts_client_stream_send_stop(self) == DUO_OK);
    return 0;
}

static uint64_t write_short(void *joined, uint64_t count)
{
    return write_texts(joined, count, SHORT);
}

static uint64_t write_long(void *joined, uint64_t count)
{
    return write_texts(joined, count, LONG);
}

static uint64_t read_texts(void *joined, uint64_t count)
{
    texts_server_stream_t self = *(texts_server_stream_t *)joined;
    free(joined);
    uint64_t sum = 0;
    texts_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        BENCH_NEEDS(texts_server_stream_recv(self, &got) == DUO_OK);
        sum += got.as.text.value.size;
        self = got.as.text.next;
        texts_stream_free(&got);
    }
    BENCH_NEEDS(texts_server_stream_recv(self, &got) == DUO_OK && got.tag == TEXTS_STREAM_STOP);
    return sum;
}

const bench_case shm_ping_pong = {"duologue", open_region, {session_ping, session_pong}, close_region, true,
                                  {join_ping, join_pong}};
const bench_case shm_stream = {"duologue", open_region, {session_produce, session_consume}, close_region, true,
                               {join_source, join_sink}};
const bench_case shm_short_texts = {"duologue", open_region, {write_short, read_texts}, close_region,
                                    true, {join_writer, join_reader}};
const bench_case shm_long_texts = {"duologue", open_region, {write_long, read_texts}, close_region,
                                   true, {join_writer, join_reader}};
