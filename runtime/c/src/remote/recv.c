/* Receiving over a byte stream. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "duologue/lane.h"
#include "../core/net.h"

/* The most reads of a check that does not wait: a peer may send faster than this side reads. */
enum { MOST_READS = 1024 };

/* Whether a check that does not wait has read enough. What `poll` does not report is always read. */
static bool is_enough(const duo_net *net, unsigned reads)
{
    return reads >= MOST_READS && !duo_net_has_more(&net->stream);
}

/* Waits until a message is complete. */
static duo_status await_message(duo_net *net, const duo_state *state, uint64_t wait, duo_net_frame *frame)
{
    uint64_t until = duo_until(wait);
    for (unsigned reads = 0;; reads++) {
        size_t needed = 0;
        duo_status status = duo_net_front(net, state, frame, &needed);
        if (status != DUO_EMPTY) return status;
        bool is_over = wait == DUO_AT_ONCE ? is_enough(net, reads) : reads > 0 && duo_gives_up(until);
        if (is_over) return DUO_EMPTY;
        bool is_left = !duo_net_write(net) && !net->cannot_write;
        /* An answer can hardly have arrived yet. */
        bool is_vain = reads == 0 && net->has_written && wait != DUO_AT_ONCE && !duo_net_has_more(&net->stream);
        status = is_vain ? DUO_EMPTY : duo_net_read(net, needed);
        if (status == DUO_NO_MEMORY) return status;
        if (status == DUO_OK) continue;
        if (wait == DUO_AT_ONCE) {
            if (is_left) duo_net_write_later(net, 0);
            return DUO_EMPTY;
        }
        int descriptor = net->stream.descriptor;
        uint64_t wakes = duo_net_patient_until(net, until);
        if (!is_left && duo_net_can_read_patiently(net, wakes)) {
            status = duo_net_read_patiently(net, needed);
            if (status == DUO_NO_MEMORY) return status;
            if (status == DUO_OK) continue;
        }
        pthread_mutex_unlock(&net->lock);
        duo_net_poll(descriptor, is_left ? POLLIN | POLLOUT : POLLIN, wakes);
        pthread_mutex_lock(&net->lock);
    }
}

duo_status duo_net_check_receiver(duo_net *net)
{
    duo_net_frame frame;
    /* If memory ran out, the next operation reports it. */
    return net->unread > 0 ? DUO_OK : await_message(net, net->state, DUO_AT_ONCE, &frame);
}

/* Decodes a message whose items and text are in a block outside of it. */
static duo_status assemble(const duo_net *net, const duo_wire *wire, const uint8_t *bytes, size_t size, size_t space,
                           char *entries, arrival *arrived)
{
    void *block = duo_allocate_block(net->remote.session.allocator, space + size > 0 ? space + size : 1);
    if (block == NULL) return DUO_NO_MEMORY;
    char *inside = duo_in_block(block);
    if (size > 0) memcpy(inside + space, bytes, size);
    duo_wire_decode(wire, (const uint8_t *)inside + space, entries, inside);
    arrived->block = block;
    return DUO_OK;
}

/* Reads the payload of a message that is complete. */
static duo_status decode(duo_net *net, const duo_message *kind, const duo_net_frame *frame, char *entries,
                         arrival *arrived)
{
    const duo_wire_message *wire = &net->protocol->wires[kind - net->protocol->messages];
    const uint8_t *bytes = (const uint8_t *)net->in.bytes + net->in.from + frame->head;
    if (wire->flat != 0 && is_little_endian()) {
        memcpy(entries, bytes, wire->flat);
        return DUO_OK;
    }
    if (wire->entries == NULL) return DUO_OK;
    size_t taken, space;
    if (!duo_wire_check(wire->entries, bytes, frame->size, &taken, &space)) return DUO_BROKEN;
    if (taken != frame->size) return DUO_BROKEN;
    if (kind->type == NULL || !kind->type->spreads) {
        duo_wire_decode(wire->entries, bytes, entries, NULL);
        return DUO_OK;
    }
    if (space > net->memory || frame->size > net->memory - space) return DUO_TOO_LARGE;
    return assemble(net, wire->entries, bytes, frame->size, space, entries, arrived);
}

