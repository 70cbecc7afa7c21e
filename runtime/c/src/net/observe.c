/*
 * Observing sessions. What is counted belongs to the thread that has claimed the session's endpoint, as the endpoint
 * itself does: it is passed on with it, so it needs no lock, and the calls for one session are in order.
 */
#include <errno.h>
#include <string.h>

#include "net.h"

struct duo_net_observed {
    duo_observer observer;
    duo_observed_session session;
    uint64_t began_at;
    uint64_t run_began_at;
    duo_observed_count sent;
    duo_observed_count received;
    /* The run that goes on; or one that has ended and has not been reported yet. */
    duo_observed_run run;
    bool has_turned;
    /* The protocol's last message was sent or received. */
    bool is_over;
    /* The peer's address. */
    char address[];
};

duo_net_observed *duo_net_observe(const duo_observer *observer, bool accepted, const duo_wire_protocol *protocol,
                                  duo_role role, const duo_net_terms *terms)
{
    static DUO_ATOMIC uint64_t last;
    size_t size = terms->address != NULL ? strlen(terms->address) : 0;
    duo_net_observed *made = duo_allocate(sizeof *made + size + 1);
    if (made == NULL) return NULL;
    memset(made, 0, sizeof *made);
    if (size > 0) memcpy(made->address, terms->address, size);
    made->address[size] = '\0';
    made->observer = *observer;
    made->session = (duo_observed_session){
        .id = duo_atomic_fetch_add(&last, 1, memory_order_relaxed) + 1,
        .protocol = protocol->name,
        .fingerprint = protocol->fingerprint,
        .peer_fingerprint = terms->fingerprint,
        .peer_is_older = terms->is_older,
        .accepted = accepted,
        .sends_first = role == protocol->first,
        .peer = size > 0 ? made->address : NULL,
    };
    made->began_at = made->run_began_at = duo_now();
    return made;
}

void duo_net_report_begin(duo_net *net)
{
    duo_net_observed *here = net->observed;
    if (here->observer.began != NULL) here->observer.began(&here->session, here->observer.context);
}

static const char *state_of(const duo_net *net)
{
    const char *const *names = net->protocol->state_names;
    return names == NULL ? "" : names[net->state - net->protocol->states];
}

static void count(duo_observed_count *all, size_t bytes)
{
    all->messages += 1;
    all->bytes += bytes;
}

void duo_net_note(duo_net *net, bool sent, const duo_message *message, size_t bytes)
{
    duo_net_observed *here = net->observed;
    count(sent ? &here->sent : &here->received, bytes);
    count(&here->run.count, bytes);
    if (message->edge == DUO_STAY) return;
    uint64_t now = duo_now();
    here->run.state = state_of(net);
    const char *const *names = net->protocol->message_names;
    here->run.message = names == NULL ? "" : names[message - net->protocol->messages];
    here->run.sent = sent;
    here->run.nanoseconds = now - here->run_began_at;
    here->run_began_at = now;
    here->has_turned = true;
    here->is_over = message->edge == DUO_END;
}

void duo_net_report_turn(duo_net *net)
{
    duo_net_observed *here = net->observed;
    if (!here->has_turned) return;
    here->has_turned = false;
    const duo_observed_run run = here->run;
    here->run.count = (duo_observed_count){0, 0};
    if (here->observer.turned != NULL) here->observer.turned(&here->session, &run, here->observer.context);
}

void duo_net_report_end(duo_net *net, duo_status status, bool is_unwritten)
{
    duo_net_observed *here = net->observed;
    duo_net_report_turn(net);
    if (here->is_over) status = here->run.sent && is_unwritten ? DUO_LOST : DUO_OK;
    const duo_observed_end end = {
        .why = status,
        .state = here->is_over ? NULL : state_of(net),
        .sent = here->sent,
        .received = here->received,
        .nanoseconds = duo_now() - here->began_at,
    };
    if (here->observer.ended != NULL) here->observer.ended(&here->session, &end, here->observer.context);
    net->observed = NULL;
    duo_release(here);
}

void duo_net_report_refusal(const duo_observer *observer, duo_observed_refusal refusal, const duo_problem *problem)
{
    if (observer->refused == NULL) return;
    int reason = errno;
    if (problem != NULL && problem->text[0] != '\0') refusal.cause = problem->text;
    else if (refusal.status == DUO_REFUSED) refusal.cause = duo_verdict_text(refusal.verdict);
    else refusal.cause = duo_status_text(refusal.status);
    if (refusal.peer != NULL && refusal.peer[0] == '\0') refusal.peer = NULL;
    observer->refused(&refusal, observer->context);
    errno = reason;
}

const char *duo_verdict_text(unsigned verdict)
{
    switch (verdict) {
    case DUO_VERDICT_EQUAL: return "the fingerprints are equal";
    case DUO_VERDICT_ACCEPTS: return "the accepting side accepts the other fingerprint";
    case DUO_VERDICT_ACCEPTED: return "the connecting side accepts the other fingerprint";
    case DUO_VERDICT_UNKNOWN_PROTOCOL: return "the protocol is not served there";
    case DUO_VERDICT_UNKNOWN_VERSION: return "that side has another version of the format";
    case DUO_VERDICT_SESSIONS_FULL: return "that side has reached its session limit";
    case DUO_VERDICT_NOT_ADMITTED: return "not admitted";
    case DUO_VERDICT_DRAINING: return "that side is draining and accepts no further sessions";
    case DUO_VERDICT_MALFORMED: return "the hello is malformed";
    case DUO_VERDICT_SAME_SIDE: return "both sides have the same role";
    default: return "refused";
    }
}
