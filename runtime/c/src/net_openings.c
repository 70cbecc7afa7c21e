/*
 * The sessions that other processes begin with a listener over a broker, until the listener takes them. A pipe has one byte for each of them, so
 * the listener polls it like a socket that listens. Before the listener has subscribed, there is one byte more: so a program that
 * waits for the descriptor of its listener accepts once, which subscribes.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net_accept.h"
#include "net_broker.h"

/* How many sessions may wait until the listener takes them. */
enum { MOST_WAITING = 256 };

/* The groups of one protocol. A listener that is full leaves `ready`, and what is in `full` stays. Each is NULL if it is not in that. */
typedef struct served {
    struct served *next;
    duo_fingerprint fingerprint;
    duo_subscription *ready;
    duo_subscription *full;
} served;

struct duo_openings {
    pthread_mutex_t lock;
    duo_exchange *exchange;
    char name[DUO_NAME_LONGEST + 1];
    int pipe[2];
    /* The ring of those that wait. */
    int waiting[MOST_WAITING];
    duo_service_endpoint *endpoints[MOST_WAITING];
    size_t first;
    size_t count;
    /* The listener, and the subscriptions that may still deliver. */
    size_t holders;
    duo_service *service;
    bool is_discoverable;
    bool is_draining;
    /* The broker delivers nothing more. */
    bool is_lost;
    /* Under `serving`, which is held while the broker is called. */
    served *all;
    pthread_mutex_t serving;
};

duo_openings *duo_openings_new(duo_exchange *exchange, const char *name, bool is_discoverable)
{
    duo_openings *made = duo_allocate(sizeof *made);
    if (made == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    memset(made, 0, sizeof *made);
    made->service = duo_service_new(exchange, name);
    bool has_pipe = made->service != NULL && duo_net_pipe(made->pipe);
    if (!has_pipe) {
        int reason = errno;
        if (made->service != NULL) duo_service_let_go(made->service);
        duo_release(made);
        errno = reason;
        return NULL;
    }
    made->is_discoverable = is_discoverable;
    memcpy(made->name, name, strlen(name) + 1);
    made->exchange = exchange;
    made->holders = 1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->serving, NULL);
    (void)!write(made->pipe[1], "", 1);
    return made;
}

int duo_openings_descriptor(const duo_openings *openings)
{
    return openings->pipe[0];
}

int duo_openings_waker(const duo_openings *openings)
{
    return openings->pipe[1];
}

static void hold(duo_openings *openings)
{
    pthread_mutex_lock(&openings->lock);
    openings->holders += 1;
    pthread_mutex_unlock(&openings->lock);
}

static void let_go(duo_openings *openings)
{
    pthread_mutex_lock(&openings->lock);
    bool is_last = --openings->holders == 0;
    pthread_mutex_unlock(&openings->lock);
    if (!is_last) return;
    close(openings->pipe[0]);
    close(openings->pipe[1]);
    for (; openings->count > 0; openings->count--) {
        close(openings->waiting[openings->first]);
        openings->first = (openings->first + 1) % MOST_WAITING;
    }
    pthread_mutex_destroy(&openings->lock);
    pthread_mutex_destroy(&openings->serving);
    duo_service_let_go(openings->service);
    duo_release(openings);
}

static void arrived(void *context, const char *subject, const char *reply, const void *bytes, size_t size)
{
    duo_openings *openings = context;
    pthread_mutex_lock(&openings->lock);
    unsigned verdict = openings->is_draining                ? DUO_VERDICT_DRAINING
                       : openings->count == MOST_WAITING    ? DUO_VERDICT_SESSIONS_FULL
                                                            : DUO_VERDICT_EQUAL;
    int descriptor = duo_exchange_accept(openings->exchange, reply, bytes, size, verdict);
    if (descriptor >= 0) {
        size_t at = (openings->first + openings->count) % MOST_WAITING;
        openings->waiting[at] = descriptor;
        openings->endpoints[at] = duo_service_find(openings->service, subject);
        openings->count += 1;
        (void)!write(openings->pipe[1], "", 1);
    }
    pthread_mutex_unlock(&openings->lock);
}

static void unanswered(void *context, const char *subject)
{
    (void)context, (void)subject;
}

static void ended(void *context)
{
    duo_openings *openings = context;
    pthread_mutex_lock(&openings->lock);
    /* Nobody has ended the subscription, so the listener has to learn it. */
    openings->is_lost = openings->is_lost || (!openings->is_draining && duo_exchange_is_lost(openings->exchange));
    if (openings->is_lost) (void)!write(openings->pipe[1], "", 1);
    pthread_mutex_unlock(&openings->lock);
    let_go(openings);
}

static bool is_served(const duo_openings *openings, const duo_fingerprint *fingerprint)
{
    const served *one = openings->all;
    while (one != NULL && memcmp(&one->fingerprint, fingerprint, sizeof *fingerprint) != 0) one = one->next;
    return one != NULL;
}

