/* What sessions over byte streams need from the system. Linux has calls that others lack: each has a replacement here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system.h"

/* Without this flag, a write to a connection that is gone raises SIGPIPE, which the program then has to ignore. */
#ifdef MSG_NOSIGNAL
#define QUIETLY MSG_NOSIGNAL
#else
#define QUIETLY 0
#endif

/* Sockets may block, so that a thread can wait in a read; every other call says that it does not wait. */
#ifdef MSG_DONTWAIT
#define WITHOUT_WAITING MSG_DONTWAIT
#else
#define WITHOUT_WAITING 0
#endif

/* How soon a thread notices that it is canceled where nothing wakes it, in nanoseconds. */
#define CANCEL_PERIOD UINT64_C(20000000)

/* How much is read and discarded before a connection is closed, at most. */
enum { MOST_READ_OFF = 1 << 20 };

static void poll_until(struct pollfd *polled, size_t count, uint64_t until)
{
    const uint64_t left = duo_left(until);
#ifdef __linux__
    const struct timespec limit = duo_timespec(left);
    (void)ppoll(polled, (nfds_t)count, until == DUO_FOREVER ? NULL : &limit, NULL);
#else
    /* Rounded up, so that a wait that is not interrupted does not end before its time. */
    uint64_t milliseconds = left / 1000000 + 1;
    int limit = left == 0 ? 0 : milliseconds < 1000000 ? (int)milliseconds : 1000000;
    (void)poll(polled, (nfds_t)count, until == DUO_FOREVER ? -1 : limit);
#endif
}

void duo_net_poll_all(struct pollfd *polled, size_t count, uint64_t until)
{
    enum { FEW = 8 };
    const duo_sleeper *own = duo_own_sleeper();
    if (own == NULL) {
        poll_until(polled, count, until);
    } else if (count < FEW) {
        struct pollfd all[FEW] = {{own->descriptor, POLLIN, 0}};
        memcpy(all + 1, polled, count * sizeof *polled);
        poll_until(all, count + 1, until);
        memcpy(polled, all + 1, count * sizeof *polled);
    } else {
        /* There is no space for one more descriptor, so the wait returns from time to time. */
        uint64_t soon = duo_now() + CANCEL_PERIOD;
        poll_until(polled, count, until < soon ? until : soon);
    }
}

void duo_net_poll(int descriptor, short events, uint64_t until)
{
    struct pollfd polled = {descriptor, events, 0};
    duo_net_poll_all(&polled, 1, until);
}

bool duo_net_poll_too(duo_net_polls *polls, int descriptor, short events)
{
    if (polls->count == polls->capacity) {
        size_t capacity = polls->capacity == 0 ? 16 : 2 * polls->capacity;
        struct pollfd *more = duo_allocate(capacity * sizeof *more);
        if (more == NULL) return false;
        if (polls->count > 0) memcpy(more, polls->all, polls->count * sizeof *more);
        if (polls->all != NULL) duo_release(polls->all);
        polls->all = more;
        polls->capacity = capacity;
    }
    polls->all[polls->count++] = (struct pollfd){descriptor, events, 0};
    return true;
}

