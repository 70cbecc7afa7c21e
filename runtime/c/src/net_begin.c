/*
 * Beginning sessions over a broker, on both sides. There is one exchange for each server that the process uses. It stays until the process
 * ends, when it sends what the sessions have written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net_exchange.h"

/* How long the broker may take to deliver a message of this process to itself, and how often that is tried, in nanoseconds. */
#define ECHO UINT64_C(5000000000)
#define ECHO_AGAIN UINT64_C(500000000)

/* How long a listener that drains waits for sessions that are requested at the same moment, in nanoseconds. */
#define SETTLING UINT64_C(1000000000)

/* How long the end of the process waits for the broker, in nanoseconds. */
#define LEAVING UINT64_C(500000000)

/* How long a thread sleeps that waits until the broker can be reached, or until another thread has connected. */
static const struct timespec pause_of_interrupted = {0, 10000000};

enum { MOST_KINDS = 8, HEX_SIZE = 2 * sizeof(duo_fingerprint) };

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static duo_exchange *all;
/* Held by a thread that connects, which may take long. */
static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;
static const duo_broker_kind *kinds[MOST_KINDS];
static size_t kind_count;
/* What the names of this process begin with: empty, or tokens with a dot after them. */
static char prefix[DUO_NAME_LONGEST + 2];
/* A child process has the exchanges, but none of their threads. */
static pid_t owner;

void duo_broker_add(const duo_broker_kind *kind)
{
    pthread_mutex_lock(&all_lock);
    if (kind_count < MOST_KINDS) kinds[kind_count++] = kind;
    pthread_mutex_unlock(&all_lock);
}

duo_status duo_broker_prefix(const char *tokens)
{
    if (duo_name_problem(tokens) != NULL) return DUO_ADDRESS;
    pthread_mutex_lock(&all_lock);
    snprintf(prefix, sizeof prefix, "%s.", tokens);
    pthread_mutex_unlock(&all_lock);
    return DUO_OK;
}

static const duo_broker_kind *kind_of(const char *address)
{
    const duo_broker_kind *found = NULL;
    pthread_mutex_lock(&all_lock);
    for (size_t i = 0; i < kind_count && found == NULL; i++) {
        size_t size = strlen(kinds[i]->scheme);
        if (strncmp(address, kinds[i]->scheme, size) == 0 && strncmp(address + size, "://", 3) == 0) found = kinds[i];
    }
    pthread_mutex_unlock(&all_lock);
    return found;
}

bool duo_exchange_has(const char *address)
{
    return strncmp(address, "nats://", 7) == 0 || kind_of(address) != NULL;
}

static void publish_plain(duo_exchange *exchange, const char *to, duo_packet_kind kind)
{
    const uint8_t message = (uint8_t)kind;
    exchange->broker->publish(exchange->broker, to, NULL, &message, 1);
}

/*
 * Waits until the broker has handled everything that was requested before: until it has delivered a message of this process to
 * itself. One thread at a time.
 */
static bool settle(duo_exchange *exchange, uint64_t until)
{
    char token[DUO_RANDOM_SIZE + 1], to[DUO_SUBJECT_SIZE];
    if (!duo_random_text(token)) return false;
    snprintf(to, sizeof to, "duo.at.%s.%s", exchange->process, token);
    pthread_mutex_lock(&exchange->lock);
    while (exchange->has_echo) pthread_cond_wait(&exchange->changed, &exchange->lock);
    memcpy(exchange->echo, token, sizeof token);
    exchange->has_echo = true;
    exchange->has_echoed = false;
    /* The broker may lose it. */
    while (!exchange->has_echoed && !exchange->is_lost && !duo_net_is_past(until)) {
        publish_plain(exchange, to, DUO_PACKET_GONE);
        uint64_t now = duo_net_now(), left = until > now ? until - now : 0;
        struct timespec end = duo_deadline(left < ECHO_AGAIN ? left : ECHO_AGAIN);
        (void)pthread_cond_timedwait(&exchange->changed, &exchange->lock, &end);
    }
    bool is_settled = exchange->has_echoed;
    exchange->has_echo = false;
    pthread_cond_broadcast(&exchange->changed);
    pthread_mutex_unlock(&exchange->lock);
    if (!is_settled) errno = ETIMEDOUT;
    return is_settled;
}

