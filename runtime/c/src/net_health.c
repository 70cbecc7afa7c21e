/*
 * Whether a server can be used: duologue/health.h. What the compiler generates for runtime/health.proto is in the folder
 * `health`, and part of this file only, so a program may have a protocol of the same name.
 */
#include <assert.h>
#include <string.h>

#include "duologue/health.h"
#include "listen/listener.h"

#ifdef DUO_RECORD
/* Health checks are not recorded: a log would have sessions whose protocol the program does not have. */
#include "duologue/tables.h"
#undef DUO_NAMED
#undef DUO_NAMED_IN
#define DUO_NAMED(name) , NULL
#define DUO_NAMED_IN(state, name) , NULL, NULL
#endif

#include "health/health.c"
#include "health/health_types.c"
#include "health/health_wire.c"

#include "health/health_net.h"

/* How long a client that waits for a change has no answer, in nanoseconds. */
#define PERIOD UINT64_C(20000000000)

/* How often the server checks whether it drains, while it is the client's turn, which is never long for most clients. */
#define LOOK UINT64_C(100000000)
/* How many times it does so after it has begun to drain: a client that handles a change can still ask, and learns it. */
#define LAST_LOOKS 5

static_assert((int)DUO_HEALTH_UNKNOWN == (int)DUOLOGUE_STATUS_UNKNOWN, "the same numbers");
static_assert((int)DUO_HEALTH_SERVING == (int)DUOLOGUE_STATUS_SERVING, "the same numbers");
static_assert((int)DUO_HEALTH_NOT_SERVING == (int)DUOLOGUE_STATUS_NOT_SERVING, "the same numbers");

/* A service with a name. */
typedef struct service {
    struct service *next;
    duo_health_status status;
    size_t size;
    char name[];
} service;

/* A listener that serves it. */
typedef struct served {
    struct served *next;
    duo_health *health;
    /* Under the lock. */
    bool is_draining;
} served;

struct duo_health {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Everything else is accessed under the lock. */
    duo_health_status server;
    service *services;
    served *listeners;
};

const char *duo_health_text(duo_health_status status)
{
    return duologue_status_text((duologue_status_t)status);
}

duo_status duo_health_new(duo_health **health)
{
    duo_health *made = duo_allocate(sizeof *made);
    *health = made;
    if (made == NULL) return DUO_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    duo_make_condition(&made->changed);
    made->server = DUO_HEALTH_SERVING;
    made->services = NULL;
    made->listeners = NULL;
    return DUO_OK;
}

void duo_health_free(duo_health *health)
{
    if (health == NULL) return;
    for (service *next, *each = health->services; each != NULL; each = next) {
        next = each->next;
        duo_release(each);
    }
    for (served *next, *each = health->listeners; each != NULL; each = next) {
        next = each->next;
        duo_release(each);
    }
    pthread_mutex_destroy(&health->lock);
    pthread_cond_destroy(&health->changed);
    duo_release(health);
}

/* Where a service is in the list, or the end of the list. Under the lock. */
static service **find(duo_health *health, duo_str name)
{
    service **place = &health->services;
    while (*place != NULL && !duo_str_equal((duo_str){(*place)->name, (*place)->size}, name)) place = &(*place)->next;
    return place;
}

static duo_status set(duo_health *health, duo_str name, duo_health_status status)
{
    if (name.size == 0) {
        health->server = status;
        return DUO_OK;
    }
    service **place = find(health, name);
    service *known = *place;
    if (status == DUO_HEALTH_UNKNOWN && known != NULL) {
        *place = known->next;
        duo_release(known);
    } else if (status != DUO_HEALTH_UNKNOWN && known == NULL) {
        known = duo_allocate(sizeof *known + name.size);
        if (known == NULL) return DUO_NO_MEMORY;
        *known = (service){.status = status, .size = name.size};
        memcpy(known->name, name.data, name.size);
        *place = known;
    } else if (known != NULL) {
        known->status = status;
    }
    return DUO_OK;
}

