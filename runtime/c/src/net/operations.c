/* The operations of endpoints over a byte stream: send, receive, flush, and the end of a session. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "duologue/lane.h"
#include "net.h"

/* Whether there are bytes to read that `poll` does not report. */
static bool has_more(const duo_net *net)
{
    return net->stream.kind->has_more(&net->stream);
}

/* Lets the writer check the time of the state, and return the memory of buffers that have grown. */
static inline void leave_rest(duo_net *net)
{
    if (net->late_at != 0) duo_net_write_later(net, net->late_at);
    if (net->shrinks_at != 0 || (!duo_net_is_large(&net->in) && !duo_net_is_large(&net->out))) return;
    net->shrinks_at = duo_now() + DUO_NET_SHRINKS_AFTER;
    duo_net_write_later(net, net->shrinks_at);
}

/*
 * Lanes over a byte stream: numbers that follow one another in a run, and that code in the header (duologue/lane.h) sends
 * and receives without a call and without the session's lock. They go through the array `numbers`, which belongs to the
 * owner of the endpoint.
 *
 * (a) As sender. The header stores a number there, and then its count in `counted` (release). A thread that holds the lock may
 *     move what is counted (acquire) into `out`, for which there is space: `duo_net_write` does so first, so everything
 *     that is written after the lane began comes after its numbers. Only the owner, under the lock, begins and ends a lane.
 * (b) The writer visits the session after a few milliseconds, and again as long as it finds numbers. If it finds none, it
 *     sets `asleep`, runs the barrier, and checks once more. The header stores the count and then reads `asleep`, and the
 *     barrier is executed by the thread that runs it, too (barrier.c): if it comes after the store, the writer sees the
 *     number, and if it comes before, the header sees the flag. Then it calls the library, which ends the lane. So no number
 *     remains unwritten. A lane begins only where there is the barrier, and only after some numbers in a row, so that the
 *     writer need not run it for messages that are sent now and then.
 * (c) As receiver. The frames of several numbers are moved from `in` at once. Those that the program has not received yet
 *     are the last `unread` ones, or, while the lane is open, as many as are left to its end.
 * (d) A session with an observer, and a state with a time limit, have no lanes: there every message counts.
 */

enum {
    /* The largest index whose tag has one byte. */
    MOST_INDEX = 126,
    /* A lane begins after this many numbers. */
    ENOUGH = 8
};

static_assert(DUO_NET_RESERVED >= (DUO_NET_NUMBERS + 1) * DUO_NET_FRAME, "all numbers of a lane fit");
/* The header sets a bit in the last count. */
static_assert(((2 * DUO_NET_NUMBERS) & DUO_LANE_FULL) != 0, "that bit is set already");

/* Whether a message is a number, or as simple as one, that leads back to its state. */
static bool is_lane_number(const duo_net *net, const duo_message *message)
{
    const duo_wire_message *wire = &net->protocol->wires[message - net->protocol->messages];
    if (message->edge != DUO_STAY || wire->flat != 8 || message->index > MOST_INDEX) return false;
    return message->next->messages + message->index == message && IS_LITTLE_ENDIAN;
}

/* The writer has found out. */
static bool has_barrier(void)
{
#ifdef DUO_THREAD_SANITIZER
    /* There the header uses a read-modify-write, which needs none. */
    return true;
#else
    return duo_is_known_to_have_barrier();
#endif
}

/* Begins a lane of those numbers that begin at this index, the first of which has this turn. */
static void begin(duo_net *net, uint64_t turn, size_t first, size_t count, const duo_message *of)
{
    duo_lane *lane = &net->remote.lane;
    lane->from = turn;
    lane->end = turn + 2 * (uint64_t)count;
    lane->ends = 0;
    lane->ahead = 0;
    lane->place = (uintptr_t)(net->numbers + 8 * first) - (uintptr_t)(4 * turn);
    lane->of = of;
    /* So that a number of this turn makes the count, from the second bit on, 1. */
    lane->word = 2 - turn;
    lane->line = &net->counted;
    lane->peer = &net->asleep;
}

/* Makes the array, once for a session, so that those without such runs do not have it. False if memory ran out. */
static bool make_array(duo_net *net)
{
    if (net->numbers == NULL) net->numbers = duo_allocate(8 * DUO_NET_NUMBERS);
    return net->numbers != NULL;
}

