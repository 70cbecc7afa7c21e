/*
 * A server that sleeps in `epoll_wait` without a time limit, for a listener and for the set of its sessions. Handshakes
 * that arrive in pieces wake it, one that stalls holds up nobody, and that one ends when its time has passed.
 */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "duologue/ready.h"
#include "raw.h"
#include "talk_net.h"

static const char address[] = "unix:loop.sock";

enum { THREADS = 10, CLIENTS = 10, SLOW = 3 };

/* A stalled handshake ends after this many nanoseconds. */
#define HELLO UINT64_C(2000000000)

struct serving {
    duo_listener *listener;
    duo_ports *ports;
    /* How many sessions there are to be, have begun, and have ended. */
    size_t sessions;
    size_t begun;
    size_t ended;
};

struct session {
    talk_server_ask_t server;
};

static bool add(duo_ports *ports, struct session *session)
{
    return duo_ports_add(ports, DUO_READY(session->server), session, NULL) == DUO_OK;
}

static void accept_all(struct serving *serving)
{
    talk_server_ask_t server;
    while (talk_server_accept(serving->listener, DUO_AT_ONCE, &server) == DUO_OK) {
        struct session *session = malloc(sizeof *session);
        CHECK(session != NULL);
        session->server = server;
        CHECK(add(serving->ports, session));
        serving->begun++;
    }
}

static void answer_all(struct serving *serving)
{
    void *with;
    while (duo_ports_wait(serving->ports, DUO_AT_ONCE, &with) == DUO_OK) {
        struct session *session = with;
        talk_ask_t asked;
        duo_status status = talk_server_ask_try_recv(session->server, &asked);
        if (status == DUO_OK) {
            CHECK(asked.tag == TALK_ASK_NUMBER);
            CHECK(talk_server_answer_send_number(asked.as.number.next, asked.as.number.value + 1, &session->server) == DUO_OK);
            CHECK(add(serving->ports, session));
            continue;
        }
        CHECK(status == DUO_CLOSED);
        free(session);
        serving->ended++;
    }
}

static void *serve(void *context)
{
    struct serving *serving = context;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int both[] = {duo_listener_descriptor(serving->listener), duo_ports_descriptor(serving->ports)};
    CHECK(loop >= 0 && both[0] >= 0 && both[1] >= 0);
    CHECK(duo_listener_descriptor(serving->listener) == both[0]);
    for (uint32_t i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = i}};
        CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, both[i], &event) == 0);
    }
    talk_server_ask_t none;
    for (;;) {
        struct epoll_event events[2];
        int count = epoll_wait(loop, events, 2, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u32 == 1) answer_all(serving);
            else accept_all(serving);
        }
        /* Stopping the listener also wakes the loop. */
        if (serving->ended == serving->sessions && talk_server_accept(serving->listener, DUO_AT_ONCE, &none) == DUO_CLOSED) break;
    }
    close(loop);
    return NULL;
}

/* Passes on what the client writes, one byte after the other, and what the server writes. */
struct relay {
    int client;
    int server;
};

static void *relay(void *context)
{
    struct relay *here = context;
    struct pollfd polled[] = {{here->client, POLLIN, 0}, {here->server, POLLIN, 0}};
    char bytes[256];
    for (;;) {
        CHECK(poll(polled, 2, RAW_WAIT) > 0);
        for (int from = 0; from < 2; from++) {
            if (polled[from].revents == 0) continue;
            ssize_t size = read(polled[from].fd, bytes, from == 0 ? 1 : sizeof bytes);
            if (size <= 0) {
                close(here->client);
                close(here->server);
                return NULL;
            }
            raw_send(polled[1 - from].fd, bytes, (size_t)size);
            nanosleep(&(struct timespec){0, 500000}, NULL);
        }
    }
}

static void ask(talk_client_ask_t client, uint64_t number)
{
    talk_client_answer_t asked;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_number(client, number, &asked) == DUO_OK);
    CHECK(talk_client_answer_recv(asked, &answer) == DUO_OK);
    CHECK(answer.tag == TALK_ANSWER_NUMBER && answer.as.number.value == number + 1);
    CHECK(talk_client_ask_close(answer.as.number.next) == DUO_OK);
}

static void connect_slowly(uint64_t number)
{
    talk_client_ask_t client;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct relay relayed = {ends[1], raw_connect(address)};
    pthread_t thread = start(relay, &relayed);
    CHECK(talk_client_connect_over(ends[0], NULL, &client) == DUO_OK);
    ask(client, number);
    finish(thread);
}

static void *connect_some(void *context)
{
    (void)context;
    for (uint64_t i = 0; i < CLIENTS; i++) {
        talk_client_ask_t client;
        if (i % 4 == SLOW) {
            connect_slowly(i);
        } else {
            CHECK(talk_client_connect(address, NULL, &client) == DUO_OK);
            ask(client, i);
        }
    }
    return NULL;
}

/* Half of a hello. */
static int stall(void)
{
    int stalled = raw_connect(address);
    raw_send(stalled, "duo", 3);
    return stalled;
}

static void await_end(int stalled)
{
    char byte;
    struct pollfd polled = {stalled, POLLIN, 0};
    CHECK(poll(&polled, 1, RAW_WAIT) == 1);
    while (read(stalled, &byte, 1) > 0) continue;
    close(stalled);
}

static pthread_t begin(struct serving *serving, uint64_t hello, size_t sessions)
{
    const duo_net_options options = {.hello = hello};
    *serving = (struct serving){.ports = duo_ports_new(), .sessions = sessions};
    CHECK(serving->ports != NULL && duo_listen(address, &options, &serving->listener) == DUO_OK);
    return start(serve, serving);
}

static void end(struct serving *serving, pthread_t server)
{
    duo_listener_stop(serving->listener);
    finish(server);
    CHECK(serving->begun == serving->sessions);
    duo_listener_close(serving->listener);
    duo_ports_free(serving->ports);
}

static void many_clients(void)
{
    struct serving serving;
    pthread_t server = begin(&serving, HELLO, THREADS * CLIENTS), clients[THREADS];
    int early = stall();
    for (int i = 0; i < THREADS; i++) clients[i] = start(connect_some, NULL);
    for (int i = 0; i < THREADS; i++) finish(clients[i]);
    /* Nothing else happens now that could wake the server. */
    int late = stall();
    await_end(early);
    await_end(late);
    end(&serving, server);
}

/* The hello itself wakes the server: no time passes, and no other client comes. */
static void one_slow_client(void)
{
    struct serving serving;
    pthread_t server = begin(&serving, UINT64_C(1000000000000), 1);
    connect_slowly(1);
    end(&serving, server);
}

TEST(event_loop)
{
    many_clients();
    one_slow_client();
    CHECK(duo_shutdown() == 0);
}
