/* The operations of sessions over byte streams as a table, and waiting for many of them. net.h says which thread may access what. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif
#include <unistd.h>

#include "net.h"

/*
 * Waiting for many sessions over byte streams.
 *
 * A watch is two lists of such sides in a set: those that were added since it last looked, and those for which it waits.
 * The first are checked one by one. On Linux they are then registered with epoll, each for one event, so a wait takes time
 * for what has happened only, however many wait: an event is of a descriptor, and `waiting` has the side that waits for
 * it. An event of a descriptor that was closed or is used for something else in the meantime leads to a check that finds
 * nothing. Elsewhere, and where a side cannot be registered, all are checked and polled.
 *
 * A watch is changed, and its sides are checked, under one lock of the process:
 * other threads may use or close an endpoint that is in a set, and the first thing they do is take it off the list. Only
 * the sleep is not under the lock. A descriptor that was closed in the meantime ends it, because a session ends with
 * `shutdown`; one that was opened again ends it early.
 *
 * A set that also has other endpoints sleeps on a futex word of this process, which `poll` cannot include. Then the
 * watch has a thread, which calls the notifiers.
 *
 * A select needs no lock: its endpoints belong to its caller and are in no set. See shm/transport.c, which is
 * similar.
 */

struct duo_watch {
    /* Those that are checked with every look, and those that epoll reports. */
    duo_net *first;
    duo_net *registered;
    size_t count;
    /* -1 if there is none. */
    int epoll;
    /* For each descriptor the side that is registered, or NULL. */
    duo_net **waiting;
    size_t waiting_capacity;
    /* The earliest time that may pass for one of those that are registered: then their times are checked. */
    uint64_t checks_at;
    /* What is polled, by one thread at a time. */
    duo_net_polls polls;
    bool has_thread;
    bool is_over;
    pthread_t thread;
    int wakers[2];
};

static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;

static void hold_watches(void)
{
    pthread_mutex_lock(&watches_lock);
}

static void release_watches(void)
{
    pthread_mutex_unlock(&watches_lock);
}

__attribute__((constructor(DUO_NET_WATCH_PRIORITY))) static void guard_watches(void)
{
    (void)pthread_atfork(hold_watches, release_watches, release_watches);
}

/* How long a sleep lasts if there is no memory for the list of what to poll; and the least time between checks of all. */
#define SHORT_PERIOD UINT64_C(1000000)

/* How many events one call returns. */
enum { EVENTS = 64 };

static bool check(duo_net *net, bool asks_writable)
{
    pthread_mutex_lock(&net->lock);
    duo_status status = asks_writable ? duo_net_check_sender(net) : duo_net_check_receiver(net);
    pthread_mutex_unlock(&net->lock);
    return status != (asks_writable ? DUO_FULL : DUO_EMPTY);
}

/* What to poll for a side that is not ready; what was sent before is left to the writer. */
static short events_of(bool asks_writable)
{
    return asks_writable ? POLLIN | POLLOUT : POLLIN;
}

/* `duo_net_patient_until` for a session that the writer may access. */
static uint64_t side_wakes_at(duo_net *net, uint64_t until)
{
    pthread_mutex_lock(&net->lock);
    uint64_t wakes = duo_net_patient_until(net, until);
    pthread_mutex_unlock(&net->lock);
    return wakes;
}

static bool sleep_net(const duo_endpoint *endpoints, size_t count, DUO_ATOMIC uint64_t *word, uint64_t until)
{
    enum { FEW = 32 };
    struct pollfd few[FEW], *polled = few;
    if (duo_atomic_load(word, memory_order_acquire) != 0) return true;
    if (count > FEW) polled = duo_allocate(count * sizeof *polled);
    size_t found = 0;
    uint64_t wakes = until;
    for (size_t i = 0; i < count && polled != NULL; i++) {
        bool is_here = duo_is_remote(endpoints[i]) && duo_remote_of(endpoints[i])->transport == &duo_net_transport;
        if (!is_here) continue;
        duo_net *net = duo_net_of(duo_asked(endpoints[i]));
        polled[found++] = (struct pollfd){net->stream.descriptor, events_of(duo_asks_writable(endpoints[i])), 0};
        wakes = side_wakes_at(net, wakes);
    }
    duo_net_poll_all(polled, found, polled != NULL ? wakes : duo_soon(until));
    if (polled != few && polled != NULL) duo_release(polled);
    return !duo_gives_up(until);
}

