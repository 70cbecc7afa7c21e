/* Servers announce themselves. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../src/floor/floor.h"
#include "nats.h"

/* A server with this many sessions or more answers as late as one with this many. */
enum { MOST_COUNTED = 50 };

/* How many requests of a protocol may wait for their answers. Further ones wait in the library. */
enum { MOST_WAITING = 256, MOST_REPLY = 128 };

#define MILLISECOND UINT64_C(1000000)

/* Up to this many nanoseconds of each delay are random, so that servers with equally many sessions share the clients. */
#define RANDOM (4 * MILLISECOND)

/* How soon a thread notices the withdrawal, if the connection is interrupted; in nanoseconds. */
#define PERIOD (200 * MILLISECOND)

/* The requests for one protocol. A thread takes and answers them, in the order in which they come: their delays differ little. */
typedef struct requests {
    duo_announcement *announcement;
    natsSubscription *subscription;
    pthread_t thread;
    bool has_thread;
    struct {
        uint64_t due;
        char reply[MOST_REPLY];
    } waiting[MOST_WAITING];
    /* Since the beginning: those that came, and those that were handled. */
    size_t came;
    size_t handled;
} requests;

struct duo_announcement {
    const duo_nats *nats;
    duo_listener *listener;
    char address[DUO_NATS_ADDRESS];
    DUO_ATOMIC bool is_withdrawn;
    size_t count;
    requests *all;
};

static bool takes(duo_load load)
{
    return !load.is_full && !load.is_draining;
}

/* The more sessions a server has, the later it answers. */
static uint64_t delay(size_t sessions)
{
    uint64_t counted = sessions < MOST_COUNTED ? sessions : MOST_COUNTED;
    return counted * MILLISECOND + (uint64_t)nats_NowInNanoSeconds() * UINT64_C(0x9e3779b97f4a7c15) / 16 % RANDOM;
}

/* Lets a request wait. What begins with a `$` is for NATS itself. */
static void take(requests *here, natsMsg *message)
{
    const char *reply = natsMsg_GetReply(message);
    duo_load load = duo_listener_load(here->announcement->listener);
    if (reply == NULL || reply[0] == '$' || strlen(reply) >= MOST_REPLY || !takes(load)) return;
    size_t at = here->came++ % MOST_WAITING;
    here->waiting[at].due = duo_now() + delay(load.sessions);
    strcpy(here->waiting[at].reply, reply);
}

static void *answer(void *context)
{
    requests *here = context;
    const duo_announcement *all = here->announcement;
    natsStatus status = NATS_OK;
    while (!duo_atomic_load(&all->is_withdrawn, memory_order_acquire) && status != NATS_CONNECTION_CLOSED) {
        size_t next = here->handled % MOST_WAITING;
        uint64_t now = duo_now(), due = here->handled < here->came ? here->waiting[next].due : now + PERIOD;
        natsMsg *message = NULL;
        if (due <= now) {
            here->handled += 1;
            /* Fails only after the connection was closed for good. */
            if (takes(duo_listener_load(all->listener)))
                (void)natsConnection_PublishString(all->nats->connection, here->waiting[next].reply, all->address);
        } else if (here->came - here->handled < MOST_WAITING) {
            status = natsSubscription_NextMsg(&message, here->subscription, (int64_t)((due - now) / MILLISECOND) + 1);
            if (status == NATS_OK) take(here, message);
            natsMsg_Destroy(message);
        }
        if (due > now && message == NULL && status != NATS_TIMEOUT) nats_Sleep(1);
    }
    return NULL;
}

/* What is wrong with an address for clients; NULL if nothing is. */
static const char *problem_of(const char *address, const char *own)
{
    bool is_tcp = strncmp(own, "tcp://", 6) == 0 || strncmp(own, "tls://", 6) == 0;
    if (!is_tcp || strncmp(address, own, 6) != 0 || strlen(address) >= DUO_NATS_ADDRESS)
        return "only a listener over TCP or TLS can be announced, at an address of its kind";
    if (strncmp(address + 6, "0.0.0.0:", 8) == 0 || strncmp(address + 6, "[::]:", 5) == 0)
        return "clients on other machines cannot connect to it: set `duo_announce.advertise` to an address that they reach";
    return NULL;
}

/* Begins to answer requests for one protocol. */
static duo_status begin(duo_announcement *here, const char *name, const duo_fingerprint *fingerprint, duo_problem *problem)
{
    char subject[DUO_NATS_SUBJECT];
    requests *made = &here->all[here->count];
    memset(made, 0, sizeof *made);
    made->announcement = here;
    if (!duo_nats_subject(subject, name, fingerprint, problem)) return DUO_ADDRESS;
    natsStatus status = natsConnection_SubscribeSync(&made->subscription, here->nats->connection, subject);
    if (status != NATS_OK) return duo_nats_failed(here->nats, status, problem);
    here->count += 1;
    duo_status settled = duo_nats_settle(here->nats, subject, problem);
    if (settled != DUO_OK) return settled;
    made->has_thread = duo_start_thread(&made->thread, answer, made) == 0;
    return made->has_thread ? DUO_OK : DUO_NO_MEMORY;
}

duo_status duo_directory_announce(duo_directory *directory, duo_listener *listener, const duo_announce *how,
                                  duo_announcement **announcement, duo_problem *problem)
{
    duo_problem ignored;
    const char *own = duo_listener_address(listener), *address = how->advertise != NULL ? how->advertise : own;
    const char *wrong = problem_of(address, own);
    const size_t accepted = how->protocol->accepts_count[how->role];
    *announcement = NULL;
    if (problem == NULL) problem = &ignored;
    if (wrong != NULL) {
        duo_net_explain(problem, "cannot announce `%.200s`: %s", address, wrong);
        return DUO_ADDRESS;
    }
    duo_announcement *made = duo_allocate(sizeof *made);
    requests *all = duo_allocate((1 + how->accepts_count + accepted) * sizeof *all);
    if (made == NULL || all == NULL) {
        if (made != NULL) duo_release(made);
        if (all != NULL) duo_release(all);
        return DUO_NO_MEMORY;
    }
    memset(made, 0, sizeof *made);
    made->nats = (duo_nats *)(void *)directory;
    made->listener = listener;
    made->all = all;
    strcpy(made->address, address);
    duo_status status = begin(made, how->name, &how->protocol->fingerprint, problem);
    for (size_t i = 0; status == DUO_OK && i < how->accepts_count; i++) status = begin(made, how->name, &how->accepts[i], problem);
    for (size_t i = 0; status == DUO_OK && i < accepted; i++)
        status = begin(made, how->name, &how->protocol->accepts[how->role][i], problem);
    int reason = errno;
    if (status == DUO_OK) *announcement = made;
    else duo_announcement_withdraw(made);
    errno = reason;
    return status;
}

void duo_announcement_withdraw(duo_announcement *announcement)
{
    if (announcement == NULL) return;
    duo_atomic_store(&announcement->is_withdrawn, true, memory_order_release);
    for (size_t i = 0; i < announcement->count; i++) (void)natsSubscription_Unsubscribe(announcement->all[i].subscription);
    for (size_t i = 0; i < announcement->count; i++) {
        if (announcement->all[i].has_thread) pthread_join(announcement->all[i].thread, NULL);
        natsSubscription_Destroy(announcement->all[i].subscription);
    }
    duo_release(announcement->all);
    duo_release(announcement);
}
