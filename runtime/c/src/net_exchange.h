/* What the files about exchanges share: net_exchange.c has the tables and the thread, net_begin.c begins sessions. */
#ifndef DUOLOGUE_NET_EXCHANGE_H
#define DUOLOGUE_NET_EXCHANGE_H

#include "net_broker.h"

enum { DUO_EXCHANGE_SLOTS = 4096, DUO_EXCHANGE_SCHEME = 16, DUO_EXCHANGE_SERVER = 280 };

struct duo_exchange {
    struct duo_exchange *next;
    char scheme[DUO_EXCHANGE_SCHEME];
    char server[DUO_EXCHANGE_SERVER];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    duo_broker *broker;
    char process[DUO_PROCESS_SIZE + 1];
    int epoll;
    /* For the hash of addresses, which peers choose. */
    uint64_t seed;
    duo_link *by_token[DUO_EXCHANGE_SLOTS];
    duo_link *by_opener[DUO_EXCHANGE_SLOTS];
    duo_link_peer *by_process[DUO_EXCHANGE_SLOTS];
    size_t links;
    /* Links that are in no table, for the thread, which frees them. */
    duo_link *gone;
    uint64_t given;
    /* Links that may wait for their first answer. */
    bool has_asked;
    /* The broker delivers nothing more. */
    bool is_lost;
    /* What the threads that connect have reached, and whether there is another one for the server, because this one is lost: under their locks. */
    bool is_subscribed;
    bool is_usable;
    bool is_replaced;
    /* What a thread waits for that has published to this process itself. */
    char echo[DUO_RANDOM_SIZE + 1];
    bool has_echo;
    bool has_echoed;
};

/* net_exchange.c; all but the first under the lock */
/* Starts the thread. False: see `errno`. */
bool duo_exchange_start(duo_exchange *exchange);
/* Takes the messages for this process. */
duo_inbox duo_exchange_inbox(duo_exchange *exchange);
/* Called by the broker: nothing more is delivered. */
void duo_exchange_lose(void *exchange);
void duo_exchange_add(duo_exchange *exchange, duo_link *link);
/* Whether there is a session that was begun from this address. */
bool duo_exchange_has_opener(const duo_exchange *exchange, const char *from);
/* A process, with one more holder, or one less, which may be NULL. NULL if memory ran out. */
duo_link_peer *duo_exchange_hold_peer(duo_exchange *exchange, const char *process, size_t size);
void duo_exchange_release_peer(duo_exchange *exchange, duo_link_peer *peer);
/* The credit of a further session, which is taken; 0 if this process has too many. `first` is what *open* costs. */
uint64_t duo_exchange_take_window(duo_exchange *exchange, uint64_t first);

#endif
