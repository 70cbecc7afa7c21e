/* A connection with TLS. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* A connection. An error that is recorded here stays. */
typedef struct tls_state {
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
} tls_state;

/* Descriptions of what can go wrong in TLS. */

#define NO_VERSION "the other side does not support TLS 1.3"
#define NO_PROTOCOL \
    "the other side speaks TLS, but did not negotiate `duologue/1`: check that it is a Duologue program"

static void explain_failure(duo_problem *problem, const char *text)
{
    duo_net_explain(problem, "TLS did not begin: %s", text);
}

/* Describes that the peer has not negotiated this format. */
static void needs_protocol(duo_problem *problem)
{
    explain_failure(problem, NO_PROTOCOL);
}

static void describe_certificate(long result, duo_problem *problem)
{
    switch (result) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        explain_failure(problem, "the certificate of the other side was not issued by an authority that this side trusts");
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED: explain_failure(problem, "the certificate of the other side has expired"); return;
    case X509_V_ERR_CERT_NOT_YET_VALID: explain_failure(problem, "the certificate of the other side is not valid yet"); return;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_failure(problem, "the certificate of the other side is not for the expected name");
        return;
    case X509_V_ERR_INVALID_PURPOSE: explain_failure(problem, "the certificate of the other side is not for this purpose"); return;
    default:
        duo_net_explain(problem, "TLS did not begin: the certificate of the other side is not accepted: %s",
                        X509_verify_cert_error_string(result));
    }
}

/* The other side reports a failure. */
static void describe_alert(int alert, duo_problem *problem)
{
    switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_NO_CERTIFICATE: explain_failure(problem, "the other side requires a certificate from this side"); return;
    case SSL_AD_UNKNOWN_CA:
        explain_failure(problem, "the other side does not trust the authority that issued the certificate of this side");
        return;
    case SSL_AD_CERTIFICATE_EXPIRED:
        explain_failure(problem, "the other side reports that the certificate of this side has expired");
        return;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR: explain_failure(problem, "the other side does not accept the certificate of this side"); return;
    case SSL_AD_PROTOCOL_VERSION: explain_failure(problem, NO_VERSION); return;
    case SSL_AD_NO_APPLICATION_PROTOCOL: explain_failure(problem, NO_PROTOCOL); return;
    default:
        duo_net_explain(problem, "TLS did not begin: the other side reports: %s", SSL_alert_desc_string_long(alert));
    }
}

/* Describes the error that OpenSSL has reported to this thread. */
static void describe(const tls_state *state, duo_problem *problem)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
    long verified = SSL_get_verify_result(state->ssl);
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED: describe_certificate(verified, problem); return;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        explain_failure(problem, "the other side presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key");
        return;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION: explain_failure(problem, NO_VERSION); return;
    /* No other callback fails. */
    case SSL_R_CALLBACK_FAILED:
    case SSL_R_NO_APPLICATION_PROTOCOL: explain_failure(problem, NO_PROTOCOL); return;
    default: break;
    }
    if (reason > SSL_AD_REASON_OFFSET) {
        describe_alert(reason - SSL_AD_REASON_OFFSET, problem);
        return;
    }
    const char *text = ERR_reason_error_string(error);
    explain_failure(problem, text != NULL ? text : "unknown error");
}

/* What a listener knows about a peer: its certificate, which has been verified. */

static bool copy_certificate(const duo_net_stream *stream, uint8_t **bytes, size_t *size)
{
    const tls_state *state = stream->state;
    X509 *certificate = SSL_get0_peer_certificate(state->ssl);
    *bytes = NULL;
    *size = 0;
    if (certificate == NULL) return false;
    int length = i2d_X509(certificate, NULL);
    uint8_t *made = length > 0 ? duo_allocate((size_t)length) : NULL;
    if (made == NULL) return false;
    uint8_t *place = made;
    if (i2d_X509(certificate, &place) != length) {
        duo_release(made);
        return false;
    }
    *size = (size_t)length;
    *bytes = made;
    return true;
}

static bool has_uri(X509 *certificate, const char *name)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool is_found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !is_found; i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(names, i);
        if (one->type != GEN_URI) continue;
        const ASN1_IA5STRING *uri = one->d.uniformResourceIdentifier;
        size_t size = (size_t)ASN1_STRING_length(uri);
        is_found = size == strlen(name) && memcmp(ASN1_STRING_get0_data(uri), name, size) == 0;
    }
    GENERAL_NAMES_free(names);
    return is_found;
}

