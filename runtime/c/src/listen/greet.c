/* The handshakes on the connections of a listener, until each has a hello, or has none. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "listener.h"

enum { MOST_AFTER_FAILURE = 1 << 16 };

/* How long the listener waits after a failed handshake, so that the peer can read why it failed, in nanoseconds. */
#define APOLOGY UINT64_C(500000000)

/* Whether a peer has sent the beginning of a TLS handshake. */
static bool begins_tls(const duo_net_greeting *greeting)
{
    return greeting->size >= 2 && greeting->bytes[0] == 0x16 && greeting->bytes[1] == 3;
}

void duo_net_report_lost(const duo_listener *listener, const duo_net_greeting *greeting, duo_status status,
                         unsigned verdict, const duo_problem *problem)
{
    const duo_str unknown = {NULL, 0};
    duo_net_report_refused(greeting, listener->options.observer, listener->tls != NULL, unknown, status, verdict, problem);
}

/* Reports that TLS did not begin. */
static void report(const duo_listener *listener, const duo_net_greeting *greeting, duo_status status,
                   const duo_problem *problem)
{
    if (listener->options.failed != NULL) listener->options.failed(problem, listener->options.context);
    duo_net_report_lost(listener, greeting, status, DUO_VERDICT_EQUAL, problem);
}

void duo_net_report_alien(const duo_listener *listener, const duo_net_greeting *greeting)
{
    duo_problem problem = {""};
    if (listener->tls != NULL || !begins_tls(greeting)) {
        duo_net_report_lost(listener, greeting, DUO_BROKEN, DUO_VERDICT_EQUAL, NULL);
        return;
    }
    duo_net_explain(&problem, "%s", DUO_NET_SPEAKS_TLS);
    report(listener, greeting, DUO_TLS, &problem);
}

/*
 * Continues the TLS handshake. After a failure the connection stays open for a moment: closing it with unread bytes
 * resets it, which could discard the alert that says why.
 */
static void go_on_shaking_hands(const duo_listener *listener, duo_net_greeting *greeting)
{
    const duo_net_stream *stream = &greeting->stream;
    duo_problem problem = {""};
    duo_status status = stream->kind->shake_hands(stream, &greeting->events, &problem);
    if (status == DUO_EMPTY) return;
    bool is_known = status != DUO_OK ||
                    stream->kind->copy_certificate(stream, &greeting->certificate, &greeting->certificate_size);
    if (!is_known) {
        status = DUO_NO_MEMORY;
        duo_net_explain(&problem, "TLS did not begin: out of memory");
    }
    greeting->events = POLLIN;
    greeting->stage = status == DUO_OK ? DUO_NET_GREETS : DUO_NET_READS_OFF;
    if (status == DUO_OK) return;
    report(listener, greeting, status, &problem);
    stream->kind->notify_end(stream);
    shutdown(stream->descriptor, SHUT_WR);
    uint64_t soon = duo_now() + APOLOGY;
    if (soon < greeting->until) greeting->until = soon;
}

/* Reads and discards what arrives after a failure; false once that is over. */
static bool reads_off(duo_net_greeting *greeting)
{
    char bytes[4096];
    while (greeting->size < MOST_AFTER_FAILURE) {
        ptrdiff_t done = duo_net_read_plain(&greeting->stream, bytes, sizeof bytes);
        if (done < 0 && errno == EAGAIN) return true;
        if (done <= 0) return false;
        greeting->size += (size_t)done;
    }
    return false;
}

duo_net_step duo_net_continue(const duo_listener *listener, duo_net_greeting *greeting, duo_net_found *found)
{
    duo_problem problem = {""};
    duo_status status = DUO_OK;
    *found = DUO_NET_MORE;
    /* A silent connection is continued when it is late. TLS has not begun there. */
    if (greeting->stage == DUO_NET_SHAKES_HANDS && !greeting->is_silent) go_on_shaking_hands(listener, greeting);
    if (greeting->stage == DUO_NET_GREETS) *found = duo_net_listen_to(greeting, &status);
    bool is_over = greeting->stage == DUO_NET_READS_OFF && !reads_off(greeting);
    bool is_late = duo_is_past(greeting->until);
    if (*found != DUO_NET_MORE) return DUO_NET_DECIDE;
    if (status == DUO_OK && !is_over && !is_late) return DUO_NET_WAIT;
    /* A connection on which TLS has failed was reported then. */
    if (greeting->stage == DUO_NET_READS_OFF) return DUO_NET_END;
    if (greeting->stage == DUO_NET_SHAKES_HANDS) {
        duo_net_explain(&problem, "TLS did not begin in time");
        report(listener, greeting, DUO_TLS, &problem);
    } else if (status != DUO_OK && greeting->stream.kind->explain(&greeting->stream, &problem)) {
        report(listener, greeting, DUO_TLS, &problem);
    } else {
        duo_net_report_lost(listener, greeting, status != DUO_OK ? status : DUO_LATE, DUO_VERDICT_EQUAL, NULL);
    }
    return DUO_NET_END;
}
