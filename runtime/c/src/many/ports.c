/*
 * Sets of endpoints. Each endpoint has a notifier of its own; calling it puts the endpoint on the list `notified`, to
 * which any number of senders push and which the set's thread takes as a whole.
 *
 * Why no notification is missed: a sender pushes, then exchanges `asleep`; the set's thread exchanges `asleep`, then
 * checks the list, then sleeps on the word. Both exchanges are read-modify-writes of one word. If the sender's comes
 * second, it finds that the thread sleeps and wakes it; if it comes first, the thread's exchange synchronizes with it,
 * and the thread sees the push. The same holds for `signalled` and the descriptor.
 *
 * Where messages are stored, a sender is certain to see a notifier only after a barrier and another check (see
 * notify.c). Endpoints that still need these are on the list `unseen`, and one barrier serves all of them when the
 * set is about to report that nothing is ready. With a descriptor this may be reported without a call, so each
 * endpoint has a barrier of its own.
 *
 * An interrupt is a flag that is set and read in the same places as the list, so the same holds for it. What other threads
 * give is checked once more after the descriptor was cleared, because it is added before the list is taken.
 *
 * No thread of this process sends to an endpoint whose peer is in another process. Such endpoints are watched: their
 * notifiers are called by the set's own thread when it has nothing to report, and, if there is a descriptor, by a
 * thread that does nothing else.
 */
#define _GNU_SOURCE
#include "../floor/backoff.h"
#include "../link/link.h"
#include "../link/transport.h"
#include "../ring/ring.h"

#ifndef DUO_NO_MALLOC

#include <errno.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

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
} node;

/* The number of transports. */
enum { TRANSPORTS = 2 };

typedef struct transport_watch {
    const duo_transport *transport;
    duo_watch *watch;
} transport_watch;

/* An endpoint that another thread adds, in the form of ready.h. */
typedef struct gift {
    duo_endpoint asked;
    void *with;
    struct gift *next;
} gift;

struct duo_ports {
    /* Notified, the latest first. */
    node *DUO_ATOMIC notified;
    /* Given by other threads, the latest first. */
    gift *DUO_ATOMIC given;
    /* 1 while the set's thread sleeps on it, or is about to. */
    alignas(8) DUO_ATOMIC uint64_t asleep;
    /* The next wait that would sleep returns instead. */
    DUO_ATOMIC bool is_interrupted;
    /* The descriptor has been written to since it was last read. */
    DUO_ATOMIC bool signalled;
    /* -1 until it is requested. */
    DUO_ATOMIC int descriptor;
    /* Ready and not reported, the earliest first. */
    node *first;
    node **last;
    node *unseen;
    /* For endpoints whose peer is in another process: one for each transport of which there have been some. */
    transport_watch watches[TRANSPORTS];
    size_t watch_count;
    /* Endpoints whose peer is in this process have been added, or other threads may add some. */
    bool has_near;
    /* Other threads may add endpoints, so a wait does not end because there are none. */
    bool is_open;
    /* Given by other threads and not added: they are reported first. The earliest first. */
    gift *refused;
    node *free;
    node *newest;
    size_t count;
    /* Unique among all sets of the process, however many are created and freed. */
    uint64_t id;
};

/*
 * What any thread may do with a set: wake it, interrupt it, and give it endpoints. A given endpoint is on a list to which any
 * number of threads push and which the set's thread takes as a whole, like those that were notified. It is added by the set's thread, so everything else in the set belongs to that thread.
 */
