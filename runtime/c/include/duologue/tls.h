/*
 * duologue/tls.h: certificates for sessions at addresses `tls://host:port`.
 *
 * This is a separate library, because it needs OpenSSL: the CMake target Duologue::tls, or duologue-tls for pkg-config.
 * Both sides authenticate: each has a certificate, and trusts certificates that were issued by the authorities on its
 * list. Only TLS 1.3 is used, without resumption. docs/wire.md specifies what is sent.
 *
 *     duo_tls *tls;
 *     duo_problem problem;
 *     const duo_tls_options own = {.authorities_file = "ca.pem", .chain_file = "client.pem", .key_file = "client.key"};
 *     if (duo_tls_new(&own, &tls, &problem) != DUO_OK) return fail(problem.text);
 *     const duo_net_options options = {.tls = tls, .problem = &problem};
 *     duo_status status = bank_client_connect("tls://bank.example:7000", &options, &client);
 */
#ifndef DUOLOGUE_TLS_H
#define DUOLOGUE_TLS_H

#include "duologue/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Certificates and the key are in PEM. Each is given as the name of a file or as text; if both are set, the text is used.
 * None of the options are needed once `duo_tls_new` has returned.
 */
typedef struct duo_tls_options {
    /* The certificates of the authorities that this side trusts. */
    const char *authorities_file;
    duo_bytes authorities;
    /* The certificate of this side, followed by any intermediate certificates. */
    const char *chain_file;
    duo_bytes chain;
    /* The private key of this side's certificate, which is not encrypted. */
    const char *key_file;
    duo_bytes key;
    /*
     * The name, or the IP address, that a listener's certificate must have. NULL: the host of the address that this side
     * connects to. Listeners do not use it.
     */
    const char *name;
} duo_tls_options;

/*
 * DUO_TLS: a text is malformed or empty, or the key does not belong to the certificate; `problem`, unless it is NULL, says
 * which. DUO_SYSTEM: a file cannot be read; see `errno` and `problem`. DUO_NO_MEMORY.
 */
DUO_MUST_CHECK duo_status duo_tls_new(const duo_tls_options *options, duo_tls **tls, duo_problem *problem);

/* Sessions that have begun continue. Listeners and attempts to connect that use it must be over. May be NULL. */
void duo_tls_free(duo_tls *tls);

/*
 * Whether the certificate of a peer, in `duo_peer.certificate`, is for this name: one of its subject alternative names. A
 * name with `://` is a URI and one with `@` an e-mail address; an IP address is compared as such, and any other name is a DNS
 * name. Names with wildcards do not match others, and the subject is not compared. False without TLS, or if memory ran out.
 */
bool duo_tls_has_name(const duo_peer *peer, const char *name);

#ifdef __cplusplus
}
#endif

#endif