/* Moves a side from one list of its watch to the other. */
static void move_side(duo_net **list, duo_net *net)
{
    DUO_LIST_REMOVE(net, next_watched, watched_by);
    DUO_LIST_ADD(list, net, next_watched, watched_by);
}

/* No event of this side's descriptor is for it any more. */
static void forget_registration(duo_watch *watch, const duo_net *net)
{
    size_t descriptor = (size_t)net->stream.descriptor;
    if (descriptor < watch->waiting_capacity && watch->waiting[descriptor] == net) watch->waiting[descriptor] = NULL;
}

/* Takes a side off its list, under the lock. Others see that its notifier is gone only after everything else is done. */
static void unlink_side(duo_watch *watch, duo_net *net)
{
    watch->count -= 1;
    DUO_LIST_REMOVE(net, next_watched, watched_by);
    forget_registration(watch, net);
    net->watch = NULL;
    duo_atomic_store(&net->remote.session.sides[net->role].notifier, NULL, memory_order_release);
}

#ifdef __linux__
static void open_epoll(duo_watch *watch)
{
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
}

/* Makes space for this descriptor in `waiting`; false if memory ran out. */
static bool make_entry(duo_watch *watch, size_t descriptor)
{
    if (descriptor < watch->waiting_capacity) return true;
    size_t capacity = 2 * descriptor + 64;
    duo_net **waiting = duo_allocate(capacity * sizeof(duo_net *));
    if (waiting == NULL) return false;
    memset(waiting, 0, capacity * sizeof(duo_net *));
    if (watch->waiting != NULL) {
        memcpy(waiting, watch->waiting, watch->waiting_capacity * sizeof(duo_net *));
        duo_release(watch->waiting);
    }
    watch->waiting = waiting;
    watch->waiting_capacity = capacity;
    return true;
}