/* After more has become ready: makes the descriptor readable, if there is one. */
static void notify_descriptor(duo_ports *ports)
{
    int descriptor = duo_atomic_load(&ports->descriptor, memory_order_acquire);
    if (descriptor < 0) return;
    if (duo_atomic_exchange(&ports->signalled, true, memory_order_acq_rel)) return;
    uint64_t one = 1;
    /* It cannot be full: it is never written twice before it is read. */
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* Wakes the set's thread, or the thread that waits for its descriptor, after something was published for it. */
static void wake_set(duo_ports *ports)
{
    if (duo_atomic_exchange(&ports->asleep, 0, memory_order_acq_rel) != 0)
        duo_wake(&ports->asleep, DUO_LOW_HALF);
    notify_descriptor(ports);
}

void duo_ports_interrupt(duo_ports *ports)
{
    /* Release: a wait that takes the interrupt sees what this thread did before. */
    duo_atomic_store(&ports->is_interrupted, true, memory_order_release);
    wake_set(ports);
}

duo_status duo_ports_give(duo_ports *ports, duo_endpoint endpoint, void *with)
{
    gift *made = duo_allocate(sizeof *made);
    if (made == NULL) return DUO_NO_MEMORY;
    *made = (gift){endpoint, with, duo_atomic_load(&ports->given, memory_order_relaxed)};
    /* Release: the thread that takes it sees it, and what this thread did with the endpoint before. */
    while (!duo_atomic_compare_exchange_weak(&ports->given, &made->next, made, memory_order_release, memory_order_relaxed)) continue;
    wake_set(ports);
    return DUO_OK;
}

/* What other threads have given since the last call, the earliest first; the caller releases each. */
static gift *take_given(duo_ports *ports)
{
    if (duo_atomic_load(&ports->given, memory_order_relaxed) == NULL) return NULL;
    gift *latest = duo_atomic_exchange(&ports->given, NULL, memory_order_acquire), *earliest = NULL;
    while (latest != NULL) {
        gift *earlier = latest->next;
        latest->next = earliest;
        earliest = latest;
        latest = earlier;
    }
    return earliest;
}

static void notify_port(duo_notifier *notifier)
{
    node *notified = (node *)(void *)notifier;
    duo_ports *ports = notified->ports;
    notified->is_notified = true;
    node *before = duo_atomic_load(&ports->notified, memory_order_relaxed);
    do notified->next = before;
    while (!duo_atomic_compare_exchange_weak(&ports->notified, &before, notified, memory_order_release,
                                             memory_order_relaxed));
    wake_set(ports);
}

static void append(duo_ports *ports, node *ready)
{
    ready->next = NULL;
    *ports->last = ready;
    ports->last = &ready->next;
}

/* Moves what was notified to the end of the queue, the earliest first; false if there was nothing. */
static bool collect(duo_ports *ports)
{
    if (duo_atomic_load(&ports->signalled, memory_order_relaxed)) {
        uint64_t count;
        int descriptor = duo_atomic_load(&ports->descriptor, memory_order_relaxed);
        while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) continue;
        duo_atomic_exchange(&ports->signalled, false, memory_order_acq_rel);
    }
    if (duo_atomic_load(&ports->notified, memory_order_relaxed) == NULL) return false;
    node *notified = duo_atomic_exchange(&ports->notified, NULL, memory_order_acquire);
    node *earliest = NULL;
    while (notified != NULL) {
        node *earlier = notified->next;
        notified->next = earliest;
        earliest = notified;
        notified = earlier;
    }
    while (earliest != NULL) {
        node *later = earliest->next;
        append(ports, earliest);
        earliest = later;
    }
    return true;
}

/* Calls the notifiers of all endpoints whose peer is in another process and that are ready. */
static void poll_watches(duo_ports *ports)
{
    for (size_t i = 0; i < ports->watch_count; i++)
        if (ports->watches[i].watch != NULL) ports->watches[i].transport->poll_watch(ports->watches[i].watch);
}

/* The same, including sessions between processes that are ready. */
static bool gather(duo_ports *ports)
{
    poll_watches(ports);
    return collect(ports);
}

/*
 * Makes sure that the notifier of an endpoint is not called; a sender that has pushed the endpoint may still be
 * notifying for a moment. Other threads may use the endpoint, or add it to another set: the set may access the side
 * only while this notifier is installed there.
 */
static void disarm_node(node *here)
{
    duo_endpoint endpoint = here->endpoint;
    if (endpoint.session == NULL) return;
    if (!duo_is_remote(endpoint)) {
        duo_disarm_endpoint(endpoint, &here->notifier);
        return;
    }
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (duo_atomic_load(&side->notifier, memory_order_acquire) == &here->notifier)
        duo_remote_of(endpoint)->transport->unwatch(endpoint.session, &here->notifier);
}

