/* How a session over a byte stream begins, and what its listener knows of it. net.h says which thread may access what. */
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

bool duo_net_enter(duo_net *net, duo_net_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    net->gate = gate;
    DUO_LIST_ADD(&gate->first, net, next_gated, gated_by);
    gate->holders += 1;
    bool is_cut = gate->is_cut;
    pthread_mutex_unlock(&gate->lock);
    return is_cut;
}

void duo_net_let_go(duo_net_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->holders -= 1;
    bool is_last = gate->holders == 0;
    pthread_mutex_unlock(&gate->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
    duo_release(gate);
}

static void leave_gate(duo_net *net)
{
    duo_net_gate *gate = net->gate;
    if (gate == NULL) return;
    net->gate = NULL;
    pthread_mutex_lock(&gate->lock);
    DUO_LIST_REMOVE(net, next_gated, gated_by);
    gate->sessions -= 1;
    duo_net_leave_place(gate, net->place);
    net->place = NULL;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    duo_net_let_go(gate);
}

void duo_net_finish(duo_net *net)
{
    leave_gate(net);
    duo_net_hang_up(&net->stream);
    net->stream.descriptor = -1;
    duo_net_forget(&net->in);
    duo_net_forget(&net->out);
    if (net->numbers != NULL) duo_release(net->numbers);
    net->numbers = NULL;
    duo_remote_to_pool(&net_pool, &net->remote);
}
