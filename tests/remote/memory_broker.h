/*
 * A broker in memory that loses, repeats, delays and reorders messages. All servers in its addresses, `memory://SERVER:1/NAME`, are the
 * same broker, and this program has a process of its own at each of them.
 */
#ifndef MEMORY_BROKER_H
#define MEMORY_BROKER_H

#include <stdint.h>
#include <string.h>

#include "check.h"
#include "net_broker.h"

enum { MEMORY_LONGEST = 8192, MEMORY_DELAY = 3000000 };

/* What goes wrong, each in messages per thousand. */
typedef struct memory_faults {
    uint64_t lost, repeated, swapped, delayed;
    /* What goes wrong for a few does so for the first message with data in any case. */
    bool is_certain;
} memory_faults;

typedef struct memory_message {
    struct memory_message *next;
    char subject[DUO_SUBJECT_SIZE], reply[DUO_SUBJECT_SIZE];
    /* A subscription that ends here, or NULL. */
    duo_subscription *last_of;
    size_t size;
    uint8_t bytes[];
} memory_message;

struct duo_subscription {
    duo_subscription *next;
    char subject[DUO_SUBJECT_SIZE];
    duo_inbox inbox;
    /* It gets no message any more. */
    bool is_ending;
};

/* Everything below. The thread that delivers calls inboxes without it. */
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t memory_changed = PTHREAD_COND_INITIALIZER;
static memory_message *memory_first, **memory_end = &memory_first;
static duo_subscription *memory_subscriptions;
static memory_faults memory_now;
static bool memory_is_harmed;
static uint64_t memory_seed = 88172645463325252;

static inline uint64_t memory_random(void)
{
    memory_seed ^= memory_seed << 13;
    memory_seed ^= memory_seed >> 7;
    memory_seed ^= memory_seed << 17;
    return memory_seed;
}

static inline bool memory_happens(uint64_t per_thousand)
{
    return memory_random() % 1000 < per_thousand;
}

static inline memory_message *memory_new(const char *subject, const char *reply, const void *bytes, size_t size)
{
    memory_message *made = malloc(sizeof *made + size);
    CHECK(made != NULL && strlen(subject) < sizeof made->subject && strlen(reply) < sizeof made->reply);
    strcpy(made->subject, subject);
    strcpy(made->reply, reply);
    made->next = NULL;
    made->last_of = NULL;
    made->size = size;
    if (size > 0) memcpy(made->bytes, bytes, size);
    return made;
}

/* The caller holds the lock. */
static inline void memory_put(memory_message *made)
{
    *memory_end = made;
    memory_end = &made->next;
    pthread_cond_signal(&memory_changed);
}

static void memory_publish(duo_broker *broker, const char *subject, const char *reply, const void *bytes, size_t size)
{
    CHECK(size <= broker->longest);
    memory_message *made = memory_new(subject, reply != NULL ? reply : "", bytes, size);
    pthread_mutex_lock(&memory_lock);
    memory_put(made);
    pthread_mutex_unlock(&memory_lock);
}

/* All subscriptions of one subject are in one group. */
static duo_subscription *memory_subscribe(duo_broker *broker, const char *subject, const char *group, const duo_inbox *inbox)
{
    (void)broker, (void)group;
    duo_subscription *made = malloc(sizeof *made);
    CHECK(made != NULL && strlen(subject) < sizeof made->subject);
    strcpy(made->subject, subject);
    made->inbox = *inbox;
    made->is_ending = false;
    pthread_mutex_lock(&memory_lock);
    made->next = memory_subscriptions;
    memory_subscriptions = made;
    pthread_mutex_unlock(&memory_lock);
    return made;
}

static void memory_unsubscribe(duo_broker *broker, duo_subscription *subscription)
{
    (void)broker;
    memory_message *made = memory_new("", "", NULL, 0);
    made->last_of = subscription;
    pthread_mutex_lock(&memory_lock);
    subscription->is_ending = true;
    memory_put(made);
    pthread_mutex_unlock(&memory_lock);
}

static void memory_flush(duo_broker *broker, uint64_t nanoseconds)
{
    (void)broker, (void)nanoseconds;
}

static bool memory_is_connected(duo_broker *broker)
{
    (void)broker;
    return true;
}

static inline bool memory_matches(const duo_subscription *one, const char *subject)
{
    size_t size = strlen(one->subject);
    if (one->is_ending) return false;
    if (one->subject[size - 1] != '*') return strcmp(one->subject, subject) == 0;
    return strncmp(one->subject, subject, size - 1) == 0 && strchr(subject + size - 1, '.') == NULL;
}

/* One of the subscriptions that a message is for, by chance. */
static inline duo_subscription *memory_find(const char *subject)
{
    duo_subscription *found = NULL;
    uint64_t count = 0;
    pthread_mutex_lock(&memory_lock);
    for (duo_subscription *one = memory_subscriptions; one != NULL; one = one->next)
        if (memory_matches(one, subject) && memory_random() % ++count == 0) found = one;
    pthread_mutex_unlock(&memory_lock);
    return found;
}