/* Publishes what the sessions have written, as far as there is credit. Whether there is more. */
static bool has_more(duo_exchange *exchange)
{
    bool is_blocked = false;
    pthread_mutex_lock(&exchange->lock);
    for (size_t i = 0; i < DUO_EXCHANGE_SLOTS; i++)
        for (duo_link *link = exchange->by_token[i]; link != NULL; link = link->next) {
            duo_link_go_on(link);
            is_blocked = is_blocked || link->is_blocked;
        }
    pthread_mutex_unlock(&exchange->lock);
    return is_blocked;
}

/* The process ends: what the sessions have written is published, and their peers learn that no more follows. */
static void leave(void)
{
    if (getpid() != owner) return;
    uint64_t until = duo_net_now() + LEAVING;
    for (duo_exchange *exchange = all; exchange != NULL; exchange = exchange->next) {
        if (!exchange->broker->is_connected(exchange->broker)) continue;
        /* The peers return credit as they read: the other threads go on. */
        while (has_more(exchange) && !duo_net_is_past(until)) nanosleep(&pause_of_interrupted, NULL);
        pthread_mutex_lock(&exchange->lock);
        for (size_t i = 0; i < DUO_EXCHANGE_SLOTS; i++)
            for (duo_link *link = exchange->by_token[i]; link != NULL; link = link->next) duo_link_leave(link);
        pthread_mutex_unlock(&exchange->lock);
        exchange->broker->flush(exchange->broker, LEAVING);
    }
}

static void free_exchange(duo_exchange *exchange)
{
    pthread_mutex_destroy(&exchange->lock);
    pthread_cond_destroy(&exchange->changed);
    if (exchange->epoll >= 0) close(exchange->epoll);
    duo_release(exchange);
}

/* Connects; on failure `problem` and `errno` are set. */
static duo_status connect_to(const duo_broker_kind *kind, const char *server, uint64_t until, duo_exchange **made, duo_problem *problem)
{
    duo_exchange *exchange = duo_allocate(sizeof *exchange);
    if (exchange == NULL) return DUO_NO_MEMORY;
    memset(exchange, 0, sizeof *exchange);
    snprintf(exchange->scheme, sizeof exchange->scheme, "%s", kind->scheme);
    snprintf(exchange->server, sizeof exchange->server, "%s", server);
    exchange->epoll = -1;
    pthread_mutex_init(&exchange->lock, NULL);
    duo_net_make_condition(&exchange->changed);
    char number[DUO_RANDOM_SIZE + 1], seed[DUO_RANDOM_SIZE + 1];
    if (!duo_random_text(number) || !duo_random_text(seed)) {
        free_exchange(exchange);
        return DUO_SYSTEM;
    }
    pthread_mutex_lock(&all_lock);
    snprintf(exchange->process, sizeof exchange->process, "%s%s", prefix, number);
    pthread_mutex_unlock(&all_lock);
    memcpy(&exchange->seed, seed + 16, sizeof exchange->seed);
    uint64_t now = duo_net_now(), left = until > now ? until - now : 1;
    exchange->broker = kind->connect(server, left < ECHO ? left : ECHO, duo_exchange_lose, exchange, problem);
    if (exchange->broker == NULL) {
        int reason = errno;
        free_exchange(exchange);
        errno = reason;
        return DUO_SYSTEM;
    }
    *made = exchange;
    return DUO_OK;
}

/* Makes an exchange usable that is connected; on failure, a later attempt continues here. */
static duo_status prepare(duo_exchange *exchange, uint64_t until, duo_problem *problem)
{
    char own[DUO_SUBJECT_SIZE];
    snprintf(own, sizeof own, "duo.at.%s.*", exchange->process);
    const duo_inbox inbox = duo_exchange_inbox(exchange);
    if (exchange->epoll < 0 && !duo_exchange_start(exchange)) {
        duo_net_explain(problem, "cannot start the thread for sessions over `%s://%s`: %s", exchange->scheme, exchange->server, strerror(errno));
        return DUO_SYSTEM;
    }
    if (!exchange->is_subscribed) exchange->is_subscribed = exchange->broker->subscribe(exchange->broker, own, NULL, &inbox) != NULL;
    uint64_t latest = duo_net_now() + ECHO;
    bool is_usable = exchange->is_subscribed && settle(exchange, until < latest ? until : latest);
    if (is_usable) {
        pthread_mutex_lock(&all_lock);
        exchange->is_usable = true;
        pthread_mutex_unlock(&all_lock);
        return DUO_OK;
    }
    int reason = exchange->is_subscribed ? errno : EIO;
    duo_net_explain(problem,
                    "`%s://%s` did not deliver a message of this process to itself: check the permissions to publish and subscribe "
                    "to `duo.at.>` (docs/wire.md, \"Permissions\")",
                    exchange->scheme, exchange->server);
    errno = reason;
    return DUO_SYSTEM;
}

