/* Receiving over a byte stream. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "duologue/lane.h"
#include "net.h"

enum {
    /* The least space that there is for a read, and the most for one that need not have it. */
    AT_ONCE = DUO_NET_LEAST_READ,
    MOST_AT_ONCE = 61440,
    /* How much memory is reserved for an announced message before more than that has arrived. */
    MOST_AHEAD = 65536,
    MOST_COUNT = 10,
    /* The most reads of a check that does not wait: a peer may send faster than this side reads. */
    MOST_READS = 1024,
    /* The most reads after the time of a state has passed. */
    MOST_LATE_READS = 256
};

/* Reads the count at the beginning of these bytes: DUO_OK, DUO_EMPTY if it is not complete, DUO_BROKEN. */
static duo_status front_count(const uint8_t *bytes, size_t size, size_t *taken, uint64_t *count)
{
    *count = 0;
    for (*taken = 0; *taken < MOST_COUNT; *taken += 1) {
        if (*taken == size) return DUO_EMPTY;
        uint8_t byte = bytes[*taken];
        if (*taken == MOST_COUNT - 1 && byte > 1) return DUO_BROKEN;
        *count |= (uint64_t)(byte & 0x7f) << (7 * *taken);
        if (byte >= 0x80) continue;
        if (byte == 0 && *taken > 0) return DUO_BROKEN;
        *taken += 1;
        return DUO_OK;
    }
    return DUO_BROKEN;
}

/* Why the peer has ended the session. */
static duo_status reason_of(uint8_t leave)
{
    switch (leave) {
    case DUO_NET_BROKE: return DUO_BROKEN;
    case DUO_NET_WAS_LATE: return DUO_LATE;
    case DUO_NET_WAS_TOO_LARGE: return DUO_TOO_LARGE;
    default: return DUO_CLOSED;
    }
}

/* The message at the front, which is not a control frame. */
static duo_status look_at_message(const duo_net *net, const duo_state *state, duo_net_frame *frame, size_t *needed)
{
    const uint8_t *bytes = (const uint8_t *)net->in.bytes + net->in.from;
    size_t there = duo_net_size(&net->in), taken;
    uint64_t tag, size;
    if (state == NULL) return DUO_BROKEN;
    *needed = 1;
    /* A tag has at most two bytes. */
    duo_status status = front_count(bytes, there < 2 ? there : 2, &taken, &tag);
    if (status != DUO_OK) return there >= 2 ? DUO_BROKEN : status;
    if (tag > net->protocol->counts[state - net->protocol->states]) return DUO_BROKEN;
    const duo_message *message = &state->messages[tag - 1];
    const duo_wire_message *wire = &net->protocol->wires[message - net->protocol->messages];
    frame->tag = (unsigned)tag - 1;
    frame->head = taken;
    size = wire->least;
    if (wire->least != wire->most) {
        status = front_count(bytes + taken, there - taken, &taken, &size);
        if (status != DUO_OK) return status;
        frame->head += taken;
    }
    if (size < wire->least || size > wire->most || size > net->takes) return DUO_BROKEN;
    /* A limit is checked before the payload has arrived. */
    const duo_wire *entries = wire->entries;
    if (entries != NULL && entries->kind == DUO_WIRE_LIMIT && size > entries->count) return DUO_BROKEN;
    if (size > net->memory) return DUO_TOO_LARGE;
    frame->size = (size_t)size;
    if (there - frame->head >= frame->size) return DUO_OK;
    *needed = frame->size - (there - frame->head);
    return DUO_EMPTY;
}

duo_status duo_net_front(duo_net *net, const duo_state *state, duo_net_frame *frame, size_t *needed)
{
    for (;;) {
        if (net->ended != DUO_OK) return net->ended;
        size_t there = duo_net_size(&net->in);
        /* A buffer that is empty may have no memory. */
        const uint8_t *bytes = there > 0 ? (const uint8_t *)net->in.bytes + net->in.from : NULL;
        *needed = 1;
        duo_status status = DUO_EMPTY;
        if (there > 0 && bytes[0] != DUO_NET_CONTROL) status = look_at_message(net, state, frame, needed);
        if (there < 2 || bytes[0] != DUO_NET_CONTROL) {
            if (status != DUO_EMPTY || !net->cannot_read) return status;
            net->ended = DUO_LOST;
            continue;
        }
        size_t size = 2;
        switch (bytes[1]) {
        case DUO_NET_ALIVE: break;
        case DUO_NET_DRAIN:
            /* Only the accepting side sends this. */
            if (net->accepted) return DUO_BROKEN;
            break;
        case DUO_NET_LEAVE:
            if (there < 3) {
                if (!net->cannot_read) return DUO_EMPTY;
                net->ended = DUO_LOST;
                continue;
            }
            size = 3;
            net->ended = reason_of(bytes[2]);
            break;
        default: return DUO_BROKEN;
        }
        duo_net_drop(&net->in, size);
    }
}

