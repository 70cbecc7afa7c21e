/* What the tests of TLS share: parties with certificates, and peers that use OpenSSL alone. */
#ifndef TEST_TLS_H
#define TEST_TLS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "duologue/tls.h"

#define LONG UINT64_C(30000000000)

/* Beside the folder of the case. */
#define CERTIFICATES "../tls-certificates"

/* Certificates and a key by their names in the folder; `name` is what a client expects. */
static inline duo_tls *party_named(const char *authority, const char *party, const char *name)
{
    char authorities[512], chain[512], key[512];
    snprintf(authorities, sizeof authorities, CERTIFICATES "/%s.pem", authority);
    snprintf(chain, sizeof chain, CERTIFICATES "/%s.pem", party);
    snprintf(key, sizeof key, CERTIFICATES "/%s.key", party);
    const duo_tls_options options = {
        .authorities_file = authorities, .chain_file = chain, .key_file = key, .name = name};
    duo_tls *made;
    duo_problem problem = {""};
    duo_status status = duo_tls_new(&options, &made, &problem);
    if (status != DUO_OK) fprintf(stderr, "%s: %s\n", duo_status_text(status), problem.text);
    CHECK(status == DUO_OK);
    return made;
}

static inline duo_tls *party(const char *authority, const char *name)
{
    return party_named(authority, name, NULL);
}

/* The same address with another scheme. */
static inline void with_scheme(char *text, size_t room, const char *address, const char *scheme)
{
    snprintf(text, room, "%s%s", scheme, strchr(address, ':'));
}

static inline struct sockaddr_in here(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

/* A socket that is connected to the port of an address. */
static inline int reach(const char *address)
{
    struct sockaddr_in to = here((uint16_t)atoi(strrchr(address, ':') + 1));
    int made = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(made >= 0 && connect(made, (const struct sockaddr *)&to, sizeof to) == 0);
    return made;
}

/* A listening socket without the library, and its port. */
static inline int listen_at(uint16_t *port)
{
    struct sockaddr_in at = here(0);
    socklen_t size = sizeof at;
    int made = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(made >= 0 && bind(made, (const struct sockaddr *)&at, size) == 0 && listen(made, 8) == 0);
    CHECK(getsockname(made, (struct sockaddr *)&at, &size) == 0);
    *port = ntohs(at.sin_port);
    return made;
}

#endif
