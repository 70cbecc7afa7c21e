/*
 * The connections of a listener that have no session yet. Those that have sent nothing are silent: they take a descriptor
 * each, do not count as handshakes, and need no system call until something arrives. They give way to later ones.
 *
 * Connections get their turn in the order in which they came, so that none waits as long as others keep coming.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listener.h"

enum { HANDSHAKES = 64, SILENT = 512, LONGEST_HELLO = DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN };

/* How long no connection is accepted when the system is out of descriptors or memory, in nanoseconds. */
#define RECOVERY UINT64_C(50000000)

static size_t most_greetings(const duo_listener *listener)
{
    return listener->options.handshakes != 0 ? listener->options.handshakes : HANDSHAKES;
}

static size_t most_silent(const duo_listener *listener)
{
    return listener->options.silent != 0 ? listener->options.silent : SILENT;
}

void duo_net_hang_up_greeting(const duo_listener *listener, duo_net_greeting *greeting)
{
    duo_net_unwatch_greeting(listener, greeting);
    duo_net_hang_up(&greeting->stream);
}

void duo_net_take_greeting(duo_listener *listener, duo_net_greeting **place)
{
    const duo_net_greeting *taken = *place;
    *place = taken->next;
    if (taken->is_silent) listener->silent_count -= 1;
    else listener->greeting_count -= 1;
}

void duo_net_end_greeting(duo_listener *listener, duo_net_greeting **place)
{
    duo_net_greeting *gone = *place;
    duo_net_take_greeting(listener, place);
    if (gone->place != NULL) {
        pthread_mutex_lock(&listener->gate->lock);
        duo_net_leave_place(listener->gate, gone->place);
        pthread_mutex_unlock(&listener->gate->lock);
    }
    duo_net_free_greeting(gone);
}

/* Begins TLS on a connection on which something has arrived. If memory ran out, the connection is over. */
static void secure(const duo_listener *listener, duo_net_greeting *greeting)
{
    duo_problem problem = {""};
    duo_net_stream stream = greeting->stream;
    if (listener->tls == NULL) return;
    if (listener->tls->begin(listener->tls, NULL, &stream, &problem) == DUO_OK) {
        greeting->stream = stream;
        return;
    }
    duo_net_report_lost(listener, greeting, DUO_NO_MEMORY, DUO_VERDICT_EQUAL, &problem);
    greeting->stage = DUO_NET_READS_OFF;
    greeting->until = 0;
}

/* The greeting that has read off longest after its failure; NULL if there is none. */
static duo_net_greeting **find_failed(duo_listener *listener)
{
    duo_net_greeting **found = NULL;
    for (duo_net_greeting **place = &listener->greetings; *place != NULL; place = &(*place)->next)
        if ((*place)->stage == DUO_NET_READS_OFF && (found == NULL || (*place)->until < (*found)->until)) found = place;
    return found;
}

/* Ends the connection that failed first; false if none has. */
static bool end_failed(duo_listener *listener)
{
    duo_net_greeting **failed = find_failed(listener);
    if (failed == NULL) return false;
    duo_net_hang_up_greeting(listener, *failed);
    duo_net_end_greeting(listener, failed);
    return true;
}

bool duo_net_is_busy(duo_listener *listener)
{
    return listener->greeting_count >= most_greetings(listener) && find_failed(listener) == NULL;
}

bool duo_net_may_accept(duo_listener *listener)
{
    return listener->silent_count < most_silent(listener) || !duo_net_is_busy(listener);
}

/* Ends the connection that has been silent longest; false if none is, or something has arrived on it by now. */
static bool end_silent(duo_listener *listener)
{
    duo_net_greeting **place = &listener->greetings;
    while (*place != NULL && (!(*place)->is_silent || (*place)->is_ready)) place = &(*place)->next;
    duo_net_greeting *first = *place;
    if (first == NULL) return false;
    struct pollfd polled = {first->stream.descriptor, POLLIN, 0};
    first->is_ready = poll(&polled, 1, 0) != 0;
    if (first->is_ready) return false;
    duo_net_report_lost(listener, first, DUO_LATE, DUO_VERDICT_EQUAL, NULL);
    duo_net_hang_up_greeting(listener, first);
    duo_net_end_greeting(listener, place);
    return true;
}

static void append(duo_listener *listener, duo_net_greeting *made)
{
    duo_net_greeting **last = &listener->greetings;
    while (*last != NULL) last = &(*last)->next;
    made->next = NULL;
    *last = made;
    listener->silent_count += 1;
}

/* Refuses a connection whose peer has too many, without waiting. */
static void refuse_peer(const duo_listener *listener, duo_net_greeting *greeting)
{
    char bytes[LONGEST_HELLO];
    duo_net_report_lost(listener, greeting, DUO_REFUSED, DUO_VERDICT_SESSIONS_FULL, NULL);
    if (listener->tls == NULL) {
        duo_net_refuse(&greeting->stream, DUO_VERDICT_SESSIONS_FULL, 0);
        /* A connection that is closed with unread data is reset. Then the peer might not find the answer. */
        (void)duo_net_read_plain(&greeting->stream, bytes, sizeof bytes);
    }
    duo_net_hang_up_greeting(listener, greeting);
}

