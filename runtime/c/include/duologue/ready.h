/*
 * duologue/ready.h: waiting for one of many endpoints, which may be of different protocols: for a message, or for
 * free space to send one.
 *
 * Both `duo_select` and `duo_ports` report which endpoint is ready and consume nothing: its next `_try_recv` (or
 * `_recv`) returns a message, or reports how the session ended, without waiting. A ready endpoint stays ready, since
 * only its owner receives from it. A sending endpoint is ready when its next `_try_send_M` does not return DUO_FULL;
 * between processes this holds for messages of up to half the region's `space` and 3 MiB.
 *
 * Endpoints whose peer is in this process can be combined with endpoints whose peer is in another one. Each wait that
 * does not find anything at once checks all endpoints of the second kind, and sleeps on up to 127 of them in one
 * system call. For more than that, and on Linux before 5.16, it polls every millisecond.
 */
#ifndef DUOLOGUE_READY_H
#define DUOLOGUE_READY_H

#include "duologue.h"

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/* A receiving endpoint in the form that both functions expect. Sending endpoints do not compile. */
#define DUO_READY(endpoint) ((endpoint).receives)

/*
 * A sending endpoint in the form that both functions expect, to wait for free space. Receiving endpoints do not
 * compile. Where a sender never waits, in bounded runs within a process, the endpoint is ready at once.
 */
#define DUO_WRITABLE(endpoint) duo_writable((endpoint).sends)

/* In a turn that is passed to these functions: wait for free space, not for a message. */
#define DUO_TURN_WRITABLE (UINT64_C(1) << 59)

DUO_API duo_endpoint duo_writable(duo_endpoint sender)
{
    sender.turn |= DUO_TURN_WRITABLE;
    return sender;
}

/* How long to wait, in nanoseconds: not at all, and indefinitely. */
#define DUO_AT_ONCE UINT64_C(0)
#define DUO_FOREVER UINT64_MAX

/*
 * A point in time at which several waits end together. `duo_time_left` returns what is left until then, in nanoseconds,
 * as every function with a time limit expects it: 0 once the time has passed, and DUO_FOREVER for a limit in
 * DUO_FOREVER nanoseconds.
 */
typedef struct duo_time_limit {
    uint64_t at;
} duo_time_limit;

/* What the next two functions compute, from the time on the clock. */
static inline duo_time_limit duo_time_limit_from(uint64_t now, uint64_t nanoseconds)
{
    duo_time_limit limit;
    limit.at = nanoseconds < DUO_FOREVER - now ? now + nanoseconds : DUO_FOREVER;
    return limit;
}

static inline uint64_t duo_time_left_at(duo_time_limit limit, uint64_t now)
{
    if (limit.at == DUO_FOREVER) return DUO_FOREVER;
    return now < limit.at ? limit.at - now : DUO_AT_ONCE;
}

#ifdef DUO_NO_THREADS
static inline duo_time_limit duo_time_limit_in(uint64_t nanoseconds)
{
    return duo_time_limit_from(duo_clock(), nanoseconds);
}

static inline uint64_t duo_time_left(duo_time_limit limit)
{
    return duo_time_left_at(limit, duo_clock());
}
#else
duo_time_limit duo_time_limit_in(uint64_t nanoseconds);
uint64_t duo_time_left(duo_time_limit limit);
#endif

/*
 * Waits until one of `count` endpoints (fewer than 2^32) is ready and stores its index in `which`.
 * Successive calls begin their search at different indexes, so that endpoints that are always ready
 * are chosen equally often.
 *
 * DUO_EMPTY: none became ready within `wait` nanoseconds, or there are none (then at once).
 * DUO_USED: the endpoint at `which` has already been used; no message that is ready at another
 * endpoint is lost. The time is proportional to `count`: for many endpoints use `duo_ports`.
 */
DUO_MUST_CHECK duo_status duo_select(const duo_endpoint *endpoints, size_t count, uint64_t wait,
                                     size_t *which);

/*
 * A set of endpoints that one thread waits on. Adding, removing and waiting take constant time,
 * regardless of the number of endpoints. No memory is allocated for an endpoint if the set has held
 * that many before. Endpoints are reported in the order in which they became ready.
 *
 * A set does not own its endpoints. It reports an endpoint once and removes it: to keep waiting on the
 * session, add the endpoint that follows. An endpoint that is used while it is in a set is not reported,
 * unless it was ready before, and stays in the set's count until it is reported or removed. Any thread
 * may use such an endpoint, even while the set's thread is waiting or removing it.
 */
typedef struct duo_ports duo_ports;

/* An endpoint in a set, for `duo_ports_remove`. Copying is harmless. */
typedef struct duo_port {
    struct duo_port_node *node;
    uint64_t generation;
    uint64_t set;
} duo_port;

/* Creates an empty set; NULL if memory ran out. Only one thread at a time may use it. */
duo_ports *duo_ports_new(void);

/*
 * Creates an empty set to which any thread may add endpoints with `duo_ports_give`: a wait does not end because the set is
 * empty. Only one thread at a time may do anything else with it, as with every set, apart from `duo_ports_interrupt`.
 */
duo_ports *duo_ports_new_open(void);

