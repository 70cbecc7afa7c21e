/* One side of a session over a broker: messages on one side, a socket on the other. net_broker.h says what always holds. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_broker.h"

/* How many heartbeats a side that has ended waits for its peer to confirm that. */
enum { LAST_TICKS = 15 };

/* How many messages a link publishes before others have their turn: a peer may give more credit than this side can use up. */
enum { MOST_AT_ONCE = 16 };

/* No peer is given more credit. */
#define MOST_CREDIT (UINT64_C(1) << 30)

/* How long the answer to *open* may take, in nanoseconds. */
#define UNHEARD UINT64_C(1000000000)

#ifdef MSG_NOSIGNAL
#define QUIETLY MSG_NOSIGNAL
#else
#define QUIETLY 0
#endif

#ifdef __linux__
enum { READABLE = EPOLLIN, WRITABLE = EPOLLOUT, HUNG_UP = EPOLLRDHUP };

static bool open_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0;
}

/* Registers the socket for these events. A socket for which nothing is of interest is not registered, because its end is always reported. */
static void watch(duo_link *link, uint32_t events)
{
    if (events == link->events) return;
    int how = link->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = events, .data = {.ptr = link}};
    /* If there is no memory for that, the next heartbeat tries again. */
    if (epoll_ctl(link->epoll, how, link->descriptor, &event) == 0) link->events = events;
}
#else
enum { READABLE = 1, WRITABLE = 2, HUNG_UP = 4 };

static bool open_pair(int ends[2])
{
    (void)ends;
    errno = ENOTSUP;
    return false;
}

static void watch(duo_link *link, uint32_t events)
{
    link->events = events;
}
#endif

