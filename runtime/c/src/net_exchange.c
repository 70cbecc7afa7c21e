/*
 * This process at a broker: its sessions, and the processes at their other ends. One thread serves all of them. net_broker.h says what
 * always holds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

#include "net_exchange.h"

/* How often processes show that they are there, and how many heartbeats of one may be missed, in nanoseconds. */
#define HEARTBEAT UINT64_C(2000000000)
#define MISSED 3

/* How often the thread checks links that wait for their first answer, in nanoseconds. */
#define SOON UINT64_C(100000000)

/* How much credit a session gets while three quarters of that of the process are left, while half of it is left, and then; and how much there is. */
#define LARGE_WINDOW UINT64_C(65536)
#define WINDOW UINT64_C(16384)
#define SMALL_WINDOW UINT64_C(4096)
#define ALL_WINDOWS (UINT64_C(48) << 20)

enum { SLOTS = DUO_EXCHANGE_SLOTS, MOST_LINKS = 65536, EVENTS = 64 };

static size_t slot_of(const duo_exchange *exchange, const char *text, size_t size)
{
    uint64_t hash = exchange->seed;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (size_t)((hash >> 32) % SLOTS);
}

static duo_link *find(const duo_exchange *exchange, const char *token)
{
    duo_link *link = exchange->by_token[slot_of(exchange, token, strlen(token))];
    while (link != NULL && strcmp(link->token, token) != 0) link = link->next;
    return link;
}

void duo_exchange_add(duo_exchange *exchange, duo_link *link)
{
    duo_link **slot = &exchange->by_token[slot_of(exchange, link->token, DUO_RANDOM_SIZE)];
    link->next = *slot;
    *slot = link;
    exchange->links += 1;
    if (!link->is_accepted) return;
    slot = &exchange->by_opener[slot_of(exchange, link->to, strlen(link->to))];
    link->next_by_opener = *slot;
    *slot = link;
}

bool duo_exchange_has_opener(const duo_exchange *exchange, const char *from)
{
    const duo_link *link = exchange->by_opener[slot_of(exchange, from, strlen(from))];
    while (link != NULL && strcmp(link->to, from) != 0) link = link->next_by_opener;
    return link != NULL;
}

duo_link_peer *duo_exchange_hold_peer(duo_exchange *exchange, const char *process, size_t size)
{
    duo_link_peer **slot = &exchange->by_process[slot_of(exchange, process, size)], *peer = *slot;
    while (peer != NULL && (strncmp(peer->process, process, size) != 0 || peer->process[size] != '\0')) peer = peer->next;
    if (peer == NULL) {
        peer = duo_allocate(sizeof *peer);
        if (peer == NULL) return NULL;
        memset(peer, 0, sizeof *peer);
        memcpy(peer->process, process, size);
        peer->next = *slot;
        *slot = peer;
    }
    peer->holders += 1;
    return peer;
}

void duo_exchange_release_peer(duo_exchange *exchange, duo_link_peer *peer)
{
    if (peer == NULL || --peer->holders > 0) return;
    duo_link_peer **place = &exchange->by_process[slot_of(exchange, peer->process, strlen(peer->process))];
    while (*place != peer) place = &(*place)->next;
    *place = peer->next;
    duo_release(peer);
}

/* The credit of a link goes back to the process. */
static void give_back(duo_exchange *exchange, duo_link *link)
{
    if (!link->has_given_back) exchange->given -= link->ours;
    link->has_given_back = true;
}

/* Takes a link that is over out of the tables. The thread frees it. */
static void forget(duo_exchange *exchange, duo_link *link)
{
    duo_link **place = &exchange->by_token[slot_of(exchange, link->token, DUO_RANDOM_SIZE)];
    while (*place != link) place = &(*place)->next;
    *place = link->next;
    if (link->is_accepted) {
        place = &exchange->by_opener[slot_of(exchange, link->to, strlen(link->to))];
        while (*place != link) place = &(*place)->next_by_opener;
        *place = link->next_by_opener;
    }
    duo_exchange_release_peer(exchange, link->peer);
    link->peer = NULL;
    exchange->links -= 1;
    give_back(exchange, link);
    link->is_gone = true;
    link->next = exchange->gone;
    exchange->gone = link;
}

/* What a session that is dropped still gets is discarded, so it takes no memory. */
static void forget_if_over(duo_exchange *exchange, duo_link *link)
{
    if (link->is_gone) return;
    if (link->is_dropped) give_back(exchange, link);
    if (duo_link_is_over(link)) forget(exchange, link);
}

