/* The shape of a session, its beginning, and sessions in memory provided by the caller. */
#include "ring.h"

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static size_t ring_of(const duo_shape *shape)
{
    uint64_t size = (uint64_t)shape->pitch * shape->lines;
    return shape->lines > LINES || size > SIZE_MAX / 2 ? 0 : (size_t)size;
}

size_t duo_lay_out(duo_shape *shape, const duo_protocol *protocol)
{
    if (protocol->shape != NULL) {
        *shape = *protocol->shape;
        return ring_of(shape);
    }
    const size_t word = sizeof(duo_line);
    if (protocol->payload > SIZE_MAX / 4 || protocol->payload > UINT32_MAX / 4) return 0;
    size_t stride = round_up(protocol->payload, word);
    size_t index_bits = protocol->messages <= 1 ? 0 : protocol->messages <= 16 ? 4 : 8;
    size_t per_line = MOST_IN_LINE;
    if (index_bits > 0 && per_line > INDEX_BITS / index_bits) per_line = INDEX_BITS / index_bits;
    if (stride > 0 && per_line > (DUO_LINE - word) / stride) per_line = (DUO_LINE - word) / stride;
    if (!protocol->unbounded && per_line > protocol->capacity) per_line = protocol->capacity;
    if (per_line == 0) per_line = 1;
    size_t pitch = round_up(word + per_line * stride, DUO_LINE);
    size_t lines = protocol->capacity / per_line + (protocol->capacity % per_line != 0);
    if (protocol->unbounded && lines < protocol->ring / pitch) lines = protocol->ring / pitch;
    if (lines == 0) lines = 1;
    if (lines > LINES) return 0;
    /* So that it has two equal halves. */
    if (protocol->unbounded) lines = round_up(lines, 2);
    size_t ready = protocol->unbounded ? DUO_RING_READY / pitch : lines;
    if (ready < DUO_LINES_READY) ready = DUO_LINES_READY;
    *shape = (duo_shape){
        .pitch = (uint32_t)pitch,
        .stride = (uint32_t)stride,
        .lines = (uint32_t)lines,
        .segment = (uint32_t)(protocol->unbounded ? lines / 2 : lines),
        .ready = (uint32_t)(ready < lines ? ready : lines),
        .per_line = (uint8_t)per_line,
        .index_bits = (uint8_t)index_bits,
        .unbounded = protocol->unbounded,
    };
    return ring_of(shape);
}

/* The epoch of a side's position: see position.h. */
static uint64_t own_epoch(const duo_side *side)
{
    return (turn_of(side) + side->base) >> 1 >> (EPOCH_SHIFT - SLOT_SHIFT);
}

/*
 * The epoch in which a session begins in a ring that an earlier session has used. Every word there has an epoch
 * in which that session was, and this one is later than all of them, so no word looks as if it had a message of the new
 * session. As within a session, words need no clearing until epochs restart. Words have flags only where messages are
 * swapped: in the first line, which is cleared, or in any line if the system has no barrier.
 */
static uint64_t next_epoch(const duo_session *session)
{
    uint64_t client = own_epoch(&session->sides[DUO_CLIENT]);
    uint64_t server = own_epoch(&session->sides[DUO_SERVER]);
    return (client > server ? client : server) + 1;
}

void duo_begin(duo_session *session, const duo_protocol *protocol, const duo_shape *shape, bool was_used,
               duo_endpoint *server, duo_endpoint *client)
{
    duo_find_processor();
    DUO_RECORD_BEGINS(session);
    bool swaps = !duo_has_barrier();
    uint64_t epoch = was_used && !swaps ? next_epoch(session) : DUO_RENEWAL;
    size_t dirty = 1;
    if (epoch >= DUO_RENEWAL) {
        /* Epochs begin at 1, so a cleared word does not look as if it had a message. */
        epoch = 1;
        dirty = shape->ready;
        session->is_whole = false;
    }
    session->shape = *shape;
#ifndef DUO_NO_MALLOC
    session->allocator = NULL;
#endif
    clear_lines(session, 0, dirty);
    duo_atomic_store(&session->credit, 0, memory_order_relaxed);
    uint64_t at = epoch << EPOCH_SHIFT | (protocol->first->stays ? STAYS : 0) | (swaps ? SWAPS : 0);
    /* duologue/pipe.h swaps only where each message reverses the direction. */
    bool turns = shape->per_line == 1 && shape->lines == 1 && !shape->unbounded;
    session->is_apart = swaps && !turns;
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++) {
        duo_side *side = &session->sides[role];
        /*
         * Memory that is used for the first time has turn 0. A zeroed handle has turn 0 as well,
         * which comes before every valid turn.
         */
        uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
        turn = (turn == 0 ? 2 + role : turn & ~DUO_TURN_APART) | (session->is_apart ? DUO_TURN_APART : 0);
        duo_atomic_store(&side->turn, turn, memory_order_relaxed);
        set_position(side, at);
        side->line = (duo_line *)(void *)session->ring;
        duo_atomic_store(&side->state, protocol->first, memory_order_relaxed);
        duo_atomic_store(&side->notifier, NULL, memory_order_relaxed);
        duo_atomic_store(&session->signals[role].flags, 0, memory_order_relaxed);
        *(role == DUO_SERVER ? server : client) = (duo_endpoint){session, turn};
    }
}

bool duo_is_shape(const duo_shape *one, const duo_shape *other)
{
    return one->pitch == other->pitch && one->stride == other->stride && one->lines == other->lines &&
           one->segment == other->segment && one->ready == other->ready && one->per_line == other->per_line &&
           one->index_bits == other->index_bits && one->unbounded == other->unbounded;
}

_Static_assert(offsetof(duo_session, inline_ring) == DUO_SESSION_HEAD, "memory for a session");

duo_status duo_open_in(const duo_protocol *protocol, void *memory, size_t size,
                       duo_endpoint *server, duo_endpoint *client)
{
    *server = *client = (duo_endpoint){NULL, 0};
    duo_session *session = memory;
    if ((uintptr_t)memory % DUO_LINE != 0 || size < DUO_SESSION_HEAD) return DUO_NO_MEMORY;
    /* Acquires what the previous session wrote there. */
    if (duo_atomic_exchange(&session->is_running, true, memory_order_acquire)) return DUO_USED;
    duo_shape shape;
    size_t ring = duo_lay_out(&shape, protocol);
    if (ring == 0 || ring > size - DUO_SESSION_HEAD) {
        duo_atomic_store(&session->is_running, false, memory_order_relaxed);
        return DUO_NO_MEMORY;
    }
    bool was_used = session->ring != NULL && duo_is_shape(&session->shape, &shape);
    session->ring = session->inline_ring;
    duo_begin(session, protocol, &shape, was_used, server, client);
    return DUO_OK;
}
