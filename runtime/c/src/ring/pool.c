/*
 * Where sessions come from and where they go: the pool of sessions.
 *
 * Except by `duo_shutdown`, a session's own struct is never returned to the allocator: a handle's turn may be
 * checked long after the session is over. The pool stays at the highest number of sessions that were alive at
 * once. Rings that do not fit into the struct are separate blocks: some stay with their sessions, since
 * allocating and clearing a ring takes longer than a short session; the others are freed.
 */
#include "session.h"

#ifndef DUO_NO_MALLOC

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

static void lock_pool(void)
{
    pthread_mutex_lock(&pool_lock);
}

static void unlock_pool(void)
{
    pthread_mutex_unlock(&pool_lock);
}

/*
 * A child process has the pool but not the thread that may have held its lock, so the thread that forks holds it.
 * Registered before `main`: at the first use another thread might be in the middle of a fork, and its child would find
 * the lock held. And before all other locks, since this one is taken last: such handlers run in reverse order.
 */
__attribute__((constructor(DUO_POOL_PRIORITY))) static void guard_pools(void)
{
    (void)pthread_atfork(lock_pool, unlock_pool, unlock_pool);
}
#endif

/* How many sessions in the pool keep their rings, and the largest size of such a ring. */
enum { MOST_RINGS = 32, LARGEST_KEPT = 2 * DUO_RING };

/* Sessions that can be reused, without and with a ring outside their struct. */
static duo_session *ringless, *ringed;
static unsigned ringed_count;
/* How many have been allocated and not freed. */
static size_t sessions_made;
/* Those from which a session was taken. */
static duo_remote_pool *remote_pools;

static duo_session *take(duo_session **pool)
{
    duo_session *session = *pool;
    if (session == NULL) return NULL;
    *pool = session->next_free;
    if (pool == &ringed) ringed_count -= 1;
    return session;
}

static duo_session *from_pool(bool wants_ring)
{
    lock_pool();
    duo_session *session = take(wants_ring ? &ringed : &ringless);
    if (session == NULL) session = take(wants_ring ? &ringless : &ringed);
    unlock_pool();
    if (session != NULL) return session;
    session = duo_allocate_aligned(DUO_LINE, sizeof *session);
    if (session == NULL) return NULL;
    lock_pool();
    sessions_made += 1;
    unlock_pool();
    memset(session, 0, sizeof *session);
    session->is_pooled = true;
    session->ring = session->inline_ring;
    return session;
}

static size_t size_of_ring(const duo_session *session)
{
    return (size_t)session->shape.pitch * session->shape.lines;
}

static void drop_ring(duo_session *session)
{
    if (session->ring != session->inline_ring) duo_release(session->ring);
    session->ring = session->inline_ring;
    /* No ring has this shape. */
    session->shape.lines = 0;
}

static void session_to_pool(duo_session *session)
{
    bool has_ring = session->ring != session->inline_ring;
    if (has_ring && size_of_ring(session) > LARGEST_KEPT) drop_ring(session);
    has_ring = session->ring != session->inline_ring;
    duo_session *one_too_many = NULL;
    lock_pool();
    if (has_ring) {
        if (ringed_count == MOST_RINGS) one_too_many = take(&ringed);
        ringed_count += 1;
    }
    duo_session **pool = has_ring ? &ringed : &ringless;
    session->next_free = *pool;
    *pool = session;
    unlock_pool();
    if (one_too_many == NULL) return;
    drop_ring(one_too_many);
    session_to_pool(one_too_many);
}

#ifdef DUO_DEBUG
#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

/* A session that has begun in this process, and the place in the program. */
typedef struct begun {
    /* Its address with all bits inverted, so that a leak checker does not find the session here. */
    uintptr_t session;
    void *place;
    struct begun *next;
} begun;

static begun *all_begun;

/* Without memory the session is not reported. */
static void note_begin(const duo_session *session, void *place)
{
    begun *made = malloc(sizeof *made);
    if (made == NULL) return;
    lock_pool();
    *made = (begun){~(uintptr_t)session, place, all_begun};
    all_begun = made;
    unlock_pool();
}

static void note_end(const duo_session *session)
{
    lock_pool();
    begun **from = &all_begun;
    while (*from != NULL && (*from)->session != ~(uintptr_t)session) from = &(*from)->next;
    begun *gone = *from;
    if (gone != NULL) *from = gone->next;
    unlock_pool();
    free(gone);
}

