/* The accepting side of a handshake, and listeners with the sessions that begin there. */
#ifndef DUOLOGUE_NET_LISTENER_H
#define DUOLOGUE_NET_LISTENER_H

#include "../net/net.h"

/*
 * With TLS, a connection begins with the TLS handshake. If that fails, the listener reads and discards what arrives for
 * a moment, so that the peer can read why: `size` then counts these bytes, and `until` is the end of that moment.
 */
typedef enum duo_net_stage { DUO_NET_GREETS, DUO_NET_SHAKES_HANDS, DUO_NET_READS_OFF } duo_net_stage;

/* A connection whose hello is arriving. */
typedef struct duo_net_greeting {
    duo_net_stream stream;
    duo_net_stage stage;
    /* Nothing has arrived yet. */
    bool is_silent;
    /* Something may have arrived since it was last read. */
    bool is_ready;
    /* That of its peer, if there is a limit for each. It goes over to the session. */
    duo_net_place *place;
    /* What to poll before it continues. */
    short events;
    /* What the listener's descriptor reports of it. */
    short watched;
    /* When the stage must be over. */
    uint64_t until;
    /* The certificate of the peer. */
    uint8_t *certificate;
    size_t certificate_size;
    size_t size;
    struct duo_net_greeting *next;
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN];
} duo_net_greeting;

struct duo_listener {
    duo_net_options options;
    int descriptor;
    /* NULL if the address does not use TLS. */
    const duo_tls *tls;
    /* A pipe that is readable once the listener is stopped. */
    int wakers[2];
    /* For loops of the program: see descriptor.c. Both are -1 until they are requested. Under `lock`. */
    int epoll;
    int timer;
    DUO_ATOMIC bool is_stopped;
    DUO_ATOMIC bool is_draining;
    /* `has_turn`: whether a thread accepts connections. That thread owns what follows, up to `gate`. */
    pthread_mutex_t lock;
    pthread_cond_t turned;
    bool has_turn;
    /* In the order in which they came. Those that have sent nothing yet count as silent, the others as greetings. */
    duo_net_greeting *greetings;
    size_t greeting_count;
    size_t silent_count;
    uint64_t recovers_at;
    /* In the epoll: the events of `descriptor`, and the time for which the timer is set. */
    short watched;
    uint64_t wakes_at;
    duo_net_polls polls;
    duo_net_gate *gate;
    /* The protocols that are served. */
    duo_net_offer *offers;
    size_t offer_count;
    /* The file of a Unix socket; empty if there is none. */
    char path[DUO_NET_ADDRESS];
    uint64_t device;
    uint64_t inode;
    char address[DUO_NET_ADDRESS];
};

/* A session that has begun. `greeting` belongs to the caller; the texts of `hello` point into it. */
typedef struct duo_net_arrival {
    duo_net *net;
    duo_endpoint endpoint;
    duo_net_offer offer;
    duo_net_hello hello;
    duo_net_greeting *greeting;
    char address[DUO_NET_ADDRESS];
} duo_net_arrival;

/* accept.c */
/* Reads what has arrived of a hello. With DUO_NET_MORE, a status other than DUO_OK means that no more will arrive. */
duo_net_found duo_net_listen_to(duo_net_greeting *greeting, duo_status *status);
void duo_net_refuse(const duo_net_stream *stream, unsigned verdict, uint32_t wait);
/*
 * Asks the program, answers with the verdict, which it may change, and begins the session; the connection stays open if
 * the result is not DUO_OK.
 */
duo_status duo_net_admit(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address,
                         const duo_net_offer *offer, unsigned *verdict, duo_net **net, duo_endpoint *endpoint);
duo_peer duo_net_peer(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address);
/*
 * Reports to the observer, which may be NULL, that a session did not begin, before the connection is closed. `name` is
 * empty, and `problem` NULL, if there is none. Keeps `errno`.
 */
void duo_net_report_refused(const duo_net_greeting *greeting, const duo_observer *observer, bool is_tls, duo_str name,
                            duo_status status, unsigned verdict, const duo_problem *problem);
/* Its connection is no longer part of it. */
void duo_net_free_greeting(duo_net_greeting *greeting);

/* waiting.c */
/* Accepts the connections that are waiting, up to the limits. */
void duo_net_take_connections(duo_listener *listener);
/* Whether there is something to do for this connection, which then counts as a greeting: something has arrived, or it is late. */
bool duo_net_may_continue(duo_listener *listener, duo_net_greeting *greeting, uint64_t now);
/* Sleeps until something arrives, a handshake is late, or the time is over. */
void duo_net_await_connections(duo_listener *listener, uint64_t until);
/* Whether no further handshake may begin, so that silent connections have to wait. */
bool duo_net_is_busy(duo_listener *listener);
/*
 * Whether another connection may be accepted. While no further handshake may begin, waiting connections may have sent
 * something, so none of them gives way.
 */
bool duo_net_may_accept(duo_listener *listener);
/* Closes the connection of a greeting. */
void duo_net_hang_up_greeting(const duo_listener *listener, duo_net_greeting *greeting);
/* Takes a greeting off its list; or also frees it, and the place that it has. */
void duo_net_take_greeting(duo_listener *listener, duo_net_greeting **place);
void duo_net_end_greeting(duo_listener *listener, duo_net_greeting **place);

/* descriptor.c; the first two under the listener's lock. */
/* The descriptor, which is created if there is none; -1: see `errno`. */
int duo_net_open_descriptor(duo_listener *listener);
/* If there is one: makes it report what can be done, and when the next time has passed. Not while a thread has the turn. */
void duo_net_update_descriptor(duo_listener *listener, bool may_accept, bool is_busy);
/* The connection of this greeting goes over to a session, or is closed. */
void duo_net_unwatch_greeting(const duo_listener *listener, duo_net_greeting *greeting);
void duo_net_close_descriptor(duo_listener *listener);

/* greet.c */
/* What is to be done with a connection in the handshake. */
typedef enum duo_net_step { DUO_NET_WAIT, DUO_NET_DECIDE, DUO_NET_END } duo_net_step;
/* Continues it, as far as that is possible without waiting. Reports why if it has failed. */
duo_net_step duo_net_continue(const duo_listener *listener, duo_net_greeting *greeting, duo_net_found *found);
/* Reports a connection that ends before its hello was read, or with `problem`, which may be NULL. */
void duo_net_report_lost(const duo_listener *listener, const duo_net_greeting *greeting, duo_status status,
                         unsigned verdict, const duo_problem *problem);
/* Reports a peer that has sent something else than a hello. */
void duo_net_report_alien(const duo_listener *listener, const duo_net_greeting *greeting);

/* listen.c */
/* Waits for a session of one of these protocols: DUO_OK, DUO_EMPTY, or DUO_CLOSED. */
duo_status duo_listener_next(duo_listener *listener, const duo_net_offer *offers, size_t count, uint64_t until,
                             duo_net_arrival *arrived);

/* serve.c */
/* `duo_listener_serve`, with a function as in `duo_net_offer`. */
duo_status duo_net_serve(duo_listener *listener, const duo_wire_protocol *protocol, duo_role role,
                         const duo_net_options *options, duo_call_handler *call, duo_handler *handler, void *context,
                         void (*drain)(void *context));

#endif
