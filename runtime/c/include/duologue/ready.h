/*
 * duologue/ready.h: waiting for one of many receiving endpoints, of whatever protocols.
 *
 * Both ways tell which endpoint is ready and consume nothing: its next `_try_recv` (or `_recv`)
 * gives a message, or says how the session ended, without waiting. A ready endpoint stays ready,
 * since nobody else receives from it.
 *
 * Endpoints whose peer is in this process and in another one go together. Of the latter each wait
 * that does not find anything at once looks at all, and sleeps on up to 127 in one call of the
 * kernel. For more than that, and on Linux before 5.16, it looks again every millisecond.
 */
#ifndef DUOLOGUE_READY_H
#define DUOLOGUE_READY_H

#include "duologue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A receiving endpoint as both ways take it. Sending endpoints do not compile. */
#define DUO_READY(endpoint) ((endpoint).receives)

/* How long to wait, in nanoseconds: not at all, and for ever. */
#define DUO_AT_ONCE UINT64_C(0)
#define DUO_FOREVER UINT64_MAX

/*
 * Waits until one of `count` endpoints (less than 2^32) is ready and puts its index into `which`.
 * Calls begin to look at different places in turn, so that endpoints which are ready all the time
 * are chosen equally often.
 *
 * DUO_EMPTY: none became ready in `wait` nanoseconds, or there are none (then at once). DUO_USED:
 * the endpoint at `which` was used before; no other was looked at in vain. Takes time in proportion
 * to `count`: for many endpoints use `duo_ports`.
 */
DUO_MUST_CHECK duo_status duo_select(const duo_endpoint *endpoints, size_t count, uint64_t wait,
                                     size_t *which);

/*
 * A set of endpoints that one thread waits on. Adding, removing and waiting take the same time
 * whatever the number of endpoints; no memory is allocated for an endpoint once the set has held as
 * many. Endpoints are reported in the order in which they became ready.
 *
 * A set does not own its endpoints. It reports an endpoint once and forgets it: who wants to hear of
 * the session again adds the endpoint that follows. An endpoint that is used while it is in a set
 * is not reported for what came, but stays in the set's count until it is removed. Any thread may use it,
 * also while the set's thread waits, or takes it out.
 */
typedef struct duo_ports duo_ports;

/* An endpoint in a set, for `duo_ports_remove`. Copying is harmless. */
typedef struct duo_port {
    struct duo_port_node *node;
    uint64_t generation;
    uint64_t set;
} duo_port;

/* An empty set; NULL if memory ran out. Only one thread at a time may use it. */
duo_ports *duo_ports_new(void);

/* Frees the set. The endpoints that were in it are untouched and still the caller's. */
void duo_ports_free(duo_ports *ports);

/* How many endpoints are in the set, those included that are ready and not yet reported. */
size_t duo_ports_count(const duo_ports *ports);

/*
 * Adds an endpoint; `with` is what the set says when it is ready. `port` may be NULL. DUO_USED if
 * the endpoint was used before or is in a set already, DUO_NO_MEMORY if memory ran out, DUO_SYSTEM
 * if the thread that a descriptor asks for cannot be started (see `errno`).
 */
DUO_MUST_CHECK duo_status duo_ports_add(duo_ports *ports, duo_endpoint endpoint, void *with,
                                        duo_port *port);

/*
 * Takes an endpoint out. False, and nothing is changed, if the set has reported it, if it was removed, or if
 * `port` is of another set, whether that one still exists or not; a zeroed `port` is of none.
 */
bool duo_ports_remove(duo_ports *ports, duo_port port);

/*
 * Waits until an endpoint of the set is ready, gives what was said with it and takes it out of the
 * set. DUO_EMPTY: none became ready in `wait` nanoseconds, or the set is empty (then at once).
 */
DUO_MUST_CHECK duo_status duo_ports_wait(duo_ports *ports, uint64_t wait, void **with);

/*
 * A descriptor for poll, select or epoll that is readable when an endpoint may be ready: then call
 * `duo_ports_wait` with DUO_AT_ONCE. Never read it. It belongs to the set and is made by the first
 * call: -1 if the system has none left (see `errno`), or none of this kind. For endpoints whose peer
 * is in another process the set then has a thread of its own, which sleeps with all signals blocked.
 */
int duo_ports_descriptor(duo_ports *ports);

#ifdef __cplusplus
}
#endif

#endif
