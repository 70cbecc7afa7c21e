/* What a listener and a connection that exists share: the greeting of the accepting side. */
#ifndef DUOLOGUE_NET_ACCEPT_H
#define DUOLOGUE_NET_ACCEPT_H

#include "net.h"

/* A connection whose hello is arriving. */
typedef struct duo_net_greeting {
    int descriptor;
    bool is_socket;
    /* When it must be there. */
    uint64_t until;
    size_t size;
    struct duo_net_greeting *next;
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN];
} duo_net_greeting;

/* Reads what has arrived of a hello. While that is DUO_NET_MORE, a status other than DUO_OK means that no more comes. */
duo_net_found duo_net_listen_to(duo_net_greeting *greeting, duo_status *status);
void duo_net_refuse(int descriptor, bool is_socket, unsigned verdict, uint32_t wait);
/* Asks the program, answers, and begins the session; the connection stays open if the result is not DUO_OK. */
duo_status duo_net_admit(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address,
                         const duo_net_offer *offer, unsigned verdict, duo_net **net, duo_endpoint *endpoint);
duo_peer duo_net_peer(const duo_net_hello *hello, const char *address);

#endif