static inline bool memory_is_data(const memory_message *one)
{
    return one->size > 0 && one->bytes[0] == DUO_PACKET_DATA;
}

static inline void memory_deliver(const memory_message *one)
{
    const char *reply = one->reply[0] != '\0' ? one->reply : NULL;
    const duo_subscription *to = memory_find(one->subject);
    if (to != NULL) {
        to->inbox.arrived(to->inbox.context, one->subject, reply, one->bytes, one->size);
    } else if (reply != NULL && (to = memory_find(reply)) != NULL) {
        to->inbox.unanswered(to->inbox.context, reply);
    }
}

/* After this, `memory_find` does not find it. Only the thread that delivers frees subscriptions. */
static inline void memory_finish(duo_subscription *over)
{
    pthread_mutex_lock(&memory_lock);
    duo_subscription **place = &memory_subscriptions;
    while (*place != over) place = &(*place)->next;
    *place = over->next;
    pthread_mutex_unlock(&memory_lock);
    over->inbox.ended(over->inbox.context);
    free(over);
}

static inline memory_message *memory_take(memory_faults *with)
{
    pthread_mutex_lock(&memory_lock);
    while (memory_first == NULL) pthread_cond_wait(&memory_changed, &memory_lock);
    memory_message *taken = memory_first;
    memory_first = taken->next;
    if (memory_first == NULL) memory_end = &memory_first;
    *with = memory_now;
    if (memory_is_harmed) with->is_certain = false;
    pthread_mutex_unlock(&memory_lock);
    return taken;
}

/* Data was lost, or arrives after something that its sender has sent later. */
static inline void memory_harm(void)
{
    pthread_mutex_lock(&memory_lock);
    memory_is_harmed = true;
    pthread_mutex_unlock(&memory_lock);
}

static void *memory_deliver_all(void *context)
{
    memory_message *held = NULL;
    (void)context;
    for (;;) {
        memory_faults with;
        memory_message *one = memory_take(&with);
        bool is_certain = with.is_certain && memory_is_data(one);
        if (one->last_of != NULL) {
            memory_finish(one->last_of);
        } else if (memory_happens(with.lost) || (with.lost > 0 && is_certain)) {
            if (memory_is_data(one)) memory_harm();
        } else {
            if (memory_happens(with.delayed)) nanosleep(&(struct timespec){0, MEMORY_DELAY}, NULL);
            if (held == NULL && (memory_happens(with.swapped) || (with.swapped > 0 && is_certain))) {
                held = one;
                continue;
            }
            bool is_overtaken = held != NULL && strcmp(held->subject, one->subject) == 0;
            if (is_overtaken && memory_is_data(held)) memory_harm();
            memory_deliver(one);
            if (memory_happens(with.repeated)) memory_deliver(one);
            /* It waits for one that overtakes it, if that has to happen. */
            if (held != NULL && !is_overtaken && with.is_certain) {
                free(one);
                continue;
            }
        }
        free(one);
        if (held != NULL) memory_deliver(held);
        free(held);
        held = NULL;
    }
    return NULL;
}

static duo_broker *memory_connect(const char *server, uint64_t nanoseconds, void (*lost)(void *context), void *context, duo_problem *problem)
{
    static duo_broker broker = {memory_publish, memory_subscribe, memory_unsubscribe, memory_flush, memory_is_connected, NULL, MEMORY_LONGEST};
    (void)server, (void)nanoseconds, (void)lost, (void)context, (void)problem;
    return &broker;
}

/* Called once, first. */
static inline void memory_start(void)
{
    static const duo_broker_kind kind = {"memory", memory_connect};
    duo_broker_add(&kind);
    pthread_t delivering = start(memory_deliver_all, NULL);
    pthread_detach(delivering);
}

/* From now on, this goes wrong. */
static inline void memory_set(memory_faults with)
{
    pthread_mutex_lock(&memory_lock);
    memory_now = with;
    memory_is_harmed = false;
    pthread_mutex_unlock(&memory_lock);
}

/* Whether data was lost or overtaken since then. */
static inline bool memory_has_harmed(void)
{
    pthread_mutex_lock(&memory_lock);
    bool is_harmed = memory_is_harmed;
    pthread_mutex_unlock(&memory_lock);
    return is_harmed;
}

/* How many subscriptions there are whose subjects begin like this. */
static inline unsigned memory_count(const char *prefix)
{
    unsigned count = 0;
    pthread_mutex_lock(&memory_lock);
    for (const duo_subscription *one = memory_subscriptions; one != NULL; one = one->next)
        count += !one->is_ending && strncmp(one->subject, prefix, strlen(prefix)) == 0 ? 1 : 0;
    pthread_mutex_unlock(&memory_lock);
    return count;
}

/* Waits until there are that many subscriptions. */
static inline void memory_await(const char *prefix, unsigned count)
{
    unsigned moments = 0;
    for (; memory_count(prefix) != count; moments++) {
        CHECK(moments < 10000);
        take_a_moment();
    }
}

#endif
