/*
 * Service discovery of NATS: a listener whose program says so answers the requests of `nats micro`, as docs/wire.md defines under
 * "Discovery". The lock of a service is held for moments, and never while the broker is called.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "net_exchange.h"
#include "utf8.h"

#define SECOND UINT64_C(1000000000)

enum {
    VERBS = 3,
    /* For any verb: that of all services, that with the name of this one, and that with its number. */
    SUBJECTS = 3,
    /* How many requests are answered in a second. Others are ignored, because each answer takes memory until it is on its way. */
    MOST_ANSWERS = 100,
    LONGEST_REPLY = 256,
    LONGEST_ANSWER = 65536,
    /* More than what goes between endpoints and after the last one. */
    REST = 64,
    TIME_SIZE = 32
};

static const char *const verbs[VERBS] = {"PING", "INFO", "STATS"};
static const char *const answers[VERBS] = {"ping_response", "info_response", "stats_response"};

struct duo_service_endpoint {
    duo_service_endpoint *next;
    duo_service *service;
    char subject[DUO_SUBJECT_SIZE];
    const char *protocol;
    uint64_t requests;
    uint64_t errors;
    /* The last verdict that has refused a session, or DUO_VERDICT_EQUAL. */
    unsigned last;
};

struct duo_service {
    pthread_mutex_t lock;
    duo_exchange *exchange;
    char servers[DUO_NAME_LONGEST + 1];
    /* The same with `_` for each dot. */
    char name[DUO_NAME_LONGEST + 1];
    /* Random, but not the name of the process, which only its peers know. */
    char id[DUO_RANDOM_SIZE + 1];
    char started[TIME_SIZE];
    duo_service_endpoint *first;
    duo_service_endpoint **last;
    /* When the last second began in which there were requests, and how many were answered in it. */
    uint64_t second;
    unsigned answered;
    bool is_over;
    /* The listener, and the subscriptions that may still deliver. */
    size_t holders;
    /* Of the thread that accepts or drains. */
    duo_subscription *subscriptions[SUBJECTS];
};

/* Text that is written. */
typedef struct text {
    char *bytes;
    size_t size;
    size_t capacity;
    bool is_full;
} text;