duo_status duo_health_set(duo_health *health, duo_str name, duo_health_status status)
{
    pthread_mutex_lock(&health->lock);
    duo_status done = set(health, name, status);
    pthread_cond_broadcast(&health->changed);
    pthread_mutex_unlock(&health->lock);
    return done;
}

/* Under the lock. */
static duo_health_status status_of(duo_health *health, duo_str name)
{
    if (name.size == 0) return health->server;
    const service *known = *find(health, name);
    return known != NULL ? known->status : DUO_HEALTH_UNKNOWN;
}

duo_health_status duo_health_get(duo_health *health, duo_str name)
{
    pthread_mutex_lock(&health->lock);
    duo_health_status status = status_of(health, name);
    pthread_mutex_unlock(&health->lock);
    return status;
}

/*
 * The status of a service, once it is another one than `known`, which may be NULL, or the period has passed. False if the
 * listener drains.
 */
static bool next_status(served *here, duo_str name, const duologue_status_t *known, duologue_status_t *status)
{
    duo_health *health = here->health;
    const uint64_t until = duo_until(PERIOD);
    pthread_mutex_lock(&health->lock);
    for (;;) {
        *status = (duologue_status_t)status_of(health, name);
        if (here->is_draining || known == NULL || *status != *known || duo_is_past(until)) break;
        const struct timespec end = duo_timespec(until);
        (void)pthread_cond_timedwait(&health->changed, &health->lock, &end);
    }
    bool is_draining = here->is_draining;
    pthread_mutex_unlock(&health->lock);
    return !is_draining;
}

static bool is_draining(served *here)
{
    pthread_mutex_lock(&here->health->lock);
    bool is_draining = here->is_draining;
    pthread_mutex_unlock(&here->health->lock);
    return is_draining;
}

/* Answers one client. A client that is gone does not need its answer. */
static void answer(duologue_health_server_ask_t ask, const duo_peer *peer, void *context)
{
    (void)peer;
    unsigned looks = 0;
    for (;;) {
        duologue_health_ask_t asked;
        duologue_health_server_answer_t asker;
        duologue_status_t status;
        bool goes_on;
        duo_status found = duologue_health_server_ask_recv_within(ask, LOOK, &asked);
        if (found == DUO_EMPTY && looks < LAST_LOOKS) {
            looks += is_draining(context) ? 1 : 0;
            continue;
        }
        if (found != DUO_OK) break;
        switch (asked.tag) {
        case DUOLOGUE_HEALTH_ASK_CHECK:
            asker = asked.as.check.next;
            goes_on = next_status(context, asked.as.check.service, NULL, &status);
            break;
        case DUOLOGUE_HEALTH_ASK_WAIT:
            asker = asked.as.wait.next;
            goes_on = next_status(context, asked.as.wait.service, &asked.as.wait.status, &status);
            break;
        default: return;
        }
        duologue_health_ask_free(&asked);
        if (goes_on && duologue_health_server_answer_send_status(asker, status, &ask) == DUO_OK) continue;
        if (!goes_on && duologue_health_server_answer_send_draining(asker) == DUO_OK) return;
        (void)duologue_health_server_answer_close(asker);
        return;
    }
    /* It drains, or memory ran out. This does nothing if the session is over. */
    (void)duologue_health_server_ask_close(ask);
}

/* The listener drains, or is stopped. */
static void drain(void *context)
{
    served *here = context;
    pthread_mutex_lock(&here->health->lock);
    here->is_draining = true;
    pthread_cond_broadcast(&here->health->changed);
    pthread_mutex_unlock(&here->health->lock);
}

