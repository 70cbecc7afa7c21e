/* What a session reads and writes, and the time that it has for that. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "net.h"

/* Bytes that have arrived, or are to be written. */

/*
 * How large a buffer is at first, and how large it may be to be kept while it is empty: by an active session, and by an
 * idle one.
 */
enum { FIRST = 1024, KEPT = 2 * DUO_NET_FULL, SMALL = 4096 };

bool duo_net_reserve(duo_net_buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->end) return true;
    size_t size = duo_net_size(buffer);
    if (more > SIZE_MAX / 4 || size > SIZE_MAX / 4) return false;
    if (size + more <= buffer->capacity) {
        memmove(buffer->bytes, buffer->bytes + buffer->from, size);
    } else {
        size_t capacity = buffer->capacity < FIRST ? FIRST : buffer->capacity;
        while (capacity < size + more) capacity *= 2;
        char *bytes = duo_allocate(capacity);
        if (bytes == NULL) return false;
        if (size > 0) memcpy(bytes, buffer->bytes + buffer->from, size);
        if (buffer->bytes != NULL) duo_release(buffer->bytes);
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    buffer->from = 0;
    buffer->end = size;
    return true;
}

void duo_net_append(duo_net_buffer *buffer, const void *bytes, size_t size)
{
    memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
}

void duo_net_drop(duo_net_buffer *buffer, size_t size)
{
    buffer->from += size;
    if (buffer->from < buffer->end) return;
    buffer->from = buffer->end = 0;
    if (buffer->capacity > KEPT) duo_net_shrink(buffer);
}

bool duo_net_is_large(const duo_net_buffer *buffer)
{
    return buffer->capacity > SMALL;
}

static_assert((int)DUO_NET_RESERVED <= (int)SMALL, "a buffer that is not large has space for what is reserved");

bool duo_net_shrink(duo_net_buffer *buffer)
{
    if (duo_net_size(buffer) > 0 || !duo_net_is_large(buffer)) return duo_net_is_large(buffer);
    const bool is_reserved = buffer->is_reserved;
    char *bytes = is_reserved ? duo_allocate(SMALL) : NULL;
    if (is_reserved && bytes == NULL) return true;
    duo_net_forget(buffer);
    if (is_reserved) *buffer = (duo_net_buffer){bytes, 0, 0, SMALL, true};
    return false;
}

void duo_net_forget(duo_net_buffer *buffer)
{
    if (buffer->bytes != NULL) duo_release(buffer->bytes);
    *buffer = (duo_net_buffer){NULL, 0, 0, 0, false};
}

/* The time limits of a session: that of its state, that for writing, and how long the peer may be silent. */
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

/*
 * After the connection has accepted this many bytes, or 0 if it accepts none at the moment: begins and ends the time in
 * which the peer has to read.
 */
static void note_written(duo_net *net, size_t size)
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

/* Writing: what a session has sent goes to its stream. remote/lane.c says why numbers are sent without the lock. */

bool duo_net_settle(duo_net *net)
{
    if (net->sends == NULL) return false;
    size_t count = (size_t)(duo_atomic_load(&net->counted, memory_order_acquire) >> 1);
    size_t added = count - net->settled;
    if (added == 0) return false;
    if (!duo_net_reserve(&net->out, added * DUO_NET_FRAME)) {
        /* Only after the session was cut is less space left than was reserved. */
        net->cannot_write = true;
        return false;
    }
    char *place = net->out.bytes + net->out.end;
    const char tag = (char)(net->sends->index + 1);
    for (size_t i = net->settled; i < count; i++) {
        *place = tag;
        memcpy(place + 1, net->numbers + 8 * i, 8);
        place += DUO_NET_FRAME;
    }
    net->out.end += added * DUO_NET_FRAME;
    net->settled = count;
    return true;
}

void duo_net_end_lane(duo_net *net)
{
    duo_net_settle(net);
    net->sends = NULL;
    net->out.is_reserved = false;
    net->remote.lane.end = 0;
}

bool duo_net_let_sleep(duo_net *net)
{
    if (net->sends == NULL || duo_atomic_load(&net->asleep, memory_order_relaxed) != 0) return true;
    /* Sequentially consistent for the thread sanitizer; otherwise the barrier follows. */
    duo_atomic_exchange(&net->asleep, 1, memory_order_seq_cst);
    duo_barrier();
    size_t count = (size_t)(duo_atomic_load(&net->counted, memory_order_seq_cst) >> 1);
    if (count == net->settled) return true;
    duo_atomic_store(&net->asleep, 0, memory_order_relaxed);
    return false;
}

