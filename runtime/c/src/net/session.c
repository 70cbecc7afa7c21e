/* How a session over a byte stream begins, and its memory. net.h says which thread may access what. */
#include "net.h"

#include <string.h>

#define LARGEST ((uint32_t)1 << 20)

static bool prepare_net(duo_remote *made)
{
    return pthread_mutex_init(&((duo_net *)(void *)made)->lock, NULL) == 0;
}

static void forget_net(duo_remote *gone)
{
    pthread_mutex_destroy(&((duo_net *)(void *)gone)->lock);
}

static duo_remote_pool net_pool = {
    .transport = &duo_net_transport,
    .size = sizeof(duo_net),
    .prepare = prepare_net,
    .forget = forget_net,
};

uint32_t duo_net_largest(const duo_net_options *options)
{
    if (options->largest == 0) return LARGEST;
    if (options->largest < DUO_NET_LEAST_LARGEST) return DUO_NET_LEAST_LARGEST;
    return options->largest < UINT32_MAX ? (uint32_t)options->largest : UINT32_MAX;
}

duo_net *duo_net_begin(const duo_net_stream *stream, bool accepted, const duo_wire_protocol *protocol, duo_role role,
                       const duo_net_options *options, const duo_net_terms *terms, duo_endpoint *endpoint)
{
    duo_net_observed *observed = NULL;
    if (options->observer != NULL) {
        observed = duo_net_observe(options->observer, accepted, protocol, role, terms);
        if (observed == NULL) return NULL;
    }
    duo_net *net = (duo_net *)(void *)duo_remote_from_pool(&net_pool);
    if (net == NULL) {
        if (observed != NULL) duo_release(observed);
        return NULL;
    }
    DUO_RECORD_BEGINS(&net->remote.session);
    net->observed = observed;
    net->value = NULL;
    net->handled = NULL;
    net->remote.is_handed_over = false;
    net->remote.session.allocator = NULL;
    net->protocol = protocol;
    net->state = protocol->states;
    duo_atomic_store(&net->remote.session.sides[role].state, protocol->states, memory_order_relaxed);
    net->stream = *stream;
    net->accepted = accepted;
    net->has_written = net->cannot_write = net->cannot_read = net->is_reading = net->lingers = net->is_over = false;
    net->ended = DUO_OK;
    net->peer_takes = terms->largest;
    net->takes = duo_net_largest(options);
    uint64_t usual = 4 * (uint64_t)net->takes;
    net->memory = options->memory != 0 ? options->memory : usual < SIZE_MAX ? (size_t)usual : SIZE_MAX;
    net->beat = options->heartbeat * DUO_SECOND;
    net->patience = 3 * terms->heartbeat * DUO_SECOND;
    net->receives = role != protocol->first;
    net->late_at = net->written_by = 0;
    net->shrinks_at = 0;
    net->place = NULL;
    net->sends = NULL;
    net->alike = 0;
    net->unread = 0;
    net->is_collected = false;
    net->reads = DUO_NET_LEAST_READ;
    net->remote.lane.end = 0;
    /* The clock does not reach twice as far. */
    net->idle = options->idle < DUO_FOREVER / 2 ? options->idle : DUO_FOREVER / 2;
    net->written_at = net->read_at = net->beat != 0 || net->patience != 0 ? duo_now() : 0;
    endpoint->session = &net->remote.session;
    endpoint->turn = duo_atomic_load(&net->remote.session.sides[role].turn, memory_order_relaxed);
    if (observed != NULL) duo_net_report_begin(net);
    return net;
}

void duo_net_finish(duo_net *net)
{
    duo_net_leave_gate(net);
    duo_net_hang_up(&net->stream);
    net->stream.descriptor = -1;
    duo_net_forget(&net->in);
    duo_net_forget(&net->out);
    if (net->numbers != NULL) duo_release(net->numbers);
    net->numbers = NULL;
    duo_remote_to_pool(&net_pool, &net->remote);
}

/*
 * What the program has found out about a peer that it admits. Its session holds it, and so does the thread of its handler,
 * which may still use it when the session is over.
 */
struct duo_net_value {
    void *content;
    void (*release)(void *value, void *context);
    void *context;
    DUO_ATOMIC unsigned holders;
};

duo_status duo_net_ask(const duo_net_options *options, const duo_peer *peer, duo_net_value **value)
{
    *value = NULL;
    if (options->admit != NULL && !options->admit(peer, options->context)) return DUO_REFUSED;
    if (options->admit_as == NULL) return DUO_OK;
    void *content = NULL;
    bool is_admitted = options->admit_as(peer, &content, options->context);
    if (content == NULL) return is_admitted ? DUO_OK : DUO_REFUSED;
    duo_net_value *made = is_admitted ? duo_allocate(sizeof *made) : NULL;
    if (made == NULL) {
        if (options->release != NULL) options->release(content, options->context);
        return is_admitted ? DUO_NO_MEMORY : DUO_REFUSED;
    }
    made->content = content;
    made->release = options->release;
    made->context = options->context;
    duo_atomic_init(&made->holders, 1);
    *value = made;
    return DUO_OK;
}

void *duo_net_content(const duo_net_value *value)
{
    return value != NULL ? value->content : NULL;
}

duo_net_value *duo_net_hold(duo_net_value *value)
{
    /* Relaxed: the caller knows that there is another holder. */
    if (value != NULL) (void)duo_atomic_fetch_add(&value->holders, 1, memory_order_relaxed);
    return value;
}

void duo_net_drop_value(duo_net_value *value)
{
    if (value == NULL) return;
    /* Released by each holder and acquired by the last one: what all of them did with the value comes before its release. */
    if (duo_atomic_fetch_sub(&value->holders, 1, memory_order_acq_rel) > 1) return;
    if (value->release != NULL) value->release(value->content, value->context);
    duo_release(value);
}
