/* Peers that take more than their share: connections that send nothing, too many from one peer, and a reader that sleeps. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "meet.h"
#include "raw.h"
#include "telemetry_net.h"

static const duo_str nobody = {NULL, 0};

static void handle(telemetry_server_report_t server, const duo_peer *peer, void *context)
{
    telemetry_report_t said;
    (void)peer, (void)context;
    if (telemetry_server_report_recv(server, &said) != DUO_OK) return;
    CHECK(said.tag == TELEMETRY_REPORT_FLUSH);
    /* The client may be gone. */
    duo_status status = telemetry_server_echo_send_enough(said.as.flush.next);
    CHECK(status == DUO_OK || status == DUO_CLOSED || status == DUO_LOST);
}

typedef struct service {
    duo_listener *listener;
    pthread_t thread;
} service;

static service serve(const char *address, const duo_net_options *options)
{
    service made = {.listener = new_listener(address, options)};
    CHECK(telemetry_server_serve(made.listener, NULL, handle, NULL) == DUO_OK);
    made.thread = start(run_listener, made.listener);
    return made;
}

static void stop(service served)
{
    end_listener(served.listener, served.thread, DUO_FOREVER);
}

/* One turn, which ends the session. */
static void visit(telemetry_client_report_t client)
{
    telemetry_client_echo_t waiting;
    telemetry_echo_t answer;
    CHECK(telemetry_client_report_send_flush(client, &waiting) == DUO_OK);
    CHECK(telemetry_client_echo_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.tag == TELEMETRY_ECHO_ENOUGH);
}

static telemetry_client_report_t connect_to(service served)
{
    telemetry_client_report_t client;
    CHECK(telemetry_client_connect(duo_listener_address(served.listener), NULL, &client) == DUO_OK);
    return client;
}

/* How many of these connections have been closed by now. */
static size_t closed_of(const int *raws, size_t count)
{
    size_t closed = 0;
    for (size_t i = 0; i < count; i++) {
        struct pollfd polled = {raws[i], POLLIN, 0};
        if (poll(&polled, 1, 0) == 1) closed += 1;
    }
    return closed;
}

enum { SILENT = 300, WAITING = 100, VISITS = 20 };

/* Those that came first give way to those that come later, and honest clients are served. */
static void silent_connections_give_way(void)
{
    const duo_net_options options = {.silent = WAITING, .handshakes = 4, .hello = UINT64_C(600000000000)};
    service served = serve("unix:silent", &options);
    static int raws[SILENT];
    for (size_t i = 0; i < SILENT; i++) raws[i] = raw_connect(duo_listener_address(served.listener));
    for (size_t i = 0; i < VISITS; i++) visit(connect_to(served));
    size_t closed = closed_of(raws, SILENT);
    if (closed < SILENT - WAITING || closed > SILENT - WAITING + VISITS)
        fprintf(stderr, "%zu of %d connections are closed\n", closed, SILENT);
    CHECK(closed >= SILENT - WAITING && closed <= SILENT - WAITING + VISITS);
    stop(served);
    for (size_t i = 0; i < SILENT; i++) {
        CHECK(raw_expect_end(raws[i]) == 0);
        close(raws[i]);
    }
}

/* Whether another connection is refused because the peer has too many. */
static bool is_full(service served)
{
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.refusal = &refusal};
    telemetry_client_report_t client;
    duo_status status = telemetry_client_connect(duo_listener_address(served.listener), &options, &client);
    if (status == DUO_OK) CHECK(telemetry_client_report_close(client) == DUO_OK);
    CHECK(status == DUO_OK || status == DUO_REFUSED);
    CHECK(status == DUO_OK || refusal.verdict == DUO_VERDICT_SESSIONS_FULL);
    return status == DUO_REFUSED;
}

/* Connects as soon as a place is free. */
static telemetry_client_report_t connect_again(service served)
{
    for (int tries = 0; tries < 2000; tries++) {
        telemetry_client_report_t client;
        if (telemetry_client_connect(duo_listener_address(served.listener), NULL, &client) == DUO_OK) return client;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    CHECK(!"a place is free");
    return (telemetry_client_report_t){{NULL, 0}};
}

/* A connection that sends nothing. */
static int connect_silently(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0) return raw_connect(address);
    const char *port = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port + 1))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(made >= 0 && connect(made, (const struct sockaddr *)&to, sizeof to) == 0);
    return made;
}