/* Checks `HOST:PORT` of this size. NULL if it is correct. */
static const char *server_problem(const char *server, size_t size)
{
    const char *end = server + size, *colon = end;
    if (size >= DUO_EXCHANGE_SERVER) return "the host is too long";
    if (memchr(server, '@', size) != NULL) return "it has a user; pass credentials as options, so that addresses can be logged";
    while (colon > server && colon[-1] != ':') colon -= 1;
    if (colon == server || colon == end || strspn(colon, "0123456789") < (size_t)(end - colon)) return "the port is missing, or not a number";
    bool is_bracketed = server[0] == '[' && colon - server > 2 && colon[-2] == ']';
    if (colon - 1 == server || (!is_bracketed && memchr(server, ':', (size_t)(colon - 1 - server)) != NULL))
        return "the host is missing, or is an IPv6 address without brackets";
    return NULL;
}

/* The exchange of a server, if there is one, and whether it can be used. */
static duo_exchange *find_known(const duo_broker_kind *kind, const char *server, bool *is_usable)
{
    pthread_mutex_lock(&all_lock);
    duo_exchange *found = all;
    while (found != NULL && (found->is_replaced || strcmp(found->scheme, kind->scheme) != 0 || strcmp(found->server, server) != 0))
        found = found->next;
    *is_usable = found != NULL && found->is_usable;
    pthread_mutex_unlock(&all_lock);
    if (*is_usable) *is_usable = !duo_exchange_is_lost(found);
    return found;
}

duo_status duo_exchange_find(const char *address, uint64_t until, duo_exchange **exchange, const char **name, duo_problem *problem)
{
    const duo_broker_kind *kind = kind_of(address);
    if (kind == NULL) {
        duo_net_explain(problem, "`%s` needs a library: link the program with `duologue-nats` (pkg-config) or `Duologue::nats` (CMake)", address);
        return DUO_ADDRESS;
    }
    const char *host = address + strlen(kind->scheme) + 3, *slash = strchr(host, '/');
    const char *wrong = slash == NULL ? "the name of the servers is missing after the port: `nats://host:port/name`"
                                      : server_problem(host, (size_t)(slash - host));
    if (wrong == NULL) wrong = duo_name_problem(slash + 1);
    if (wrong != NULL) {
        duo_net_explain(problem, "`%s` is not an address: %s", address, wrong);
        return DUO_ADDRESS;
    }
    char server[DUO_EXCHANGE_SERVER];
    memcpy(server, host, (size_t)(slash - host));
    server[slash - host] = '\0';
    *name = slash + 1;
    bool is_usable;
    duo_exchange *found = find_known(kind, server, &is_usable);
    if (is_usable) {
        *exchange = found;
        return DUO_OK;
    }
    /* The lock is held while a thread connects, so that there is one connection. The server may be another one, which does not answer. */
    while (pthread_mutex_trylock(&connecting) != 0) {
        if (duo_net_gives_up(until)) {
            duo_net_explain(problem, "another thread connects to a broker, and was not done in time");
            return DUO_LATE;
        }
        nanosleep(&pause_of_interrupted, NULL);
    }
    found = find_known(kind, server, &is_usable);
    duo_status status = DUO_OK;
    if (found == NULL || duo_exchange_is_lost(found)) {
        duo_exchange *made = NULL;
        status = connect_to(kind, server, until, &made, problem);
        if (status == DUO_OK) {
            pthread_mutex_lock(&all_lock);
            if (all == NULL) (void)atexit(leave);
            owner = getpid();
            if (found != NULL) found->is_replaced = true;
            made->next = all;
            all = made;
            pthread_mutex_unlock(&all_lock);
            found = made;
            is_usable = false;
        }
    }
    if (status == DUO_OK && !is_usable) status = prepare(found, until, problem);
    int reason = errno;
    pthread_mutex_unlock(&connecting);
    errno = reason;
    *exchange = found;
    return status;
}

