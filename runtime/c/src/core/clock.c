/* The time limits of a session: that of its state, that for writing, and how long the peer may be silent. */
#include "net.h"

#define MILLISECOND UINT64_C(1000000)

/* 0 without one. */
static uint64_t limit_of_state(const duo_net *net)
{
    const uint32_t *limits = net->protocol->within;
    return limits == NULL ? 0 : limits[net->state - net->protocol->states] * MILLISECOND;
}

uint64_t duo_net_within(const duo_net *net)
{
    uint64_t limit = limit_of_state(net);
    return limit == 0 && net->receives ? net->idle : limit;
}

void duo_net_enter_state(duo_net *net, const duo_message *message)
{
    net->state = message->next;
    if (message->edge == DUO_TURN) net->receives = !net->receives;
    net->late_at = 0;
    duo_net_begin_time(net);
}

void duo_net_begin_time(duo_net *net)
{
    if (net->late_at != 0 || duo_net_size(&net->out) > 0 || net->ended != DUO_OK || net->is_over) return;
    uint64_t limit = duo_net_within(net);
    if (limit == 0) return;
    net->late_at = duo_now() + limit;
    net->late_reads = 0;
}

void duo_net_note_written(duo_net *net, size_t size)
{
    if (net->written_by != 0) {
        net->to_write -= size < net->to_write ? size : net->to_write;
        if (net->to_write == 0) net->written_by = 0;
    }
    if (size > 0 || net->written_by != 0 || net->ended != DUO_OK) return;
    uint64_t limit = limit_of_state(net);
    if (limit == 0) limit = net->idle;
    if (limit == 0) return;
    net->written_by = duo_now() + limit;
    net->late_reads = 0;
    net->to_write = duo_net_size(&net->out);
}

uint64_t duo_net_patient_until(const duo_net *net, uint64_t until)
{
    uint64_t wakes = until;
    if (net->written_by != 0 && wakes > net->written_by) wakes = net->written_by;
    if (net->patience != 0 && wakes > net->read_at + net->patience) wakes = net->read_at + net->patience;
    uint64_t limit = net->receives ? duo_net_within(net) : 0;
    if (limit == 0) return wakes;
    /* If the time has not begun, it passes no earlier than this, and the writer reads nothing before that. */
    uint64_t late_at = net->late_at != 0 ? net->late_at : duo_now() + limit;
    return wakes < late_at ? wakes : late_at;
}