duo_link *duo_link_new(duo_broker *broker, int epoll, const char *process, uint64_t window, int *descriptor)
{
    int ends[2], size = DUO_LINK_BUFFER;
    duo_link *made = duo_allocate(sizeof *made);
    if (made == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    memset(made, 0, sizeof *made);
    if (!duo_random_text(made->token) || !open_pair(ends)) {
        int reason = errno;
        duo_release(made);
        errno = reason;
        return NULL;
    }
    for (int i = 0; i < 2; i++) (void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    made->broker = broker;
    made->epoll = epoll;
    made->last = &made->first;
    made->ours = window;
    made->ticks_left = LAST_TICKS;
    made->descriptor = ends[0];
    snprintf(made->address, sizeof made->address, "duo.at.%s.%s", process, made->token);
    *descriptor = ends[1];
    return made;
}

static void forget_chunks(duo_link *link)
{
    while (link->first != NULL) {
        duo_link_chunk *chunk = link->first;
        link->first = chunk->next;
        duo_release(chunk);
    }
    link->last = &link->first;
    link->start = 0;
    link->read = link->arrived;
}

static void hang_up(duo_link *link)
{
    if (link->descriptor < 0) return;
    watch(link, 0);
    close(link->descriptor);
    link->descriptor = -1;
    link->events = 0;
}

void duo_link_free(duo_link *link)
{
    hang_up(link);
    forget_chunks(link);
    duo_release(link);
}

/* Publishes a message to the peer. A side that expects an answer says where it is. `bytes` has space for the head before it. */
static void publish(duo_link *link, duo_packet_kind kind, uint8_t *bytes, size_t size)
{
    if (link->stage != DUO_LINK_IS_OPEN && kind != DUO_PACKET_OPEN) return;
    if (duo_packet_is_numbered(kind)) link->sent += 1;
    link->reported = link->read;
    const duo_packet packet = {.kind = kind, .number = link->sent, .received = link->received, .read = link->read, .window = link->ours};
    uint8_t head[DUO_PACKET_HEAD], *message = head;
    size_t head_size = duo_packet_write_head(head, &packet);
    if (size > 0) {
        message = bytes - head_size;
        memcpy(message, head, head_size);
    }
    bool says_where = kind == DUO_PACKET_OPEN || kind == DUO_PACKET_ACCEPT || kind == DUO_PACKET_ASK || kind == DUO_PACKET_LOST;
    link->broker->publish(link->broker, link->to, says_where ? link->address : NULL, message, head_size + size);
}

static void drop(duo_link *link)
{
    link->is_dropped = true;
    link->is_blocked = false;
    forget_chunks(link);
    hang_up(link);
}

void duo_link_fail(duo_link *link, bool tells)
{
    if (link->end == DUO_LINK_FAILED) return;
    link->end = DUO_LINK_FAILED;
    link->is_blocked = false;
    link->has_to_tell = tells && link->stage == DUO_LINK_IS_OPEN;
    if (link->has_to_tell) publish(link, DUO_PACKET_LOST, NULL, 0);
    duo_link_go_on(link);
}

/* Writes what has arrived. The system reports when the socket accepts more. */
static void deliver(duo_link *link)
{
    while (link->first != NULL) {
        duo_link_chunk *chunk = link->first;
        ptrdiff_t done = send(link->descriptor, chunk->bytes + link->start, chunk->size - link->start, QUIETLY);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (done < 0) {
            /* The session does not read any more. What it has written is still published. */
            forget_chunks(link);
            break;
        }
        link->start += (size_t)done;
        if (link->start < chunk->size) continue;
        link->read += duo_link_cost(chunk->size);
        link->start = 0;
        link->first = chunk->next;
        if (link->first == NULL) link->last = &link->first;
        duo_release(chunk);
    }
    if (link->first == NULL && link->end == DUO_LINK_ENDED) (void)shutdown(link->descriptor, SHUT_WR);
}

/* The credit that a message may take now, without its overhead; 0 if there is too little for what the session has written. */
static size_t credit(const duo_link *link)
{
    uint64_t all = link->theirs + link->returned, left = all > link->used ? all - link->used : 0;
    if (left <= DUO_LINK_OVERHEAD) return 0;
    left -= DUO_LINK_OVERHEAD;
    int waiting = 0;
    if (ioctl(link->descriptor, FIONREAD, &waiting) != 0 || waiting < 0) waiting = 0;
    /* Not many short messages where one will do. */
    uint64_t quarter = link->theirs / 4, wanted = (uint64_t)waiting < quarter ? (uint64_t)waiting : quarter;
    return left >= wanted ? (size_t)left : 0;
}

/* Reads what the session has written, as far as there is credit, and publishes it. */
static void collect(duo_link *link)
{
    uint8_t space[DUO_PACKET_HEAD + DUO_LINK_BUFFER], *bytes = space + DUO_PACKET_HEAD;
    for (unsigned count = 0; count < MOST_AT_ONCE && !link->is_closed && link->stage != DUO_LINK_ASKS; count++) {
        bool is_new = link->stage == DUO_LINK_IS_NEW;
        size_t most = is_new ? DUO_LONGEST_HELLO : credit(link), longest = link->broker->longest - DUO_PACKET_HEAD;
        /* The end needs no credit, so this looks whether there is something else. */
        bool has_credit = most > 0;
        if (!has_credit) most = 1;
        if (most > DUO_LINK_BUFFER) most = DUO_LINK_BUFFER;
        if (most > longest) most = longest;
        ptrdiff_t done = recv(link->descriptor, bytes, most, has_credit ? 0 : MSG_PEEK);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (done <= 0) {
            if (link->stage == DUO_LINK_IS_OPEN) publish(link, DUO_PACKET_END, NULL, 0);
            link->is_closed = true;
            drop(link);
            return;
        }
        link->is_blocked = !has_credit;
        if (link->is_blocked) return;
        link->used += duo_link_cost((size_t)done);
        if (is_new) {
            publish(link, DUO_PACKET_OPEN, bytes, (size_t)done);
            link->stage = DUO_LINK_ASKS;
            link->opened_at = duo_net_now();
            return;
        }
        /* From its first message on, this side waits for the peer's heartbeats. */
        if (link->sent == 0) link->peer->missed = 0;
        publish(link, link->sent == 0 ? DUO_PACKET_ACCEPT : DUO_PACKET_DATA, bytes, (size_t)done);
    }
}

/* The session may have ended while it waits for the answer to *open*, or for credit. */
static bool is_hung_up(const duo_link *link)
{
    struct pollfd polled = {link->descriptor, 0, 0};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLHUP | POLLERR)) != 0;
}

void duo_link_go_on(duo_link *link)
{
    if (link->descriptor < 0) return;
    deliver(link);
    if (link->end == DUO_LINK_FAILED) {
        /* What the session writes is lost, too. It finds the end of its connection after what has arrived. */
        if (link->first == NULL) hang_up(link);
        else watch(link, WRITABLE);
        return;
    }
    if (link->stage == DUO_LINK_ASKS && is_hung_up(link)) drop(link);
    else if (!link->is_blocked) collect(link);
    if (link->descriptor < 0) return;
    uint64_t unreported = link->read - link->reported;
    if (unreported >= link->ours / 2 && link->end == DUO_LINK_GOES_ON) publish(link, DUO_PACKET_ANSWER, NULL, 0);
    uint32_t events = link->first != NULL ? WRITABLE : 0;
    if (link->stage == DUO_LINK_ASKS) events |= HUNG_UP;
    else if (!link->is_blocked) events |= READABLE;
    watch(link, events);
}

/* Adds what has arrived. False if memory ran out. */
static bool keep(duo_link *link, const uint8_t *bytes, size_t size)
{
    duo_link_chunk *chunk = duo_allocate(sizeof *chunk + size);
    if (chunk == NULL) return false;
    chunk->next = NULL;
    chunk->size = size;
    memcpy(chunk->bytes, bytes, size);
    *link->last = chunk;
    link->last = &chunk->next;
    return true;
}

