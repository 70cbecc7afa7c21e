/* Sessions over sockets of which both sides are in this program: one thread connects while another accepts. */
#ifndef MEET_H
#define MEET_H

#include <sys/socket.h>

#include "check.h"
#include "duologue/net.h"

/* A side of a session, and how it begins. */
typedef struct meeting {
    const duo_wire_protocol *protocol;
    duo_role role;
    const duo_net_options *options;
    /* Where it connects, or NULL for a socket. */
    const char *address;
    int socket;
    duo_status status;
    duo_endpoint endpoint;
} meeting;

static inline void *side_connect(void *context)
{
    meeting *here = context;
    here->status =
        here->address != NULL
            ? duo_net_connect(here->address, here->protocol, here->role, here->options, &here->endpoint)
            : duo_net_connect_over(here->socket, here->protocol, here->role, here->options, &here->endpoint);
    return NULL;
}

/* Over these connected sockets. */
static inline void meet_over(int ends[2], meeting *connects, meeting *accepts)
{
    connects->socket = ends[0];
    pthread_t thread = start(side_connect, connects);
    accepts->status =
        duo_net_accept_over(ends[1], accepts->protocol, accepts->role, accepts->options, &accepts->endpoint);
    finish(thread);
}

static inline void meet(meeting *connects, meeting *accepts)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    meet_over(ends, connects, accepts);
}

/* Both sides of a protocol, over a pair of sockets. */
static inline void meet_both(const duo_wire_protocol *protocol, duo_endpoint *client, duo_endpoint *server)
{
    meeting connects = {.protocol = protocol, .role = DUO_CLIENT}, accepts = {.protocol = protocol, .role = DUO_SERVER};
    meet(&connects, &accepts);
    CHECK(connects.status == DUO_OK && accepts.status == DUO_OK);
    *client = connects.endpoint;
    *server = accepts.endpoint;
}

/* A client that connects to this listener, and the server that the listener accepts. */
static inline void meet_at(duo_listener *listener, meeting *client, const duo_wire_protocol *protocol, duo_endpoint *server)
{
    client->role = DUO_CLIENT;
    client->address = duo_listener_address(listener);
    pthread_t thread = start(side_connect, client);
    CHECK(duo_net_accept(listener, protocol, DUO_SERVER, DUO_FOREVER, server) == DUO_OK);
    finish(thread);
    CHECK(client->status == DUO_OK);
}

static inline duo_listener *new_listener(const char *address, const duo_net_options *options)
{
    duo_listener *made;
    CHECK(duo_listen(address, options, &made) == DUO_OK);
    return made;
}

/* For a thread that serves until the listener is stopped. */
static inline void *run_listener(void *listener)
{
    CHECK(duo_listener_run(listener) == DUO_OK);
    return NULL;
}

/* Waits this long for the sessions of a listener that is run by this thread, and ends it. */
static inline void end_listener(duo_listener *listener, pthread_t thread, uint64_t wait)
{
    duo_listener_drain(listener, wait);
    finish(thread);
    duo_listener_close(listener);
}

#endif
