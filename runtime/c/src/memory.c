/*
 * Where memory comes from, and the pool of sessions.
 *
 * A session's own struct is never given back to the allocator: a handle may be asked for its turn
 * long after the session is over. The pool stays at the highest number of sessions that were alive
 * at once. Rings that do not fit into the struct are separate blocks and are freed.
 */
#include "session.h"

#ifndef DUO_NO_MALLOC

#include <stdlib.h>
#include <string.h>

#ifdef DUO_NO_THREADS
static void lock_pool(void)
{
}

static void unlock_pool(void)
{
}
#else
#include <pthread.h>

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_guarded = PTHREAD_ONCE_INIT;

static void enter(void)
{
    pthread_mutex_lock(&pool_lock);
}

static void unlock_pool(void)
{
    pthread_mutex_unlock(&pool_lock);
}

/* A child process has the pool but not the thread that may have held its lock: so who forks holds it. */
static void guard(void)
{
    (void)pthread_atfork(enter, unlock_pool, unlock_pool);
}

static void lock_pool(void)
{
    pthread_once(&is_guarded, guard);
    enter();
}
#endif

static duo_memory memory = {malloc, aligned_alloc, free};

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
    lock_pool();
    duo_session *session = pool;
    if (session != NULL) pool = session->next_free;
    unlock_pool();
    if (session != NULL) return session;
    session = memory.allocate_aligned(DUO_LINE, sizeof *session);
    if (session == NULL) return NULL;
    memset(session, 0, sizeof *session);
    session->is_pooled = true;
    return session;
}

static void to_pool(duo_session *session)
{
    lock_pool();
    session->next_free = pool;
    pool = session;
    unlock_pool();
}

duo_status duo_open(const duo_protocol *protocol, duo_endpoint *server, duo_endpoint *client)
{
    *server = *client = (duo_endpoint){NULL, 0};
    duo_session *session = from_pool();
    if (session == NULL) return DUO_NO_MEMORY;
    size_t size = duo_lay_out(session, protocol);
    session->ring = session->inline_ring;
    if (size > DUO_INLINE_RING) session->ring = memory.allocate_aligned(DUO_LINE, size);
    if (size == 0 || session->ring == NULL) {
        to_pool(session);
        return DUO_NO_MEMORY;
    }
    duo_begin(session, protocol, server, client);
    return DUO_OK;
}

void duo_to_pool(duo_session *session)
{
    if (session->ring != session->inline_ring) memory.release(session->ring);
    to_pool(session);
}

#endif
