/*
 * Connections with TLS that break after any byte: nothing hangs, and each side gets what arrived before, and then
 * DUO_LOST. And what TLS has decrypted before anybody asked for it is found by those that wait.
 */
#include <poll.h>

#include "flows.h"
#include "meet.h"
#include "raw.h"
#include "talk_net.h"
#include "tls.h"
#include "waits.h"

static duo_tls *server_tls, *client_tls;

/* Bytes that pass between a client and a listener, until one direction has passed its limit. */
struct proxy {
    int listener;
    uint16_t port;
    char far[64];
    size_t limits[2];
    size_t passed[2];
};

/* Passes on what has arrived, but no more than half of a long record at once; false if that direction is over. */
static bool pass(int from, int to, size_t limit, size_t *passed)
{
    char bytes[8200];
    size_t space = limit - *passed < sizeof bytes ? limit - *passed : sizeof bytes;
    ssize_t size = recv(from, bytes, space, 0);
    if (size <= 0) return false;
    raw_send(to, bytes, (size_t)size);
    *passed += (size_t)size;
    return true;
}

static void *run_proxy(void *context)
{
    struct proxy *proxy = context;
    int ends[2] = {accept(proxy->listener, NULL, NULL), reach(proxy->far)};
    CHECK(ends[0] >= 0);
    struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    size_t open = 2;
    while (open > 0 && proxy->passed[0] < proxy->limits[0] && proxy->passed[1] < proxy->limits[1]) {
        CHECK(poll(polled, 2, RAW_WAIT) > 0);
        for (size_t i = 0; i < 2; i++) {
            if (polled[i].fd < 0 || polled[i].revents == 0) continue;
            if (pass(ends[i], ends[1 - i], proxy->limits[i], &proxy->passed[i])) continue;
            shutdown(ends[1 - i], SHUT_WR);
            polled[i].fd = -1;
            open -= 1;
        }
    }
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

/* What the two sides find at the end; DUO_OK for the whole conversation. */
struct run {
    size_t passed[2];
    duo_status connected;
    duo_status client;
    DUO_ATOMIC int server;
};

static void serve(talk_server_ask_t server, const duo_peer *peer, void *context)
{
    DUO_ATOMIC int *end = context;
    (void)peer;
    duo_status status = DUO_OK;
    for (uint64_t count = 0; status == DUO_OK; count++) {
        talk_ask_t asked;
        status = talk_server_ask_recv(server, &asked);
        if (status != DUO_OK || asked.tag == TALK_ASK_END) break;
        CHECK(asked.tag == TALK_ASK_NUMBER && asked.as.number.value == count);
        status = talk_server_answer_send_number(asked.as.number.next, count, &server);
    }
    duo_atomic_store(end, (int)status, memory_order_release);
}

static duo_status ask(talk_client_ask_t client)
{
    for (uint64_t count = 0; count < 4; count++) {
        talk_client_answer_t waiting;
        talk_answer_t answer;
        duo_status status = talk_client_ask_send_number(client, count, &waiting);
        if (status == DUO_OK) status = talk_client_answer_recv(waiting, &answer);
        if (status != DUO_OK) return status;
        CHECK(answer.tag == TALK_ANSWER_NUMBER && answer.as.number.value == count);
        client = answer.as.number.next;
    }
    return talk_client_ask_send_end(client);
}

static void hold(struct run *run, size_t from_client, size_t from_server)
{
    const duo_net_options server = {.tls = server_tls};
    duo_problem problem;
    const duo_net_options client = {.tls = client_tls, .problem = &problem};
    run->server = -1;
    run->client = DUO_OK;
    duo_listener *listener = new_listener("tls://127.0.0.1:0", &server);
    CHECK(talk_server_serve(listener, NULL, serve, (void *)(uintptr_t)&run->server) == DUO_OK);
    struct proxy proxy = {.limits = {from_client, from_server}};
    proxy.listener = listen_at(&proxy.port);
    snprintf(proxy.far, sizeof proxy.far, "%s", duo_listener_address(listener));
    pthread_t threads[2] = {start(run_listener, listener), start(run_proxy, &proxy)};
    char address[64];
    snprintf(address, sizeof address, "tls://127.0.0.1:%u", proxy.port);
    talk_client_ask_t asking;
    run->connected = talk_client_connect(address, &client, &asking);
    if (run->connected == DUO_OK) run->client = ask(asking);
    finish(threads[1]);
    end_listener(listener, threads[0], LONG);
    close(proxy.listener);
    memcpy(run->passed, proxy.passed, sizeof run->passed);
}

/* More bytes than hello, answer, session and its end are in either direction. Those before are the handshake. */
enum { SESSION = 450 };

/* A checker takes time, so with one a connection breaks in fewer places. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 7 };
#else
enum { STEP = 1 };
#endif

static void cut(size_t direction)
{
    struct run run;
    hold(&run, SIZE_MAX, SIZE_MAX);
    CHECK(run.connected == DUO_OK && run.client == DUO_OK && run.server == DUO_OK);
    size_t whole = run.passed[direction];
    CHECK(whole > SESSION);
    for (size_t at = 1; at < whole; at += at < whole - SESSION ? 41 : STEP) {
        hold(&run, direction == 0 ? at : SIZE_MAX, direction == 1 ? at : SIZE_MAX);
        bool is_known = run.connected == DUO_OK || run.connected == DUO_TLS || run.connected == DUO_LOST;
        /* The last message may have been with the other side, or in its connection. */
        bool are_lost = (run.client == DUO_OK || run.client == DUO_LOST) &&
                        (run.server == -1 || run.server == DUO_OK || run.server == DUO_LOST);
        if (!is_known || !are_lost)
            fprintf(stderr, "after %zu of %zu: connecting %d, client %d, server %d\n", at, whole, (int)run.connected,
                    (int)run.client, (int)run.server);
        CHECK(is_known && are_lost);
    }
}

/* A session over TLS without a proxy. */
static struct flowing flow_over_tls(void)
{
    struct flowing flowing;
    const duo_net_options options = {.tls = server_tls, .heartbeat = 1}, own = {.tls = client_tls, .heartbeat = 1};
    meeting client = {.protocol = &duo_wire_of_flow, .options = &own};
    duo_listener *listener = new_listener("tls://127.0.0.1:0", &options);
    meet_at(listener, &client, &duo_wire_of_flow, &flowing.server.receives);
    flowing.client.sends = client.endpoint;
    duo_listener_close(listener);
    return flowing;
}

/* What is sent together arrives in a few records. Nothing follows that could wake those that wait. */
static void many(way how)
{
    enum { COUNT = 5000 };
    struct flowing flowing = flow_over_tls();
    send_some(&flowing, 0, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        flow_flow_t got;
        wait_by(how, DUO_READY(flowing.server));
        CHECK(flow_server_flow_try_recv(flowing.server, &got) == DUO_OK && got.as.number.value == i);
        flowing.server = got.as.number.next;
    }
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK && flow_server_flow_close(flowing.server) == DUO_OK);
}

TEST(tls_cuts)
{
    server_tls = party("ca", "server");
    client_tls = party("ca", "client");
    for (way how = BY_SELECT; how < WAYS; how++) many(how);
    check_full(flow_over_tls(), false);
    check_left(flow_over_tls());
    cut(0);
    cut(1);
    duo_tls_free(server_tls);
    duo_tls_free(client_tls);
    CHECK(duo_shutdown() == 0);
}
