/* Addresses: connecting to them, and listening. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

enum { BACKLOG = 1024 };

/* How long to wait before the next attempt to connect, while the backlog of a Unix socket is full. */
static const struct timespec pause_of_full = {0, 1000000};

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_storage storage;
} socket_address;

/* The path of a Unix socket; NULL if the address is of another kind. */
static const char *path_of(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL;
}

static duo_status local_address(const char *path, socket_address *found)
{
    memset(found, 0, sizeof *found);
    found->local.sun_family = AF_UNIX;
    size_t size = strlen(path);
    if (size == 0) return DUO_ADDRESS;
    if (size >= sizeof found->local.sun_path) {
        errno = ENAMETOOLONG;
        return DUO_SYSTEM;
    }
    memcpy(found->local.sun_path, path, size + 1);
    return DUO_OK;
}

/* Splits `tcp://HOST:PORT` or `tls://HOST:PORT`. The host is without its brackets. */
static duo_status split(const char *address, bool listens, char name[DUO_NET_HOST], const char **port)
{
    if (strncmp(address, "tcp://", 6) != 0 && strncmp(address, "tls://", 6) != 0) return DUO_ADDRESS;
    const char *host = address + 6, *end = strrchr(host, ':');
    if (end == NULL || end[1] == '\0') return DUO_ADDRESS;
    *port = end + 1;
    if (strspn(*port, "0123456789") != strlen(*port)) return DUO_ADDRESS;
    bool is_bracketed = host[0] == '[';
    if (is_bracketed) {
        host += 1;
        end -= 1;
        if (end <= host || *end != ']') return DUO_ADDRESS;
    }
    size_t size = (size_t)(end - host);
    if (size >= DUO_NET_HOST || (size == 0 && !listens)) return DUO_ADDRESS;
    if (!is_bracketed && memchr(host, ':', size) != NULL) return DUO_ADDRESS;
    memcpy(name, host, size);
    name[size] = '\0';
    return DUO_OK;
}

duo_status duo_net_find_tls(const char *address, bool listens, const duo_net_options *options, const duo_tls **tls,
                            char host[DUO_NET_HOST])
{
    const char *port;
    *tls = NULL;
    if (strncmp(address, "tls:", 4) != 0) return DUO_OK;
    duo_status status = split(address, listens, host, &port);
    if (status != DUO_OK) return status;
    *tls = options->tls;
    if (*tls != NULL) return DUO_OK;
    if (options->problem != NULL)
        duo_net_explain(options->problem, "`%s` requires certificates: set `duo_net_options.tls`", address);
    return DUO_CERTIFICATES;
}

