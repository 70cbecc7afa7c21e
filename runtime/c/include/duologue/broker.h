/*
 * duologue/broker.h: message brokers under sessions, for libraries that connect to one. Programs do not need it: they use addresses such
 * as `nats://host:port/name`, and link the library for the broker (`duologue-nats`, see duologue/nats.h).
 *
 * A broker delivers messages to the subscriptions of their subjects, at most once each, and in order for what one connection
 * publishes to one subject. If it does not keep these promises, sessions are lost, but no message is received twice or out of order.
 * docs/wire.md defines the messages.
 */
#ifndef DUOLOGUE_BROKER_H
#define DUOLOGUE_BROKER_H

#include "duologue/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What takes the messages of a subscription, one after the other. The functions do not wait. */
typedef struct duo_inbox {
    /* A message has arrived. `reply` is the subject that was passed on with it, or NULL. */
    void (*arrived)(void *context, const char *subject, const char *reply, const void *bytes, size_t size);
    /* Nothing has subscribed to the subject of a message that was published with `subject` as its reply. */
    void (*unanswered)(void *context, const char *subject);
    /* No function is called after this one. */
    void (*ended)(void *context);
    void *context;
} duo_inbox;

typedef struct duo_broker duo_broker;
typedef struct duo_subscription duo_subscription;

/* A connection to a broker. Several threads may call these functions at the same time. */
struct duo_broker {
    /*
     * Publishes a message; `reply` may be NULL, and is passed on with it. Neither waits nor calls an inbox: the caller holds locks.
     * What cannot be published is dropped. While the broker cannot be reached, messages should be kept, in order.
     */
    void (*publish)(duo_broker *broker, const char *subject, const char *reply, const void *bytes, size_t size);
    /*
     * Delivers the messages of a subject, of whose tokens some may be `*`. Of the subscriptions with the same `group`, which may be NULL, one
     * gets each message. NULL: it is not possible, and `ended` is not called.
     */
    duo_subscription *(*subscribe)(duo_broker *broker, const char *subject, const char *group, const duo_inbox *inbox);
    /* Ends a subscription. What has arrived is still delivered, and then `ended` is called. */
    void (*unsubscribe)(duo_broker *broker, duo_subscription *subscription);
    /* Waits until the system has what was published, for at most this many nanoseconds: the program ends after that. */
    void (*flush)(duo_broker *broker, uint64_t nanoseconds);
    /* Whether the broker can be reached at the moment. While it cannot, no session begins, and no heartbeats are published. */
    bool (*is_connected)(duo_broker *broker);
    /* Whether the broker has recently not permitted something, and reported it with this text, in double quotes. May be NULL. */
    bool (*has_denied)(duo_broker *broker, const char *text);
    /* The longest message that can be published; at least 8,192 bytes. */
    size_t longest;
};

/* How a library connects. */
typedef struct duo_broker_kind {
    /* Of its addresses, without `://`: `nats`. */
    const char *scheme;
    /*
     * Connects to a server, `host:port`, within this time. `lost` is called with `context` if the broker will deliver nothing more; not if
     * the connection was interrupted and may come back. The connection stays until the process ends. NULL: `problem` says why, and
     * so does `errno`.
     */
    duo_broker *(*connect)(const char *server, uint64_t nanoseconds, void (*lost)(void *context), void *context,
                           duo_problem *problem);
} duo_broker_kind;

/* Makes addresses of this kind known. Called once for each kind, before the first address is used; at most 8 kinds. */
void duo_broker_add(const duo_broker_kind *kind);

/*
 * Sets what the subjects of this process begin with, after `duo.at.`, at brokers to which it connects from now on: tokens of letters,
 * digits, `-` and `_`, with dots between them, at most 128 characters. DUO_ADDRESS if it is something else. Names that begin with the token
 * `at` are not possible.
 */
DUO_MUST_CHECK duo_status duo_broker_prefix(const char *tokens);

#ifdef __cplusplus
}
#endif

#endif
