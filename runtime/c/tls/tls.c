/* Certificates and keys: what the connections of one side have in common. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* No certificate or key is this long. */
enum { MOST_READ = 1 << 24, FIRST_READ = 4096 };

/* A text of certificates or of a key, and how problems name it. */
typedef struct source {
    const char *name;
    BIO *bio;
    /* What was read from a file. It may be a key, so it is cleared before it is released. */
    char *bytes;
    size_t size;
    size_t capacity;
} source;

static duo_status blame(const source *from, const char *what, duo_problem *problem)
{
    duo_net_explain(problem, "cannot use %s for TLS: %s", from->name, what);
    return DUO_TLS;
}

/* What OpenSSL reports. */
static duo_status blame_by_reason(const source *from, duo_problem *problem)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    return blame(from, reason != NULL ? reason : "it is malformed", problem);
}

/* No one is asked for a password: an encrypted key is rejected. */
static int give_no_password(char *text, int room, int writes, void *context)
{
    (void)text, (void)room, (void)writes, (void)context;
    return -1;
}

static void clear(char *bytes, size_t size)
{
    if (bytes == NULL) return;
    OPENSSL_cleanse(bytes, size);
    duo_release(bytes);
}

static void close_source(source *from)
{
    int reason = errno;
    BIO_free(from->bio);
    clear(from->bytes, from->size);
    errno = reason;
}

static bool grow(source *into)
{
    size_t capacity = into->capacity == 0 ? FIRST_READ : 2 * into->capacity;
    char *more = duo_allocate(capacity);
    if (more == NULL) return false;
    if (into->size > 0) memcpy(more, into->bytes, into->size);
    clear(into->bytes, into->size);
    into->bytes = more;
    into->capacity = capacity;
    return true;
}

/* Reads a file to its end. Streams of the C library would leave what they have read in their buffers. */
static duo_status read_file(int descriptor, source *into)
{
    for (;;) {
        if (into->size == into->capacity && !grow(into)) return DUO_NO_MEMORY;
        ssize_t done = read(descriptor, into->bytes + into->size, into->capacity - into->size);
        if (done == 0) return DUO_OK;
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return DUO_SYSTEM;
        into->size += (size_t)done;
        if (into->size > MOST_READ) return DUO_TOO_LARGE;
    }
}

static duo_status open_file(const char *file, source *made, duo_problem *problem)
{
    int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    duo_status status = descriptor < 0 ? DUO_SYSTEM : read_file(descriptor, made);
    int reason = errno;
    if (descriptor >= 0) close(descriptor);
    if (status == DUO_SYSTEM) duo_net_explain(problem, "cannot read %s: %s", made->name, strerror(reason));
    errno = reason;
    return status;
}

/* Opens a text; `name` has space for its name. */
static duo_status open_source(duo_bytes text, const char *file, const char *what, char *name, size_t room, source *made,
                              duo_problem *problem)
{
    *made = (source){.name = name};
    if (text.data == NULL && file == NULL) {
        snprintf(name, room, "%s", what);
        return blame(made, "set the name of its file, or its text, in `duo_tls_options`", problem);
    }
    snprintf(name, room, text.data != NULL ? "the text of %s" : "`%s`", text.data != NULL ? what : file);
    duo_status status = text.data == NULL ? open_file(file, made, problem) : text.size > MOST_READ ? DUO_TOO_LARGE : DUO_OK;
    if (status == DUO_TOO_LARGE) return blame(made, "it is too long", problem);
    if (status != DUO_OK) return status;
    const void *bytes = text.data != NULL ? (const void *)text.data : made->bytes;
    made->bio = BIO_new_mem_buf(bytes, (int)(text.data != NULL ? text.size : made->size));
    return made->bio != NULL ? DUO_OK : DUO_NO_MEMORY;
}

/* Reads the next certificate. DUO_EMPTY: there is no further one. */
static duo_status next_certificate(const source *from, X509 **found, duo_problem *problem)
{
    ERR_clear_error();
    *found = PEM_read_bio_X509(from->bio, NULL, give_no_password, NULL);
    if (*found != NULL) return DUO_OK;
    unsigned long error = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    return is_end ? DUO_EMPTY : blame_by_reason(from, problem);
}

static bool add_authority(duo_tls_context *context, X509 *authority)
{
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(context->client), authority) == 1 &&
           X509_STORE_add_cert(SSL_CTX_get_cert_store(context->server), authority) == 1;
}

/* The first certificate is that of this side. */
static bool add_own(SSL_CTX *ssl, X509 *certificate, bool is_first)
{
    return (is_first ? SSL_CTX_use_certificate(ssl, certificate) : (int)SSL_CTX_add1_chain_cert(ssl, certificate)) == 1;
}

