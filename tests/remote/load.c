/*
 * Many sessions of `pingpong` at once, which one thread serves with a port set: `load server ADDRESS SESSIONS TURNS`; and
 * connections of the TLS library alone: `load library - CONNECTIONS 0`. `DUOLOGUE_TLS` is a folder with certificates, for addresses of TLS and for the library. The program
 * `load` of tests/conversations describes what they print, and is the client.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "duologue/ready.h"
#include "duologue/tls.h"
#include "pingpong_net.h"

/* How many events are handled before the listener gets its turn again. */
enum { EVENTS = 64 };

typedef struct session {
    pingpong_server_ping_t ping;
    unsigned turns;
} session;

static void require(bool is_true, const char *what)
{
    if (is_true) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* How many bytes of memory the process has. */
static size_t memory(void)
{
    unsigned long all = 0, resident = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    require(sizes != NULL && fscanf(sizes, "%lu %lu", &all, &resident) == 2, "the size of the process");
    fclose(sizes);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t milliseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void wait_in(duo_ports *ports, session *one)
{
    require(duo_ports_add(ports, DUO_READY(one->ping), one, NULL) == DUO_OK, "add to the set");
}

/* Accepts the sessions that have begun. */
static void accept_all(duo_listener *listener, duo_ports *ports, session *sessions, size_t *count)
{
    session *one = &sessions[*count];
    while (pingpong_server_accept(listener, DUO_AT_ONCE, &one->ping) == DUO_OK) {
        wait_in(ports, one);
        *count += 1;
        one += 1;
    }
}

/* Answers those that are ready. `behind` counts the sessions that have not had their first turn, and all their `wanted` turns. */
static void answer_some(duo_ports *ports, unsigned wanted, size_t behind[2])
{
    void *with;
    for (int events = 0; events < EVENTS && duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK; events++) {
        session *one = with;
        pingpong_ping_t said;
        pingpong_server_pong_t pong;
        require(pingpong_server_ping_recv(one->ping, &said) == DUO_OK, "receive");
        pong = said.as.ping.next;
        require(pingpong_server_pong_send_pong(pong, &one->ping) == DUO_OK, "send");
        one->turns += 1;
        behind[0] -= one->turns == 1;
        behind[1] -= one->turns == wanted;
        wait_in(ports, one);
    }
}

static int by_turns(const void *one, const void *other)
{
    const session *left = one, *right = other;
    return (left->turns > right->turns) - (left->turns < right->turns);
}

/* Of a copy, since the set has pointers to the sessions. */
static void report_turns(const session *sessions, size_t count)
{
    session *sorted = malloc(count * sizeof *sorted);
    require(sorted != NULL, "memory");
    memcpy(sorted, sessions, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_turns);
    printf("turns %u %u\n", sorted[count / 2].turns, sorted[count - 1].turns);
    fflush(stdout);
    free(sorted);
}

static void serve(duo_listener *listener, size_t wanted, unsigned turns)
{
    session *sessions = calloc(wanted + 1, sizeof *sessions);
    duo_ports *ports = duo_ports_new();
    require(sessions != NULL && ports != NULL, "memory");
    size_t before = memory(), count = 0, behind[2] = {wanted, wanted};
    struct pollfd polled[2] = {{duo_listener_descriptor(listener), POLLIN, 0}, {duo_ports_descriptor(ports), POLLIN, 0}};
    bool is_open = false;
    while (behind[1] > 0) {
        if (count < wanted) accept_all(listener, ports, sessions, &count);
        answer_some(ports, 1 + turns, behind);
        if (behind[0] == 0 && !is_open) {
            size_t now = memory();
            printf("memory %zu\n", (now > before ? now - before : 0) / wanted);
            fflush(stdout);
            is_open = true;
        }
        (void)poll(polled, 2, -1);
    }
    report_turns(sessions, wanted);
    uint64_t start = milliseconds(CLOCK_MONOTONIC), used = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    duo_listener_drain(listener, DUO_AT_ONCE);
    /* The drain has ended the sessions. The set reports each of them, and its endpoint is freed. */
    for (size_t i = 0; i < wanted; i++) {
        void *with;
        pingpong_ping_t said;
        require(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK, "wait");
        require(pingpong_server_ping_recv(((session *)with)->ping, &said) == DUO_LOST, "the drain ends each session");
    }
    duo_ports_free(ports);
    printf("drained %u %u\n", (unsigned)(milliseconds(CLOCK_MONOTONIC) - start),
        (unsigned)(milliseconds(CLOCK_PROCESS_CPUTIME_ID) - used));
    free(sessions);
}

/* The certificates of the server, from the folder that the environment names, if it names one. They are needed until the program ends. */
static void secure(duo_net_options *options)
{
    const char *folder = getenv("DUOLOGUE_TLS");
    if (folder == NULL) return;
    static char authorities[512], chain[512], key[512];
    snprintf(authorities, sizeof authorities, "%s/ca.pem", folder);
    snprintf(chain, sizeof chain, "%s/server.pem", folder);
    snprintf(key, sizeof key, "%s/server.key", folder);
    const duo_tls_options files = {.authorities_file = authorities, .chain_file = chain, .key_file = key};
    duo_tls *certificates;
    duo_problem problem;
    require(duo_tls_new(&files, &certificates, &problem) == DUO_OK, "the certificates");
    options->tls = certificates;
}

/* One side's settings of OpenSSL, as sessions have them. */
static SSL_CTX *settings(const SSL_METHOD *method, const char *party)
{
    const char *folder = getenv("DUOLOGUE_TLS");
    char authorities[512], chain[512], key[512];
    require(folder != NULL, "DUOLOGUE_TLS");
    snprintf(authorities, sizeof authorities, "%s/ca.pem", folder);
    snprintf(chain, sizeof chain, "%s/%s.pem", folder, party);
    snprintf(key, sizeof key, "%s/%s.key", folder, party);
    SSL_CTX *made = SSL_CTX_new(method);
    require(made != NULL && SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(made, 0) == 1,
            "TLS 1.3");
    require(SSL_CTX_load_verify_locations(made, authorities, NULL) == 1 &&
                SSL_CTX_use_certificate_chain_file(made, chain) == 1 && SSL_CTX_use_PrivateKey_file(made, key, SSL_FILETYPE_PEM) == 1,
            "the certificates");
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    return made;
}

static SSL *begin(SSL_CTX *context, int descriptor)
{
    SSL *made = SSL_new(context);
    require(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 && made != NULL && SSL_set_fd(made, descriptor) == 1, "a connection");
    return made;
}

/* One byte in a record of its own. */
static void pass_byte(SSL *from, SSL *to)
{
    char byte = 1;
    require(SSL_write(from, &byte, 1) == 1 && SSL_read(to, &byte, 1) == 1, "a byte");
}

/* What the accepting side of a connection takes without a session. */
static void connect_alone(size_t connections)
{
    SSL_CTX *clients = settings(TLS_client_method(), "client"), *servers = settings(TLS_server_method(), "server");
    SSL **all = calloc(connections, sizeof *all);
    require(all != NULL, "memory");
    size_t before = memory();
    for (size_t i = 0; i < connections; i++) {
        int both[2];
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0, "sockets");
        SSL *client = begin(clients, both[0]);
        all[i] = begin(servers, both[1]);
        while (SSL_connect(client) != 1 || SSL_accept(all[i]) != 1)
            require(SSL_accept(all[i]) == 1 || SSL_get_error(all[i], -1) == SSL_ERROR_WANT_READ, "the handshake");
        pass_byte(client, all[i]);
        pass_byte(all[i], client);
        SSL_free(client);
        close(both[0]);
    }
    size_t now = memory();
    printf("memory %zu\n", (now > before ? now - before : 0) / connections);
    for (size_t i = 0; i < connections; i++) SSL_free(all[i]);
    free(all);
    SSL_CTX_free(clients);
    SSL_CTX_free(servers);
}

int main(int count, char **arguments)
{
    require(count == 5, "load server|library ADDRESS SESSIONS TURNS");
    struct rlimit limit;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors");
    limit.rlim_cur = limit.rlim_max;
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors");
    size_t sessions = strtoul(arguments[3], NULL, 10);
    if (strcmp(arguments[1], "library") == 0) {
        connect_alone(sessions);
        return 0;
    }
    duo_net_options options = {.sessions = sessions};
    secure(&options);
    duo_listener *listener;
    require(duo_listen(arguments[2], &options, &listener) == DUO_OK, "listen");
    printf("listening %s\n", duo_listener_address(listener));
    fflush(stdout);
    serve(listener, sessions, (unsigned)strtoul(arguments[4], NULL, 10));
    duo_listener_close(listener);
    return 0;
}
