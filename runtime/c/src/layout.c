/* The shape of a session, its beginning, and sessions in memory of the caller's. */
#include "ring.h"

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

size_t duo_lay_out(duo_session *session, const duo_protocol *protocol)
{
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
    /* Of two equal halves. */
    if (protocol->unbounded) lines = round_up(lines, 2);
    if (lines > LINES || lines > SIZE_MAX / 2 / pitch) return 0;
    session->shape = (duo_shape){
        .pitch = (uint32_t)pitch,
        .stride = (uint32_t)stride,
        .lines = (uint32_t)lines,
        .segment = (uint32_t)(protocol->unbounded ? lines / 2 : lines),
        .per_line = (uint8_t)per_line,
        .index_bits = (uint8_t)index_bits,
        .unbounded = protocol->unbounded,
    };
    return pitch * lines;
}

void duo_begin(duo_session *session, const duo_protocol *protocol, duo_endpoint *server,
               duo_endpoint *client)
{
    duo_find_processor();
    /* Epochs begin at 1: no word looks as if it had one. */
    for (size_t line = 0; line < session->shape.lines; line++)
        atomic_init((_Atomic uint64_t *)(void *)(session->ring + line * session->shape.pitch), 0);
    atomic_store_explicit(&session->credit, 0, memory_order_relaxed);
    bool swaps = !duo_has_barrier();
    uint64_t at = ONE_EPOCH | (protocol->first->stays ? STAYS : 0) | (swaps ? SWAPS : 0);
    /* duologue/pipe.h swaps only where each message turns the direction. */
    const duo_shape *shape = &session->shape;
    bool turns = shape->per_line == 1 && shape->lines == 1 && !shape->unbounded;
    session->is_apart = swaps && !turns;
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++) {
        duo_side *side = &session->sides[role];
        /* Memory that is used for the first time. A zeroed handle has turn 0, before every good one. */
        uint64_t turn = atomic_load_explicit(&side->turn, memory_order_relaxed);
        turn = (turn == 0 ? 2 + role : turn & ~DUO_TURN_APART) | (session->is_apart ? DUO_TURN_APART : 0);
        atomic_store_explicit(&side->turn, turn, memory_order_relaxed);
        stand_at(side, at);
        side->line = (duo_line *)(void *)session->ring;
        atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
        atomic_store_explicit(&session->signals[role].flags, 0, memory_order_relaxed);
        *(role == DUO_SERVER ? server : client) = (duo_endpoint){session, turn};
    }
}

_Static_assert(offsetof(duo_session, inline_ring) == DUO_SESSION_HEAD, "memory for a session");

duo_status duo_open_in(const duo_protocol *protocol, void *memory, size_t size,
                       duo_endpoint *server, duo_endpoint *client)
{
    *server = *client = (duo_endpoint){NULL, 0};
    duo_session *session = memory;
    if ((uintptr_t)memory % DUO_LINE != 0 || size < DUO_SESSION_HEAD) return DUO_NO_MEMORY;
    /* Acquires what the session before left there. */
    if (atomic_exchange_explicit(&session->is_running, true, memory_order_acquire)) return DUO_USED;
    size_t ring = duo_lay_out(session, protocol);
    if (ring == 0 || ring > size - DUO_SESSION_HEAD) {
        atomic_store_explicit(&session->is_running, false, memory_order_relaxed);
        return DUO_NO_MEMORY;
    }
    session->ring = session->inline_ring;
    duo_begin(session, protocol, server, client);
    return DUO_OK;
}

void duo_session_give(duo_session *session)
{
#ifndef DUO_NO_MALLOC
    if (session->is_pooled) {
        duo_to_pool(session);
        return;
    }
#endif
    atomic_store_explicit(&session->is_running, false, memory_order_release);
}