/* Lets a new connection wait; false if memory ran out. */
static bool wait_for_hello(duo_listener *listener, int taken, bool is_socket)
{
    const uint64_t now = duo_now();
    const uint64_t limit = listener->options.hello != 0 ? listener->options.hello : DUO_NET_HELLO;
    duo_net_greeting *made = duo_allocate(sizeof *made);
    if (made == NULL) return false;
    made->place = NULL;
    made->events = POLLIN;
    made->watched = 0;
    made->size = 0;
    made->certificate = NULL;
    made->certificate_size = 0;
    made->until = limit < DUO_FOREVER - now ? now + limit : DUO_FOREVER;
    made->is_silent = made->is_ready = true;
    made->stage = listener->tls != NULL ? DUO_NET_SHAKES_HANDS : DUO_NET_GREETS;
    made->stream = duo_net_plain(taken, is_socket);
    const size_t most = listener->options.per_peer;
    if (most != 0) made->place = duo_net_take_place(listener->gate, taken, most);
    if (most != 0 && made->place == NULL) {
        refuse_peer(listener, made);
        duo_net_free_greeting(made);
        return true;
    }
    append(listener, made);
    return true;
}

/* If no further handshake may begin, ends one that has failed, for a connection on which something has arrived. */
static void make_place(duo_listener *listener)
{
    if (listener->greeting_count < most_greetings(listener)) return;
    const duo_net_greeting *one = listener->greetings;
    while (one != NULL && !(one->is_silent && one->is_ready)) one = one->next;
    if (one != NULL) end_failed(listener);
}

/* The next connection; -1: see `errno`. */
static int take_connection(const duo_listener *listener)
{
#ifdef __linux__
    return accept4(listener->descriptor, NULL, NULL, SOCK_CLOEXEC);
#else
    return accept(listener->descriptor, NULL, NULL);
#endif
}

void duo_net_take_connections(duo_listener *listener)
{
    const uint64_t now = duo_now();
    make_place(listener);
    if (now < listener->recovers_at) return;
    while (duo_net_may_accept(listener)) {
        int taken = take_connection(listener);
        if (taken < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        bool lacks_descriptors = taken < 0 && (errno == EMFILE || errno == ENFILE);
        if (lacks_descriptors && (end_failed(listener) || end_silent(listener))) continue;
        /* No connection is waiting; or no descriptor is free, and another attempt at once would fail as well. */
        if (taken < 0 && errno != EAGAIN && errno != EWOULDBLOCK) listener->recovers_at = now + RECOVERY;
        if (taken < 0) return;
        bool is_socket = true, is_prepared = true;
#ifndef __linux__
        int yes = 1;
        setsockopt(taken, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        is_prepared = duo_net_prepare(taken, &is_socket);
#endif
        if (!is_prepared || !wait_for_hello(listener, taken, is_socket)) {
            close(taken);
            listener->recovers_at = now + RECOVERY;
            return;
        }
        /* If something has arrived on the one that would give way, those on which something has arrived are served first. */
        if (listener->silent_count > most_silent(listener) && !end_silent(listener)) return;
    }
}

bool duo_net_may_continue(duo_listener *listener, duo_net_greeting *greeting, uint64_t now)
{
    if (now >= greeting->until) return true;
    if (!greeting->is_ready) return false;
    if (greeting->is_silent) {
        struct pollfd polled = {greeting->stream.descriptor, POLLIN, 0};
        greeting->is_ready = poll(&polled, 1, 0) != 0;
        if (!greeting->is_ready) return false;
        if (listener->greeting_count >= most_greetings(listener)) return false;
        greeting->is_silent = false;
        listener->silent_count -= 1;
        listener->greeting_count += 1;
        secure(listener, greeting);
    }
    greeting->is_ready = false;
    return true;
}

void duo_net_await_connections(duo_listener *listener, uint64_t until)
{
    duo_net_polls *polls = &listener->polls;
    bool recovers = duo_now() < listener->recovers_at;
    if (recovers && listener->recovers_at < until) until = listener->recovers_at;
    bool accepts = !recovers && duo_net_may_accept(listener), has_places = !duo_net_is_busy(listener);
    polls->count = 0;
    bool has_all = duo_net_poll_too(polls, listener->wakers[0], POLLIN) &&
                   duo_net_poll_too(polls, accepts ? listener->descriptor : -1, POLLIN);
    for (const duo_net_greeting *one = listener->greetings; one != NULL && has_all; one = one->next) {
        bool waits = one->is_silent && !has_places;
        has_all = duo_net_poll_too(polls, waits ? -1 : one->stream.descriptor, one->events);
        if (one->until < until) until = one->until;
    }
    /* Without memory for the list, each may be ready soon. */
    duo_net_poll_all(polls->all, polls->count, has_all ? until : duo_soon(until));
    size_t at = 2;
    for (duo_net_greeting *one = listener->greetings; one != NULL; one = one->next)
        if (!has_all || polls->all[at++].revents != 0) one->is_ready = true;
}