static void a_peer_has_a_limit(const char *address)
{
    const duo_net_options options = {.per_peer = 2, .hello = UINT64_C(600000000000)};
    service served = serve(address, &options);
    telemetry_client_report_t one = connect_to(served), other = connect_to(served);
    for (int i = 0; i < 3; i++) CHECK(is_full(served));
    visit(one);
    one = connect_again(served);
    CHECK(is_full(served));
    CHECK(telemetry_client_report_close(other) == DUO_OK);
    other = connect_again(served);
    CHECK(telemetry_client_report_close(one) == DUO_OK);
    one = connect_again(served);
    CHECK(telemetry_client_report_close(one) == DUO_OK);
    /* A connection that sends nothing counts, too, unless it was refused because the other place is not free yet. */
    bool is_silent = false;
    for (int tries = 0; tries < 2000 && !is_silent; tries++) {
        int raw = connect_silently(duo_listener_address(served.listener));
        is_silent = is_full(served) && closed_of(&raw, 1) == 0;
        close(raw);
    }
    CHECK(is_silent);
    visit(connect_again(served));
    CHECK(telemetry_client_report_close(other) == DUO_OK);
    stop(served);
}

enum { MESSAGES = 512, MESSAGE = 65536, MEGABYTES = 8 };

/* How much memory the runtime has, and the most that it has had. */
static _Atomic size_t live, most;

static void *count(void *made)
{
    size_t now = live += malloc_usable_size(made), before = most;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) continue;
    return made;
}

static void *take(size_t size)
{
    return count(malloc(size));
}

static void *take_aligned(size_t alignment, size_t size)
{
    return count(aligned_alloc(alignment, size));
}

static void give_back(void *memory)
{
    live -= malloc_usable_size(memory);
    free(memory);
}

static void *read_and_sleep(void *context)
{
    telemetry_server_report_t server = *(telemetry_server_report_t *)context;
    telemetry_report_t said;
    size_t count = 0;
    for (;;) {
        if (count % (MESSAGES / 16) == 0) nanosleep(&(struct timespec){0, 20000000}, NULL);
        CHECK(telemetry_server_report_recv(server, &said) == DUO_OK);
        if (said.tag == TELEMETRY_REPORT_FLUSH) break;
        CHECK(said.tag == TELEMETRY_REPORT_RAW && said.as.raw.data.size == MESSAGE);
        server = said.as.raw.next;
        telemetry_report_free(&said);
        count += 1;
    }
    CHECK(count == MESSAGES);
    CHECK(telemetry_server_echo_send_enough(said.as.flush.next) == DUO_OK);
    return NULL;
}

/* 32 MiB into a reader that sleeps: both sides together take little. */
static void a_reader_that_sleeps_takes_little(void)
{
    static char data[MESSAGE];
    telemetry_client_report_t client;
    telemetry_server_report_t server;
    meet_both(&duo_wire_of_telemetry, &client.sends, &server.receives);
    most = live;
    size_t before = live;
    pthread_t reading = start(read_and_sleep, &server);
    for (size_t i = 0; i < MESSAGES; i++)
        CHECK(telemetry_client_report_send_raw(client, true, nobody, (duo_bytes){(const uint8_t *)data, MESSAGE}, &client) ==
              DUO_OK);
    visit(client);
    finish(reading);
    if (most - before > MEGABYTES << 20) fprintf(stderr, "%zu bytes\n", most - before);
    CHECK(most - before > MESSAGE && most - before <= MEGABYTES << 20);
}

TEST(hostile)
{
    duo_use_memory((duo_memory){take, take_aligned, give_back});
    silent_connections_give_way();
    a_peer_has_a_limit("unix:peer");
    a_peer_has_a_limit("tcp://127.0.0.1:0");
    a_reader_that_sleeps_takes_little();
}