static bool has_name(X509 *certificate, const char *name)
{
    const unsigned flags = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    struct in6_addr address;
    if (strstr(name, "://") != NULL) return has_uri(certificate, name);
    if (strchr(name, '@') != NULL) return X509_check_email(certificate, name, 0, flags) == 1;
    if (inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1)
        return X509_check_ip_asc(certificate, name, flags) == 1;
    /* OpenSSL would accept any name below one that begins with a dot. */
    return name[0] != '\0' && name[0] != '.' && X509_check_host(certificate, name, 0, flags, NULL) == 1;
}

bool duo_tls_has_name(const duo_peer *peer, const char *name)
{
    const uint8_t *bytes = peer->certificate.data;
    if (bytes == NULL || peer->certificate.size > LONG_MAX) return false;
    /* The program may not have read its own errors yet. */
    ERR_set_mark();
    X509 *certificate = d2i_X509(NULL, &bytes, (long)peer->certificate.size);
    bool is_found = certificate != NULL && has_name(certificate, name);
    X509_free(certificate);
    ERR_pop_to_mark();
    return is_found;
}

/* How many records are read in a row: a peer that sends records without data must not hold a thread up. */
enum { MOST_RECORDS = 32 };

/* Answers of OpenSSL that wait for the socket. */
typedef struct duo_tls_kept {
    size_t count;
    char bytes[1024];
} duo_tls_kept;

static tls_state *state_of(const duo_net_stream *stream)
{
    return stream->state;
}

/* The functions by which OpenSSL reads and writes the socket: as sessions without TLS do, so without signals. */

static int read_socket(BIO *bio, char *bytes, size_t size, size_t *done)
{
    tls_state *state = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ptrdiff_t count = duo_net_read_plain(&state->socket, bytes, size);
    if (count > 0) {
        for (ptrdiff_t i = 0; i < count && state->first_count < sizeof state->first; i++)
            state->first[state->first_count++] = (unsigned char)bytes[i];
        *done = (size_t)count;
        return 1;
    }
    state->is_dry = true;
    if (count == 0) state->has_ended = true;
    else if (errno != EAGAIN) state->read_error = errno;
    BIO_set_retry_read(bio);
    return -1;
}

/* How many bytes the socket has accepted. */
static size_t write_some(tls_state *state, const char *bytes, size_t size)
{
    ptrdiff_t count = state->write_error == 0 ? duo_net_write_plain(&state->socket, bytes, size) : -1;
    if (count >= 0) return (size_t)count;
    if (state->write_error == 0 && errno != EAGAIN) state->write_error = errno;
    return 0;
}

/*
 * OpenSSL reads nothing while an answer of its own, to a request for new keys, is not written. The peer may be sending and
 * not reading, so the answer is kept until the socket accepts it. There is no honest use for more of them than fit.
 */
static size_t keep_answer(tls_state *state, const char *bytes, size_t size)
{
    if (!state->has_begun || !SSL_in_init(state->ssl) || state->write_error != 0) return 0;
    size_t count = state->kept != NULL ? state->kept->count : 0;
    bool fits = size <= sizeof state->kept->bytes - count;
    if (fits && state->kept == NULL) {
        state->kept = duo_allocate(sizeof *state->kept);
        fits = state->kept != NULL;
    }
    if (!fits) {
        state->write_error = ENOBUFS;
        return 0;
    }
    memcpy(state->kept->bytes + count, bytes, size);
    state->kept->count = count + size;
    return size;
}

static void write_kept(tls_state *state)
{
    duo_tls_kept *kept = state->kept;
    if (kept == NULL) return;
    size_t count = write_some(state, kept->bytes, kept->count);
    kept->count -= count;
    memmove(kept->bytes, kept->bytes + count, kept->count);
    if (kept->count > 0) return;
    duo_release(kept);
    state->kept = NULL;
}