/* Subscribes to the subjects of these fingerprints of a protocol. */
static duo_status serve(duo_openings *openings, const char *protocol, const duo_fingerprint *fingerprints, size_t count, duo_problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        if (is_served(openings, &fingerprints[i])) continue;
        served *made = duo_allocate(sizeof *made);
        if (made == NULL) return DUO_NO_MEMORY;
        char subject[DUO_SUBJECT_SIZE];
        duo_exchange_subject(subject, openings->name, &fingerprints[i], DUO_SERVERS_READY);
        const duo_inbox inbox = {arrived, unanswered, ended, openings};
        hold(openings);
        /* First, so that it finds the endpoint. */
        if (duo_service_find(openings->service, subject) == NULL && !duo_service_add(openings->service, subject, protocol)) {
            let_go(openings);
            duo_release(made);
            return DUO_NO_MEMORY;
        }
        made->ready = duo_exchange_subscribe(openings->exchange, subject, &inbox, problem);
        if (made->ready == NULL) {
            duo_release(made);
            return DUO_SYSTEM;
        }
        made->full = NULL;
        made->fingerprint = fingerprints[i];
        made->next = openings->all;
        openings->all = made;
    }
    return DUO_OK;
}

duo_status duo_openings_serve(duo_openings *openings, const duo_net_offer *offers, size_t count, duo_problem *problem)
{
    duo_status status = DUO_OK;
    pthread_mutex_lock(&openings->serving);
    pthread_mutex_lock(&openings->lock);
    bool is_draining = openings->is_draining;
    pthread_mutex_unlock(&openings->lock);
    for (size_t i = 0; i < count && status == DUO_OK && !is_draining; i++) {
        const duo_wire_protocol *protocol = offers[i].protocol;
        const duo_net_options *options = &offers[i].options;
        status = serve(openings, protocol->name, &protocol->fingerprint, 1, problem);
        if (status == DUO_OK) status = serve(openings, protocol->name, options->accepts, options->accepts_count, problem);
        const duo_fingerprint *older = protocol->accepts[offers[i].role];
        if (status == DUO_OK) status = serve(openings, protocol->name, older, protocol->accepts_count[offers[i].role], problem);
    }
    if (status == DUO_OK && openings->is_discoverable && !is_draining) status = duo_service_announce(openings->service, problem);
    pthread_mutex_unlock(&openings->serving);
    return status;
}

/* Joins a group of this protocol, unless it is in it. */
static void join(duo_openings *openings, const duo_fingerprint *fingerprint, duo_servers servers, duo_subscription **group)
{
    if (*group != NULL) return;
    char subject[DUO_SUBJECT_SIZE];
    duo_exchange_subject(subject, openings->name, fingerprint, servers);
    const duo_inbox inbox = {arrived, unanswered, ended, openings};
    hold(openings);
    *group = duo_exchange_join(openings->exchange, subject, &inbox);
    if (*group == NULL) let_go(openings);
}

void duo_openings_set_full(duo_openings *openings, bool is_full)
{
    pthread_mutex_lock(&openings->serving);
    pthread_mutex_lock(&openings->lock);
    bool is_draining = openings->is_draining;
    pthread_mutex_unlock(&openings->lock);
    for (served *one = openings->all; one != NULL && !is_draining; one = one->next) {
        if (!is_full) {
            join(openings, &one->fingerprint, DUO_SERVERS_READY, &one->ready);
        } else if (one->ready != NULL) {
            /* First, so that clients always find a server that reports that all are full. */
            join(openings, &one->fingerprint, DUO_SERVERS_FULL, &one->full);
            duo_exchange_unsubscribe(openings->exchange, one->ready);
            one->ready = NULL;
        }
    }
    pthread_mutex_unlock(&openings->serving);
}

int duo_openings_take(duo_openings *openings, duo_service_endpoint **endpoint)
{
    char byte;
    int descriptor = -1;
    pthread_mutex_lock(&openings->lock);
    /* Also the byte that is there at first. */
    if (openings->count == 0) while (read(openings->pipe[0], &byte, 1) > 0) continue;
    if (openings->count > 0) {
        descriptor = openings->waiting[openings->first];
        *endpoint = openings->endpoints[openings->first];
        openings->first = (openings->first + 1) % MOST_WAITING;
        openings->count -= 1;
        (void)!read(openings->pipe[0], &byte, 1);
    }
    int reason = openings->is_lost ? ENOTCONN : EAGAIN;
    pthread_mutex_unlock(&openings->lock);
    if (descriptor < 0) errno = reason;
    return descriptor;
}

/* Refuses those that the listener has not taken: their peers try other servers. */
static void refuse_waiting(duo_openings *openings)
{
    duo_service_endpoint *ignored;
    for (int descriptor; (descriptor = duo_openings_take(openings, &ignored)) >= 0;) {
        const duo_net_stream stream = duo_net_plain(descriptor, true);
        duo_net_refuse(&stream, DUO_VERDICT_DRAINING, 0);
        duo_net_hang_up(&stream);
    }
}

void duo_openings_drain(duo_openings *openings)
{
    pthread_mutex_lock(&openings->serving);
    pthread_mutex_lock(&openings->lock);
    openings->is_draining = true;
    pthread_mutex_unlock(&openings->lock);
    refuse_waiting(openings);
    duo_service_end(openings->service);
    bool has_served = openings->all != NULL;
    while (openings->all != NULL) {
        served *one = openings->all;
        openings->all = one->next;
        duo_exchange_unsubscribe(openings->exchange, one->ready);
        duo_exchange_unsubscribe(openings->exchange, one->full);
        duo_release(one);
    }
    if (has_served) duo_exchange_settle(openings->exchange);
    pthread_mutex_unlock(&openings->serving);
}

void duo_openings_close(duo_openings *openings)
{
    duo_openings_drain(openings);
    let_go(openings);
}
