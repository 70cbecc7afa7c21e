/* Beginning a session as the accepting side, on an existing connection. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "listener.h"

static bool is_equal(const duo_fingerprint *one, const duo_fingerprint *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

static bool matches(const duo_net_offer *offer, const duo_net_hello *hello, unsigned verdict)
{
    const duo_fingerprint *own = &offer->protocol->fingerprint;
    switch (verdict) {
    case DUO_VERDICT_EQUAL: return is_equal(own, &hello->fingerprint);
    case DUO_VERDICT_ACCEPTS:
        return duo_wire_contains(offer->options.accepts, offer->options.accepts_count, &hello->fingerprint) ||
               duo_wire_accepts(offer->protocol, offer->role, &hello->fingerprint);
    default: return duo_wire_contains(hello->accepts, hello->accepts_count, own);
    }
}

unsigned duo_net_judge(const duo_net_hello *hello, const duo_net_offer *offers, size_t count,
                       const duo_net_offer **offer)
{
    *offer = NULL;
    for (unsigned verdict = DUO_VERDICT_EQUAL; verdict <= DUO_VERDICT_ACCEPTED; verdict++) {
        bool is_known = false;
        for (size_t i = 0; i < count; i++) {
            if (!matches(&offers[i], hello, verdict)) continue;
            is_known = true;
            bool sends_first = offers[i].role == offers[i].protocol->first;
            if (sends_first != hello->receives_first) continue;
            *offer = &offers[i];
            return verdict;
        }
        if (is_known) return DUO_VERDICT_SAME_SIDE;
    }
    return DUO_VERDICT_UNKNOWN_PROTOCOL;
}

void duo_net_refuse(const duo_net_stream *stream, unsigned verdict, uint32_t wait)
{
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_ANSWER];
    duo_net_answer answer = {.verdict = verdict, .wait = wait};
    size_t size = duo_net_write_answer(bytes, &answer);
    /* Nothing was written before, so there is space for it; if there is not, the peer finds the connection closed. */
    (void)duo_net_write_some(stream, bytes, size);
}

duo_status duo_net_admit(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address,
                         const duo_net_offer *offer, unsigned *verdict, duo_net **net, duo_endpoint *endpoint)
{
    const duo_net_options *options = &offer->options;
    duo_peer peer = duo_net_peer(greeting, hello, address);
    duo_net_value *value;
    duo_status status = duo_net_ask(options, &peer, &value);
    if (status == DUO_REFUSED) {
        *verdict = DUO_VERDICT_NOT_ADMITTED;
        duo_net_refuse(&greeting->stream, *verdict, 0);
    }
    if (status != DUO_OK) return status;
    uint8_t bytes[DUO_NET_HEAD + DUO_NET_ANSWER];
    duo_net_answer answer = {.verdict = *verdict,
                             .fingerprint = offer->protocol->fingerprint,
                             .largest = duo_net_largest(options),
                             .heartbeat = options->heartbeat};
    const duo_net_terms terms = {.largest = hello->largest,
                                 .heartbeat = hello->heartbeat,
                                 .fingerprint = hello->fingerprint,
                                 .is_older = *verdict == DUO_VERDICT_ACCEPTS,
                                 .address = address};
    size_t size = duo_net_write_answer(bytes, &answer);
    *net = duo_net_begin(&greeting->stream, true, offer->protocol, offer->role, options, &terms, endpoint);
    if (*net == NULL) {
        duo_net_drop_value(value);
        return DUO_NO_MEMORY;
    }
    (*net)->value = value;
    /* The answer is written like a message: what the system does not accept at once is left to the writer. */
    pthread_mutex_lock(&(*net)->lock);
    bool fits = duo_net_reserve(&(*net)->out, size);
    if (fits) duo_net_append(&(*net)->out, bytes, size);
    if (fits && !duo_net_write(*net) && !(*net)->cannot_write) duo_net_write_later(*net, 0);
    (*net)->cannot_write = (*net)->cannot_write || !fits;
    pthread_mutex_unlock(&(*net)->lock);
    duo_net_start_clocks(*net);
    return DUO_OK;
}

duo_peer duo_net_peer(const duo_net_greeting *greeting, const duo_net_hello *hello, const char *address)
{
    duo_peer peer = {.address = address,
                     .fingerprint = hello->fingerprint,
                     .name = hello->name,
                     .token = hello->token,
                     .trace = hello->trace,
                     .certificate = {greeting->certificate, greeting->certificate_size}};
    peer.has_user = duo_net_find_user(greeting->stream.descriptor, &peer.user);
    return peer;
}

