/*
 * One endpoint, protected by a lock that is held for one message.
 *
 * A sender that finds the ring full waits with the lock released, one sender at a time; the others wait
 * for the `door`. It has set the mark in the credit while it held the lock and the ring was full, so the
 * argument in notify.c applies: when the receiver frees slots or disconnects, it finds the mark and wakes
 * the sender. The endpoint may end in the meantime, because another sender finds the receiver gone; but
 * then the receiver has disconnected and the wait is over, and the memory of a session is only reused for
 * sessions.
 *
 * If the peer is in another process, a sender that waits for free space uses the session while it waits.
 * So it keeps the lock and records that it waits, and senders that only try get DUO_FULL.
 */
#include "duologue/shared.h"

#include "../floor/backoff.h"
#include "../link/link.h"

#if !defined(DUO_NO_MALLOC) && !defined(DUO_NO_THREADS)

#include <pthread.h>

#include "../link/transport.h"

struct duo_shared {
    pthread_mutex_t lock;
    pthread_mutex_t door;
    DUO_ATOMIC size_t holders;
    /* A sender waits for a peer in another process and holds the lock. */
    DUO_ATOMIC bool is_waiting;
    bool is_remote;
    duo_endpoint endpoint;
    const duo_state *state;
    /* Why the endpoint is gone. */
    duo_status gone;
};

static void destroy(duo_shared *shared)
{
    pthread_mutex_destroy(&shared->lock);
    pthread_mutex_destroy(&shared->door);
    duo_release(shared);
}

duo_status duo_share(duo_endpoint from, const duo_state *state, duo_shared **shared)
{
    *shared = NULL;
    duo_shared *made = duo_allocate(sizeof *made);
    if (made == NULL) return duo_check_handle(from) == NULL ? DUO_USED : DUO_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->door, NULL);
    /* From here on all copies of the handle are used ones. */
    if (duo_claim(from) == NULL) {
        destroy(made);
        return DUO_USED;
    }
    from.turn += 2;
    made->endpoint = from;
    made->is_remote = duo_is_remote(from);
    duo_note_handed_over(from);
    made->state = state;
    made->gone = DUO_CLOSED;
    duo_atomic_init(&made->holders, 1);
    duo_atomic_init(&made->is_waiting, false);
    *shared = made;
    return DUO_OK;
}

duo_shared *duo_shared_retain(duo_shared *shared)
{
    duo_atomic_fetch_add(&shared->holders, 1, memory_order_relaxed);
    return shared;
}

void duo_shared_release(duo_shared *shared)
{
    if (shared == NULL) return;
    if (duo_atomic_fetch_sub(&shared->holders, 1, memory_order_acq_rel) != 1) return;
    duo_close(shared->endpoint, shared->state);
    destroy(shared);
}

/* What a sender that found the ring full waits for, and where; `session` is NULL if it should not wait. */
typedef struct full {
    duo_session *session;
    uint64_t credit;
} full;

/* Once the session has ended, the endpoint is gone, which is not a second use: every sender gets the reason. */
static duo_status unless_gone(duo_shared *shared, duo_status status)
{
    if (shared->endpoint.session != NULL || status == DUO_OK) return status;
    if (status != DUO_USED) shared->gone = status;
    return shared->gone;
}

/* Sends if there are free slots. If not, and `waiting` is given, it is set to what to sleep on. */
static duo_status attempt(duo_shared *shared, const duo_message *message, const void *entries,
                          full *waiting)
{
    pthread_mutex_lock(&shared->lock);
    duo_status status = duo_send(shared->endpoint, message, entries, DUO_AT_ONCE, &shared->endpoint);
    if (status == DUO_FULL && waiting != NULL) {
        duo_session *session = shared->endpoint.session;
        const duo_side *side = duo_check_handle(shared->endpoint);
        bool is_full = duo_check_credit(session, side, &waiting->credit) == DUO_CREDIT_FULL &&
                       duo_announce_wait(session, &waiting->credit);
        waiting->session = is_full ? session : NULL;
    }
    status = unless_gone(shared, status);
    pthread_mutex_unlock(&shared->lock);
    return status;
}

/* Takes the lock for a sender that does not wait; false if a sender that waits has it. */
static bool lock_at_once(duo_shared *shared)
{
    unsigned passes = 0;
    while (pthread_mutex_trylock(&shared->lock) != 0) {
        if (duo_atomic_load(&shared->is_waiting, memory_order_relaxed)) return false;
        duo_pass(&passes);
    }
    return true;
}

/* Sends to a peer in another process. */
static duo_status send_away(duo_shared *shared, const duo_message *message, const void *entries,
                            uint64_t wait)
{
    if (wait != DUO_AT_ONCE) pthread_mutex_lock(&shared->lock);
    else if (!lock_at_once(shared)) return DUO_FULL;
    duo_status status = duo_send(shared->endpoint, message, entries, DUO_AT_ONCE, &shared->endpoint);
    if (status == DUO_FULL && wait != DUO_AT_ONCE) {
        duo_atomic_store(&shared->is_waiting, true, memory_order_relaxed);
        status = duo_send(shared->endpoint, message, entries, wait, &shared->endpoint);
        duo_atomic_store(&shared->is_waiting, false, memory_order_relaxed);
    }
    status = unless_gone(shared, status);
    pthread_mutex_unlock(&shared->lock);
    return status;
}

duo_status duo_shared_send(duo_shared *shared, const duo_message *message, const void *entries,
                           uint64_t wait)
{
    if (shared->is_remote) return send_away(shared, message, entries, wait);
    duo_status status = attempt(shared, message, entries, NULL);
    if (status != DUO_FULL || wait == DUO_AT_ONCE) return status;
    pthread_mutex_lock(&shared->door);
    full waiting = {NULL, 0};
    while ((status = attempt(shared, message, entries, &waiting)) == DUO_FULL) {
        if (waiting.session == NULL) continue;
        /* Without a deadline it is false only if the thread is canceled. */
        if (!duo_wait(&waiting.session->credit, DUO_LOW_HALF, waiting.credit, DUO_FOREVER)) break;
    }
    pthread_mutex_unlock(&shared->door);
    return status;
}

#endif