/* After such a message was sent by the library: the header may send those that follow. */
static void send_numbers(duo_net *net, duo_endpoint next, const duo_message *message)
{
    if (++net->alike < ENOUGH) return;
    if (net->cannot_write || net->ended != DUO_OK || duo_net_size(&net->out) >= DUO_NET_FULL) return;
    if (net->observed != NULL || duo_net_within(net) != 0 || !has_barrier() || !make_array(net)) return;
    /* Without a writer, every message tries to write. */
    if (!duo_net_collect(net) || !duo_net_reserve(&net->out, DUO_NET_RESERVED)) return;
    net->out.is_reserved = true;
    net->sends = message;
    net->settled = 0;
    duo_atomic_store(&net->counted, 0, memory_order_relaxed);
    duo_atomic_store(&net->asleep, 0, memory_order_relaxed);
    begin(net, next.turn, 0, DUO_NET_NUMBERS, message);
}

void duo_net_lane_go_on(duo_endpoint next)
{
    duo_net *net = duo_net_of(next);
    const duo_message *message = net->remote.lane.of;
    pthread_mutex_lock(&net->lock);
    duo_net_end_lane(net);
    if (duo_net_size(&net->out) >= DUO_NET_FULL && !duo_net_write(net) && !net->cannot_write) duo_net_write_later(net, 0);
    send_numbers(net, next, message);
    leave_rest(net);
    pthread_mutex_unlock(&net->lock);
}

duo_status duo_net_answer_peer(duo_endpoint next, uint32_t flags)
{
    (void)flags;
    duo_net *net = duo_net_of(next);
    pthread_mutex_lock(&net->lock);
    duo_net_end_lane(net);
    net->alike = 1;
    if (net->cannot_write) {
        duo_status status = duo_net_last_word(net);
        return duo_net_end(net, duo_net_leave_of(net, status), status, NULL);
    }
    if (!duo_net_collect(net)) duo_net_write(net);
    pthread_mutex_unlock(&net->lock);
    return DUO_OK;
}

/* After such a message was received by the library: the header receives those that have arrived. */
static void gather(duo_net *net, duo_endpoint next, const duo_message *kind)
{
    if (!is_lane_number(net, kind) || net->observed != NULL || duo_net_within(net) != 0) return;
    const char *at = net->in.bytes + net->in.from;
    const char tag = (char)(kind->index + 1);
    size_t most = duo_net_size(&net->in) / DUO_NET_FRAME, count = 0;
    if (most == 0 || *at != tag || !make_array(net)) return;
    if (most > DUO_NET_NUMBERS) most = DUO_NET_NUMBERS;
    for (; count < most && *at == tag; count++) {
        memcpy(net->numbers + 8 * count, at + 1, 8);
        at += DUO_NET_FRAME;
    }
    duo_net_drop(&net->in, count * DUO_NET_FRAME);
    net->arrived = count;
    net->receives_of = kind;
    net->remote.lane.tag = kind->index + 1;
    begin(net, next.turn, 0, count, NULL);
}

void duo_net_keep_unread(duo_net *net, uint64_t turn)
{
    duo_lane *lane = &net->remote.lane;
    if (lane->end == 0 || net->sends != NULL) return;
    net->unread = (size_t)(lane->end - turn) / 2;
    lane->end = 0;
}

/* Takes the first of these, of which there are some; returns its message. */
static const duo_message *take_unread(duo_net *net, duo_endpoint next, void *entries)
{
    const size_t first = net->arrived - net->unread, left = net->unread - 1;
    memcpy(entries, net->numbers + 8 * first, 8);
    net->unread = 0;
    if (left > 0) begin(net, next.turn, first + 1, left, NULL);
    return net->receives_of;
}

/* How a session over a byte stream ends. */