/* Registers a side for its next event; false if that is not possible. */
static bool register_side(duo_watch *watch, duo_net *net)
{
    int descriptor = net->stream.descriptor;
    if (watch->epoll < 0 || descriptor < 0 || !make_entry(watch, (size_t)descriptor)) return false;
    /* What is there already is reported, too. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = descriptor}};
    if (net->asks_writable) event.events |= EPOLLOUT;
    bool is_done = epoll_ctl(watch->epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 ||
                   (errno == ENOENT && epoll_ctl(watch->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
    if (!is_done) return false;
    watch->waiting[descriptor] = net;
    uint64_t wakes = side_wakes_at(net, DUO_FOREVER);
    if (wakes < watch->checks_at) watch->checks_at = wakes;
    return true;
}

/* The side for which an event has arrived, off `waiting`: NULL if there is none in this list of events. */
static duo_net *take_event(duo_watch *watch, const struct epoll_event *event)
{
    size_t descriptor = (size_t)event->data.fd;
    if (descriptor >= watch->waiting_capacity) return NULL;
    duo_net *net = watch->waiting[descriptor];
    watch->waiting[descriptor] = NULL;
    return net;
}

/* Moves those for which something has arrived to the others. */
static void take_events(duo_watch *watch)
{
    struct epoll_event events[EVENTS];
    int count = EVENTS;
    while (watch->registered != NULL && count == EVENTS) {
        count = epoll_wait(watch->epoll, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            duo_net *net = take_event(watch, &events[i]);
            if (net != NULL) move_side(&watch->first, net);
        }
    }
}
#else
static void open_epoll(duo_watch *watch)
{
    watch->epoll = -1;
}

static bool register_side(duo_watch *watch, duo_net *net)
{
    (void)watch, (void)net;
    return false;
}

static void take_events(duo_watch *watch)
{
    (void)watch;
}
#endif

/* Moves those whose time has passed to the others, if there can be any. */
static void take_late(duo_watch *watch)
{
    if (watch->checks_at == DUO_FOREVER) return;
    uint64_t now = duo_now();
    if (now < watch->checks_at) return;
    watch->checks_at = DUO_FOREVER;
    for (duo_net *net = watch->registered, *next; net != NULL; net = next) {
        next = net->next_watched;
        uint64_t wakes = side_wakes_at(net, DUO_FOREVER);
        if (wakes > now) {
            if (wakes < watch->checks_at) watch->checks_at = wakes;
            continue;
        }
        forget_registration(watch, net);
        move_side(&watch->first, net);
    }
}

/* Calls the notifiers of all that are ready, under the lock. */
static bool notify_ready(duo_watch *watch)
{
    bool is_news = false;
    take_events(watch);
    take_late(watch);
    for (duo_net *net = watch->first, *next; net != NULL; net = next) {
        next = net->next_watched;
        if (!check(net, net->asks_writable)) {
            if (register_side(watch, net)) move_side(&watch->registered, net);
            continue;
        }
        duo_notifier *notifier =
            duo_atomic_load(&net->remote.session.sides[net->role].notifier, memory_order_relaxed);
        notifier->notify(notifier);
        unlink_side(watch, net);
        is_news = true;
    }
    return is_news;
}

/* Called under the lock, which is released during the sleep. */
static void sleep_once(duo_watch *watch, uint64_t end)
{
    if (notify_ready(watch)) return;
    duo_net_polls *polls = &watch->polls;
    polls->count = 0;
    bool has_all = duo_net_poll_too(polls, watch->has_thread ? watch->wakers[0] : -1, POLLIN) &&
                   duo_net_poll_too(polls, watch->epoll, POLLIN);
    for (duo_net *net = watch->first; net != NULL && has_all; net = net->next_watched) {
        has_all = duo_net_poll_too(polls, net->stream.descriptor, events_of(net->asks_writable));
        end = side_wakes_at(net, end);
    }
    /* Without memory for the list, and between checks of all. */
    uint64_t soon = duo_now() + SHORT_PERIOD, late = watch->checks_at < soon || !has_all ? soon : watch->checks_at;
    if (late < end) end = late;
    release_watches();
    duo_net_poll_all(polls->all, polls->count, end);
    hold_watches();
}

static duo_status watch_net(duo_watch **watch, duo_endpoint asked, duo_notifier *notifier)
{
    duo_endpoint endpoint = duo_asked(asked);
    duo_net *net = duo_net_of(endpoint);
    if (*watch == NULL) {
        *watch = duo_allocate(sizeof **watch);
        if (*watch == NULL) return DUO_NO_MEMORY;
        memset(*watch, 0, sizeof **watch);
        (*watch)->checks_at = DUO_FOREVER;
        open_epoll(*watch);
    }
    hold_watches();
    net->role = endpoint.turn & 1;
    net->asks_writable = duo_asks_writable(asked);
    net->watch = *watch;
    /* Whatever uses the endpoint from now on has to find that it is in a set. */
    pthread_mutex_lock(&net->lock);
    duo_net_keep_unread(net, endpoint.turn);
    duo_net_end_lane(net);
    pthread_mutex_unlock(&net->lock);
    DUO_LIST_ADD(&(*watch)->first, net, next_watched, watched_by);
    (*watch)->count += 1;
    duo_atomic_store(&net->remote.session.sides[net->role].notifier, notifier, memory_order_release);
    if ((*watch)->has_thread) duo_net_wake((*watch)->wakers);
    release_watches();
    return DUO_OK;
}

static void unwatch(duo_session *session, const duo_notifier *notifier)
{
    duo_net *net = (duo_net *)(void *)session;
    hold_watches();
    /* While the lock is held no notifier is installed or removed. */
    duo_notifier *DUO_ATOMIC *installed = &session->sides[net->role].notifier;
    if (net->watched_by != NULL && duo_atomic_load(installed, memory_order_relaxed) == notifier)
        unlink_side(net->watch, net);
    release_watches();
}

static bool is_ready(duo_endpoint asked)
{
    duo_endpoint endpoint = duo_asked(asked);
    const duo_notifier *notifier =
        duo_atomic_load(&endpoint.session->sides[endpoint.turn & 1].notifier, memory_order_acquire);
    if (notifier != NULL) unwatch(endpoint.session, notifier);
    duo_net *net = duo_net_of(endpoint);
    pthread_mutex_lock(&net->lock);
    duo_net_keep_unread(net, endpoint.turn);
    pthread_mutex_unlock(&net->lock);
    return check(net, duo_asks_writable(asked));
}

static void poll_watch(duo_watch *watch)
{
    hold_watches();
    notify_ready(watch);
    release_watches();
}

static bool sleep_watch(duo_watch *watch, DUO_ATOMIC uint64_t *word, uint64_t expected, uint64_t until)
{
    hold_watches();
    bool is_alone = watch->has_thread || watch->count == 0;
    if (!is_alone) sleep_once(watch, until);
    release_watches();
    /* Then only the watch's thread, or this process itself, has anything to report. */
    if (is_alone) return duo_wait(word, DUO_LOW_HALF, expected, until);
    return !duo_gives_up(until);
}

static void *attend(void *context)
{
    duo_watch *watch = context;
    hold_watches();
    while (!watch->is_over) {
        char bytes[64];
        while (read(watch->wakers[0], bytes, sizeof bytes) > 0) continue;
        sleep_once(watch, DUO_FOREVER);
    }
    release_watches();
    return NULL;
}

static duo_status start_watch_thread(duo_watch *watch)
{
    if (watch->has_thread) return DUO_OK;
    if (!duo_net_pipe(watch->wakers)) return DUO_SYSTEM;
    hold_watches();
    int failed = duo_start_thread(&watch->thread, attend, watch);
    watch->has_thread = failed == 0;
    if (failed != 0) duo_net_close_pipe(watch->wakers);
    release_watches();
    errno = failed;
    return failed == 0 ? DUO_OK : DUO_SYSTEM;
}

static void free_watch(duo_watch *watch)
{
    hold_watches();
    while (watch->first != NULL) unlink_side(watch, watch->first);
    while (watch->registered != NULL) unlink_side(watch, watch->registered);
    watch->is_over = true;
    bool has_thread = watch->has_thread;
    if (has_thread) duo_net_wake(watch->wakers);
    release_watches();
    if (has_thread) {
        pthread_join(watch->thread, NULL);
        duo_net_close_pipe(watch->wakers);
    }
    if (watch->epoll >= 0) close(watch->epoll);
    if (watch->waiting != NULL) duo_release(watch->waiting);
    if (watch->polls.all != NULL) duo_release(watch->polls.all);
    duo_release(watch);
}

static duo_status close_net(duo_endpoint endpoint, const duo_state *state)
{
    (void)state;
    if (duo_claim(endpoint) == NULL) return DUO_USED;
    duo_net *net = duo_net_of(endpoint);
    pthread_mutex_lock(&net->lock);
    return duo_net_end(net, duo_net_leave_of(net, DUO_CLOSED), DUO_OK, NULL);
}

const duo_transport duo_net_transport = {
    .send = duo_net_send,
    .recv = duo_net_recv,
    .close = close_net,
    .lane_go_on = duo_net_lane_go_on,
    .answer_peer = duo_net_answer_peer,
    .is_ready = is_ready,
    .sleep = sleep_net,
    .watch = watch_net,
    .unwatch = unwatch,
    .poll_watch = poll_watch,
    .sleep_watch = sleep_watch,
    .start_thread = start_watch_thread,
    .free_watch = free_watch,
};
