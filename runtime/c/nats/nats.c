/* NATS as a broker. The threads of the client library call the inboxes, each subscription from one thread. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../src/net_stream.h"
#include "../src/session.h"
#include "duologue/broker.h"
#include "duologue/nats.h"

/* The longest messages that a server has to accept, and those that are published at most. */
enum { LEAST_PAYLOAD = 8 << 10, MOST_PAYLOAD = 1 << 20 };

/*
 * How much may wait until an inbox takes it: more than all sessions have credit for, so that nothing of correct peers is dropped. What is
 * dropped of others leaves a gap, which ends their sessions.
 */
enum { MOST_MESSAGES = (48 << 20) / 64, MOST_BYTES = 64 << 20 };

/*
 * In milliseconds: how long a write may take, the longest pause between attempts to connect again, how long the end of a subscription may
 * take, and how long the report of an error.
 */
enum { WRITING = 5000, LONGEST_PAUSE = 500, ENDING = 5000, REPORTING = 200 };

/* For how long what the server has reported counts as the reason of a failure, in nanoseconds. */
#define RECENT UINT64_C(5000000000)

#define MILLISECOND UINT64_C(1000000)

enum { ERROR_SIZE = 256 };

typedef struct nats_broker {
    duo_broker broker;
    natsConnection *connection;
    void (*lost)(void *context);
    void *context;
    pthread_mutex_t lock;
    /* What the server has last reported as not permitted, and when. */
    char denied[ERROR_SIZE];
    uint64_t denied_at;
} nats_broker;

struct duo_subscription {
    nats_broker *broker;
    duo_inbox inbox;
    natsSubscription *subscription;
    /* The side that ends it, and the library, which calls `complete` after the last message. */
    pthread_mutex_t lock;
    unsigned holders;
};

static pthread_mutex_t setup_lock = PTHREAD_MUTEX_INITIALIZER;
static duo_nats_setup *setup;
static void *setup_context;

void duo_nats_configure(duo_nats_setup *function, void *context)
{
    pthread_mutex_lock(&setup_lock);
    setup = function;
    setup_context = context;
    pthread_mutex_unlock(&setup_lock);
}

duo_status duo_nats_prefix(const char *prefix)
{
    return duo_broker_prefix(prefix);
}

static uint64_t now(void)
{
    return (uint64_t)nats_NowInNanoSeconds();
}

static void publish(duo_broker *broker, const char *subject, const char *reply, const void *bytes, size_t size)
{
    natsConnection *connection = ((nats_broker *)(void *)broker)->connection;
    /* What cannot be published leaves a gap, which the other side notices. */
    if (reply != NULL) (void)natsConnection_PublishRequest(connection, subject, reply, bytes, (int)size);
    else (void)natsConnection_Publish(connection, subject, bytes, (int)size);
}

static void handle(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *context)
{
    const duo_subscription *here = context;
    (void)connection, (void)subscription;
    const char *subject = natsMsg_GetSubject(message);
    if (natsMsg_IsNoResponders(message)) {
        here->inbox.unanswered(here->inbox.context, subject);
    } else {
        int size = natsMsg_GetDataLength(message);
        here->inbox.arrived(here->inbox.context, subject, natsMsg_GetReply(message), natsMsg_GetData(message), (size_t)size);
    }
    natsMsg_Destroy(message);
}

static void let_go(duo_subscription *here)
{
    pthread_mutex_lock(&here->lock);
    bool is_last = --here->holders == 0;
    pthread_mutex_unlock(&here->lock);
    if (!is_last) return;
    natsSubscription_Destroy(here->subscription);
    pthread_mutex_destroy(&here->lock);
    duo_release(here);
}

/* The library has delivered the last message. */
static void complete(void *context)
{
    duo_subscription *here = context;
    /* The listener learns why, if nobody has ended the subscription. */
    if (natsConnection_IsClosed(here->broker->connection)) here->broker->lost(here->broker->context);
    here->inbox.ended(here->inbox.context);
    let_go(here);
}

static duo_subscription *subscribe(duo_broker *broker, const char *subject, const char *group, const duo_inbox *inbox)
{
    nats_broker *here = (nats_broker *)(void *)broker;
    duo_subscription *made = duo_allocate(sizeof *made);
    if (made == NULL) return NULL;
    *made = (duo_subscription){.broker = here, .inbox = *inbox, .holders = 2};
    pthread_mutex_init(&made->lock, NULL);
    natsStatus status = group != NULL ? natsConnection_QueueSubscribe(&made->subscription, here->connection, subject, group, handle, made)
                                      : natsConnection_Subscribe(&made->subscription, here->connection, subject, handle, made);
    if (status != NATS_OK) {
        pthread_mutex_destroy(&made->lock);
        duo_release(made);
        return NULL;
    }
    (void)natsSubscription_SetPendingLimits(made->subscription, MOST_MESSAGES, MOST_BYTES);
    /* This fails if the connection was closed at the same moment. Then it is lost, and the subscription stays. */
    (void)natsSubscription_SetOnCompleteCB(made->subscription, complete, made);
    return made;
}

static void unsubscribe(duo_broker *broker, duo_subscription *subscription)
{
    (void)broker;
    (void)natsSubscription_DrainTimeout(subscription->subscription, ENDING);
    let_go(subscription);
}

static void flush(duo_broker *broker, uint64_t nanoseconds)
{
    (void)natsConnection_FlushTimeout(((nats_broker *)(void *)broker)->connection, (int64_t)(nanoseconds / MILLISECOND) + 1);
}

static bool is_connected(duo_broker *broker)
{
    return natsConnection_Status(((nats_broker *)(void *)broker)->connection) == NATS_CONN_STATUS_CONNECTED;
}

