/* Beginning a session as the connecting side. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../net/net.h"

/* What this side sends first. */
static size_t write_hello(uint8_t *bytes, const duo_wire_protocol *protocol, duo_role role,
                          const duo_net_options *options)
{
    duo_net_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.receives_first = role != protocol->first;
    hello.largest = duo_net_largest(options);
    hello.heartbeat = options->heartbeat;
    hello.fingerprint = protocol->fingerprint;
    hello.name = duo_str_from(protocol->name);
    if (options->accepts_count > DUO_NET_MOST_ACCEPTS) return 0;
    for (size_t i = 0; i < options->accepts_count; i++) hello.accepts[hello.accepts_count++] = options->accepts[i];
    /* Those of the protocol file, as far as there is space. */
    for (size_t i = 0; i < protocol->accepts_count[role] && hello.accepts_count < DUO_NET_MOST_ACCEPTS; i++)
        hello.accepts[hello.accepts_count++] = protocol->accepts[role][i];
    hello.trace = options->trace;
    hello.token = options->token;
    hello.has_token = options->token.size > 0;
    return duo_net_write_hello(bytes, &hello);
}

/* Whether an answer is possible, given what this side has sent. */
static bool fits(const duo_net_answer *answer, const duo_wire_protocol *protocol, duo_role role,
                 const duo_net_options *options)
{
    bool is_equal = memcmp(&answer->fingerprint, &protocol->fingerprint, sizeof answer->fingerprint) == 0;
    switch (answer->verdict) {
    case DUO_VERDICT_EQUAL: return is_equal;
    case DUO_VERDICT_ACCEPTED:
        return duo_wire_contains(options->accepts, options->accepts_count, &answer->fingerprint) ||
               duo_wire_accepts(protocol, role, &answer->fingerprint);
    default: return true;
    }
}

/* Whether these bytes, too few for an answer, are an alert from a listener that speaks TLS. */
static bool is_alert(const uint8_t *bytes)
{
    return bytes[0] == 0x15 && bytes[1] == 3;
}

/* Why there is no answer. */
static duo_status no_answer(const duo_net_stream *stream, const uint8_t *bytes, duo_problem *problem, duo_status status)
{
    int reason = errno;
    if (stream->kind->explain(stream, problem)) return DUO_TLS;
    errno = reason;
    if (status != DUO_LOST || stream->state != NULL || !is_alert(bytes)) return status;
    duo_net_explain(problem, "%s", DUO_NET_SPEAKS_TLS);
    return DUO_TLS;
}

static duo_status send_hello(const duo_net_stream *stream, const duo_wire_protocol *protocol, duo_role role,
                        const duo_net_options *options, uint64_t until, duo_net_terms *terms, duo_problem *problem)
{
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_MOST_HELLO_WITH_TOKEN];
    size_t size = write_hello(bytes, protocol, role, options);
    if (size == 0) return DUO_TOO_LARGE;
    duo_status status = duo_net_write_all(stream, bytes, size, until);
    /* A listener that refuses may close without reading all of this. Its answer can still be read. */
    if (status != DUO_OK && status != DUO_LOST) return no_answer(stream, bytes, problem, status);
    duo_net_answer answer;
    status = duo_net_read_all(stream, bytes, DUO_NET_HEAD, until);
    if (status != DUO_OK) return no_answer(stream, bytes, problem, status);
    if (!duo_net_read_answer(bytes, DUO_NET_HEAD, &answer)) return DUO_BROKEN;
    bool begins = answer.verdict < DUO_VERDICT_UNKNOWN_PROTOCOL;
    size_t rest = begins ? DUO_NET_ANSWER : DUO_NET_REFUSAL;
    status = duo_net_read_all(stream, bytes + DUO_NET_HEAD, rest, until);
    if (status != DUO_OK) return no_answer(stream, bytes, problem, status);
    if (!duo_net_read_answer(bytes, DUO_NET_HEAD + rest, &answer)) return DUO_BROKEN;
    if (!begins) {
        if (options->refusal != NULL) *options->refusal = (duo_refusal){answer.verdict, answer.wait};
        return DUO_REFUSED;
    }
    if (!fits(&answer, protocol, role, options)) return DUO_BROKEN;
    *terms = (duo_net_terms){.largest = answer.largest,
                             .heartbeat = answer.heartbeat,
                             .fingerprint = answer.fingerprint,
                             .is_older = answer.verdict == DUO_VERDICT_ACCEPTED};
    return DUO_OK;
}

static uint64_t until_of(const duo_net_options *options)
{
    return duo_until(options->hello != 0 ? options->hello : DUO_NET_HELLO);
}

static const duo_net_options usual_options;

