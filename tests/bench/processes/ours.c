/* Sessions between processes, through generated code. Each side attaches before a slice begins. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "ping_pong_shm.h"
#include "stream_shm.h"
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

BENCH_JOINS(join_ping, ping_pong_client_ping_t, ping_pong_client_attach(*(int *)channel, NULL, made) == DUO_OK)
BENCH_JOINS(join_pong, ping_pong_server_ping_t, ping_pong_server_attach(*(int *)channel, NULL, made) == DUO_OK)
BENCH_JOINS(join_source, stream_client_stream_t, stream_client_attach(*(int *)channel, NULL, made) == DUO_OK)
BENCH_JOINS(join_sink, stream_server_stream_t, stream_server_attach(*(int *)channel, NULL, made) == DUO_OK)
BENCH_JOINS(join_writer, texts_client_stream_t, texts_client_attach(*(int *)channel, NULL, made) == DUO_OK)
BENCH_JOINS(join_reader, texts_server_stream_t, texts_server_attach(*(int *)channel, NULL, made) == DUO_OK)

static uint64_t write_texts(void *joined, uint64_t count, size_t size)
{
    static char text[LONG];
    texts_client_stream_t self = *(texts_client_stream_t *)joined;
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
