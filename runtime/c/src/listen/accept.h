/* The accepting side of a handshake: for listeners, and for connections that the program provides. */
#ifndef DUOLOGUE_NET_ACCEPT_H
#define DUOLOGUE_NET_ACCEPT_H

#include "../net/net.h"

/*
 * With TLS, a connection begins with the TLS handshake. If that fails, the listener reads and discards what arrives for
 * a moment, so that the peer can read why: `size` then counts these bytes, and `until` is the end of that moment.
 */
typedef enum duo_net_stage { DUO_NET_GREETS, DUO_NET_SHAKES_HANDS, DUO_NET_READS_OFF } duo_net_stage;

/* A connection whose hello is arriving. */
typedef struct duo_net_greeting {
    duo_net_stream stream;
    duo_net_stage stage;
    /* Nothing has arrived yet. */
    bool is_silent;
    /* Something may have arrived since it was last read. */
    bool is_ready;
    /* That of its peer, if there is a limit for each. It goes over to the session. */
    duo_net_place *place;
    /* What to poll before it continues. */
    short events;
    /* What the listener's descriptor reports of it. */
    short watched;
    /* When the stage must be over. */
    uint64_t until;
    /* The certificate of the peer. */
    uint8_t *certificate;
    size_t certificate_size;
    size_t size;
    struct duo_net_greeting *next;
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN];
} duo_net_greeting;

/* Reads what has arrived of a hello. With DUO_NET_MORE, a status other than DUO_OK means that no more will arrive. */
duo_net_found duo_net_listen_to(duo_net_greeting *greeting, duo_status *status);
void duo_net_refuse(const duo_net_stream *stream, unsigned verdict, uint32_t wait);
/*
 * Asks the program, answers with the verdict, which it may change, and begins the session; the connection stays open if
 * the result is not DUO_OK.
 */
duo_status duo_net_admit(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address,
                         const duo_net_offer *offer, unsigned *verdict, duo_net **net, duo_endpoint *endpoint);
duo_peer duo_net_peer(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address);
/*
 * Reports to the observer, which may be NULL, that a session did not begin, before the connection is closed. `name` is
 * empty, and `problem` NULL, if there is none. Keeps `errno`.
 */
void duo_net_report_refused(const duo_net_greeting *greeting, const duo_observer *observer, bool is_tls, duo_str name,
                            duo_status status, unsigned verdict, const duo_problem *problem);
/* Its connection is no longer part of it. */
void duo_net_free_greeting(duo_net_greeting *greeting);

#endif