/* Waits until the TLS handshake is over. */
static duo_status shake_hands(const duo_net_stream *stream, uint64_t until, duo_problem *problem)
{
    for (;;) {
        short events = POLLIN;
        duo_status status = stream->kind->shake_hands(stream, &events, problem);
        if (status != DUO_EMPTY) return status;
        if (duo_gives_up(until)) return DUO_LATE;
        duo_net_poll(stream->descriptor, events, until);
    }
}

/* `tls` may be NULL, and so may `address`. */
static duo_status connect_until(int descriptor, const duo_tls *tls, const char *host, const char *address,
                                const duo_wire_protocol *protocol, duo_role role, const duo_net_options *options,
                                uint64_t until, duo_endpoint *endpoint)
{
    bool is_socket;
    duo_net_terms terms;
    memset(&terms, 0, sizeof terms);
    duo_problem ignored = {""}, *problem = options->problem != NULL ? options->problem : &ignored;
    duo_status status = duo_net_prepare(descriptor, &is_socket) ? DUO_OK : DUO_SYSTEM;
    duo_net_stream stream = duo_net_plain(descriptor, is_socket);
    if (status == DUO_OK && tls != NULL) status = tls->begin(tls, host, &stream, problem);
    if (status == DUO_OK) status = shake_hands(&stream, until, problem);
    if (status == DUO_OK) status = send_hello(&stream, protocol, role, options, until, &terms, problem);
    if (status == DUO_OK) {
        terms.address = address;
        duo_net *net = duo_net_begin(&stream, false, protocol, role, options, &terms, endpoint);
        if (net == NULL) status = DUO_NO_MEMORY;
        else duo_net_start_clocks(net);
    }
    if (status != DUO_OK) duo_net_hang_up(&stream);
    return status;
}

/* Over the descriptor if `address` is NULL. */
static duo_status attempt(int descriptor, const char *address, const duo_wire_protocol *protocol, duo_role role,
                          const duo_net_options *options, duo_endpoint *endpoint)
{
    uint64_t until = until_of(options);
    const duo_tls *tls = NULL;
    char host[DUO_NET_HOST] = "";
    if (address != NULL) {
        duo_status status = duo_net_find_tls(address, false, options, &tls, host);
        if (status == DUO_OK && options->service != NULL && options->tls != NULL && tls == NULL) {
            if (options->problem != NULL)
                duo_net_explain(options->problem, "`%s` is an address of `%s` without TLS, and this side has certificates", address, options->service);
            return DUO_TLS;
        }
        if (status == DUO_OK) status = duo_net_dial(address, until, &descriptor);
        if (status != DUO_OK) return status;
    }
    return connect_until(descriptor, tls, options->service != NULL ? options->service : host, address, protocol, role, options, until, endpoint);
}

/* The same, and reports why there is no session. */
static duo_status attempt_observed(int descriptor, const char *address, const duo_wire_protocol *protocol,
                                   duo_role role, const duo_net_options *options, duo_endpoint *endpoint)
{
    duo_problem problem = {""};
    duo_refusal refusal = {0, 0};
    duo_net_options own = *options;
    own.problem = &problem;
    own.refusal = &refusal;
    duo_status status = attempt(descriptor, address, protocol, role, &own, endpoint);
    if (status == DUO_OK) return DUO_OK;
    if (options->problem != NULL && problem.text[0] != '\0') *options->problem = problem;
    if (options->refusal != NULL && status == DUO_REFUSED) *options->refusal = refusal;
    const duo_observed_refusal refused = {
        .protocol = duo_str_from(protocol->name), .peer = address, .status = status, .verdict = refusal.verdict};
    duo_net_report_refusal(options->observer, refused, &problem);
    return status;
}

static duo_status connect_session(int descriptor, const char *address, const duo_wire_protocol *protocol, duo_role role,
                             const duo_net_options *options, duo_endpoint *endpoint)
{
    if (options == NULL) options = &usual_options;
    *endpoint = (duo_endpoint){NULL, 0};
    if (options->observer != NULL) return attempt_observed(descriptor, address, protocol, role, options, endpoint);
    return attempt(descriptor, address, protocol, role, options, endpoint);
}

duo_status duo_net_connect_over(int descriptor, const duo_wire_protocol *protocol, duo_role role,
                                const duo_net_options *options, duo_endpoint *endpoint)
{
    return connect_session(descriptor, NULL, protocol, role, options, endpoint);
}

duo_status duo_net_connect(const char *address, const duo_wire_protocol *protocol, duo_role role,
                           const duo_net_options *options, duo_endpoint *endpoint)
{
    if (options != NULL && options->directory != NULL)
        return options->directory->connect(options->directory, address, protocol, role, options, endpoint);
    return connect_session(-1, address, protocol, role, options, endpoint);
}