duo_status duo_health_serve(duo_listener *listener, duo_health *health, const duo_net_options *options)
{
    served *made = duo_allocate(sizeof *made);
    if (made == NULL) return DUO_NO_MEMORY;
    *made = (served){.health = health};
    duo_status status = duo_net_serve(listener, &duo_wire_of_duologue_health, DUO_SERVER, options,
                                      duo_call_of_duologue_health_server, (duo_handler *)answer, made, drain);
    if (status != DUO_OK) {
        duo_release(made);
        return status;
    }
    pthread_mutex_lock(&health->lock);
    made->next = health->listeners;
    health->listeners = made;
    pthread_mutex_unlock(&health->lock);
    return DUO_OK;
}

/* Begins a session; DUO_EMPTY if the server drains. */
static duo_status begin(const char *address, const duo_net_options *options, duologue_health_client_ask_t *ask)
{
    duo_net_options own = {0};
    duo_refusal refusal = {0, 0};
    if (options != NULL) own = *options;
    own.refusal = &refusal;
    duo_status status = duologue_health_client_connect(address, &own, ask);
    if (options != NULL && options->refusal != NULL && status == DUO_REFUSED) *options->refusal = refusal;
    return status == DUO_REFUSED && refusal.verdict == DUO_VERDICT_DRAINING ? DUO_EMPTY : status;
}

/* Receives an answer; DUO_EMPTY if the server drains. Otherwise, if the result is not DUO_OK, the session is over. */
static duo_status receive(duologue_health_client_answer_t waiting, duologue_health_client_ask_t *ask,
                          duo_health_status *status)
{
    duologue_health_answer_t told;
    duo_status result = duologue_health_client_answer_recv(waiting, &told);
    if (result != DUO_OK) {
        (void)duologue_health_client_answer_close(waiting);
        return result;
    }
    if (told.tag == DUOLOGUE_HEALTH_ANSWER_DRAINING) return DUO_EMPTY;
    *status = (duo_health_status)told.as.status.status;
    *ask = told.as.status.next;
    return DUO_OK;
}

/* Asks for the status, or for one other than `*status`, and receives the answer as above. */
static duo_status check(duologue_health_client_ask_t *ask, duo_str name, bool waits, duo_health_status *status)
{
    duologue_health_client_answer_t waiting;
    duo_status result = waits ? duologue_health_client_ask_send_wait(*ask, name, (duologue_status_t)*status, &waiting)
                              : duologue_health_client_ask_send_check(*ask, name, &waiting);
    if (result == DUO_OK) return receive(waiting, ask, status);
    (void)duologue_health_client_ask_close(*ask);
    return result;
}

/* It has answered, so it does not matter whether it is still there. */
static void quit(duologue_health_client_ask_t ask)
{
    if (duologue_health_client_ask_send_quit(ask) != DUO_OK) (void)duologue_health_client_ask_close(ask);
}

duo_status duo_health_check(const char *address, const duo_net_options *options, duo_str name,
                            duo_health_status *status)
{
    duologue_health_client_ask_t ask;
    *status = DUO_HEALTH_NOT_SERVING;
    duo_status result = begin(address, options, &ask);
    if (result == DUO_OK) result = check(&ask, name, false, status);
    if (result == DUO_OK) quit(ask);
    return result == DUO_EMPTY ? DUO_OK : result;
}

duo_status duo_health_watch(const char *address, const duo_net_options *options, duo_str name,
                            bool (*changed)(duo_health_status status, void *context), void *context)
{
    duologue_health_client_ask_t ask;
    duo_health_status status = DUO_HEALTH_NOT_SERVING;
    duo_status result = begin(address, options, &ask);
    if (result == DUO_OK) result = check(&ask, name, false, &status);
    while (result == DUO_OK) {
        duo_health_status before = status;
        if (!changed(status, context)) {
            quit(ask);
            return DUO_OK;
        }
        while (result == DUO_OK && status == before) result = check(&ask, name, true, &status);
        /* It has been called with this status already. */
        if (result == DUO_EMPTY && before == DUO_HEALTH_NOT_SERVING) return DUO_OK;
    }
    if (result != DUO_EMPTY) return result;
    (void)changed(DUO_HEALTH_NOT_SERVING, context);
    return DUO_OK;
}