void *duo_net_admitted(duo_endpoint endpoint)
{
    if (duo_check_handle(endpoint) == NULL) return NULL;
    if (!duo_is_remote(endpoint) || duo_remote_of(endpoint)->transport != &duo_net_transport) return NULL;
    duo_net *net = duo_net_of(endpoint);
    pthread_mutex_lock(&net->lock);
    void *found = duo_net_content(net->value);
    pthread_mutex_unlock(&net->lock);
    return found;
}

void duo_net_report_refused(const duo_net_greeting *greeting, const duo_observer *observer, bool is_tls, duo_str name,
                            duo_status status, unsigned verdict, const duo_problem *problem)
{
    if (observer == NULL) return;
    char address[DUO_NET_ADDRESS];
    int reason = errno;
    duo_net_spell(greeting->stream.descriptor, true, is_tls, address, sizeof address);
    errno = reason;
    const duo_observed_refusal refused = {
        .accepted = true, .protocol = name, .peer = address, .status = status, .verdict = verdict};
    duo_net_report_refusal(observer, refused, problem);
}

void duo_net_free_greeting(duo_net_greeting *greeting)
{
    if (greeting->certificate != NULL) duo_release(greeting->certificate);
    duo_release(greeting);
}

duo_net_found duo_net_listen_to(duo_net_greeting *greeting, duo_status *status)
{
    for (;;) {
        size_t whole;
        duo_net_found found = duo_net_check_head(greeting->bytes, greeting->size, &whole);
        *status = DUO_OK;
        if (found != DUO_NET_MORE) return found;
        /* Reads no further than the hello: what follows belongs to the session. */
        uint8_t *place = greeting->bytes + greeting->size;
        ptrdiff_t done = duo_net_read_some(&greeting->stream, place, whole - greeting->size);
        if (done < 0 && errno == EAGAIN) return DUO_NET_MORE;
        if (done <= 0) {
            *status = done == 0 || errno == ECONNRESET ? DUO_LOST : DUO_SYSTEM;
            return DUO_NET_MORE;
        }
        greeting->size += (size_t)done;
    }
}

/* Waits for the whole hello, which is in `hello` then, and answers it with `verdict`. */
static duo_status answer_hello(duo_net_greeting *greeting, const duo_net_offer *offer, uint64_t until, duo_net_hello *hello,
                        unsigned *verdict, duo_endpoint *endpoint)
{
    duo_status status;
    duo_net_found found;
    while ((found = duo_net_listen_to(greeting, &status)) == DUO_NET_MORE) {
        if (status != DUO_OK) return status;
        if (duo_gives_up(until)) return DUO_LATE;
        duo_net_poll(greeting->stream.descriptor, POLLIN, until);
    }
    if (found == DUO_NET_ALIEN) return DUO_BROKEN;
    *verdict = DUO_VERDICT_MALFORMED;
    const duo_net_offer *chosen = NULL;
    if (found == DUO_NET_BAD_VERSION) *verdict = DUO_VERDICT_UNKNOWN_VERSION;
    else if (found == DUO_NET_GOOD && duo_net_read_hello(greeting->bytes, greeting->size, hello))
        *verdict = duo_net_judge(hello, offer, 1, &chosen);
    if (chosen == NULL) {
        duo_net_refuse(&greeting->stream, *verdict, 0);
        return DUO_REFUSED;
    }
    char address[DUO_NET_ADDRESS];
    duo_net_spell(greeting->stream.descriptor, true, false, address, sizeof address);
    duo_net *net;
    return duo_net_admit(greeting, hello, address, chosen, verdict, &net, endpoint);
}

duo_status duo_net_accept_over(int descriptor, const duo_wire_protocol *protocol, duo_role role,
                               const duo_net_options *options, duo_endpoint *endpoint)
{
    static const duo_net_options usual;
    if (options == NULL) options = &usual;
    *endpoint = (duo_endpoint){NULL, 0};
    duo_net_greeting greeting;
    memset(&greeting, 0, offsetof(duo_net_greeting, bytes));
    const duo_net_offer offer = {.protocol = protocol, .role = role, .options = *options};
    bool is_socket;
    duo_status status = duo_net_prepare(descriptor, &is_socket) ? DUO_OK : DUO_SYSTEM;
    greeting.stream = duo_net_plain(descriptor, is_socket);
    uint64_t until = duo_until(options->hello != 0 ? options->hello : DUO_NET_HELLO);
    duo_net_hello hello;
    memset(&hello, 0, sizeof hello);
    unsigned verdict = DUO_VERDICT_EQUAL;
    if (status == DUO_OK) status = answer_hello(&greeting, &offer, until, &hello, &verdict, endpoint);
    if (status == DUO_OK) return DUO_OK;
    duo_net_report_refused(&greeting, options->observer, false, hello.name, status, verdict, NULL);
    duo_net_hang_up(&greeting.stream);
    return status;
}
