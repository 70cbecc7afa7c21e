/*
 * Sessions over message brokers, as docs/wire.md defines them under "Brokers".
 *
 * A session uses one end of a pair of Unix sockets like any other connection, so everything above is as over sockets. A *link* has the
 * other end. It makes messages of the bytes that it reads there, and writes there what arrives in messages.
 *
 * (a) *Order.* A link publishes while it holds the lock of its exchange, so the numbers of its messages have the order in which they are
 *     published. What arrives has consecutive numbers, and goes through one list into the socket. A gap ends the link: it writes what arrived
 *     before, and closes its end. The session then finds the end of its connection.
 * (b) *Memory.* A link reads from its socket only as much as it has credit to publish. A message that arrives counts as read once all of
 *     it is in the socket. So a link has at most the window that it has given in its list, and the two sockets have DUO_LINK_BUFFER
 *     bytes each, for which the system reserves twice as much.
 * (c) *Threads.* One thread of each exchange (net_exchange.c) reads the sockets, and counts time. The threads of the broker's library call the
 *     inboxes. All of it is under the lock of the exchange, which no thread holds while it waits. Only the thread of the exchange frees links,
 *     so an event of epoll never names one that is gone.
 * (d) Locks are taken in this order: that of the openings of a listener, that of its service or of an exchange, those of the broker's library.
 */
#ifndef DUOLOGUE_NET_BROKER_H
#define DUOLOGUE_NET_BROKER_H

#include "duologue/broker.h"
#include "net.h"

enum {
    /* What a message costs in addition to its bytes. */
    DUO_LINK_OVERHEAD = 64,
    DUO_LINK_BUFFER = 16384,
    /* The longest name of servers; the longest address of a side, after `duo.at.`; a random number in hexadecimal. */
    DUO_NAME_LONGEST = 128,
    DUO_SIDE_LONGEST = 256,
    DUO_RANDOM_SIZE = 32,
    /* The name of a process: a prefix, a dot and a random number. */
    DUO_PROCESS_SIZE = DUO_NAME_LONGEST + 1 + DUO_RANDOM_SIZE,
    /* Space for any subject that is used, and for what goes before the bytes of a message. */
    DUO_SUBJECT_SIZE = 300,
    DUO_PACKET_HEAD = 64,
    DUO_LONGEST_HELLO = DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN
};

/* net_packet.c */
typedef enum duo_packet_kind {
    DUO_PACKET_OPEN,
    DUO_PACKET_ACCEPT,
    DUO_PACKET_DATA,
    DUO_PACKET_END,
    DUO_PACKET_ASK,
    DUO_PACKET_ANSWER,
    DUO_PACKET_LOST,
    DUO_PACKET_GONE,
    DUO_PACKET_ALIVE
} duo_packet_kind;

/* A message, taken apart. What its kind does not have is 0. */
typedef struct duo_packet {
    duo_packet_kind kind;
    uint64_t number;
    uint64_t received;
    uint64_t read;
    uint64_t window;
    const uint8_t *bytes;
    size_t size;
} duo_packet;

static inline bool duo_packet_is_numbered(duo_packet_kind kind)
{
    return kind <= DUO_PACKET_END;
}

/* False if no correct peer of this version sends it. */
bool duo_packet_read(const uint8_t *message, size_t size, duo_packet *packet);
/* Writes what goes before the bytes, at most DUO_PACKET_HEAD bytes, and returns its size. */
size_t duo_packet_write_head(uint8_t *message, const duo_packet *packet);
/* What is wrong with a name of servers of this length; NULL if nothing is. */
const char *duo_name_problem(const char *name);
/*
 * Splits the address of something in a process, `duo.at.PROCESS.TOKEN`: `process_size` is set to the size of the process, which begins at the
 * result. NULL if it is not one, or, for `is_side`, not that of a side of a session.
 */
const char *duo_side_process(const char *address, bool is_side, size_t *process_size);
/* Sets 32 random hexadecimal digits, and a 0 after them. False: see `errno`. */
bool duo_random_text(char text[DUO_RANDOM_SIZE + 1]);

/* net_link.c; all under the lock of the exchange */
/* A process at the other end of sessions. */
typedef struct duo_link_peer {
    struct duo_link_peer *next;
    size_t holders;
    /* How many heartbeats have passed since something arrived from it. */
    unsigned missed;
    /* Whether a heartbeat is due for it. */
    bool is_due;
    char process[DUO_SIDE_LONGEST + 1];
} duo_link_peer;

/* Bytes that have arrived and are not in the socket yet. */
typedef struct duo_link_chunk {
    struct duo_link_chunk *next;
    size_t size;
    uint8_t bytes[];
} duo_link_chunk;

