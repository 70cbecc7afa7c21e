/* What the system has: pipes and sockets, a call for each number. The kernel puts a waiting side to sleep. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

/* For each side, the descriptor that it reads and the one that it writes. */
typedef struct ends {
    int reads[2];
    int writes[2];
} ends;

static ends *new_ends(void)
{
    ends *made = calloc(1, sizeof *made);
    BENCH_NEEDS(made != NULL);
    return made;
}

static void *open_pipes(void)
{
    ends *made = new_ends();
    for (int to = 0; to < 2; to++) {
        int both[2];
        BENCH_NEEDS(pipe(both) == 0);
        made->reads[to] = both[0];
        made->writes[1 - to] = both[1];
    }
    return made;
}

static void *of_sockets(int first, int second)
{
    ends *made = new_ends();
    made->reads[0] = made->writes[0] = first;
    made->reads[1] = made->writes[1] = second;
    return made;
}

static void *open_unix(void)
{
    int both[2];
    BENCH_NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    return of_sockets(both[0], both[1]);
}

static void *open_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct sockaddr *where = (struct sockaddr *)&address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int first = socket(AF_INET, SOCK_STREAM, 0);
    BENCH_NEEDS(listener >= 0 && first >= 0);
    BENCH_NEEDS(bind(listener, where, size) == 0 && listen(listener, 1) == 0);
    BENCH_NEEDS(getsockname(listener, where, &size) == 0 && connect(first, where, size) == 0);
    int second = accept(listener, NULL, NULL);
    BENCH_NEEDS(second >= 0 && close(listener) == 0);
    int on = 1;
    BENCH_NEEDS(setsockopt(first, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    BENCH_NEEDS(setsockopt(second, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    return of_sockets(first, second);
}

static void close_ends(void *channel)
{
    ends *both = channel;
    for (int side = 0; side < 2; side++) {
        close(both->reads[side]);
        if (both->writes[side] != both->reads[side]) close(both->writes[side]);
    }
    free(both);
}

static void put(int to, uint64_t value)
{
    BENCH_NEEDS(write(to, &value, sizeof value) == (ssize_t)sizeof value);
}

static uint64_t get(int from)
{
    uint64_t value;
    char *bytes = (char *)&value;
    for (size_t had = 0; had < sizeof value;) {
        ssize_t got = read(from, bytes + had, sizeof value - had);
        BENCH_NEEDS(got > 0);
        had += (size_t)got;
    }
    return value;
}

static uint64_t ping(void *channel, uint64_t count)
{
    ends *both = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        put(both->writes[0], i);
        sum += get(both->reads[0]);
    }
    return sum;
}

static uint64_t pong(void *channel, uint64_t count)
{
    ends *both = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = get(both->reads[1]);
        sum += value;
        put(both->writes[1], value + 1);
    }
    return sum;
}

static uint64_t produce(void *channel, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) put(((ends *)channel)->writes[0], i);
    return 0;
}

static uint64_t consume(void *channel, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += get(((ends *)channel)->reads[1]);
    return sum;
}

const bench_case pipe_ping_pong = {"two of pipe(2)", open_pipes, {ping, pong}, close_ends, false, {0}};
const bench_case pipe_stream = {"pipe(2)", open_pipes, {produce, consume}, close_ends, false, {0}};
const bench_case unix_ping_pong = {"Unix socket pair", open_unix, {ping, pong}, close_ends, false, {0}};
const bench_case unix_stream = {"Unix socket pair", open_unix, {produce, consume}, close_ends, false, {0}};
const bench_case tcp_ping_pong = {"TCP, loopback", open_tcp, {ping, pong}, close_ends, false, {0}};
const bench_case tcp_stream = {"TCP, loopback", open_tcp, {produce, consume}, close_ends, false, {0}};