static int write_socket(BIO *bio, const char *bytes, size_t size, size_t *done)
{
    tls_state *state = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    write_kept(state);
    *done = state->kept == NULL ? write_some(state, bytes, size) : 0;
    if (*done == 0) *done = keep_answer(state, bytes, size);
    if (*done > 0) return 1;
    BIO_set_retry_write(bio);
    return -1;
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    /* Nothing is buffered here, so there is nothing to flush. */
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int create_socket(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *method;

static void make_method(void)
{
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "duologue");
    if (made == NULL) return;
    if (BIO_meth_set_read_ex(made, read_socket) && BIO_meth_set_write_ex(made, write_socket) &&
        BIO_meth_set_ctrl(made, control_socket) && BIO_meth_set_create(made, create_socket))
        method = made;
    else BIO_meth_free(made);
}

/*
 * Why an operation of OpenSSL did not succeed: an error number. Must follow the operation directly, because it takes what
 * OpenSSL reports to this thread.
 */
static int take_reason(tls_state *state, int result)
{
    switch (SSL_get_error(state->ssl, result)) {
    case SSL_ERROR_WANT_READ: return state->read_error != 0 ? state->read_error : state->has_ended ? ECONNRESET : EAGAIN;
    case SSL_ERROR_WANT_WRITE: return state->write_error != 0 ? state->write_error : EAGAIN;
    case SSL_ERROR_ZERO_RETURN: state->has_ended = true; return ECONNRESET;
    default:
        if (!state->has_failed) describe(state, &state->problem);
        state->has_failed = true;
        ERR_clear_error();
        return EPROTO;
    }
}

static ptrdiff_t fail(int error)
{
    errno = error;
    return -1;
}

static ptrdiff_t read_tls(const duo_net_stream *stream, void *bytes, size_t size)
{
    tls_state *state = state_of(stream);
    if (state->has_failed) return fail(EPROTO);
    /* A record need not have data, and EAGAIN should mean that the socket has nothing. */
    for (unsigned records = 1;; records++) {
        size_t done = 0;
        state->is_dry = false;
        ERR_clear_error();
        int result = SSL_read_ex(state->ssl, bytes, size, &done);
        if (result > 0) return (ptrdiff_t)done;
        int error = SSL_get_error(state->ssl, result);
        if (error == SSL_ERROR_ZERO_RETURN) return 0;
        if (error != SSL_ERROR_WANT_READ || state->is_dry || records == MOST_RECORDS)
            return fail(take_reason(state, result));
    }
}

static ptrdiff_t write_tls(const duo_net_stream *stream, const void *bytes, size_t size)
{
    tls_state *state = state_of(stream);
    if (state->has_failed) return fail(EPROTO);
    /* OpenSSL expects the bytes that failed once more, and reads nothing after others. */
    if (state->write_error != 0) return fail(state->write_error);
    size_t done = 0;
    ERR_clear_error();
    int result = SSL_write_ex(state->ssl, bytes, size, &done);
    if (result > 0) return (ptrdiff_t)done;
    /* A part of a request for new keys has arrived. Until the rest has, nothing can be written, and no caller waits for it. */
    if (SSL_get_error(state->ssl, result) == SSL_ERROR_WANT_READ) {
        duo_net_explain(&state->problem, "the other side has split a TLS message across records");
        state->has_failed = true;
        return fail(EPROTO);
    }
    return fail(take_reason(state, result));
}

static bool has_more(const duo_net_stream *stream)
{
    /* OpenSSL reads no further than the end of a record, so what is not decrypted is still in the socket. */
    return SSL_pending(state_of(stream)->ssl) > 0;
}

static bool is_tls(const tls_state *state)
{
    if (state->first_count == 0) return true;
    /* A record of a handshake, or an alert, which a listener may send at once. */
    if (state->first[0] != 0x16 && (state->first[0] != 0x15 || !state->is_client)) return false;
    return state->first_count < 2 || state->first[1] == 3;
}

/* OpenSSL sends no alert to a peer that does not speak TLS, but such a peer may recognize one. */
static void send_alert(const tls_state *state)
{
    static const unsigned char decode_error[] = {0x15, 3, 3, 0, 2, 2, 50};
    if (!state->is_client) (void)duo_net_write_plain(&state->socket, decode_error, sizeof decode_error);
}

static duo_status shake_hands(const duo_net_stream *stream, short *events, duo_problem *problem)
{
    tls_state *state = state_of(stream);
    ERR_clear_error();
    int result = SSL_do_handshake(state->ssl);
    if (result > 0) {
        const unsigned char *protocol;
        unsigned size;
        SSL_get0_alpn_selected(state->ssl, &protocol, &size);
        if (size != sizeof DUO_TLS_ALPN - 2 || memcmp(protocol, &DUO_TLS_ALPN[1], size) != 0) {
            needs_protocol(problem);
            return DUO_TLS;
        }
        state->has_begun = true;
        return DUO_OK;
    }
    *events = SSL_want_write(state->ssl) ? POLLOUT : POLLIN;
    int reason = take_reason(state, result);
    if (reason == EAGAIN) return DUO_EMPTY;
    if (!is_tls(state)) {
        if (state->has_failed) send_alert(state);
        state->has_failed = true;
        duo_net_explain(problem, "TLS did not begin: the other side does not speak TLS: use a `tls://` address on both "
                                 "sides or on neither");
    } else if (state->has_failed) {
        *problem = state->problem;
    } else {
        state->has_failed = true;
        duo_net_explain(problem, "TLS did not begin: the other side closed the connection during the handshake (%s)%s",
                        state->has_ended ? "end of stream" : strerror(reason),
                        state->is_client ? ": check that it listens at a `tls://` address" : "");
    }
    return DUO_TLS;
}

static bool explain(const duo_net_stream *stream, duo_problem *problem)
{
    const tls_state *state = state_of(stream);
    if (state->has_failed) *problem = state->problem;
    return state->has_failed;
}

static void notify_end(const duo_net_stream *stream)
{
    tls_state *state = state_of(stream);
    if (state->has_failed || state->write_error != 0 || SSL_in_init(state->ssl)) return;
    /* A second call of SSL_shutdown would read. */
    if (SSL_get_shutdown(state->ssl) & SSL_SENT_SHUTDOWN) return;
    ERR_clear_error();
    (void)SSL_shutdown(state->ssl);
    ERR_clear_error();
}

static void free_tls(const duo_net_stream *stream)
{
    tls_state *state = state_of(stream);
    SSL_free(state->ssl);
    if (state->kept != NULL) duo_release(state->kept);
    duo_release(state);
}

/* What the certificate of a listener must be for: an IP address, or a name. */
static bool expect(SSL *ssl, const char *name)
{
    /* OpenSSL would check nothing for an empty name, and any name below one that begins with a dot. */
    if (name[0] == '\0' || name[0] == '.') return false;
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    struct in6_addr address;
    bool is_address = inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
    if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

duo_status duo_tls_begin(const duo_tls *tls, const char *host, duo_net_stream *stream, duo_problem *problem)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const duo_net_stream_kind kind = {
        .read = read_tls,
        .write = write_tls,
        .has_more = has_more,
        .shake_hands = shake_hands,
        .explain = explain,
        .copy_certificate = copy_certificate,
        .notify_end = notify_end,
        .free = free_tls,
    };
    const duo_tls_context *context = (const duo_tls_context *)(const void *)tls;
    pthread_once(&once, make_method);
    ERR_clear_error();
    tls_state *state = duo_allocate(sizeof *state);
    if (state == NULL) return DUO_NO_MEMORY;
    memset(state, 0, sizeof *state);
    state->socket = *stream;
    state->is_client = host != NULL;
    state->ssl = SSL_new(state->is_client ? context->client : context->server);
    BIO *bio = method != NULL ? BIO_new(method) : NULL;
    bool is_made = state->ssl != NULL && bio != NULL;
    if (is_made) {
        BIO_set_data(bio, state);
        SSL_set_bio(state->ssl, bio, bio);
        if (state->is_client) SSL_set_connect_state(state->ssl);
        else SSL_set_accept_state(state->ssl);
    } else {
        BIO_free(bio);
    }
    /* The accepting side expects no name. */
    const char *name = host != NULL && context->name != NULL ? context->name : host;
    bool is_named = is_made && (name == NULL || expect(state->ssl, name));
    if (is_made && !is_named)
        duo_net_explain(problem, "cannot use `%s` for TLS: a certificate cannot have this name", name);
    if (is_named) {
        stream->kind = &kind;
        stream->state = state;
        return DUO_OK;
    }
    SSL_free(state->ssl);
    duo_release(state);
    ERR_clear_error();
    return is_made ? DUO_TLS : DUO_NO_MEMORY;
}