/* Looks up the host of an address; the result is freed by `freeaddrinfo`. */
static duo_status look_up(const char *address, bool listens, struct addrinfo **found)
{
    char name[DUO_NET_HOST];
    const char *port;
    duo_status status = split(address, listens, name, &port);
    if (status != DUO_OK) return status;
    struct addrinfo hints = {
        .ai_flags = listens ? AI_PASSIVE : 0, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int failed = getaddrinfo(name[0] == '\0' ? NULL : name, port, &hints, found);
    if (failed == 0) return DUO_OK;
    if (failed == EAI_MEMORY) return DUO_NO_MEMORY;
    if (failed != EAI_SYSTEM) errno = EADDRNOTAVAIL;
    return DUO_SYSTEM;
}

static int open_socket(int family)
{
#ifdef __linux__
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int made = socket(family, SOCK_STREAM, 0);
    if (made < 0 || duo_net_set_flags(made, false)) return made;
    close(made);
    return -1;
#endif
}

static duo_status fail(int descriptor)
{
    int reason = errno;
    close(descriptor);
    errno = reason;
    return DUO_SYSTEM;
}

/* Connects before that time; DUO_LATE if it has passed. */
static duo_status connect_to(const struct sockaddr *to, socklen_t size, uint64_t until, int *descriptor)
{
    int made = open_socket(to->sa_family);
    if (made < 0) return DUO_SYSTEM;
    while (connect(made, to, size) != 0) {
        /* The system does not report when the backlog of a Unix socket has space again. */
        if (errno == EAGAIN && to->sa_family == AF_UNIX && !duo_gives_up(until)) {
            nanosleep(&pause_of_full, NULL);
            continue;
        }
        if (errno == EAGAIN && to->sa_family == AF_UNIX) {
            close(made);
            return DUO_LATE;
        }
        if (errno != EINPROGRESS && errno != EINTR) return fail(made);
        struct pollfd polled = {made, POLLOUT, 0};
        while (polled.revents == 0) {
            if (duo_gives_up(until)) {
                close(made);
                return DUO_LATE;
            }
            duo_net_poll_all(&polled, 1, until);
        }
        int error = 0;
        socklen_t room = sizeof error;
        if (getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &room) != 0) return fail(made);
        errno = error;
        if (error != 0) return fail(made);
        break;
    }
    if (to->sa_family != AF_UNIX) {
        int yes = 1;
        setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    *descriptor = made;
    return DUO_OK;
}

duo_status duo_net_dial(const char *address, uint64_t until, int *descriptor)
{
    const char *path = path_of(address);
    if (path != NULL) {
        socket_address to;
        duo_status status = local_address(path, &to);
        return status == DUO_OK ? connect_to(&to.any, sizeof to.local, until, descriptor) : status;
    }
    struct addrinfo *found;
    duo_status status = look_up(address, false, &found);
    if (status != DUO_OK) return status;
    errno = EADDRNOTAVAIL;
    status = DUO_SYSTEM;
    for (const struct addrinfo *one = found; one != NULL && status == DUO_SYSTEM; one = one->ai_next)
        status = connect_to(one->ai_addr, one->ai_addrlen, until, descriptor);
    int reason = errno;
    freeaddrinfo(found);
    errno = reason;
    return status;
}

/* Whether a file is a socket on which no process listens. */
static bool is_stale(const socket_address *at)
{
    struct stat status;
    if (lstat(at->local.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    int tried = open_socket(AF_UNIX);
    if (tried < 0) return false;
    bool is_refused = connect(tried, &at->any, sizeof at->local) != 0 && errno == ECONNREFUSED;
    close(tried);
    return is_refused;
}

static duo_status bind_to(const struct sockaddr *to, socklen_t size, int *descriptor)
{
    int made = open_socket(to->sa_family);
    if (made < 0) return DUO_SYSTEM;
    int yes = 1;
    if (to->sa_family != AF_UNIX) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(made, to, size) != 0) return fail(made);
    if (listen(made, BACKLOG) != 0) return fail(made);
    /* On Linux, accepted sockets inherit this; on other systems it is set for each of them. */
    if (to->sa_family != AF_UNIX) setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    *descriptor = made;
    return DUO_OK;
}

duo_status duo_net_bind(const char *address, int *descriptor, char *path, size_t room)
{
    const char *local = path_of(address);
    path[0] = '\0';
    if (local != NULL) {
        socket_address to;
        duo_status status = local_address(local, &to);
        if (status != DUO_OK) return status;
        status = bind_to(&to.any, sizeof to.local, descriptor);
        if (status == DUO_SYSTEM && errno == EADDRINUSE) {
            if (!is_stale(&to) || unlink(to.local.sun_path) != 0) {
                errno = EADDRINUSE;
                return DUO_SYSTEM;
            }
            status = bind_to(&to.any, sizeof to.local, descriptor);
        }
        if (status == DUO_OK) snprintf(path, room, "%s", to.local.sun_path);
        return status;
    }
    struct addrinfo *found;
    duo_status status = look_up(address, true, &found);
    if (status != DUO_OK) return status;
    errno = EADDRNOTAVAIL;
    status = DUO_SYSTEM;
    for (const struct addrinfo *one = found; one != NULL && status == DUO_SYSTEM; one = one->ai_next)
        status = bind_to(one->ai_addr, one->ai_addrlen, descriptor);
    int reason = errno;
    freeaddrinfo(found);
    errno = reason;
    return status;
}

void duo_net_spell(int descriptor, bool of_peer, bool is_tls, char *text, size_t room)
{
    socket_address at;
    memset(&at, 0, sizeof at);
    socklen_t size = sizeof at;
    int failed = of_peer ? getpeername(descriptor, &at.any, &size) : getsockname(descriptor, &at.any, &size);
    text[0] = '\0';
    if (failed != 0) return;
    if (at.any.sa_family == AF_UNIX) {
        /* The peer may have bound its socket to a path with any bytes in it, which does not belong into logs. */
        size_t head = of_peer ? size : offsetof(struct sockaddr_un, sun_path);
        int length = size > head ? (int)strnlen(at.local.sun_path, size - head) : 0;
        snprintf(text, room, "unix:%.*s", length, at.local.sun_path);
        return;
    }
    char host[DUO_NET_HOST], port[16];
    const int how = NI_NUMERICHOST | NI_NUMERICSERV;
    if (getnameinfo(&at.any, size, host, sizeof host, port, sizeof port, how) != 0) return;
    const char *scheme = is_tls ? "tls" : "tcp";
    snprintf(text, room, at.any.sa_family == AF_INET6 ? "%s://[%s]:%s" : "%s://%s:%s", scheme, host, port);
}