bool duo_net_write(duo_net *net)
{
    duo_net_settle(net);
    while (duo_net_size(&net->out) > 0 && !net->cannot_write) {
        const char *bytes = net->out.bytes + net->out.from;
        ptrdiff_t done = duo_net_write_some(&net->stream, bytes, duo_net_size(&net->out));
        if (done < 0 && errno == EAGAIN) {
            note_written(net, 0);
            return false;
        }
        if (done >= 0) {
            net->has_written = true;
        } else {
            /* While it is the peer's turn, its messages may have arrived before the connection ended: reading finds both. */
            net->cannot_write = !net->receives;
            done = (ptrdiff_t)duo_net_size(&net->out);
        }
        if (net->beat != 0) net->written_at = duo_now();
        if (net->lingers) net->lingers_until = duo_now() + DUO_NET_LINGER;
        duo_net_drop(&net->out, (size_t)done);
        if (net->written_by != 0) note_written(net, (size_t)done);
    }
    if (!net->cannot_write) {
        duo_net_begin_time(net);
        return true;
    }
    duo_net_forget(&net->out);
    return false;
}

/* Reading: the frames at the front of what has arrived. */

enum {
    /* The least space that there is for a read, and the most for one that need not have it. */
    AT_ONCE = DUO_NET_LEAST_READ,
    MOST_AT_ONCE = 61440,
    /* How much memory is reserved for an announced message before more than that has arrived. */
    MOST_AHEAD = 65536,
    /* The most reads after the time of a state has passed. */
    MOST_LATE_READS = 256
};

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
    duo_status status = duo_take_count(bytes, there < 2 ? there : 2, &taken, &tag);
    if (status != DUO_OK) return there >= 2 ? DUO_BROKEN : status;
    if (tag > net->protocol->counts[state - net->protocol->states]) return DUO_BROKEN;
    const duo_message *message = &state->messages[tag - 1];
    const duo_wire_message *wire = &net->protocol->wires[message - net->protocol->messages];
    frame->tag = (unsigned)tag - 1;
    frame->head = taken;
    size = wire->least;
    if (wire->least != wire->most) {
        status = duo_take_count(bytes + taken, there - taken, &taken, &size);
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

/* Whether the peer is late, after a read that has found nothing. Then the session is over, and the peer is notified. */
static bool is_late(duo_net *net)
{
    static const char late[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, DUO_NET_WAS_LATE};
    if (net->ended != DUO_OK || net->is_over) return false;
    /* As sender, this side is the one that may take too long. */
    uint64_t limit = net->receives ? duo_net_limit(net) : net->written_by != 0 ? net->written_by : DUO_FOREVER;
    if (!duo_is_past(limit)) return false;
    net->ended = DUO_LATE;
    if (!net->cannot_write && duo_net_reserve(&net->out, sizeof late)) duo_net_append(&net->out, late, sizeof late);
    duo_net_write(net);
    return true;
}

duo_status duo_net_read(duo_net *net, size_t needed)
{
    if (net->cannot_read || net->is_reading) return DUO_EMPTY;
    /* A peer that keeps sending without completing a message is late, too. */
    if (duo_is_past(duo_net_limit(net)) && ++net->late_reads > MOST_LATE_READS && is_late(net)) return DUO_OK;
    if (!reserve_read(net, needed)) return DUO_NO_MEMORY;
    char *place = net->in.bytes + net->in.end;
    size_t space = net->in.capacity - net->in.end;
    ptrdiff_t done = duo_net_read_some(&net->stream, place, space);
    net->has_written = false;
    if (done < 0 && errno == EAGAIN) {
        if (is_late(net)) return DUO_OK;
        bool is_silent = net->patience != 0 && duo_now() >= net->read_at + net->patience;
        if (!is_silent) return DUO_EMPTY;
    }
    if (done <= 0) net->cannot_read = true;
    else net->in.end += (size_t)done;
    if (done > 0) adapt(net, (size_t)done, space);
    if (done > 0 && net->patience != 0) net->read_at = duo_now();
    return DUO_OK;
}

/*
 * Sleeps until the connection has bytes, and reads them, without the lock. Waiting in the read itself saves a `poll` for each
 * message. The mark keeps every other thread from reading and from the buffer. DUO_EMPTY: nothing was read after all.
 */
duo_status duo_net_read_patiently(duo_net *net, size_t needed)
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
bool duo_net_can_read_patiently(const duo_net *net, uint64_t wakes)
{
    if (wakes != DUO_FOREVER || net->cannot_read || net->is_reading) return false;
    /* A read cannot be canceled. */
    return duo_own_sleeper() == NULL && duo_net_can_block(&net->stream);
}

duo_status duo_net_last_word(duo_net *net)
{
    duo_net_frame frame;
    size_t needed;
    for (;;) {
        duo_status status = duo_net_front(net, NULL, &frame, &needed);
        if (status != DUO_EMPTY) return status;
        if (duo_net_read(net, needed) != DUO_OK) return DUO_LOST;
    }
}
