/*
 * Where memory comes from, and the pool of sessions.
 *
 * A session's own struct is never given back to the allocator: a handle may be asked for its turn
 * long after the session is over. The pool stays at the highest number of sessions that were alive
 * at once. Rings that do not fit into the struct are separate blocks and are freed.
 */
#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

duo_session *duo_session_take(const duo_protocol *protocol)
{
    duo_session *session = from_pool();
    if (session == NULL) return NULL;
    session->stride = round_up(sizeof(duo_slot) + protocol->payload, 16);
    /* One more than messages: the place for the word that the sender left. */
    session->slots = protocol->capacity + 1;
    session->capacity = protocol->capacity;
    session->unbounded = protocol->unbounded;
    session->wake_mask = protocol->unbounded ? protocol->capacity / 2 - 1 : 0;
    session->ring = session->inline_ring;
    if (session->slots > SIZE_MAX / 2 / session->stride) {
        to_pool(session);
        return NULL;
    }
    size_t size = round_up(session->stride * session->slots, DUO_LINE);
    if (size > DUO_INLINE_RING) {
        session->ring = memory.allocate_aligned(DUO_LINE, size);
        if (session->ring == NULL) {
            to_pool(session);
            return NULL;
        }
    }
    /* Message numbers begin at 1: no slot looks as if it had one. */
    for (size_t slot = 0; slot < session->slots; slot++)
        atomic_init((_Atomic uint64_t *)(void *)(session->ring + slot * session->stride), 0);
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++) {
        duo_side *side = &session->sides[role];
        side->number = 1;
        side->limit = 1 + session->capacity;
        side->position = 0;
        atomic_store_explicit(&side->taken, 1, memory_order_relaxed);
        atomic_store_explicit(&side->waiting, 0, memory_order_relaxed);
        atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
    }
    return session;
}

void duo_session_give(duo_session *session)
{
    if (session->ring != session->inline_ring) memory.release(session->ring);
    to_pool(session);
}