static void join(duo_link *link, const char *to, duo_link_peer *peer, uint64_t window)
{
    snprintf(link->to, sizeof link->to, "%s", to);
    link->peer = peer;
    link->stage = DUO_LINK_IS_OPEN;
    link->theirs = window < MOST_CREDIT ? window : MOST_CREDIT;
}

bool duo_link_accept(duo_link *link, const char *from, duo_link_peer *peer, const duo_packet *packet)
{
    if (packet->number != 1 || packet->received != 0 || packet->read != 0) return false;
    if (!keep(link, packet->bytes, packet->size)) return false;
    link->is_accepted = true;
    join(link, from, peer, packet->window);
    link->received = 1;
    /* The first message needs no credit, because this side has not given any. */
    link->arrived = duo_link_cost(packet->size);
    publish(link, DUO_PACKET_ANSWER, NULL, 0);
    duo_link_go_on(link);
    return true;
}

void duo_link_meet(duo_link *link, const char *from, duo_link_peer *peer, uint64_t window)
{
    join(link, from, peer, window);
}

void duo_link_take(duo_link *link, const duo_packet *packet)
{
    if (packet->kind == DUO_PACKET_GONE || packet->kind == DUO_PACKET_LOST) {
        duo_link_fail(link, false);
        link->has_to_tell = false;
        if (packet->kind == DUO_PACKET_LOST) publish(link, DUO_PACKET_GONE, NULL, 0);
        return;
    }
    if (packet->kind == DUO_PACKET_OPEN || packet->kind == DUO_PACKET_ALIVE || link->end == DUO_LINK_FAILED) return;
    bool is_numbered = duo_packet_is_numbered(packet->kind);
    uint64_t expected = link->received + (is_numbered ? 1 : 0);
    if (packet->received > link->sent || packet->read > link->used || packet->number > expected) {
        duo_link_fail(link, true);
        return;
    }
    if (packet->received > link->confirmed) link->confirmed = packet->received;
    if (packet->read > link->returned) {
        link->returned = packet->read;
        link->is_blocked = false;
    }
    if (packet->kind == DUO_PACKET_ASK) publish(link, DUO_PACKET_ANSWER, NULL, 0);
    /* Otherwise the broker has delivered it twice. */
    if (is_numbered && packet->number == expected) {
        bool is_end = packet->kind == DUO_PACKET_END;
        uint64_t cost = duo_link_cost(packet->size);
        bool fits = is_end || link->arrived + cost <= link->read + link->ours;
        bool is_kept = link->end == DUO_LINK_GOES_ON && fits && (is_end || link->descriptor < 0 || keep(link, packet->bytes, packet->size));
        if (!is_kept) {
            duo_link_fail(link, true);
            return;
        }
        link->received += 1;
        if (is_end) link->end = DUO_LINK_ENDED;
        else link->arrived += cost;
        if (link->descriptor < 0) link->read = link->arrived;
    }
    duo_link_go_on(link);
}

void duo_link_tick(duo_link *link, bool publishes)
{
    if (link->stage == DUO_LINK_ASKS && link->confirmed == 0 && duo_net_now() >= link->opened_at + UNHEARD) {
        link->is_unheard = link->end == DUO_LINK_GOES_ON;
        duo_link_fail(link, false);
    }
    bool is_failed = link->end == DUO_LINK_FAILED;
    if (!publishes) {
        /* It would wait in this process until the broker is back. */
    } else if (link->has_to_tell) {
        publish(link, DUO_PACKET_LOST, NULL, 0);
    } else if (!is_failed && (link->sent > link->confirmed || link->is_blocked)) {
        publish(link, DUO_PACKET_ASK, NULL, 0);
    }
    bool is_leaving = link->is_dropped || link->descriptor < 0 || (link->is_blocked && is_hung_up(link));
    if (is_leaving && link->ticks_left > 0) link->ticks_left -= 1;
    if (link->ticks_left == 0 && !link->is_dropped) drop(link);
    duo_link_go_on(link);
}

void duo_link_leave(duo_link *link)
{
    duo_link_go_on(link);
    if (!link->is_closed && link->end != DUO_LINK_FAILED) publish(link, DUO_PACKET_END, NULL, 0);
    link->is_closed = true;
}

bool duo_link_is_over(const duo_link *link)
{
    if (link->descriptor >= 0) return false;
    if (link->ticks_left == 0) return true;
    switch (link->end) {
    case DUO_LINK_FAILED: return !link->has_to_tell;
    case DUO_LINK_ENDED: return link->is_dropped && link->sent == link->confirmed;
    default: return link->is_dropped && link->stage != DUO_LINK_IS_OPEN;
    }
}