/* Frees the set. The endpoints that were in it are untouched and still belong to the caller. */
void duo_ports_free(duo_ports *ports);

/* How many endpoints are in the set, including those that are ready but not yet reported. */
size_t duo_ports_count(const duo_ports *ports);

/*
 * Adds an endpoint; the set reports `with` when the endpoint is ready. `port` may be NULL. DUO_USED
 * if the endpoint has already been used or is in a set already, DUO_NO_MEMORY if memory ran out,
 * DUO_SYSTEM if the thread that a descriptor requires cannot be started (see `errno`).
 */
DUO_MUST_CHECK duo_status duo_ports_add(duo_ports *ports, duo_endpoint endpoint, void *with,
                                        duo_port *port);

/*
 * Adds an endpoint, from any thread, and wakes the thread that waits on the set, which was created by `duo_ports_new_open`.
 * So one thread can wait for many sessions and leave each that is ready to another thread, which gives it back when it is
 * done. From this call until the set has reported it, no thread may use the endpoint. If it cannot be added, because it had
 * been used before, is in a set already or memory ran out, the set reports `with` at once. The set must not be freed
 * meanwhile. DUO_NO_MEMORY: it was not given.
 */
DUO_MUST_CHECK duo_status duo_ports_give(duo_ports *ports, duo_endpoint endpoint, void *with);

/*
 * Removes an endpoint. Returns false and changes nothing if the set has reported it, if it was already
 * removed, or if `port` belongs to another set, whether that set still exists or not. A zeroed `port`
 * belongs to no set.
 */
bool duo_ports_remove(duo_ports *ports, duo_port port);

/*
 * Waits until an endpoint of the set is ready, returns the `with` that it was added with and
 * removes it from the set. DUO_EMPTY: none became ready within `wait` nanoseconds, the wait was
 * interrupted, or the set is empty (then at once, unless any thread may add endpoints).
 */
DUO_MUST_CHECK duo_status duo_ports_wait(duo_ports *ports, uint64_t wait, void **with);

/*
 * Ends a wait, from any thread: the present call of `duo_ports_wait` returns DUO_EMPTY once no endpoint is ready, or the
 * next one does if there is none at the moment. Several interrupts before that count as one. The set loses nothing. It
 * must not be freed meanwhile. A set in which all endpoints are connected by sockets needs a descriptor to be
 * interrupted: call `duo_ports_descriptor` before.
 */
void duo_ports_interrupt(duo_ports *ports);

/*
 * A descriptor for poll, select or epoll that is readable when an endpoint may be ready: then call
 * `duo_ports_wait` with DUO_AT_ONCE. Never read from it. It belongs to the set and is created by the
 * first call; -1 if the system has no descriptors left (see `errno`) or does not support this kind.
 * For endpoints whose peer is in another process the set then has a thread of its own, which sleeps
 * with all signals blocked.
 */
int duo_ports_descriptor(duo_ports *ports);

#if !defined(DUO_NO_MALLOC) && !defined(DUO_NO_THREADS)
/*
 * Ends waits from another thread. If a thread uses a canceler, each of its waits that would continue after `duo_cancel`
 * ends as if its time limit had passed, even if it has none: receiving and waiting for several endpoints return DUO_EMPTY,
 * sending returns DUO_FULL, accepting returns DUO_EMPTY, connecting returns DUO_LATE, and `duo_listener_run` returns. So
 * nothing is lost, and the endpoint can still be used. Operations that do not have to wait succeed as usual. This lasts
 * until `duo_canceler_reset`.
 *
 * A wait within this process or for sockets usually ends at once, one in shared memory within 100 milliseconds. A thread
 * that waits for another thread's send on the same shared endpoint is canceled only after that send.
 */
typedef struct duo_canceler duo_canceler;

/* NULL if memory or descriptors have run out; a canceler takes two descriptors. */
duo_canceler *duo_canceler_new(void);

/* Frees a canceler that no thread uses anymore. */
void duo_canceler_free(duo_canceler *canceler);

/*
 * From now on, this thread uses this canceler instead of any earlier one; NULL means none, which is how a thread starts.
 * Several threads may use the same one. A thread must use none when it ends.
 */
void duo_canceler_use(duo_canceler *canceler);

/* Cancels the waits of all threads that use this canceler. From any thread; not from signal handlers. */
void duo_cancel(duo_canceler *canceler);

/*
 * Cancels at this time, as `duo_cancel` does: one limit for everything that the threads do until then. It replaces an earlier
 * one; a limit of DUO_FOREVER removes it. From any thread; not from signal handlers. A thread of the runtime, which blocks all
 * signals, runs while any canceler has a limit. DUO_SYSTEM if it cannot be started (see `errno`); then nothing has changed. In a forked
 * process, limits that were set before have no effect.
 */
duo_status duo_cancel_at(duo_canceler *canceler, duo_time_limit limit);

/* Later waits are not canceled, and a limit of `duo_cancel_at` is removed. From any thread; not from signal handlers. */
void duo_canceler_reset(duo_canceler *canceler);
#endif

#ifdef __cplusplus
}
#endif

DUO_C_ENDS

#endif
