/* Peers that break the rules, stall, or die, played by raw sockets. The program ends each of them in time, and serves on. */
#include <signal.h>
#include <sys/wait.h>

#include "bank_net.h"
#include "meet.h"
#include "raw.h"

/* What the handler of a session has found last. */
static DUO_ATOMIC int outcome;

static duo_status serve_bank(bank_server_login_t door)
{
    bank_login_t asked;
    bank_server_connected_t customer;
    bank_connected_t wish;
    duo_status status = bank_server_login_recv(door, &asked);
    if (status != DUO_OK) return status;
    CHECK(duo_str_equal(asked.as.login.password, DUO_STR("1234")));
    bank_server_login_response_t answer = asked.as.login.next;
    bank_login_free(&asked);
    status = bank_server_login_response_send_ok(answer, &customer);
    if (status == DUO_OK) status = bank_server_connected_recv(customer, &wish);
    CHECK(status != DUO_OK || wish.tag == BANK_CONNECTED_QUIT);
    return status;
}

static void handle(bank_server_login_t door, const duo_peer *peer, void *context)
{
    (void)context;
    CHECK(strncmp(peer->address, "unix:", 5) == 0);
    int status = (int)serve_bank(door);
    duo_atomic_store(&outcome, status, memory_order_release);
}

static duo_listener *listener;

static void await_outcome(duo_status expected)
{
    int found = -1;
    for (int tries = 0; tries < 2000 && found < 0; tries++) {
        found = duo_atomic_exchange(&outcome, -1, memory_order_acq_rel);
        if (found < 0) nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    if (found != (int)expected) fprintf(stderr, "outcome %d, not %d\n", found, (int)expected);
    CHECK(found == (int)expected);
}

static int greet(void)
{
    int raw = raw_connect(duo_listener_address(listener));
    raw_send_hex(raw, BANK_HELLO);
    raw_expect(raw, BANK_ANSWER);
    return raw;
}

#define LOGIN "010a04686f6c6b0431323334"
#define OK_ANSWER "01"

static int log_in(void)
{
    int raw = greet();
    raw_send_hex(raw, LOGIN);
    raw_expect(raw, OK_ANSWER);
    return raw;
}

/* Others are served in the meantime. */
static void visit(void)
{
    int raw = log_in();
    raw_send_hex(raw, "03");
    await_outcome(DUO_OK);
    CHECK(raw_expect_end(raw) == 0);
    close(raw);
}

/* Peers that send half a hello, or nothing, delay nobody and are dropped in time. */
static void stalling(void)
{
    enum { MANY = 20 };
    int raw[MANY];
    uint8_t hello[64];
    size_t size = raw_bytes(BANK_HELLO, hello, sizeof hello);
    for (size_t i = 0; i < MANY; i++) {
        raw[i] = raw_connect(duo_listener_address(listener));
        raw_send(raw[i], hello, i * size / MANY);
    }
    visit();
    for (size_t i = 0; i < MANY; i++) {
        CHECK(raw_expect_end(raw[i]) == 0);
        close(raw[i]);
    }
}

#define PAUSE (&(struct timespec){0, 20000000})

/* The head of a hello of 1,024 bytes. */
#define LONG_HEAD "64756f6c6f677565 01 00 0004"

/* A hello whose bytes come one by one, for longer than a handshake may take. Others are served, and the peer is dropped in time. */
static void dripping(void)
{
    int raw = raw_connect(duo_listener_address(listener));
    uint8_t hello[12 + 1024] = {0};
    CHECK(raw_bytes(LONG_HEAD, hello, sizeof hello) == 12);
    size_t sent = 0;
    while (sent < sizeof hello && send(raw, &hello[sent], 1, MSG_NOSIGNAL) == 1) {
        if (sent == 12) visit();
        nanosleep(PAUSE, NULL);
        sent++;
    }
    CHECK(sent > 12 && sent < sizeof hello);
    CHECK(raw_expect_end(raw) == 0);
    close(raw);
}

/* A connection that is cut before the peer has read everything, and so is reset. */
static void cut(void)
{
    int raw = greet();
    raw_send_hex(raw, LOGIN);
    struct pollfd answered = {raw, POLLIN, 0};
    CHECK(poll(&answered, 1, RAW_WAIT) == 1);
    close(raw);
    await_outcome(DUO_LOST);
}

/* A process that is killed while the other side waits for it. */
static void killed(void)
{
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        raw_send_hex(log_in(), "0100");
        CHECK(write(ready[1], "", 1) == 1);
        for (;;) pause();
    }
    close(ready[1]);
    char byte;
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    await_outcome(DUO_LOST);
    close(ready[0]);
}

/* All but the last byte of an answer, one by one. */
static void *drip_answer(void *context)
{
    const int *socket = context;
    uint8_t answer[64];
    size_t size = raw_bytes(BANK_ANSWER, answer, sizeof answer);
    for (size_t i = 0; i + 1 < size; i++) {
        raw_send(*socket, &answer[i], 1);
        nanosleep(PAUSE, NULL);
    }
    (void)raw_expect_end(*socket);
    return NULL;
}

static void a_server_that_drips(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pthread_t thread = start(drip_answer, &ends[1]);
    bank_client_login_t client;
    const duo_net_options options = {.hello = UINT64_C(300000000)};
    CHECK(bank_client_connect_over(ends[0], &options, &client) == DUO_LATE);
    finish(thread);
    close(ends[1]);
}

TEST(attacks)
{
    const duo_net_options options = {.hello = UINT64_C(2000000000)};
    listener = new_listener("unix:attacks.sock", &options);
    CHECK(bank_server_serve(listener, NULL, handle, NULL) == DUO_OK);
    duo_atomic_store(&outcome, -1, memory_order_release);
    pthread_t thread = start(run_listener, listener);
    killed();
    stalling();
    dripping();
    cut();
    a_server_that_drips();
    visit();
    duo_listener_stop(listener);
    finish(thread);
    duo_listener_close(listener);
    CHECK(duo_shutdown() == 0);
}