static void free_node(duo_ports *ports, node *gone)
{
    gone->generation += 1;
    /* From here on the memory of the session may go away. */
    gone->endpoint = (duo_endpoint){NULL, 0};
    gone->is_notified = gone->is_removed = gone->is_in = false;
    gone->next = ports->free;
    ports->free = gone;
}

/* The endpoint that has been ready for longest, removed from the set; NULL if none is in the queue. */
static node *next_ready(duo_ports *ports)
{
    while (ports->first != NULL) {
        node *ready = ports->first;
        ports->first = ready->next;
        if (ports->first == NULL) ports->last = &ports->first;
        bool is_removed = ready->is_removed;
        disarm_node(ready);
        free_node(ports, ready);
        if (is_removed) continue;
        ports->count -= 1;
        return ready;
    }
    return NULL;
}

/* Runs the barrier for notifiers that may be unseen, and checks again; true if something was ready. */
static bool confirm(duo_ports *ports)
{
    if (ports->unseen == NULL) return false;
    duo_barrier();
    bool is_news = false;
    node *unseen = ports->unseen;
    ports->unseen = NULL;
    while (unseen != NULL) {
        node *here = unseen;
        unseen = here->next_unseen;
        here->is_unseen = false;
        bool is_near = here->is_in && !duo_is_remote(here->endpoint);
        duo_side *side = is_near ? duo_lock_armed(here->endpoint, &here->notifier) : NULL;
        if (side == NULL) continue;
        bool is_ready = duo_is_ready(side);
        if (is_ready) duo_disarm(side);
        duo_unlock_armed(side);
        /* The sender may have notified after all. */
        if (!is_ready || here->is_notified) continue;
        here->is_notified = is_news = true;
        append(ports, here);
    }
    return is_news;
}

duo_ports *duo_ports_new(void)
{
    duo_ports *ports = duo_allocate(sizeof *ports);
    if (ports == NULL) return NULL;
    duo_atomic_init(&ports->notified, NULL);
    duo_atomic_init(&ports->given, NULL);
    duo_atomic_init(&ports->asleep, 0);
    duo_atomic_init(&ports->is_interrupted, false);
    duo_atomic_init(&ports->signalled, false);
    duo_atomic_init(&ports->descriptor, -1);
    ports->first = ports->free = ports->newest = ports->unseen = NULL;
    ports->watch_count = 0;
    ports->has_near = ports->is_open = false;
    ports->refused = NULL;
    ports->last = &ports->first;
    ports->count = 0;
    /* A zeroed `duo_port` belongs to no set. */
    static DUO_ATOMIC uint64_t made;
    ports->id = duo_atomic_fetch_add(&made, 1, memory_order_relaxed) + 1;
    return ports;
}

duo_ports *duo_ports_new_open(void)
{
    duo_ports *ports = duo_ports_new();
    /* Endpoints over sockets then have a thread, so the set's thread sleeps on a word that others can change. */
    if (ports != NULL) ports->has_near = ports->is_open = true;
    return ports;
}

static void free_given(gift *given)
{
    while (given != NULL) {
        gift *gone = given;
        given = gone->next;
        duo_release(gone);
    }
}

void duo_ports_free(duo_ports *ports)
{
    if (ports == NULL) return;
    free_given(ports->refused);
    free_given(take_given(ports));
    for (size_t i = 0; i < ports->watch_count; i++)
        if (ports->watches[i].watch != NULL) ports->watches[i].transport->free_watch(ports->watches[i].watch);
    while (ports->newest != NULL) {
        node *gone = ports->newest;
        ports->newest = gone->older;
        disarm_node(gone);
        duo_release(gone);
    }
    int descriptor = duo_atomic_load(&ports->descriptor, memory_order_relaxed);
    if (descriptor >= 0) close(descriptor);
    duo_release(ports);
}

size_t duo_ports_count(const duo_ports *ports)
{
    return ports->count;
}

static node *new_node(duo_ports *ports)
{
    node *made = ports->free;
    if (made != NULL) {
        ports->free = made->next;
        return made;
    }
    made = duo_allocate(sizeof *made);
    if (made == NULL) return NULL;
    *made = (node){.notifier = {notify_port}, .ports = ports, .older = ports->newest};
    ports->newest = made;
    return made;
}