/* Whether this text has the other one in double quotes. */
static bool quotes(const char *text, const char *quoted)
{
    size_t size = strlen(quoted);
    for (const char *at = text; (at = strchr(at, '"')) != NULL; at++)
        if (strncmp(at + 1, quoted, size) == 0 && at[1 + size] == '"') return true;
    return false;
}

/* The last error of a connection. */
static void copy_error(natsConnection *connection, char text[ERROR_SIZE])
{
    const char *found = NULL;
    (void)natsConnection_GetLastError(connection, &found);
    snprintf(text, ERROR_SIZE, "%.*s", ERROR_SIZE - 1, found != NULL ? found : "");
}

static bool has_recently_denied(nats_broker *here, const char *text)
{
    pthread_mutex_lock(&here->lock);
    bool is_recent = here->denied_at != 0 && now() - here->denied_at < RECENT;
    bool is_denied = is_recent && quotes(here->denied, text);
    pthread_mutex_unlock(&here->lock);
    return is_denied;
}

/* The library reports errors on a thread of its own, so what it has received may not have been reported yet. */
static bool has_denied(duo_broker *broker, const char *text)
{
    nats_broker *here = (nats_broker *)(void *)broker;
    char last[ERROR_SIZE] = "";
    for (int64_t waited = 0; !has_recently_denied(here, text); waited++) {
        copy_error(here->connection, last);
        if (!quotes(last, text) || waited == REPORTING) return false;
        nats_Sleep(1);
    }
    return true;
}

static void report_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *context)
{
    nats_broker *here = context;
    (void)subscription;
    if (status != NATS_NOT_PERMITTED) return;
    pthread_mutex_lock(&here->lock);
    copy_error(connection, here->denied);
    here->denied_at = now();
    pthread_mutex_unlock(&here->lock);
}

static void report_closed(natsConnection *connection, void *context)
{
    nats_broker *here = context;
    (void)connection;
    here->lost(here->context);
}

static int64_t pause_before(natsConnection *connection, int attempts, void *context)
{
    (void)connection, (void)context;
    int64_t pause = INT64_C(10) << (attempts < 6 ? attempts : 6);
    return pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
}

static natsStatus set_options(natsOptions *options, const char *server, uint64_t nanoseconds, nats_broker *here)
{
    char url[512];
    snprintf(url, sizeof url, "nats://%s", server);
    natsStatus status = natsOptions_SetURL(options, url);
    if (status == NATS_OK) status = natsOptions_SetTimeout(options, (int64_t)(nanoseconds / MILLISECOND) + 1);
    if (status == NATS_OK) status = natsOptions_SetMaxReconnect(options, -1);
    pthread_mutex_lock(&setup_lock);
    duo_nats_setup *function = setup;
    void *context = setup_context;
    pthread_mutex_unlock(&setup_lock);
    if (status == NATS_OK && function != NULL) status = function(options, server, context);
    if (status == NATS_OK) status = natsOptions_SetRetryOnFailedConnect(options, false, NULL, NULL);
    if (status == NATS_OK) status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK) status = natsOptions_SetWriteDeadline(options, WRITING);
    if (status == NATS_OK) status = natsOptions_SetCustomReconnectDelay(options, pause_before, NULL);
    if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, report_error, here);
    if (status == NATS_OK) status = natsOptions_SetClosedCB(options, report_closed, here);
    return status;
}

/* How the system would report the failure. */
static int error_of(natsStatus status)
{
    switch (status) {
    case NATS_TIMEOUT: return ETIMEDOUT;
    case NATS_NO_MEMORY: return ENOMEM;
    case NATS_CONNECTION_AUTH_FAILED: return EACCES;
    default: return ECONNREFUSED;
    }
}

static void ignore_end(void *context)
{
    (void)context;
}

static duo_broker *connect_to(const char *server, uint64_t nanoseconds, void (*lost)(void *context), void *context, duo_problem *problem)
{
    natsOptions *options = NULL;
    nats_broker *made = duo_allocate(sizeof *made);
    if (made == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    *made = (nats_broker){.lost = lost, .context = context};
    pthread_mutex_init(&made->lock, NULL);
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) status = set_options(options, server, nanoseconds, made);
    if (status == NATS_OK) status = natsConnection_Connect(&made->connection, options);
    natsOptions_Destroy(options);
    int64_t longest = status == NATS_OK ? natsConnection_GetMaxPayload(made->connection) : MOST_PAYLOAD;
    if (status != NATS_OK) {
        duo_net_explain(problem, "cannot connect to `nats://%s`: %s", server, natsStatus_GetText(status));
        errno = error_of(status);
        pthread_mutex_destroy(&made->lock);
        duo_release(made);
        return NULL;
    }
    if (longest < LEAST_PAYLOAD) {
        duo_net_explain(problem, "the longest message of `nats://%s` has %d bytes: set its `max_payload` to %d or more", server, (int)longest,
                        (int)LEAST_PAYLOAD);
        /* The library reports the end to a thread of its own, so what was made stays. */
        made->lost = ignore_end;
        natsConnection_Close(made->connection);
        errno = EMSGSIZE;
        return NULL;
    }
    made->broker = (duo_broker){publish, subscribe, unsubscribe, flush, is_connected, has_denied,
                                (size_t)(longest < MOST_PAYLOAD ? longest : MOST_PAYLOAD)};
    return &made->broker;
}

/* Where this file is linked, `nats://` is an address. */
__attribute__((constructor)) static void add(void)
{
    static const duo_broker_kind kind = {"nats", connect_to};
    duo_broker_add(&kind);
}
