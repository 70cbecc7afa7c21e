/* Reading: the frames at the front of what has arrived. */
#include "net.h"

#include <errno.h>
#include <string.h>

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

bool duo_net_is_late(duo_net *net)
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
    if (duo_is_past(duo_net_limit(net)) && ++net->late_reads > MOST_LATE_READS && duo_net_is_late(net)) return DUO_OK;
    if (!reserve_read(net, needed)) return DUO_NO_MEMORY;
    char *place = net->in.bytes + net->in.end;
    size_t space = net->in.capacity - net->in.end;
    ptrdiff_t done = duo_net_read_some(&net->stream, place, space);
    net->has_written = false;
    if (done < 0 && errno == EAGAIN) {
        if (duo_net_is_late(net)) return DUO_OK;
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