/* Reports the sessions that are not over. */
static void report_begun(void)
{
    lock_pool();
    for (const begun *one = all_begun; one != NULL; one = one->next) {
        void *place = one->place;
        char **name = NULL;
#ifdef __GLIBC__
        name = backtrace_symbols(&place, 1);
#endif
        if (name != NULL) fprintf(stderr, "duologue: a session that began in %s is not over\n", name[0]);
        else fprintf(stderr, "duologue: a session that began at %p is not over\n", place);
        free(name);
    }
    unlock_pool();
}

/* The instruction after the call of the function that begins a session. */
#define CALLER __builtin_return_address(0)
#else
#define CALLER NULL

static void note_begin(const duo_session *session, void *place)
{
    (void)session, (void)place;
}

static void note_end(const duo_session *session)
{
    (void)session;
}

static void report_begun(void)
{
}
#endif

duo_remote *duo_remote_from_pool(duo_remote_pool *pool)
{
    lock_pool();
    duo_remote *remote = (duo_remote *)(void *)take(&pool->unused);
    unlock_pool();
    if (remote != NULL) return remote;
    remote = duo_allocate_aligned(DUO_LINE, pool->size);
    if (remote == NULL) return NULL;
    memset(remote, 0, pool->size);
    if (pool->prepare != NULL && !pool->prepare(remote)) {
        duo_release(remote);
        return NULL;
    }
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++)
        duo_atomic_init(&remote->session.sides[role].turn, DUO_REMOTE + 2 + role);
    remote->transport = pool->transport;
    lock_pool();
    pool->existing += 1;
    duo_remote_pool *known = remote_pools;
    while (known != NULL && known != pool) known = known->next;
    if (known == NULL) {
        pool->next = remote_pools;
        remote_pools = pool;
    }
    unlock_pool();
    return remote;
}

void duo_remote_to_pool(duo_remote_pool *pool, duo_remote *gone)
{
    lock_pool();
    gone->session.next_free = pool->unused;
    pool->unused = &gone->session;
    unlock_pool();
}

/* Frees a pool and returns how many of its sessions are not over. */
static size_t empty_remote_pool(duo_remote_pool *pool)
{
    lock_pool();
    duo_session *gone = pool->unused;
    pool->unused = NULL;
    for (const duo_session *session = gone; session != NULL; session = session->next_free) pool->existing -= 1;
    size_t living = pool->existing;
    unlock_pool();
    while (gone != NULL) {
        duo_remote *remote = (duo_remote *)(void *)gone;
        gone = gone->next_free;
        if (pool->forget != NULL) pool->forget(remote);
        duo_release(remote);
    }
    return living;
}

size_t duo_shutdown(void)
{
    report_begun();
    lock_pool();
    duo_session *gone[] = {ringless, ringed};
    ringless = ringed = NULL;
    ringed_count = 0;
    for (size_t i = 0; i < 2; i++)
        for (const duo_session *session = gone[i]; session != NULL; session = session->next_free) sessions_made -= 1;
    size_t living = sessions_made;
    unlock_pool();
    for (size_t i = 0; i < 2; i++) {
        while (gone[i] != NULL) {
            duo_session *session = gone[i];
            gone[i] = session->next_free;
            drop_ring(session);
            duo_release(session);
        }
    }
    lock_pool();
    duo_remote_pool *pool = remote_pools;
    unlock_pool();
    for (; pool != NULL; pool = pool->next) living += empty_remote_pool(pool);
    return living;
}

duo_status duo_open(const duo_protocol *protocol, duo_endpoint *server, duo_endpoint *client)
{
    *server = *client = (duo_endpoint){NULL, 0};
    duo_shape shape;
    size_t size = duo_lay_out(&shape, protocol);
    if (size == 0) return DUO_NO_MEMORY;
    bool wants_ring = size > DUO_INLINE_RING;
    duo_session *session = from_pool(wants_ring);
    if (session == NULL) return DUO_NO_MEMORY;
    bool was_used = duo_is_shape(&session->shape, &shape);
    if (!was_used) {
        drop_ring(session);
        if (wants_ring) session->ring = duo_allocate_aligned(DUO_LINE, size);
        if (session->ring == NULL) {
            session->ring = session->inline_ring;
            session_to_pool(session);
            return DUO_NO_MEMORY;
        }
    }
    duo_begin(session, protocol, &shape, was_used, server, client);
    note_begin(session, CALLER);
    return DUO_OK;
}

#endif

void duo_session_release(duo_session *session)
{
#ifndef DUO_NO_MALLOC
    if (session->is_pooled) {
        note_end(session);
        session_to_pool(session);
        return;
    }
#endif
    duo_atomic_store(&session->is_running, false, memory_order_release);
}