void duo_exchange_subject(char subject[DUO_SUBJECT_SIZE], const char *name, const duo_fingerprint *fingerprint, duo_servers servers)
{
    char digits[HEX_SIZE + 1];
    const unsigned char *bytes = (const unsigned char *)fingerprint;
    for (size_t i = 0; i < sizeof *fingerprint; i++) snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    snprintf(subject, DUO_SUBJECT_SIZE, "duo.%s.%s%s", name, servers == DUO_SERVERS_FULL ? "full-" : "", digits);
}

bool duo_exchange_has_denied(duo_exchange *exchange, const char *subject, duo_problem *problem)
{
    if (exchange->broker->has_denied == NULL || !exchange->broker->has_denied(exchange->broker, subject)) return false;
    duo_net_explain(problem, "the broker does not permit `%s` (docs/wire.md, \"Permissions\", lists what a user needs)", subject);
    errno = EACCES;
    return true;
}

bool duo_exchange_is_lost(duo_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool is_lost = exchange->is_lost;
    pthread_mutex_unlock(&exchange->lock);
    return is_lost;
}

duo_status duo_exchange_open(duo_exchange *exchange, const char *subject, uint64_t until, int *descriptor, duo_link **link,
                             duo_problem *problem)
{
    /* What is published while the broker is away would begin sessions that nobody waits for any longer. */
    while (!duo_exchange_is_lost(exchange) && !exchange->broker->is_connected(exchange->broker)) {
        if (duo_net_gives_up(until)) {
            duo_net_explain(problem, "the connection to `%s://%s` was interrupted, and is not back in time: check that the broker is running",
                            exchange->scheme, exchange->server);
            return DUO_LATE;
        }
        nanosleep(&pause_of_interrupted, NULL);
    }
    duo_status status = DUO_SYSTEM;
    pthread_mutex_lock(&exchange->lock);
    uint64_t window = exchange->is_lost ? 0 : duo_exchange_take_window(exchange, 0);
    duo_link *made = window != 0 ? duo_link_new(exchange->broker, exchange->epoll, exchange->process, window, descriptor) : NULL;
    if (made != NULL) {
        snprintf(made->to, sizeof made->to, "%s", subject);
        made->is_held = true;
        *link = made;
        exchange->has_asked = true;
        duo_exchange_add(exchange, made);
        duo_link_go_on(made);
        status = DUO_OK;
    } else if (window != 0) {
        exchange->given -= window;
    } else {
        errno = exchange->is_lost ? ENOTCONN : ENOBUFS;
        duo_net_explain(problem, exchange->is_lost ? "the connection to the broker is closed" : "this process has too many sessions");
    }
    pthread_mutex_unlock(&exchange->lock);
    return status;
}

void duo_exchange_release(duo_exchange *exchange, duo_link *link, bool *is_unanswered, bool *is_unheard)
{
    int reason = errno;
    pthread_mutex_lock(&exchange->lock);
    *is_unanswered = link->is_unanswered;
    *is_unheard = link->is_unheard;
    link->is_held = false;
    pthread_mutex_unlock(&exchange->lock);
    errno = reason;
}

/* Refuses a session, and forgets it: if something of that is lost, the peer finds that there is no session. */
static void refuse(duo_exchange *exchange, const char *from, uint64_t cost, unsigned verdict)
{
    char token[DUO_RANDOM_SIZE + 1], own[DUO_SUBJECT_SIZE];
    uint8_t message[DUO_PACKET_HEAD + DUO_NET_HEAD + DUO_NET_ANSWER];
    if (!duo_random_text(token)) return;
    snprintf(own, sizeof own, "duo.at.%s.%s", exchange->process, token);
    const duo_net_answer answer = {.verdict = verdict};
    duo_packet packet = {.kind = DUO_PACKET_ACCEPT, .number = 1, .received = 1, .read = cost, .window = cost};
    size_t size = duo_packet_write_head(message, &packet);
    size += duo_net_write_answer(message + size, &answer);
    exchange->broker->publish(exchange->broker, from, own, message, size);
    packet.kind = DUO_PACKET_END;
    packet.number = 2;
    size = duo_packet_write_head(message, &packet);
    exchange->broker->publish(exchange->broker, from, NULL, message, size);
}