/* The connecting side has sent nothing yet; it waits for *accept*; the other side is known. */
typedef enum duo_link_stage { DUO_LINK_IS_NEW, DUO_LINK_ASKS, DUO_LINK_IS_OPEN } duo_link_stage;

/* How the stream has ended in the direction of this side. */
typedef enum duo_link_end { DUO_LINK_GOES_ON, DUO_LINK_ENDED, DUO_LINK_FAILED } duo_link_end;

typedef struct duo_link {
    struct duo_link *next;
    struct duo_link *next_by_opener;
    duo_broker *broker;
    /* The epoll of the exchange. */
    int epoll;
    /* Its own address; and where its messages go, which is the subject of the servers until it is open. */
    char token[DUO_RANDOM_SIZE + 1];
    char address[DUO_SUBJECT_SIZE];
    char to[DUO_SUBJECT_SIZE];
    duo_link_peer *peer;
    duo_link_stage stage;
    bool is_accepted;
    /* Numbered messages that were sent, and that the peer has confirmed. */
    uint64_t sent;
    uint64_t confirmed;
    /* The credit that was used, what the peer has returned of it, and how much it gives. */
    uint64_t used;
    uint64_t returned;
    uint64_t theirs;
    /* Numbered messages that have arrived. */
    uint64_t received;
    /* The credit that the peer has used, what was read of it, what the peer knows of that, and how much this side gives. */
    uint64_t arrived;
    uint64_t read;
    uint64_t reported;
    uint64_t ours;
    /* The first `start` bytes of the first chunk are in the socket. */
    duo_link_chunk *first;
    duo_link_chunk **last;
    size_t start;
    duo_link_end end;
    /* The reason of a failure is that nothing has subscribed, or that nothing was confirmed in time. */
    bool is_unanswered;
    bool is_unheard;
    /* The session has written something for which there is no credit. */
    bool is_blocked;
    /* *End* was sent. */
    bool is_closed;
    /* The session no longer uses its end of the socket. */
    bool is_dropped;
    /* The peer is to be notified that something was lost. */
    bool has_to_tell;
    /* The thread that connects reads the reasons above before the link is freed. */
    bool is_held;
    /* It is not in the tables any more. */
    bool is_gone;
    /* Its credit does not count as that of the process any more. */
    bool has_given_back;
    unsigned ticks_left;
    /* When *open* was published. */
    uint64_t opened_at;
    /* This end of the socket, or -1; and the events for which it is registered. */
    int descriptor;
    uint32_t events;
} duo_link;

static inline uint64_t duo_link_cost(size_t size)
{
    return size + DUO_LINK_OVERHEAD;
}

/* A link and its socket, whose other end is set. NULL: see `errno`. */
duo_link *duo_link_new(duo_broker *broker, int epoll, const char *process, uint64_t window, int *descriptor);
void duo_link_free(duo_link *link);
/* The accepting side: takes *open*, and confirms it. False if it is not correct, or memory ran out. */
bool duo_link_accept(duo_link *link, const char *from, duo_link_peer *peer, const duo_packet *packet);
/* The connecting side: the other side has answered. */
void duo_link_meet(duo_link *link, const char *from, duo_link_peer *peer, uint64_t window);
/* Takes a message for this side. */
void duo_link_take(duo_link *link, const duo_packet *packet);
/* Continues in both directions, as far as that is possible without waiting. */
void duo_link_go_on(duo_link *link);
/* Ends both directions. `tells`: the peer has to learn it. */
void duo_link_fail(duo_link *link, bool tells);
/* At every heartbeat. `publishes`: the broker can be reached. */
void duo_link_tick(duo_link *link, bool publishes);
/* Notifies the peer that this process ends. */
void duo_link_leave(duo_link *link);
/* Whether nothing more has to be sent or received. */
bool duo_link_is_over(const duo_link *link);

/* net_exchange.c */
/* This process at a broker. It stays until the process ends. */
typedef struct duo_exchange duo_exchange;

/* Whether an address is one of a broker: `SCHEME://` of a known kind, or `nats://`. */
bool duo_exchange_has(const char *address);
/*
 * The exchange of an address, which is connected if it is the first; `name` points to the name of the servers in the address. DUO_ADDRESS, DUO_LATE,
 * DUO_NO_MEMORY, or DUO_SYSTEM: see `errno`. `problem` is set.
 */
duo_status duo_exchange_find(const char *address, uint64_t until, duo_exchange **exchange, const char **name,
                             duo_problem *problem);