/* Watches an endpoint whose peer is in another process. */
static duo_status watch(duo_ports *ports, node *added, duo_endpoint asked)
{
    const duo_transport *transport = duo_remote_of(asked)->transport;
    transport_watch *of = ports->watches;
    while (of < ports->watches + ports->watch_count && of->transport != transport) of++;
    if (of == ports->watches + ports->watch_count) {
        *of = (transport_watch){transport, NULL};
        ports->watch_count += 1;
    }
    duo_status status = transport->watch(&of->watch, asked, &added->notifier);
    if (status != DUO_OK) return status;
    if (duo_atomic_load(&ports->descriptor, memory_order_relaxed) < 0) return DUO_OK;
    status = transport->start_thread(of->watch);
    if (status != DUO_OK) transport->unwatch(added->endpoint.session, &added->notifier);
    return status;
}

duo_status duo_ports_add(duo_ports *ports, duo_endpoint asked, void *with, duo_port *port)
{
    const duo_endpoint endpoint = duo_asked(asked);
    if (endpoint.session == NULL) return DUO_USED;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (duo_atomic_load(&side->notifier, memory_order_acquire) != NULL) return DUO_USED;
    if (duo_check_handle(endpoint) == NULL) return DUO_USED;
    node *added = new_node(ports);
    if (added == NULL) return DUO_NO_MEMORY;
    added->endpoint = endpoint;
    added->with = with;
    duo_status status = duo_is_remote(endpoint) ? watch(ports, added, asked) : DUO_OK;
    if (status != DUO_OK) {
        free_node(ports, added);
        return status;
    }
    if (port != NULL) *port = (duo_port){added, added->generation, ports->id};
    added->is_in = true;
    ports->count += 1;
    if (duo_is_remote(endpoint)) return DUO_OK;
    ports->has_near = true;
    duo_arming how = duo_arm(side, &added->notifier, duo_asks_writable(asked));
    bool is_news = how == DUO_NOT_ARMED;
    if (is_news) {
        added->is_notified = true;
        append(ports, added);
    } else if (how == DUO_ARMED_UNSEEN) {
        if (!added->is_unseen) {
            added->is_unseen = true;
            added->next_unseen = ports->unseen;
            ports->unseen = added;
        }
        if (duo_atomic_load(&ports->descriptor, memory_order_relaxed) >= 0)
            is_news = confirm(ports);
    }
    if (is_news) notify_descriptor(ports);
    return DUO_OK;
}

bool duo_ports_remove(duo_ports *ports, duo_port port)
{
    node *removed = port.node;
    /* Only if the node belongs to this set is it certain to exist. */
    if (port.set != ports->id || removed->generation != port.generation) return false;
    disarm_node(removed);
    ports->count -= 1;
    if (removed->is_notified) {
        /* The node stays on its list until the set takes it from there. */
        removed->generation += 1;
        removed->is_removed = true;
        removed->is_in = false;
    } else {
        free_node(ports, removed);
    }
    return true;
}

/* Whether other threads have given endpoints. */
static bool has_given(const duo_ports *ports)
{
    return duo_atomic_load(&ports->given, memory_order_relaxed) != NULL;
}

/* Adds what other threads have given. What cannot be added is reported, so that its owner finds out why. */
static void add_given(duo_ports *ports)
{
    gift **refused = &ports->refused;
    while (*refused != NULL) refused = &(*refused)->next;
    for (gift *given = take_given(ports); given != NULL;) {
        gift *here = given;
        given = here->next;
        here->next = NULL;
        if (duo_ports_add(ports, here->asked, here->with, NULL) == DUO_OK) {
            duo_release(here);
        } else {
            *refused = here;
            refused = &here->next;
        }
    }
}

static bool take_refused(duo_ports *ports, void **with)
{
    gift *refused = ports->refused;
    if (refused == NULL) return false;
    ports->refused = refused->next;
    *with = refused->with;
    duo_release(refused);
    return true;
}

/* Spins and yields for a while; false if no notifier was called. */
static bool polls_ports(duo_ports *ports)
{
    size_t checks = ports->watch_count > 0 ? 1 + ports->count : 1;
    /* Where a check is a system call, there is only one between two yields. */
    bool spins = true;
    for (size_t i = 0; i < ports->watch_count; i++) spins &= ports->watches[i].transport->wakes_on_words;
    duo_backoff backoff = duo_backoff_begin(spins);
    do {
        poll_watches(ports);
        if (duo_atomic_load(&ports->notified, memory_order_relaxed) != NULL || has_given(ports)) return true;
    } while (duo_backoff_pass(&backoff, checks));
    return false;
}

