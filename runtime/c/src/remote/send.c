/* Sending over a byte stream. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "duologue/lane.h"
#include "../core/net.h"

/* The most bytes that the tag and the size of a message take. */
enum { MOST_HEAD = 12 };

duo_status duo_net_check_sender(duo_net *net)
{
    duo_net_frame frame;
    size_t needed;
    if (duo_net_size(&net->out) >= DUO_NET_FULL) duo_net_write(net);
    if (net->cannot_write) return duo_net_last_word(net);
    bool is_full = duo_net_size(&net->out) >= DUO_NET_FULL;
    duo_status status = DUO_OK;
    /* A sender that may write no more, or that is late, checks whether the peer is still there. */
    if (is_full || duo_is_past(duo_net_limit(net))) {
        do status = duo_net_read(net, 1);
        while (status == DUO_OK && duo_net_has_more(&net->stream));
        if (status == DUO_NO_MEMORY) return status;
    }
    status = duo_net_front(net, NULL, &frame, &needed);
    if (status != DUO_EMPTY) return status;
    return is_full ? DUO_FULL : DUO_OK;
}

/* Waits until a message may be added: DUO_FULL if that takes too long. */
static duo_status await_space(duo_net *net, uint64_t wait)
{
    duo_status status = duo_net_check_sender(net);
    if (status != DUO_FULL) return status;
    uint64_t until = duo_until(wait);
    while (status == DUO_FULL && !duo_gives_up(until)) {
        int descriptor = net->stream.descriptor;
        uint64_t wakes = duo_net_patient_until(net, until);
        pthread_mutex_unlock(&net->lock);
        duo_net_poll(descriptor, POLLOUT | POLLIN, wakes);
        pthread_mutex_lock(&net->lock);
        status = duo_net_check_sender(net);
    }
    return status;
}

/* Adds a message to what is written next. */
static duo_status add(duo_net *net, const duo_message *message, const void *entries)
{
    const duo_wire_message *wire = &net->protocol->wires[message - net->protocol->messages];
    size_t size = wire->flat;
    if (size == 0 && wire->entries != NULL) {
        duo_status status = duo_wire_measure(wire->entries, entries, &size);
        if (status != DUO_OK) return status;
    }
    if (size > net->peer_takes) return DUO_TOO_LARGE;
    uint8_t head[MOST_HEAD];
    size_t before = duo_put_count(head, message->index + 1);
    if (wire->least != wire->most) before += duo_put_count(head + before, size);
    if (!duo_net_reserve(&net->out, before + size)) return DUO_NO_MEMORY;
    duo_net_append(&net->out, head, before);
    if (wire->flat != 0 && is_little_endian()) {
        duo_net_append(&net->out, entries, size);
    } else if (wire->entries != NULL) {
        char *place = net->out.bytes + net->out.end;
        duo_wire_writer writer = {place, place + size, NULL};
        (void)duo_wire_encode(wire->entries, entries, &writer);
        net->out.end += size;
    }
    return DUO_OK;
}

static duo_status give_back(duo_net *net, duo_endpoint from, duo_status status)
{
    duo_unclaim(&net->remote.session.sides[from.turn & 1]);
    pthread_mutex_unlock(&net->lock);
    return status;
}

static duo_status send_any(duo_endpoint from, const duo_message *message, const void *entries, uint64_t wait,
                           duo_endpoint *next)
{
    if (duo_claim(from) == NULL) return DUO_USED;
    duo_net *net = duo_net_of(from);
    pthread_mutex_lock(&net->lock);
    duo_net_end_lane(net);
    /* An endpoint that was taken from the wrong member of a message. */
    if (net->state->messages + message->index != message) return give_back(net, from, DUO_USED);
    duo_status status = await_space(net, wait);
    if (status == DUO_FULL || status == DUO_NO_MEMORY) return give_back(net, from, status);
    if (status != DUO_OK) return duo_net_end(net, duo_net_leave_of(net, status), status, next);
    const size_t before = duo_net_size(&net->out);
    const bool is_number = duo_net_is_number(net, message);
    status = add(net, message, entries);
    if (status != DUO_OK) return give_back(net, from, status);
    if (net->observed != NULL) duo_net_note(net, true, message, duo_net_size(&net->out) - before);
    if (message->edge == DUO_END) return duo_net_end(net, DUO_NET_SILENT, DUO_OK, next);
    duo_net_enter_state(net, message);
    bool is_due = message->edge == DUO_TURN || duo_net_size(&net->out) >= DUO_NET_FULL;
    if (is_due && !duo_net_write(net)) {
        if (net->cannot_write) {
            status = duo_net_last_word(net);
            return duo_net_end(net, duo_net_leave_of(net, status), status, next);
        }
        duo_net_write_later(net, 0);
    } else if (!is_due) {
        duo_net_collect(net);
    }
    next->session = from.session;
    next->turn = from.turn + 2;
    if (is_number) duo_net_send_numbers(net, *next, message);
    else net->alike = 0;
    duo_net_shrink_later(net);
    duo_net_check_time_later(net);
    pthread_mutex_unlock(&net->lock);
    if (net->observed != NULL) duo_net_report_turn(net);
    return DUO_OK;
}

/* For callers that do not check for a lane themselves. */
duo_status duo_net_send(duo_endpoint from, const duo_message *message, const void *entries,
                        uint64_t wait, duo_endpoint *next)
{
    duo_role role = (duo_role)(from.turn & 1);
    duo_cursor cursor;
    if (duo_lane_has(&cursor, from, role, message)) return duo_lane_send(&cursor, from, role, entries, next);
    return send_any(from, message, entries, wait, next);
}

duo_status duo_net_flush(duo_endpoint sender)
{
    if (duo_check_handle(sender) == NULL) return DUO_USED;
    if (!duo_is_remote(sender) || duo_transport_of(sender) != &duo_net_transport) return DUO_OK;
    duo_net *net = duo_net_of(sender);
    pthread_mutex_lock(&net->lock);
    duo_status status = DUO_OK;
    if (!duo_net_write(net)) {
        if (net->cannot_write) status = duo_net_last_word(net);
        else duo_net_write_later(net, 0);
    }
    pthread_mutex_unlock(&net->lock);
    return status;
}
