/*
 * Where memory comes from, and the pool of sessions.
 *
 * A session's own struct is never given back to the allocator: a handle may be asked for its turn
 * long after the session is over. The pool stays at the highest number of sessions that were alive
 * at once. Rings that do not fit into the struct are separate blocks and are freed.
 */
#include "ring.h"

#include <pthread.h>
#include <stdlib.h>

static duo_memory memory = {malloc, aligned_alloc, free};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static duo_session *pool;

void duo_use_memory(duo_memory replacement)
{
    memory = replacement;
}

void *duo_allocate(size_t size)
{
    return memory.allocate(size);
}

void duo_release(void *block)
{
    memory.release(block);
}

static duo_session *from_pool(void)
{
    pthread_mutex_lock(&pool_lock);
    duo_session *session = pool;
    if (session != NULL) pool = session->next_free;
    pthread_mutex_unlock(&pool_lock);
    if (session != NULL) return session;
    session = memory.allocate_aligned(DUO_LINE, sizeof *session);
    if (session == NULL) return NULL;
    memset(session, 0, sizeof *session);
    /* A zeroed handle has turn 0, which is before every good one. */
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++)
        atomic_init(&session->sides[role].turn, 2 + role);
    return session;
}

static void to_pool(duo_session *session)
{
    pthread_mutex_lock(&pool_lock);
    session->next_free = pool;
    pool = session;
    pthread_mutex_unlock(&pool_lock);
}

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Gives a session the shape that a protocol asks for; the size of its ring, or 0 if that is too large. */
static size_t lay_out(duo_session *session, const duo_protocol *protocol)
{
    const size_t word = sizeof(duo_line);
    if (protocol->payload > SIZE_MAX / 4 || protocol->payload > UINT32_MAX / 4) return 0;
    size_t stride = round_up(protocol->payload, word);
    size_t index_bits = protocol->messages <= 16 ? 4 : 8;
    size_t per_line = INDEX_BITS / index_bits;
    if (per_line > MOST_IN_LINE) per_line = MOST_IN_LINE;
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
    session->pitch = (uint32_t)pitch;
    session->stride = (uint32_t)stride;
    session->lines = (uint32_t)lines;
    session->segment = (uint32_t)(protocol->unbounded ? lines / 2 : lines);
    session->per_line = (uint8_t)per_line;
    session->index_bits = (uint8_t)index_bits;
    session->unbounded = protocol->unbounded;
    return pitch * lines;
}

/* Puts a session at its beginning; its ring is there. */
static void begin(duo_session *session, const duo_protocol *protocol)
{
    duo_find_processor();
    /* Epochs begin at 1: no word looks as if it had one. */
    for (size_t line = 0; line < session->lines; line++)
        atomic_init((_Atomic uint64_t *)(void *)(session->ring + line * session->pitch), 0);
    atomic_store_explicit(&session->credit, 0, memory_order_relaxed);
    uint64_t at = ONE_EPOCH | (protocol->first->stays ? STAYS : 0) | (duo_has_barrier() ? 0 : SWAPS);
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++) {
        duo_side *side = &session->sides[role];
        side->at = at;
        side->line = (duo_line *)(void *)session->ring;
        side->place = side->line->payloads;
        atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
        atomic_store_explicit(&session->signals[role].flags, 0, memory_order_relaxed);
    }
}

duo_session *duo_session_take(const duo_protocol *protocol)
{
    duo_session *session = from_pool();
    if (session == NULL) return NULL;
    size_t size = lay_out(session, protocol);
    session->ring = session->inline_ring;
    if (size > DUO_INLINE_RING) session->ring = memory.allocate_aligned(DUO_LINE, size);
    if (size == 0 || session->ring == NULL) {
        to_pool(session);
        return NULL;
    }
    begin(session, protocol);
    return session;
}

void duo_session_give(duo_session *session)
{
    if (session->ring != session->inline_ring) memory.release(session->ring);
    to_pool(session);
}
