/* A connection with TLS. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* How many records are read in a row: a peer that sends records without data must not hold a thread up. */
enum { MOST_RECORDS = 32 };

/* Answers of OpenSSL that wait for the socket. */
typedef struct duo_tls_kept {
    size_t count;
    char bytes[1024];
} duo_tls_kept;

static duo_tls_state *state_of(const duo_net_stream *stream)
{
    return stream->state;
}

/* The functions by which OpenSSL reads and writes the socket: as sessions without TLS do, so without signals. */

static int read_socket(BIO *bio, char *bytes, size_t size, size_t *done)
{
    duo_tls_state *state = BIO_get_data(bio);
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
static size_t write_some(duo_tls_state *state, const char *bytes, size_t size)
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
static size_t keep_answer(duo_tls_state *state, const char *bytes, size_t size)
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

static void write_kept(duo_tls_state *state)
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
    duo_tls_state *state = BIO_get_data(bio);
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
static int take_reason(duo_tls_state *state, int result)
{
    switch (SSL_get_error(state->ssl, result)) {
    case SSL_ERROR_WANT_READ: return state->read_error != 0 ? state->read_error : state->has_ended ? ECONNRESET : EAGAIN;
    case SSL_ERROR_WANT_WRITE: return state->write_error != 0 ? state->write_error : EAGAIN;
    case SSL_ERROR_ZERO_RETURN: state->has_ended = true; return ECONNRESET;
    default:
        if (!state->has_failed) duo_tls_describe(state, &state->problem);
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
    duo_tls_state *state = state_of(stream);
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
    duo_tls_state *state = state_of(stream);
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

static bool is_tls(const duo_tls_state *state)
{
    if (state->first_count == 0) return true;
    /* A record of a handshake, or an alert, which a listener may send at once. */
    if (state->first[0] != 0x16 && (state->first[0] != 0x15 || !state->is_client)) return false;
    return state->first_count < 2 || state->first[1] == 3;
}

/* OpenSSL sends no alert to a peer that does not speak TLS, but such a peer may recognize one. */
static void send_alert(const duo_tls_state *state)
{
    static const unsigned char decode_error[] = {0x15, 3, 3, 0, 2, 2, 50};
    if (!state->is_client) (void)duo_net_write_plain(&state->socket, decode_error, sizeof decode_error);
}

static duo_status shake_hands(const duo_net_stream *stream, short *events, duo_problem *problem)
{
    duo_tls_state *state = state_of(stream);
    ERR_clear_error();
    int result = SSL_do_handshake(state->ssl);
    if (result > 0) {
        const unsigned char *protocol;
        unsigned size;
        SSL_get0_alpn_selected(state->ssl, &protocol, &size);
        if (size != sizeof DUO_TLS_ALPN - 2 || memcmp(protocol, &DUO_TLS_ALPN[1], size) != 0) {
            duo_tls_needs_protocol(problem);
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
    const duo_tls_state *state = state_of(stream);
    if (state->has_failed) *problem = state->problem;
    return state->has_failed;
}

static void notify_end(const duo_net_stream *stream)
{
    duo_tls_state *state = state_of(stream);
    if (state->has_failed || state->write_error != 0 || SSL_in_init(state->ssl)) return;
    /* A second call of SSL_shutdown would read. */
    if (SSL_get_shutdown(state->ssl) & SSL_SENT_SHUTDOWN) return;
    ERR_clear_error();
    (void)SSL_shutdown(state->ssl);
    ERR_clear_error();
}

static void free_tls(const duo_net_stream *stream)
{
    duo_tls_state *state = state_of(stream);
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
        .copy_certificate = duo_tls_copy_certificate,
        .notify_end = notify_end,
        .free = free_tls,
    };
    const duo_tls_context *context = (const duo_tls_context *)(const void *)tls;
    pthread_once(&once, make_method);
    ERR_clear_error();
    duo_tls_state *state = duo_allocate(sizeof *state);
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