duo_status duo_net_end(duo_net *net, duo_net_leave leave, duo_status status, duo_endpoint *next)
{
    if (next != NULL) memset(next, 0, sizeof *next);
    const char frame[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, (char)leave};
    duo_net_value *value = net->value;
    net->value = NULL;
    if (net->handled != NULL) net->handled->is_over = true;
    net->handled = NULL;
    duo_net_end_lane(net);
    if (leave != DUO_NET_SILENT && !net->cannot_write && duo_net_reserve(&net->out, sizeof frame))
        duo_net_append(&net->out, frame, sizeof frame);
    bool is_done = duo_net_write(net) || net->cannot_write;
    if (net->observed != NULL) {
        /* Before the connection is closed, so that a listener that has been drained has reported all ends. */
        duo_status why = status != DUO_OK ? status : net->ended != DUO_OK ? net->ended : DUO_CLOSED;
        bool is_unwritten = net->cannot_write;
        net->is_over = true;
        pthread_mutex_unlock(&net->lock);
        duo_net_report_end(net, why, is_unwritten);
        pthread_mutex_lock(&net->lock);
        is_done = duo_net_write(net) || net->cannot_write;
    }
    if (is_done) {
        duo_net_not_later(net);
        pthread_mutex_unlock(&net->lock);
        /* Like the report above: a listener that has been drained has released all values. */
        duo_net_drop_value(value);
        duo_net_finish(net);
        return status;
    }
    uint64_t now = duo_now();
    net->lingers_until = now + DUO_NET_LINGER;
    net->lingers = true;
    bool is_left = duo_net_write_later(net, now);
    pthread_mutex_unlock(&net->lock);
    duo_net_drop_value(value);
    if (!is_left) duo_net_finish(net);
    return status;
}

duo_net_leave duo_net_leave_of(const duo_net *net, duo_status status)
{
    if (net->ended != DUO_OK || status == DUO_LOST) return DUO_NET_SILENT;
    switch (status) {
    case DUO_BROKEN: return DUO_NET_BROKE;
    case DUO_LATE: return DUO_NET_WAS_LATE;
    case DUO_TOO_LARGE: return DUO_NET_WAS_TOO_LARGE;
    default: return DUO_NET_LEFT;
    }
}

void duo_net_cut(duo_net *net)
{
    static const char leave[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, DUO_NET_LEFT};
    if (pthread_mutex_trylock(&net->lock) == 0) {
        duo_net_settle(net);
        if (!net->is_over && !net->cannot_write && duo_net_reserve(&net->out, sizeof leave)) {
            duo_net_append(&net->out, leave, sizeof leave);
            (void)duo_net_write(net);
        }
        net->stream.kind->notify_end(&net->stream);
        net->cannot_write = true;
        if (net->ended == DUO_OK) net->ended = DUO_LOST;
        pthread_mutex_unlock(&net->lock);
    }
    if (net->stream.is_socket) shutdown(net->stream.descriptor, SHUT_RDWR);
}

/* Receiving over a byte stream. */

/* The most reads of a check that does not wait: a peer may send faster than this side reads. */
enum { MOST_READS = 1024 };

/* Whether a check that does not wait has read enough. What `poll` does not report is always read. */
static bool is_enough(const duo_net *net, unsigned reads)
{
    return reads >= MOST_READS && !has_more(net);
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
        bool is_vain = reads == 0 && net->has_written && wait != DUO_AT_ONCE && !has_more(net);
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
    if (wire->flat != 0 && IS_LITTLE_ENDIAN) {
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
    if (kind->edge == DUO_STAY && net->unread == 0 && net->remote.lane.end == 0) gather(net, next, kind);
    leave_rest(net);
    pthread_mutex_unlock(&net->lock);
    if (net->observed != NULL) duo_net_report_turn(net);
    return DUO_OK;
}

/* Receives a number that has arrived before, and is not in a lane any more. */
static duo_status recv_unread(duo_net *net, duo_endpoint from, const duo_state *state, void *message)
{
    const duo_endpoint next = {from.session, from.turn + 2};
    char *entries = (char *)message + state->entries;
    const duo_message *kind = take_unread(net, next, entries);
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
        if (net->late_at != 0) duo_net_write_later(net, net->late_at);
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

/* Sending over a byte stream. */

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
        while (status == DUO_OK && has_more(net));
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
    if (wire->flat != 0 && IS_LITTLE_ENDIAN) {
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
    const bool is_number = is_lane_number(net, message);
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
    if (is_number) send_numbers(net, *next, message);
    else net->alike = 0;
    leave_rest(net);
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
    if (!duo_is_remote(sender) || duo_remote_of(sender)->transport != &duo_net_transport) return DUO_OK;
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
