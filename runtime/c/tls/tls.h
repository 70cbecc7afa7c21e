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

/* The name under which TLS negotiates this format, as ALPN writes it. */
#define DUO_TLS_ALPN "\x0a" "duologue/1"

/* stream.c */
duo_status duo_tls_begin(const duo_tls *tls, const char *host, duo_net_stream *stream, duo_problem *problem);

#endif