static void publish_plain(const duo_exchange *exchange, const char *to, duo_packet_kind kind)
{
    const uint8_t message = (uint8_t)kind;
    exchange->broker->publish(exchange->broker, to, NULL, &message, 1);
}

uint64_t duo_exchange_take_window(duo_exchange *exchange, uint64_t first)
{
    uint64_t given = exchange->given;
    uint64_t size = first + (given < ALL_WINDOWS / 4 ? LARGE_WINDOW : given < ALL_WINDOWS / 2 ? WINDOW : SMALL_WINDOW);
    if (exchange->links >= MOST_LINKS || exchange->given + size > ALL_WINDOWS) return 0;
    exchange->given += size;
    return size;
}

/* A message for a session of this process. */
static void arrived_for(duo_exchange *exchange, duo_link *link, const char *from, const duo_packet *packet)
{
    size_t size;
    const char *process = from != NULL ? duo_side_process(from, true, &size) : NULL;
    if (packet->kind == DUO_PACKET_ACCEPT && process != NULL && link->stage == DUO_LINK_ASKS && link->end == DUO_LINK_GOES_ON) {
        duo_link_peer *peer = duo_exchange_hold_peer(exchange, process, size);
        if (peer != NULL) duo_link_meet(link, from, peer, packet->window);
        /* Without memory for that, this side could never answer. */
        else duo_link_fail(link, false);
    }
    if (link->peer != NULL) link->peer->missed = 0;
    /* *Open* was delivered to two servers. */
    bool is_other = packet->kind == DUO_PACKET_ACCEPT && process != NULL && link->stage == DUO_LINK_IS_OPEN && strcmp(link->to, from) != 0;
    if (is_other) publish_plain(exchange, from, DUO_PACKET_GONE);
    else duo_link_take(link, packet);
    forget_if_over(exchange, link);
}

static void arrived(void *context, const char *subject, const char *from, const void *bytes, size_t size)
{
    duo_exchange *exchange = context;
    duo_packet packet;
    size_t process_size;
    const char *process = duo_side_process(subject, false, &process_size);
    if (process == NULL || !duo_packet_read(bytes, size, &packet)) return;
    const char *token = process + process_size + 1;
    pthread_mutex_lock(&exchange->lock);
    duo_link *link = find(exchange, token);
    if (packet.kind == DUO_PACKET_ALIVE && strcmp(token, "alive") == 0 && packet.size <= DUO_SIDE_LONGEST) {
        duo_link_peer *peer = exchange->by_process[slot_of(exchange, (const char *)packet.bytes, packet.size)];
        for (; peer != NULL; peer = peer->next)
            if (strlen(peer->process) == packet.size && memcmp(peer->process, packet.bytes, packet.size) == 0) peer->missed = 0;
    } else if (link != NULL) {
        arrived_for(exchange, link, from, &packet);
    } else if (exchange->has_echo && strcmp(token, exchange->echo) == 0) {
        exchange->has_echoed = true;
        pthread_cond_broadcast(&exchange->changed);
    } else if (packet.kind == DUO_PACKET_ACCEPT || packet.kind == DUO_PACKET_ASK || packet.kind == DUO_PACKET_LOST) {
        if (from != NULL && duo_side_process(from, true, &process_size) != NULL) publish_plain(exchange, from, DUO_PACKET_GONE);
    }
    pthread_mutex_unlock(&exchange->lock);
}

static void unanswered(void *context, const char *subject)
{
    duo_exchange *exchange = context;
    size_t size;
    const char *process = duo_side_process(subject, true, &size);
    if (process == NULL) return;
    pthread_mutex_lock(&exchange->lock);
    duo_link *link = find(exchange, process + size + 1);
    if (link != NULL && link->stage == DUO_LINK_ASKS) {
        link->is_unanswered = link->end == DUO_LINK_GOES_ON;
        duo_link_fail(link, false);
        forget_if_over(exchange, link);
    }
    pthread_mutex_unlock(&exchange->lock);
}

void duo_exchange_lose(void *context)
{
    duo_exchange *exchange = context;
    pthread_mutex_lock(&exchange->lock);
    exchange->is_lost = true;
    for (size_t i = 0; i < SLOTS; i++)
        for (duo_link *link = exchange->by_token[i], *next; link != NULL; link = next) {
            next = link->next;
            duo_link_fail(link, false);
            link->has_to_tell = false;
            forget_if_over(exchange, link);
        }
    pthread_cond_broadcast(&exchange->changed);
    pthread_mutex_unlock(&exchange->lock);
}