/* Makes space for what is read next. */
static bool reserve_read(duo_net *net, size_t needed)
{
    size_t space = needed < net->reads ? net->reads : needed;
    size_t most = duo_net_size(&net->in) < MOST_AHEAD ? MOST_AHEAD : duo_net_size(&net->in);
    return duo_net_reserve(&net->in, space < most ? space : most);
}

/* Each read that has filled its space makes the next one larger, so that a long run takes few calls. */
static void adapt(duo_net *net, size_t done, size_t space)
{
    if (done < space) net->reads = done > AT_ONCE ? net->reads : AT_ONCE;
    else net->reads = 2 * net->reads < MOST_AT_ONCE ? 2 * net->reads : MOST_AT_ONCE;
}

duo_status duo_net_read(duo_net *net, size_t needed)
{
    if (net->cannot_read || net->is_reading) return DUO_EMPTY;
    /* A peer that keeps sending without completing a message is late, too. */
    uint64_t limit = duo_net_limit(net);
    bool is_past = limit != DUO_FOREVER && duo_now() >= limit;
    if (is_past && ++net->late_reads > MOST_LATE_READS && duo_net_is_late(net)) return DUO_OK;
    if (!reserve_read(net, needed)) return DUO_NO_MEMORY;
    char *place = net->in.bytes + net->in.end;
    size_t space = net->in.capacity - net->in.end;
    ptrdiff_t done = duo_net_read_some(&net->stream, place, space);
    net->has_written = false;
    if (done < 0 && errno == EAGAIN) {
        if (duo_net_is_late(net)) return DUO_OK;
        bool is_silent = net->patience != 0 && duo_now() > net->read_at + net->patience;
        if (!is_silent) return DUO_EMPTY;
    }
    if (done <= 0) net->cannot_read = true;
    else net->in.end += (size_t)done;
    if (done > 0) adapt(net, (size_t)done, space);
    if (done > 0 && net->patience != 0) net->read_at = duo_now();
    return DUO_OK;
}

/* Whether a check that does not wait has read enough. What `poll` does not report is always read. */
static bool is_enough(const duo_net *net, unsigned reads)
{
    return reads >= MOST_READS && !duo_net_has_more(&net->stream);
}

/*
 * Sleeps until the connection has bytes, and reads them, without the lock. Waiting in the read itself saves a `poll` for each
 * message. The mark keeps every other thread from reading and from the buffer. DUO_EMPTY: nothing was read after all.
 */
static duo_status read_patiently(duo_net *net, size_t needed)
{
    if (!reserve_read(net, needed)) return DUO_NO_MEMORY;
    char *place = net->in.bytes + net->in.end;
    size_t space = net->in.capacity - net->in.end;
    int descriptor = net->stream.descriptor;
    net->is_reading = true;
    pthread_mutex_unlock(&net->lock);
    ptrdiff_t done = duo_net_read_blocking(descriptor, place, space);
    int reason = errno;
    pthread_mutex_lock(&net->lock);
    net->is_reading = net->has_written = false;
    if (done > 0) net->in.end += (size_t)done;
    if (done > 0) adapt(net, (size_t)done, space);
    if (done < 0 && (reason == EAGAIN || reason == EINTR)) return DUO_EMPTY;
    if (done <= 0) net->cannot_read = true;
    return DUO_OK;
}

/* Whether a thread that waits until then has nothing else to do, and can wait in a read. */
static bool can_read_patiently(const duo_net *net, uint64_t wakes)
{
    if (wakes != DUO_FOREVER || net->cannot_read || net->is_reading) return false;
    /* A read cannot be canceled. */
    return duo_own_sleeper() == NULL && duo_net_can_block(&net->stream);
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
        if (!is_left && can_read_patiently(net, wakes)) {
            status = read_patiently(net, needed);
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
    if (net->unread > 0) return DUO_OK;
    for (unsigned reads = 0;; reads++) {
        duo_net_frame frame;
        size_t needed;
        duo_status status = duo_net_front(net, net->state, &frame, &needed);
        if (status != DUO_EMPTY || is_enough(net, reads)) return status;
        if (!duo_net_write(net) && !net->cannot_write) duo_net_write_later(net, 0);
        status = duo_net_read(net, needed);
        /* If memory ran out, the next operation reports it. */
        if (status != DUO_OK) return status;
    }
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