/* Which servers of a protocol: those that can take a session, or those that have been full at some time, which can say so. */
typedef enum duo_servers { DUO_SERVERS_READY, DUO_SERVERS_FULL } duo_servers;
/* Writes the subject of the servers of a protocol. */
void duo_exchange_subject(char subject[DUO_SUBJECT_SIZE], const char *name, const duo_fingerprint *fingerprint, duo_servers servers);
/*
 * Begins a session with the servers of this subject: what is written to the descriptor first has to be the hello, at once. The link is held
 * until `duo_exchange_release`.
 */
duo_status duo_exchange_open(duo_exchange *exchange, const char *subject, uint64_t until, int *descriptor, duo_link **link,
                             duo_problem *problem);
/* Why there was no answer: at most one of the two is true. */
void duo_exchange_release(duo_exchange *exchange, duo_link *link, bool *is_unanswered, bool *is_unheard);
/* Whether the broker does not permit this subject. Then `problem` is set, and `errno`. */
bool duo_exchange_has_denied(duo_exchange *exchange, const char *subject, duo_problem *problem);
/*
 * Accepts the session that a message begins, and returns the session's end of its socket; -1 if there is none. Instead of that refuses it with `verdict`,
 * unless that is DUO_VERDICT_EQUAL.
 */
int duo_exchange_accept(duo_exchange *exchange, const char *from, const void *bytes, size_t size, unsigned verdict);
/* Subscribes for servers, and waits until the broker knows that. NULL: `problem` is set, and `errno`. */
duo_subscription *duo_exchange_subscribe(duo_exchange *exchange, const char *subject, const duo_inbox *inbox, duo_problem *problem);
/* The same without waiting, and without the reason if it is not possible: the inbox is not called then. */
duo_subscription *duo_exchange_join(duo_exchange *exchange, const char *subject, const duo_inbox *inbox);
/* Ends a subscription, which may be NULL. */
void duo_exchange_unsubscribe(duo_exchange *exchange, duo_subscription *subscription);
/* Waits for a moment for what the broker has delivered until now. */
void duo_exchange_settle(duo_exchange *exchange);
/* Whether the broker delivers nothing more. */
bool duo_exchange_is_lost(duo_exchange *exchange);

/* net_discovery.c */
/* A listener as a service that programs can discover. Its subscriptions keep it. */
typedef struct duo_service duo_service;
/* One of its subjects, and what has arrived there. Valid as long as the service. */
typedef struct duo_service_endpoint duo_service_endpoint;

/* NULL: see `errno`. */
duo_service *duo_service_new(duo_exchange *exchange, const char *servers);
/* Adds the subject of a protocol, whose name stays valid. False if memory ran out. */
bool duo_service_add(duo_service *service, const char *subject, const char *protocol);
/* The endpoint with the same fingerprint as this subject; NULL if there is none. */
duo_service_endpoint *duo_service_find(duo_service *service, const char *subject);
/* Counts a hello that was answered: the session has begun, which is DUO_VERDICT_EQUAL, or was refused with this verdict. */
void duo_service_count(duo_service_endpoint *endpoint, unsigned refused);
/* Begins to answer requests, unless it has. DUO_SYSTEM: `problem` is set, and `errno`. Until `duo_service_end`, one thread at a time calls this. */
duo_status duo_service_announce(duo_service *service, duo_problem *problem);
/* Answers nothing more. */
void duo_service_end(duo_service *service);
void duo_service_let_go(duo_service *service);

/* net_openings.c */
/* The sessions that other processes begin with a listener. */
typedef struct duo_openings duo_openings;

/* NULL: see `errno`. */
duo_openings *duo_openings_new(duo_exchange *exchange, const char *name, bool is_discoverable);
/* Readable while a session waits. */
int duo_openings_descriptor(const duo_openings *openings);
/* Subscribes to the subjects of these protocols, unless that was done, or the listener drains. DUO_SYSTEM: see `errno`. */
duo_status duo_openings_serve(duo_openings *openings, const duo_net_offer *offers, size_t count, duo_problem *problem);
/*
 * Leaves the group while the listener is full, so that the broker chooses others, and comes back when it is not. What cannot be changed now is
 * tried again at the next call.
 */
void duo_openings_set_full(duo_openings *openings, bool is_full);
/* Where a byte makes the descriptor readable. */
int duo_openings_waker(const duo_openings *openings);
/* Takes the connection of a session, and what counts it. -1: see `errno`, with EAGAIN if there is none, and ENOTCONN if there will be none. */
int duo_openings_take(duo_openings *openings, duo_service_endpoint **endpoint);
/* Ends the subscriptions. Sessions that are requested after that are refused. */
void duo_openings_drain(duo_openings *openings);
/* The listener is closed. */
void duo_openings_close(duo_openings *openings);

#endif