bool duo_net_set_flags(int descriptor, bool blocks)
{
    int flags = fcntl(descriptor, F_GETFL);
    int wanted = blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    if (flags < 0 || (wanted != flags && fcntl(descriptor, F_SETFL, wanted) < 0)) return false;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

bool duo_net_prepare(int descriptor, bool *is_socket)
{
    int kind;
    socklen_t size = sizeof kind;
    *is_socket = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
    return duo_net_set_flags(descriptor, WITHOUT_WAITING != 0 && *is_socket);
}

bool duo_net_pipe(int ends[2])
{
#ifdef __linux__
    return pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
#else
    if (pipe(ends) != 0) return false;
    if (duo_net_set_flags(ends[0], false) && duo_net_set_flags(ends[1], false)) return true;
    duo_net_close_pipe(ends);
    return false;
#endif
}

void duo_net_wake(const int ends[2])
{
    int reason = errno;
    /* If it is full, it is readable. */
    while (write(ends[1], "", 1) < 0 && errno == EINTR) continue;
    errno = reason;
}

void duo_net_close_pipe(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

ptrdiff_t duo_net_read_plain(const duo_net_stream *stream, void *bytes, size_t size)
{
    ptrdiff_t done;
    do done = stream->is_socket ? recv(stream->descriptor, bytes, size, WITHOUT_WAITING) : read(stream->descriptor, bytes, size);
    while (done < 0 && errno == EINTR);
    if (done < 0 && errno == EWOULDBLOCK) errno = EAGAIN;
    return done;
}

bool duo_net_can_block(const duo_net_stream *stream)
{
    return WITHOUT_WAITING != 0 && stream->is_socket && stream->kind->read == duo_net_read_plain;
}

ptrdiff_t duo_net_read_blocking(int descriptor, void *bytes, size_t size)
{
    return recv(descriptor, bytes, size, 0);
}

ptrdiff_t duo_net_write_plain(const duo_net_stream *stream, const void *bytes, size_t size)
{
    ptrdiff_t done;
    do done = stream->is_socket ? send(stream->descriptor, bytes, size, QUIETLY | WITHOUT_WAITING) : write(stream->descriptor, bytes, size);
    while (done < 0 && errno == EINTR);
    if (done < 0 && errno == EWOULDBLOCK) errno = EAGAIN;
    return done;
}

/* The system reports everything that can be read. */
static bool has_nothing(const duo_net_stream *stream)
{
    (void)stream;
    return false;
}

static duo_status need_no_handshake(const duo_net_stream *stream, short *events, duo_problem *problem)
{
    (void)stream, (void)events, (void)problem;
    return DUO_OK;
}

static bool explain_nothing(const duo_net_stream *stream, duo_problem *problem)
{
    (void)stream, (void)problem;
    return false;
}

static bool copy_nothing(const duo_net_stream *stream, uint8_t **bytes, size_t *size)
{
    (void)stream;
    *bytes = NULL;
    *size = 0;
    return true;
}

/* A plain stream sends nothing at its end, and has nothing to free. */
static void do_nothing(const duo_net_stream *stream)
{
    (void)stream;
}

duo_net_stream duo_net_plain(int descriptor, bool is_socket)
{
    static const duo_net_stream_kind plain = {
        .read = duo_net_read_plain,
        .write = duo_net_write_plain,
        .has_more = has_nothing,
        .shake_hands = need_no_handshake,
        .explain = explain_nothing,
        .copy_certificate = copy_nothing,
        .notify_end = do_nothing,
        .free = do_nothing,
    };
    return (duo_net_stream){&plain, NULL, descriptor, is_socket};
}

void duo_net_explain(duo_problem *problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(problem->text, sizeof problem->text, format, values);
    va_end(values);
}

/* Whether this error means that the connection is gone. */
static bool is_gone(int error)
{
    return error == EPIPE || error == ECONNRESET || error == ECONNABORTED || error == ETIMEDOUT ||
           error == ENOTCONN;
}

/* Counts bytes that were read or written, or waits for one of these events until some can be. */
static duo_status go_on(const duo_net_stream *stream, ptrdiff_t done, size_t *left, short events, uint64_t until)
{
    if (done == 0) return DUO_LOST;
    if (done < 0 && errno != EAGAIN) return is_gone(errno) ? DUO_LOST : DUO_SYSTEM;
    if (done > 0) *left -= (size_t)done;
    if (*left > 0 && duo_gives_up(until)) return DUO_LATE;
    if (done < 0) duo_net_poll(stream->descriptor, events, until);
    return DUO_OK;
}

duo_status duo_net_read_all(const duo_net_stream *stream, void *bytes, size_t size, uint64_t until)
{
    duo_status status = DUO_OK;
    char *end = (char *)bytes + size;
    for (size_t left = size; left > 0 && status == DUO_OK;)
        status = go_on(stream, duo_net_read_some(stream, end - left, left), &left, POLLIN, until);
    return status;
}

duo_status duo_net_write_all(const duo_net_stream *stream, const void *bytes, size_t size, uint64_t until)
{
    duo_status status = DUO_OK;
    const char *end = (const char *)bytes + size;
    for (size_t left = size; left > 0 && status == DUO_OK;)
        status = go_on(stream, duo_net_write_some(stream, end - left, left), &left, POLLOUT, until);
    return status;
}

void duo_net_hang_up(const duo_net_stream *stream)
{
    int reason = errno;
    char bytes[4096];
    size_t most = MOST_READ_OFF;
    stream->kind->notify_end(stream);
    /* If a socket with unread data is closed, some systems also discard what was sent before. */
    while (most > 0) {
        ptrdiff_t done = duo_net_read_plain(stream, bytes, sizeof bytes);
        if (done <= 0) break;
        most -= (size_t)done < most ? (size_t)done : most;
    }
    if (stream->is_socket) shutdown(stream->descriptor, SHUT_RDWR);
    close(stream->descriptor);
    stream->kind->free(stream);
    errno = reason;
}
