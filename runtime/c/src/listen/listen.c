/*
 * Listening: many handshakes at once, so that a peer that stalls does not delay others. One thread at a
 * time accepts connections and reads hellos; the others wait until that one has found a session, or its time
 * limit has passed. waiting.c has the connections before that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listener.h"

enum { SESSIONS = 1024 };

/* How soon a thread that waits for its turn notices that it is canceled, in nanoseconds. */
#define TURN_PERIOD UINT64_C(20000000)

static size_t most_sessions(const duo_listener *listener)
{
    return listener->options.sessions != 0 ? listener->options.sessions : SESSIONS;
}

static duo_net_gate *new_gate(void)
{
    duo_net_gate *gate = duo_allocate(sizeof *gate);
    if (gate == NULL) return NULL;
    memset(gate, 0, sizeof *gate);
    gate->holders = 1;
    pthread_mutex_init(&gate->lock, NULL);
    duo_make_condition(&gate->changed);
    return gate;
}

static void free_listener(duo_listener *listener)
{
    pthread_mutex_destroy(&listener->lock);
    pthread_cond_destroy(&listener->turned);
    duo_release(listener);
}

duo_status duo_listen(const char *address, const duo_net_options *options, duo_listener **listener)
{
    *listener = NULL;
    duo_listener *made = duo_allocate(sizeof *made);
    if (made == NULL) return DUO_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->epoll = made->timer = -1;
    if (options != NULL) made->options = *options;
    pthread_mutex_init(&made->lock, NULL);
    duo_make_condition(&made->turned);
    duo_status status = DUO_NO_MEMORY;
    made->gate = new_gate();
    if (made->gate != NULL) status = duo_net_pipe(made->wakers) ? DUO_OK : DUO_SYSTEM;
    bool has_pipe = status == DUO_OK;
    char host[DUO_NET_HOST];
    if (status == DUO_OK) status = duo_net_find_tls(address, true, &made->options, &made->tls, host);
    if (status == DUO_OK) status = duo_net_bind(address, &made->descriptor, made->path, sizeof made->path);
    if (status != DUO_OK) {
        int reason = errno;
        if (has_pipe) duo_net_close_pipe(made->wakers);
        if (made->gate != NULL) duo_net_let_go(made->gate);
        free_listener(made);
        errno = reason;
        return status;
    }
    struct stat file;
    if (made->path[0] != '\0' && lstat(made->path, &file) == 0) {
        made->device = (uint64_t)file.st_dev;
        made->inode = (uint64_t)file.st_ino;
    }
    duo_net_spell(made->descriptor, false, made->tls != NULL, made->address, sizeof made->address);
    *listener = made;
    return DUO_OK;
}

const char *duo_listener_address(const duo_listener *listener)
{
    return listener->address;
}

/* Under the lock. */
static void update_descriptor(duo_listener *listener)
{
    if (listener->epoll < 0) return;
    duo_net_update_descriptor(listener, duo_net_may_accept(listener), duo_net_is_busy(listener));
}

int duo_listener_descriptor(duo_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    int descriptor = duo_net_open_descriptor(listener);
    /* The thread that has the turn does this when it gives it back. */
    if (!listener->has_turn) update_descriptor(listener);
    pthread_mutex_unlock(&listener->lock);
    return descriptor;
}

void duo_listener_close(duo_listener *listener)
{
    if (listener == NULL) return;
    struct stat file;
    /* Another listener may have taken over the name. */
    bool is_ours = listener->path[0] != '\0' && lstat(listener->path, &file) == 0 &&
                   (uint64_t)file.st_dev == listener->device && (uint64_t)file.st_ino == listener->inode;
    if (is_ours) unlink(listener->path);
    close(listener->descriptor);
    while (listener->greetings != NULL) {
        duo_net_hang_up_greeting(listener, listener->greetings);
        duo_net_end_greeting(listener, &listener->greetings);
    }
    duo_net_close_descriptor(listener);
    if (listener->polls.all != NULL) duo_release(listener->polls.all);
    duo_net_close_pipe(listener->wakers);
    duo_net_let_go(listener->gate);
    if (listener->offers != NULL) duo_release(listener->offers);
    free_listener(listener);
}

void duo_listener_stop(duo_listener *listener)
{
    duo_atomic_store(&listener->is_stopped, true, memory_order_release);
    /* Nothing is ever read from it, so it stays readable for every thread. */
    duo_net_wake(listener->wakers);
}

/* Counts a further session; false if there are as many as allowed. */
static bool enter(duo_listener *listener)
{
    duo_net_gate *gate = listener->gate;
    pthread_mutex_lock(&gate->lock);
    bool has_place = gate->sessions < most_sessions(listener);
    if (has_place) gate->sessions += 1;
    pthread_mutex_unlock(&gate->lock);
    return has_place;
}