/* Whether this is a hello and nothing else, or, if its head is refused, no more than the longest one. */
static bool is_hello(const duo_packet *packet)
{
    size_t whole;
    switch (duo_net_check_head(packet->bytes, packet->size, &whole)) {
    case DUO_NET_GOOD: return packet->size == whole;
    case DUO_NET_BAD_VERSION:
    case DUO_NET_MALFORMED: return packet->size >= DUO_NET_HEAD && packet->size <= DUO_LONGEST_HELLO;
    default: return false;
    }
}

/* Under the lock. */
static int accept_one(duo_exchange *exchange, const char *from, const duo_packet *packet, const char *process, size_t size)
{
    int descriptor;
    uint64_t window = duo_exchange_take_window(exchange, duo_link_cost(packet->size));
    if (window == 0) return -1;
    duo_link_peer *peer = duo_exchange_hold_peer(exchange, process, size);
    duo_link *link = NULL;
    if (peer != NULL) link = duo_link_new(exchange->broker, exchange->epoll, exchange->process, window, &descriptor);
    if (link != NULL && duo_link_accept(link, from, peer, packet)) {
        duo_exchange_add(exchange, link);
        return descriptor;
    }
    if (link != NULL) {
        close(descriptor);
        duo_link_free(link);
    }
    duo_exchange_release_peer(exchange, peer);
    exchange->given -= window;
    return -1;
}

int duo_exchange_accept(duo_exchange *exchange, const char *from, const void *bytes, size_t size, unsigned verdict)
{
    duo_packet packet;
    size_t process_size;
    if (!duo_packet_read(bytes, size, &packet) || packet.kind != DUO_PACKET_OPEN || from == NULL) return -1;
    if (packet.number != 1 || packet.received != 0 || packet.read != 0) return -1;
    const char *process = duo_side_process(from, true, &process_size);
    if (process == NULL || !is_hello(&packet)) return -1;
    int descriptor = -1;
    pthread_mutex_lock(&exchange->lock);
    /* Otherwise the broker has delivered it twice. */
    if (!duo_exchange_has_opener(exchange, from)) {
        if (verdict == DUO_VERDICT_EQUAL) descriptor = accept_one(exchange, from, &packet, process, process_size);
        if (descriptor < 0)
            refuse(exchange, from, duo_link_cost(packet.size), verdict != DUO_VERDICT_EQUAL ? verdict : DUO_VERDICT_SESSIONS_FULL);
    }
    pthread_mutex_unlock(&exchange->lock);
    return descriptor;
}

duo_subscription *duo_exchange_join(duo_exchange *exchange, const char *subject, const duo_inbox *inbox)
{
    return exchange->broker->subscribe(exchange->broker, subject, "duo", inbox);
}

duo_subscription *duo_exchange_subscribe(duo_exchange *exchange, const char *subject, const duo_inbox *inbox, duo_problem *problem)
{
    duo_subscription *made = duo_exchange_join(exchange, subject, inbox);
    bool is_settled = made != NULL && settle(exchange, duo_net_now() + ECHO);
    if (is_settled && !duo_exchange_has_denied(exchange, subject, problem)) return made;
    int reason = !is_settled ? ETIMEDOUT : errno;
    if (!is_settled) duo_net_explain(problem, "cannot subscribe to `%s`: the broker did not confirm it in time", subject);
    if (made != NULL) exchange->broker->unsubscribe(exchange->broker, made);
    /* The inbox has no other way to learn that there is no subscription. */
    if (made == NULL) inbox->ended(inbox->context);
    errno = reason;
    return NULL;
}

void duo_exchange_unsubscribe(duo_exchange *exchange, duo_subscription *subscription)
{
    if (subscription != NULL) exchange->broker->unsubscribe(exchange->broker, subscription);
}

void duo_exchange_settle(duo_exchange *exchange)
{
    (void)settle(exchange, duo_net_now() + SETTLING);
}