/*
 * Sleeps until something was notified. A transport that sleeps on a word of this process includes it; of the others, one
 * can sleep if nothing else is in the set, and each has a thread if there is. If the thread cannot be started, the set
 * checks again soon.
 */
static bool sleep_on_ports(duo_ports *ports, uint64_t until)
{
    const transport_watch *sleeper = NULL;
    bool is_alone = ports->watch_count == 1 && !ports->has_near, lacks_thread = false;
    for (size_t i = 0; i < ports->watch_count; i++) {
        const transport_watch *one = &ports->watches[i];
        if (one->watch == NULL) continue;
        if (is_alone || one->transport->wakes_on_words) sleeper = one;
        else lacks_thread |= one->transport->start_thread(one->watch) != DUO_OK;
    }
    const uint64_t end = lacks_thread ? duo_soon(until) : until;
    bool in_time = sleeper == NULL ? duo_wait(&ports->asleep, DUO_LOW_HALF, 1, end)
                                   : sleeper->transport->sleep_watch(sleeper->watch, &ports->asleep, 1, end);
    return in_time || (end != until && !duo_gives_up(until));
}

/* Whether the set was interrupted since the last wait that was. */
static bool takes_interrupt(duo_ports *ports)
{
    /* Acquire: as in `duo_ports_interrupt`. */
    return duo_atomic_load(&ports->is_interrupted, memory_order_relaxed) &&
           duo_atomic_exchange(&ports->is_interrupted, false, memory_order_acq_rel);
}

duo_status duo_ports_wait(duo_ports *ports, uint64_t wait, void **with)
{
    const uint64_t until = duo_until(wait);
    bool in_time = wait != DUO_AT_ONCE;
    for (;;) {
        if (has_given(ports)) add_given(ports);
        if (take_refused(ports, with)) {
            notify_descriptor(ports);
            return DUO_OK;
        }
        bool is_news = ports->first == NULL && gather(ports);
        node *ready = next_ready(ports);
        if (ready != NULL) {
            *with = ready->with;
            if (ports->first != NULL || has_given(ports)) notify_descriptor(ports);
            return DUO_OK;
        }
        /* `collect` may have cleared the descriptor for what was given after the check above. */
        if (is_news || confirm(ports) || has_given(ports)) continue;
        if (takes_interrupt(ports) || !in_time) return DUO_EMPTY;
        if (ports->count == 0 && !ports->is_open) return DUO_EMPTY;
        if (!polls_ports(ports)) {
            duo_atomic_exchange(&ports->asleep, 1, memory_order_acq_rel);
            if (duo_atomic_load(&ports->notified, memory_order_acquire) == NULL && !has_given(ports) &&
                !duo_atomic_load(&ports->is_interrupted, memory_order_relaxed))
                in_time = sleep_on_ports(ports, until);
        }
        /* An exchange, so that what follows synchronizes with every sender whose exchange came before it. */
        duo_atomic_exchange(&ports->asleep, 0, memory_order_acq_rel);
    }
}

int duo_ports_descriptor(duo_ports *ports)
{
    int descriptor = duo_atomic_load(&ports->descriptor, memory_order_relaxed);
#ifdef __linux__
    for (size_t i = 0; i < ports->watch_count; i++) {
        const transport_watch *one = &ports->watches[i];
        if (one->watch != NULL && one->transport->start_thread(one->watch) != DUO_OK) return -1;
    }
    if (descriptor >= 0) return descriptor;
    descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) return descriptor;
    duo_atomic_store(&ports->descriptor, descriptor, memory_order_release);
    /*
     * A sender that exchanges `asleep` later sees the descriptor; what an earlier one has pushed is
     * found by the thread that reads the descriptor next.
     */
    duo_atomic_exchange(&ports->asleep, 0, memory_order_acq_rel);
    confirm(ports);
    notify_descriptor(ports);
#else
    errno = ENOSYS;
#endif
    return descriptor;
}

#endif