static void give_place(duo_listener *listener)
{
    duo_net_gate *gate = listener->gate;
    pthread_mutex_lock(&gate->lock);
    gate->sessions -= 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

duo_load duo_listener_load(duo_listener *listener)
{
    bool is_over = duo_atomic_load(&listener->is_draining, memory_order_acquire) ||
                   duo_atomic_load(&listener->is_stopped, memory_order_acquire);
    pthread_mutex_lock(&listener->gate->lock);
    size_t sessions = listener->gate->sessions;
    pthread_mutex_unlock(&listener->gate->lock);
    return (duo_load){.sessions = sessions, .is_full = sessions >= most_sessions(listener), .is_draining = is_over};
}

/* Decides about a hello that is complete, or wrong: true if a session has begun. */
static bool decide(duo_listener *listener, duo_net_greeting *greeting, duo_net_found found,
                   const duo_net_offer *offers, size_t count, duo_net_arrival *arrived)
{
    unsigned verdict = DUO_VERDICT_MALFORMED;
    const duo_net_offer *offer = NULL;
    duo_net_hello *hello = &arrived->hello;
    bool has_place = false;
    memset(hello, 0, sizeof *hello);
    if (found == DUO_NET_BAD_VERSION) {
        verdict = DUO_VERDICT_UNKNOWN_VERSION;
    } else if (found == DUO_NET_GOOD && duo_net_read_hello(greeting->bytes, greeting->size, hello)) {
        bool is_draining = duo_atomic_load(&listener->is_draining, memory_order_acquire);
        has_place = !is_draining && enter(listener);
        if (is_draining) verdict = DUO_VERDICT_DRAINING;
        else if (!has_place) verdict = DUO_VERDICT_SESSIONS_FULL;
        else verdict = duo_net_judge(hello, offers, count, &offer);
    }
    duo_status status = DUO_REFUSED;
    if (offer != NULL) {
        duo_net_spell(greeting->stream.descriptor, true, listener->tls != NULL, arrived->address, sizeof arrived->address);
        status = duo_net_admit(greeting, hello, arrived->address, offer, &verdict, &arrived->net, &arrived->endpoint);
    } else if (found != DUO_NET_ALIEN) {
        duo_net_refuse(&greeting->stream, verdict, 0);
    }
    if (status == DUO_OK) {
        arrived->net->place = greeting->place;
        if (duo_net_enter(arrived->net, listener->gate)) duo_net_cut(arrived->net);
        arrived->offer = *offer;
        return true;
    }
    if (has_place) give_place(listener);
    const duo_observer *observer = offer != NULL ? offer->options.observer : listener->options.observer;
    bool is_tls = listener->tls != NULL;
    if (found == DUO_NET_ALIEN) duo_net_report_alien(listener, greeting);
    else duo_net_report_refused(greeting, observer, is_tls, hello->name, status, verdict, NULL);
    duo_net_hang_up_greeting(listener, greeting);
    return false;
}

/* Continues all handshakes; true if a session has begun. */
static bool continue_greetings(duo_listener *listener, const duo_net_offer *offers, size_t count,
                               duo_net_arrival *arrived)
{
    const uint64_t now = duo_now();
    for (duo_net_greeting **place = &listener->greetings; *place != NULL;) {
        duo_net_greeting *greeting = *place;
        duo_net_found found;
        if (!duo_net_may_continue(listener, greeting, now)) {
            place = &greeting->next;
            continue;
        }
        duo_net_step next = duo_net_continue(listener, greeting, &found);
        if (next == DUO_NET_WAIT) {
            place = &greeting->next;
            continue;
        }
        bool begins = false;
        if (next == DUO_NET_END) duo_net_hang_up_greeting(listener, greeting);
        else begins = decide(listener, greeting, found, offers, count, arrived);
        if (begins) {
            duo_net_unwatch_greeting(listener, greeting);
            /* The greeting is kept, because the texts of the hello point into it. */
            duo_net_take_greeting(listener, place);
            arrived->greeting = greeting;
            return true;
        }
        duo_net_end_greeting(listener, place);
    }
    return false;
}

/*
 * Waits for the turn; false if it is not free in time. The thread that has it gives it back after its first session, or
 * when its own time limit has passed.
 */
static bool take_turn(duo_listener *listener, uint64_t until)
{
    pthread_mutex_lock(&listener->lock);
    while (listener->has_turn && !duo_gives_up(until)) {
        bool can_be_canceled = duo_own_sleeper() != NULL;
        if (until == DUO_FOREVER && !can_be_canceled) {
            pthread_cond_wait(&listener->turned, &listener->lock);
            continue;
        }
        uint64_t soon = duo_now() + TURN_PERIOD;
        const struct timespec end = duo_timespec(can_be_canceled && until > soon ? soon : until);
        pthread_cond_timedwait(&listener->turned, &listener->lock, &end);
    }
    bool is_free = !listener->has_turn;
    listener->has_turn = true;
    pthread_mutex_unlock(&listener->lock);
    return is_free;
}

static void give_turn(duo_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    update_descriptor(listener);
    listener->has_turn = false;
    pthread_cond_signal(&listener->turned);
    pthread_mutex_unlock(&listener->lock);
}

duo_status duo_listener_next(duo_listener *listener, const duo_net_offer *offers, size_t count, uint64_t until,
                             duo_net_arrival *arrived)
{
    memset(arrived, 0, sizeof *arrived);
    if (!take_turn(listener, until)) return DUO_EMPTY;
    duo_status status = DUO_OK;
    bool has_polled = false;
    for (;;) {
        if (duo_atomic_load(&listener->is_stopped, memory_order_acquire)) {
            status = DUO_CLOSED;
            break;
        }
        duo_net_take_connections(listener);
        if (continue_greetings(listener, offers, count, arrived)) break;
        if (has_polled && duo_gives_up(until)) {
            status = DUO_EMPTY;
            break;
        }
        has_polled = true;
        duo_net_await_connections(listener, until);
    }
    give_turn(listener);
    return status;
}

duo_status duo_net_accept(duo_listener *listener, const duo_wire_protocol *protocol, duo_role role,
                          uint64_t nanoseconds, duo_endpoint *endpoint)
{
    *endpoint = (duo_endpoint){NULL, 0};
    const duo_net_offer offer = {.protocol = protocol, .role = role, .options = listener->options};
    duo_net_arrival arrived;
    duo_status status = duo_listener_next(listener, &offer, 1, duo_until(nanoseconds), &arrived);
    if (status != DUO_OK) return status;
    duo_net_free_greeting(arrived.greeting);
    *endpoint = arrived.endpoint;
    return DUO_OK;
}