/* The exchange stays until the process ends. */
static void ended(void *context)
{
    (void)context;
}

duo_inbox duo_exchange_inbox(duo_exchange *exchange)
{
    return (duo_inbox){arrived, unanswered, ended, exchange};
}

/* What a heartbeat does. A process counts its own, so one that was stopped does not take others for gone. */
static void tick(duo_exchange *exchange)
{
    bool publishes = exchange->broker->is_connected(exchange->broker);
    for (size_t i = 0; i < SLOTS; i++)
        for (duo_link_peer *peer = exchange->by_process[i]; peer != NULL; peer = peer->next) peer->missed += 1;
    for (size_t i = 0; i < SLOTS; i++)
        for (duo_link *link = exchange->by_token[i], *next; link != NULL; link = next) {
            next = link->next;
            if (link->peer != NULL && link->sent > 0 && link->peer->missed > MISSED) {
                duo_link_fail(link, false);
                link->has_to_tell = false;
            }
            duo_link_tick(link, publishes);
            forget_if_over(exchange, link);
            if (!link->is_gone && link->peer != NULL && link->end != DUO_LINK_FAILED) link->peer->is_due = true;
        }
    uint8_t message[1 + DUO_PROCESS_SIZE] = {DUO_PACKET_ALIVE};
    size_t size = strlen(exchange->process);
    memcpy(message + 1, exchange->process, size);
    for (size_t i = 0; i < SLOTS; i++)
        for (duo_link_peer *peer = exchange->by_process[i]; peer != NULL; peer = peer->next) {
            char to[DUO_SUBJECT_SIZE];
            snprintf(to, sizeof to, "duo.at.%s.alive", peer->process);
            if (peer->is_due && publishes) exchange->broker->publish(exchange->broker, to, NULL, message, 1 + size);
            peer->is_due = false;
        }
}

#ifdef __linux__
/* Ends links whose first answer does not come. */
static void check_asked(duo_exchange *exchange)
{
    exchange->has_asked = false;
    for (size_t i = 0; i < SLOTS; i++)
        for (duo_link *link = exchange->by_token[i], *next; link != NULL; link = next) {
            next = link->next;
            if (link->stage == DUO_LINK_IS_OPEN || link->end == DUO_LINK_FAILED) continue;
            exchange->has_asked = true;
            /* Outside of a heartbeat this only compares the time: nothing is published before the answer. */
            if (link->stage == DUO_LINK_ASKS) duo_link_tick(link, false);
            forget_if_over(exchange, link);
        }
}

static void free_gone(duo_exchange *exchange)
{
    duo_link **place = &exchange->gone;
    while (*place != NULL) {
        duo_link *link = *place;
        if (link->is_held) {
            place = &link->next;
            continue;
        }
        *place = link->next;
        duo_link_free(link);
    }
}

static void *attend(void *context)
{
    duo_exchange *exchange = context;
    uint64_t beats_at = duo_net_now() + HEARTBEAT;
    for (;;) {
        struct epoll_event events[EVENTS];
        uint64_t now = duo_net_now(), left = beats_at > now ? beats_at - now : 0;
        pthread_mutex_lock(&exchange->lock);
        if (exchange->has_asked && left > SOON) left = SOON;
        pthread_mutex_unlock(&exchange->lock);
        int count = epoll_wait(exchange->epoll, events, EVENTS, (int)((left + 999999) / 1000000));
        pthread_mutex_lock(&exchange->lock);
        for (int i = 0; i < count; i++) {
            duo_link *link = events[i].data.ptr;
            duo_link_go_on(link);
            forget_if_over(exchange, link);
        }
        if (exchange->has_asked) check_asked(exchange);
        if (duo_net_now() >= beats_at) {
            tick(exchange);
            beats_at = duo_net_now() + HEARTBEAT;
        }
        free_gone(exchange);
        pthread_mutex_unlock(&exchange->lock);
    }
    return NULL;
}

bool duo_exchange_start(duo_exchange *exchange)
{
    exchange->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (exchange->epoll < 0) return false;
    int reason = duo_net_start_thread(NULL, attend, exchange);
    if (reason == 0) return true;
    close(exchange->epoll);
    exchange->epoll = -1;
    errno = reason;
    return false;
}
#else
bool duo_exchange_start(duo_exchange *exchange)
{
    (void)exchange, (void)tick;
    errno = ENOTSUP;
    return false;
}
#endif