duo_service *duo_service_new(duo_exchange *exchange, const char *servers)
{
    duo_service *made = duo_allocate(sizeof *made);
    if (made == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    memset(made, 0, sizeof *made);
    if (!duo_random_text(made->id)) {
        duo_release(made);
        return NULL;
    }
    made->exchange = exchange;
    made->holders = 1;
    made->last = &made->first;
    snprintf(made->servers, sizeof made->servers, "%s", servers);
    memcpy(made->name, made->servers, sizeof made->name);
    for (char *dot = made->name; (dot = strchr(dot, '.')) != NULL;) *dot = '_';
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(made->started, sizeof made->started, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        memcpy(made->started, "1970-01-01T00:00:00Z", sizeof "1970-01-01T00:00:00Z");
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

void duo_service_let_go(duo_service *service)
{
    pthread_mutex_lock(&service->lock);
    bool is_last = --service->holders == 0;
    pthread_mutex_unlock(&service->lock);
    if (!is_last) return;
    while (service->first != NULL) {
        duo_service_endpoint *one = service->first;
        service->first = one->next;
        duo_release(one);
    }
    pthread_mutex_destroy(&service->lock);
    duo_release(service);
}

bool duo_service_add(duo_service *service, const char *subject, const char *protocol)
{
    duo_service_endpoint *made = duo_allocate(sizeof *made);
    if (made == NULL) return false;
    memset(made, 0, sizeof *made);
    made->service = service;
    made->protocol = protocol;
    snprintf(made->subject, sizeof made->subject, "%s", subject);
    pthread_mutex_lock(&service->lock);
    *service->last = made;
    service->last = &made->next;
    pthread_mutex_unlock(&service->lock);
    return true;
}

/* Where the fingerprint is in a subject: at its end. */
static const char *fingerprint_in(const char *subject)
{
    size_t size = strlen(subject);
    return size < 2 * sizeof(duo_fingerprint) ? subject : subject + size - 2 * sizeof(duo_fingerprint);
}

duo_service_endpoint *duo_service_find(duo_service *service, const char *subject)
{
    pthread_mutex_lock(&service->lock);
    duo_service_endpoint *one = service->first;
    while (one != NULL && strcmp(fingerprint_in(one->subject), fingerprint_in(subject)) != 0) one = one->next;
    pthread_mutex_unlock(&service->lock);
    return one;
}

void duo_service_count(duo_service_endpoint *endpoint, unsigned refused)
{
    pthread_mutex_lock(&endpoint->service->lock);
    endpoint->requests += 1;
    if (refused != DUO_VERDICT_EQUAL) {
        endpoint->errors += 1;
        endpoint->last = refused;
    }
    pthread_mutex_unlock(&endpoint->service->lock);
}

__attribute__((format(printf, 2, 3))) static void add(text *to, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int size = vsnprintf(to->bytes + to->size, to->capacity - to->size, format, values);
    va_end(values);
    to->is_full = to->is_full || size < 0 || (size_t)size >= to->capacity - to->size;
    if (!to->is_full) to->size += (size_t)size;
}

/* A string of JSON. */
static void add_quoted(text *to, const char *string)
{
    bool is_utf8 = duo_is_utf8((const uint8_t *)string, strlen(string));
    add(to, "\"");
    for (; *string != '\0'; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte < 0x20 || byte == 0x7f) add(to, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\') add(to, "\\%c", byte);
        else add(to, "%c", byte >= 0x80 && !is_utf8 ? '?' : byte);
    }
    add(to, "\"");
}

/* A name as the name of an endpoint. */
static void add_plain(text *to, const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    add(to, "\"");
    for (; *name != '\0'; name++) {
        /* These bytes continue a character. */
        if (((unsigned char)*name & 0xc0) == 0x80) continue;
        add(to, "%c", strchr(allowed, *name) != NULL ? *name : '_');
    }
    add(to, "\"");
}

static void add_endpoint(text *to, const duo_service_endpoint *endpoint, bool has_counts)
{
    add(to, "{\"name\":");
    add_plain(to, endpoint->protocol);
    add(to, ",\"subject\":");
    add_quoted(to, endpoint->subject);
    add(to, ",\"queue_group\":\"duo\",");
    if (has_counts) {
        add(to, "\"num_requests\":%llu,\"num_errors\":%llu,\"last_error\":", (unsigned long long)endpoint->requests,
            (unsigned long long)endpoint->errors);
        add_quoted(to, endpoint->last != DUO_VERDICT_EQUAL ? duo_verdict_text(endpoint->last) : "");
        add(to, ",\"processing_time\":0,\"average_processing_time\":0}");
    } else {
        add(to, "\"metadata\":{\"fingerprint\":");
        add_quoted(to, fingerprint_in(endpoint->subject));
        add(to, ",\"protocol\":");
        add_quoted(to, endpoint->protocol);
        add(to, "}}");
    }
}

/* Under the lock. */
static void add_answer(text *to, const duo_service *service, size_t verb)
{
    add(to, "{\"type\":\"io.nats.micro.v1.%s\",\"name\":\"%s\",\"id\":\"%s\"", answers[verb], service->name, service->id);
    add(to, ",\"version\":\"%d.%d.%d\"", DUO_VERSION_MAJOR, DUO_VERSION_MINOR, DUO_VERSION_PATCH);
    add(to, ",\"metadata\":{\"language\":\"c\",\"servers\":\"%s\"}", service->servers);
    bool has_counts = strcmp(verbs[verb], "STATS") == 0;
    if (has_counts) add(to, ",\"started\":\"%s\"", service->started);
    else if (strcmp(verbs[verb], "INFO") == 0) add(to, ",\"description\":\"Sessions of Duologue\"");
    else {
        add(to, "}");
        return;
    }
    add(to, ",\"endpoints\":[");
    for (const duo_service_endpoint *one = service->first; one != NULL; one = one->next) {
        size_t before = to->size;
        if (one != service->first) add(to, ",");
        add_endpoint(to, one, has_counts);
        /* The broker accepts no longer message. */
        if (to->is_full || to->size + REST > to->capacity) {
            to->size = before;
            to->is_full = false;
            break;
        }
    }
    add(to, "]}");
}

/*
 * Whether an answer may be published to this subject, which any program can have chosen: it is one subject, and neither for a session nor for
 * the broker itself.
 */
static bool may_be_answered(const char *reply)
{
    size_t size = strlen(reply);
    if (size == 0 || size > LONGEST_REPLY || reply[0] == '$' || strcmp(reply, "duo") == 0 || strncmp(reply, "duo.", 4) == 0) return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)reply[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '*' || byte == '>') return false;
        if (byte == '.' && (i == 0 || i + 1 == size || reply[i + 1] == '.')) return false;
    }
    return true;
}

/* Whether one more request may be answered in this second. Under the lock. */
static bool may_answer(duo_service *service)
{
    uint64_t now = duo_net_now();
    if (service->is_over) return false;
    if (service->second == 0 || now - service->second >= SECOND) {
        service->second = now;
        service->answered = 0;
    }
    if (service->answered == MOST_ANSWERS) return false;
    service->answered += 1;
    return true;
}

static void arrived(void *context, const char *subject, const char *reply, const void *bytes, size_t size)
{
    duo_service *service = context;
    duo_broker *broker = service->exchange->broker;
    (void)bytes, (void)size;
    size_t prefix = sizeof "$SRV." - 1, verb = 0;
    if (strncmp(subject, "$SRV.", prefix) != 0) return;
    size_t length = strcspn(subject + prefix, ".");
    while (verb < VERBS && (strlen(verbs[verb]) != length || strncmp(verbs[verb], subject + prefix, length) != 0)) verb++;
    if (verb == VERBS || reply == NULL || !may_be_answered(reply) || !broker->is_connected(broker)) return;
    text answer = {.capacity = broker->longest < LONGEST_ANSWER ? broker->longest : LONGEST_ANSWER};
    pthread_mutex_lock(&service->lock);
    if (may_answer(service)) answer.bytes = duo_allocate(answer.capacity);
    if (answer.bytes != NULL) add_answer(&answer, service, verb);
    pthread_mutex_unlock(&service->lock);
    if (answer.bytes == NULL) return;
    if (!answer.is_full) broker->publish(broker, reply, NULL, answer.bytes, answer.size);
    duo_release(answer.bytes);
}

static void unanswered(void *context, const char *subject)
{
    (void)context, (void)subject;
}

static void ended(void *context)
{
    duo_service_let_go(context);
}

static void spell_subject(const duo_service *service, size_t at, char subject[DUO_SUBJECT_SIZE])
{
    if (at == 0) snprintf(subject, DUO_SUBJECT_SIZE, "$SRV.*");
    else if (at == 1) snprintf(subject, DUO_SUBJECT_SIZE, "$SRV.*.%s", service->name);
    else snprintf(subject, DUO_SUBJECT_SIZE, "$SRV.*.%s.%s", service->name, service->id);
}

static void unsubscribe(duo_service *service)
{
    for (size_t i = 0; i < SUBJECTS; i++) {
        duo_exchange_unsubscribe(service->exchange, service->subscriptions[i]);
        service->subscriptions[i] = NULL;
    }
}

/* The next call tries again. */
static duo_status fail(duo_service *service, int reason)
{
    unsubscribe(service);
    errno = reason;
    return DUO_SYSTEM;
}

duo_status duo_service_announce(duo_service *service, duo_problem *problem)
{
    char subject[DUO_SUBJECT_SIZE];
    duo_broker *broker = service->exchange->broker;
    const duo_inbox inbox = {arrived, unanswered, ended, service};
    if (service->subscriptions[0] != NULL) return DUO_OK;
    for (size_t i = 0; i < SUBJECTS; i++) {
        spell_subject(service, i, subject);
        pthread_mutex_lock(&service->lock);
        service->holders += 1;
        pthread_mutex_unlock(&service->lock);
        service->subscriptions[i] = broker->subscribe(broker, subject, NULL, &inbox);
        if (service->subscriptions[i] != NULL) continue;
        duo_service_let_go(service);
        duo_net_explain(problem, "cannot subscribe to `%s`", subject);
        return fail(service, EIO);
    }
    duo_exchange_settle(service->exchange);
    for (size_t i = 0; i < SUBJECTS; i++) {
        spell_subject(service, i, subject);
        if (duo_exchange_has_denied(service->exchange, subject, problem)) return fail(service, errno);
    }
    return DUO_OK;
}

void duo_service_end(duo_service *service)
{
    pthread_mutex_lock(&service->lock);
    service->is_over = true;
    pthread_mutex_unlock(&service->lock);
    unsubscribe(service);
}