static duo_status read_certificates(duo_tls_context *context, const source *from, bool are_own, duo_problem *problem)
{
    bool is_first = true;
    for (;;) {
        X509 *found;
        duo_status status = next_certificate(from, &found, problem);
        if (status == DUO_EMPTY && is_first) return blame(from, "there is no certificate in it", problem);
        if (status != DUO_OK) return status == DUO_EMPTY ? DUO_OK : status;
        if (!are_own && X509_check_ca(found) == 0) {
            /* It would be trusted as a peer. */
            X509_free(found);
            return blame(from, "a certificate in it is not that of an authority", problem);
        }
        bool is_added = are_own ? add_own(context->client, found, is_first) && add_own(context->server, found, is_first)
                                : add_authority(context, found);
        X509_free(found);
        if (!is_added) return blame_by_reason(from, problem);
        is_first = false;
    }
}

static duo_status read_key(duo_tls_context *context, const source *from, duo_problem *problem)
{
    ERR_clear_error();
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from->bio, NULL, give_no_password, NULL);
    /* OpenSSL's own reason would be "unsupported", whatever the text contains. */
    if (key == NULL) return blame(from, "there is no unencrypted private key in it", problem);
    bool fits = SSL_CTX_use_PrivateKey(context->client, key) == 1 && SSL_CTX_use_PrivateKey(context->server, key) == 1 &&
                SSL_CTX_check_private_key(context->client) == 1;
    EVP_PKEY_free(key);
    return fits ? DUO_OK : blame_by_reason(from, problem);
}

/* The listener chooses the only protocol there is. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *size, const unsigned char *offered,
                           unsigned offered_size, void *unused)
{
    static const unsigned char own[] = DUO_TLS_ALPN;
    (void)ssl, (void)unused;
    unsigned char *found;
    if (SSL_select_next_proto(&found, size, own, sizeof own - 1, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

/*
 * A client that offers no protocol is refused with an alert, for which `choose_protocol` is not called. One without TLS 1.3
 * gets another alert from OpenSSL.
 */
static int demand_protocol(SSL *ssl, int *alert, void *unused)
{
    const unsigned char *found;
    size_t size;
    (void)unused;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &found, &size) == 1 ||
        SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &found, &size) != 1)
        return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *made = SSL_CTX_new(method);
    if (made == NULL) return NULL;
    bool is_good = SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(made, 0) == 1;
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    /* An authority is trusted even if another one has issued its certificate. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(made), X509_V_FLAG_PARTIAL_CHAIN);
    /* Each call reads one record, so that a peer that sends records without data does not hold a thread up. */
    SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    if (is_good) return made;
    SSL_CTX_free(made);
    return NULL;
}

static duo_status read_all(duo_tls_context *context, const duo_tls_options *options, duo_problem *problem)
{
    char name[200];
    source from;
    duo_status status = open_source(options->authorities, options->authorities_file, "the authorities", name, sizeof name,
                                    &from, problem);
    if (status == DUO_OK) status = read_certificates(context, &from, false, problem);
    close_source(&from);
    if (status != DUO_OK) return status;
    status = open_source(options->chain, options->chain_file, "the certificate", name, sizeof name, &from, problem);
    if (status == DUO_OK) status = read_certificates(context, &from, true, problem);
    close_source(&from);
    if (status != DUO_OK) return status;
    status = open_source(options->key, options->key_file, "the key", name, sizeof name, &from, problem);
    if (status == DUO_OK) status = read_key(context, &from, problem);
    close_source(&from);
    return status;
}

duo_status duo_tls_new(const duo_tls_options *options, duo_tls **tls, duo_problem *problem)
{
    duo_problem ignored = {""};
    *tls = NULL;
    if (problem == NULL) problem = &ignored;
    duo_tls_context *made = duo_allocate(sizeof *made);
    if (made == NULL) return DUO_NO_MEMORY;
    memset(made, 0, sizeof *made);
    ERR_clear_error();
    made->tls.begin = duo_tls_begin;
    made->client = new_context(TLS_client_method());
    made->server = new_context(TLS_server_method());
    duo_status status = made->client != NULL && made->server != NULL ? DUO_OK : DUO_NO_MEMORY;
    if (status == DUO_OK && options->name != NULL) {
        size_t size = strlen(options->name) + 1;
        made->name = duo_allocate(size);
        if (made->name == NULL) status = DUO_NO_MEMORY;
        else memcpy(made->name, options->name, size);
    }
    if (status == DUO_OK) {
        /* Unlike all other functions, this one returns 0 on success. */
        if (SSL_CTX_set_alpn_protos(made->client, (const unsigned char *)DUO_TLS_ALPN, sizeof DUO_TLS_ALPN - 1) != 0)
            status = DUO_NO_MEMORY;
        SSL_CTX_set_alpn_select_cb(made->server, choose_protocol, NULL);
        SSL_CTX_set_client_hello_cb(made->server, demand_protocol, NULL);
    }
    if (status == DUO_OK) status = read_all(made, options, problem);
    int reason = errno;
    ERR_clear_error();
    if (status == DUO_OK) *tls = &made->tls;
    else duo_tls_free(&made->tls);
    errno = reason;
    return status;
}

void duo_tls_free(duo_tls *tls)
{
    duo_tls_context *context = (duo_tls_context *)(void *)tls;
    if (context == NULL) return;
    SSL_CTX_free(context->client);
    SSL_CTX_free(context->server);
    if (context->name != NULL) duo_release(context->name);
    duo_release(context);
}
