/*
 * TLS by OpenSSL. A connection is used by one thread at a time: by the thread that holds the session's lock or, before
 * there is a session, by the thread that does the handshake.
 */
#ifndef DUOLOGUE_TLS_INTERNAL_H
#define DUOLOGUE_TLS_INTERNAL_H

#include <openssl/ssl.h>

#include "../src/transport/stream.h"
#include "../src/floor/floor.h"
#include "duologue/tls.h"

typedef struct duo_tls_context {
    duo_tls tls;
    SSL_CTX *client;
    SSL_CTX *server;
    /* NULL: the host of the address. */
    char *name;
} duo_tls_context;

/* A connection. An error that is recorded here stays. */
typedef struct duo_tls_state {
    SSL *ssl;
    /* The socket itself. */
    duo_net_stream socket;
    bool is_client;
    /* The first bytes from the peer, and how many of them are known. */
    unsigned char first[2];
    size_t first_count;
    /*
     * What the socket reported, except for EAGAIN. OpenSSL does not see it, because after a failed write it guarantees
     * nothing about reading, and the peer's last message may still be there.
     */
    bool has_ended;
    int read_error;
    int write_error;
    /* Whether the last read of the socket found nothing. */
    bool is_dry;
    /* The handshake is over. */
    bool has_begun;
    /* What the socket has not accepted of OpenSSL's answers, which goes before everything else; mostly NULL. */
    struct duo_tls_kept *kept;
    /* Nothing may be done any more; `problem` says why. */
    bool has_failed;
    duo_problem problem;
} duo_tls_state;

/* The name under which TLS negotiates this format, as ALPN writes it. */
#define DUO_TLS_ALPN "\x0a" "duologue/1"

/* stream.c */
duo_status duo_tls_begin(const duo_tls *tls, const char *host, duo_net_stream *stream, duo_problem *problem);

/* peer.c */
bool duo_tls_copy_certificate(const duo_net_stream *stream, uint8_t **bytes, size_t *size);

/* failure.c */
/* Describes the error that OpenSSL has reported to this thread. */
void duo_tls_describe(const duo_tls_state *state, duo_problem *problem);
/* Describes that the peer has not negotiated this format. */
void duo_tls_needs_protocol(duo_problem *problem);

#endif
