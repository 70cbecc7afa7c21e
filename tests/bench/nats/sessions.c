/* Sessions through generated code. Each side connects, or accepts, before a slice begins. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../processes/cases.h"
#include "links.h"
#include "numbers_net.h"
#include "rally_net.h"

#define SECOND UINT64_C(1000000000)

static char address[256];
static duo_listener *listener;

static void *open_session(void)
{
    return address;
}

static void close_session(void *channel)
{
    (void)channel;
}

/* The first attempts fail while the listener has not subscribed to the protocol. */
#define JOINS(connecting, accepting, connect, accept, client, server)                              \
    static void *connecting(void *channel)                                                         \
    {                                                                                              \
        client *made = malloc(sizeof *made);                                                       \
        BENCH_NEEDS(made != NULL);                                                                 \
        duo_status status = DUO_REFUSED;                                                           \
        for (unsigned i = 0; i < 10000 && status != DUO_OK; i++) status = connect(channel, NULL, made); \
        BENCH_NEEDS(status == DUO_OK);                                                             \
        return made;                                                                               \
    }                                                                                              \
    static void *accepting(void *channel)                                                          \
    {                                                                                              \
        (void)channel;                                                                             \
        server *made = malloc(sizeof *made);                                                       \
        BENCH_NEEDS(made != NULL && accept(listener, 60 * SECOND, made) == DUO_OK);                \
        return made;                                                                               \
    }
JOINS(join_ping, join_pong, rally_client_connect, rally_server_accept, rally_client_ping_t, rally_server_ping_t)
JOINS(join_source, join_sink, numbers_client_connect, numbers_server_accept, numbers_client_stream_t, numbers_server_stream_t)

static void *serve(void *unused)
{
    (void)unused;
    session_pong(join_pong(address), 1);
    return NULL;
}

void sessions_begin(const char *server)
{
    snprintf(address, sizeof address, "nats://%s/bench", server);
    BENCH_NEEDS(duo_listen(address, NULL, &listener) == DUO_OK);
    pthread_t thread;
    BENCH_NEEDS(pthread_create(&thread, NULL, serve, NULL) == 0);
    session_ping(join_ping(address), 1);
    BENCH_NEEDS(pthread_join(thread, NULL) == 0);
}

void sessions_end(void)
{
    duo_listener_close(listener);
}

const bench_case nats_ping_pong = {"duologue", open_session, {session_ping, session_pong}, close_session, false, {join_ping, join_pong}};
const bench_case nats_stream = {"duologue", open_session, {session_produce, session_consume}, close_session, false, {join_source, join_sink}};