/* The rest of a message that does not end the session: the endpoint that follows, and numbers that have arrived. */
static duo_status follow(duo_net *net, duo_endpoint from, const duo_message *kind, char *entries)
{
    const duo_endpoint next = {from.session, from.turn + 2};
    memcpy(entries + kind->size, &next, sizeof next);
    duo_net_enter_state(net, kind);
    if (kind->edge == DUO_STAY && net->unread == 0 && net->remote.lane.end == 0) duo_net_gather(net, next, kind);
    duo_net_shrink_later(net);
    duo_net_check_time_later(net);
    pthread_mutex_unlock(&net->lock);
    if (net->observed != NULL) duo_net_report_turn(net);
    return DUO_OK;
}

/* Receives a number that has arrived before, and is not in a lane any more. */
static duo_status recv_unread(duo_net *net, duo_endpoint from, const duo_state *state, void *message)
{
    const duo_endpoint next = {from.session, from.turn + 2};
    char *entries = (char *)message + state->entries;
    const duo_message *kind = duo_net_take_unread(net, next, entries);
    const arrival arrived = {duo_tag_word(kind->index + 1, state->tag_size), NULL};
    memcpy(message, &arrived, sizeof arrived);
    return follow(net, from, kind, entries);
}

static duo_status recv_any(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    if (duo_claim(from) == NULL) return nothing(DUO_USED, message);
    duo_net *net = duo_net_of(from);
    pthread_mutex_lock(&net->lock);
    duo_net_keep_unread(net, from.turn + 2);
    /* An endpoint that was taken from the wrong member of a message. */
    if (net->state != state) {
        duo_unclaim(&net->remote.session.sides[from.turn & 1]);
        pthread_mutex_unlock(&net->lock);
        return nothing(DUO_USED, message);
    }
    if (net->unread > 0) return recv_unread(net, from, state, message);
    duo_net_frame frame = {0, 0, 0};
    duo_status status = await_message(net, state, wait, &frame);
    const duo_message *kind = &state->messages[frame.tag];
    arrival arrived = {duo_tag_word(frame.tag + 1, state->tag_size), NULL};
    char *entries = (char *)message + state->entries;
    if (status == DUO_OK) status = decode(net, kind, &frame, entries, &arrived);
    if (status == DUO_EMPTY || status == DUO_NO_MEMORY) {
        duo_net_check_time_later(net);
        duo_unclaim(&net->remote.session.sides[from.turn & 1]);
        pthread_mutex_unlock(&net->lock);
        return nothing(status, message);
    }
    if (status != DUO_OK) return nothing(duo_net_end(net, duo_net_leave_of(net, status), status, NULL), message);
    memcpy(message, &arrived, sizeof arrived);
    duo_net_drop(&net->in, frame.head + frame.size);
    if (net->observed != NULL) duo_net_note(net, false, kind, frame.head + frame.size);
    if (kind->edge != DUO_END) return follow(net, from, kind, entries);
    const duo_endpoint none = {NULL, 0};
    if (kind->next != NULL) memcpy(entries + kind->size, &none, sizeof none);
    return duo_net_end(net, DUO_NET_SILENT, DUO_OK, NULL);
}

/* For callers that do not check for a lane themselves. */
duo_status duo_net_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    duo_role role = (duo_role)(from.turn & 1);
    duo_cursor cursor;
    if (duo_lane_has(&cursor, from, role, NULL)) {
        duo_lane_recv_tagged(&cursor, from, role, message, state->tag_size, state->entries);
        return DUO_OK;
    }
    return recv_any(from, state, wait, message);
}
