/* A set of endpoints: ports.c and ports_wake.c say which thread may access what. */
#ifndef DUOLOGUE_PORTS_H
#define DUOLOGUE_PORTS_H

#include "../link/transport.h"

typedef struct duo_port_node {
    duo_notifier notifier;
    duo_ports *ports;
    duo_endpoint endpoint;
    void *with;
    /* Counts the endpoints that were here, so that an old `duo_port` does not remove a new one. */
    uint64_t generation;
    /* The next on the list `notified`, in the queue, or among the free nodes. */
    struct duo_port_node *next;
    /* The node that was created before this one. */
    struct duo_port_node *older;
    /* On the list or in the queue. Written by the sender while the notifier is installed, and by the set afterwards. */
    bool is_notified;
    bool is_removed;
    /* In the set, not reported and not removed. */
    bool is_in;
    /* On the list `unseen`, and the next one there. */
    bool is_unseen;
    struct duo_port_node *next_unseen;
} duo_port_node;

/* The number of transports. */
enum { DUO_TRANSPORTS = 2 };

typedef struct duo_transport_watch {
    const duo_transport *transport;
    duo_watch *watch;
} duo_transport_watch;

/* An endpoint that another thread adds, in the form of ready.h. */
typedef struct duo_given {
    duo_endpoint asked;
    void *with;
    struct duo_given *next;
} duo_given;

struct duo_ports {
    /* Notified, the latest first. */
    duo_port_node *DUO_ATOMIC notified;
    /* Given by other threads, the latest first. */
    duo_given *DUO_ATOMIC given;
    /* 1 while the set's thread sleeps on it, or is about to. */
    alignas(8) DUO_ATOMIC uint64_t asleep;
    /* The next wait that would sleep returns instead. */
    DUO_ATOMIC bool is_interrupted;
    /* The descriptor has been written to since it was last read. */
    DUO_ATOMIC bool signalled;
    /* -1 until it is requested. */
    DUO_ATOMIC int descriptor;
    /* Ready and not reported, the earliest first. */
    duo_port_node *first;
    duo_port_node **last;
    duo_port_node *unseen;
    /* For endpoints whose peer is in another process: one for each transport of which there have been some. */
    duo_transport_watch watches[DUO_TRANSPORTS];
    size_t watch_count;
    /* Endpoints whose peer is in this process have been added, or other threads may add some. */
    bool has_near;
    /* Other threads may add endpoints, so a wait does not end because there are none. */
    bool is_open;
    /* Given by other threads and not added: they are reported first. The earliest first. */
    duo_given *refused;
    duo_port_node *free;
    duo_port_node *newest;
    size_t count;
    /* Unique among all sets of the process, however many are created and freed. */
    uint64_t id;
};

/* After more has become ready: makes the descriptor readable, if there is one. */
void duo_ports_signal(duo_ports *ports);
/* Wakes the set's thread, or the thread that waits for its descriptor, after something was published for it. */
void duo_ports_wake(duo_ports *ports);
/* What other threads have given since the last call, the earliest first; the caller releases each. */
duo_given *duo_ports_take_given(duo_ports *ports);

#endif
