/*
 * Sessions whose peer is in another process. Their endpoints are the same `duo_endpoint`, told apart by
 * the second highest bit of the turn, which the turns of sessions within the process never reach. Such a session
 * begins with a `duo_session`, of which only the turns are used, so that handles of both kinds are
 * claimed and moved alike; what else is done with them, a transport does.
 */
#ifndef DUOLOGUE_TRANSPORT_H
#define DUOLOGUE_TRANSPORT_H

#include "session.h"

/* Rare paths are calls, so that the usual ones keep everything in registers. */
#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline))
#else
#define NOT_INLINE
#endif

/* Receiving sides that a set of endpoints watches. */
typedef struct duo_watch duo_watch;

typedef struct duo_transport {
    /* The operations of generated.h. The handle was not claimed yet. */
    duo_status (*send)(duo_endpoint from, const duo_message *message, const void *entries,
                       uint64_t wait, duo_endpoint *next);
    duo_status (*recv)(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);
    duo_status (*close)(duo_endpoint endpoint, const duo_state *state);

    /* Endpoints are as ready.h has them from here on: with a mark if it is room that is waited for. */
    /* Whether the next `_try_recv` answers something else than DUO_EMPTY, or `_try_send_M` than DUO_FULL. */
    bool (*is_ready)(duo_endpoint endpoint);
    /*
     * Sleeps while `word` is 0 and none of those endpoints that are remote is ready; may return for
     * no reason. False once `deadline` (NULL: never) is past.
     */
    bool (*doze)(const duo_endpoint *endpoints, size_t count, DUO_ATOMIC(uint64_t) *word,
                 const struct timespec *deadline);

    /*
     * Watches a side for a set: `bell` is rung once when it is ready, by `look`, by `sleep`, or by a
     * thread that `attend` starts. `*watch` is made if it is NULL. Not for a side that is watched.
     */
    duo_status (*watch)(duo_watch **watch, duo_endpoint endpoint, duo_bell *bell);
    /* Ends that; the bell is not rung afterwards. Nothing if the session is not watched for this bell. */
    void (*unwatch)(duo_session *session, const duo_bell *bell);
    /* Rings the bells of all that are ready. */
    void (*look)(duo_watch *watch);
    /* Rings the bells of those that are ready, or sleeps like `doze` while `word` is `expected`. */
    bool (*sleep)(duo_watch *watch, DUO_ATOMIC(uint64_t) *word, uint64_t expected,
                  const struct timespec *deadline);
    /* From here on a thread rings the bells, too, as soon as it hears of it. */
    duo_status (*attend)(duo_watch *watch);
    /* Ends all of it. */
    void (*forget)(duo_watch *watch);
} duo_transport;

static inline bool duo_is_remote(duo_endpoint endpoint)
{
    return (endpoint.turn >> 62 & 1) != 0;
}

static inline const duo_transport *duo_transport_of(duo_endpoint endpoint)
{
    return ((const duo_remote *)(const void *)endpoint.session)->transport;
}

/* Whether it is room that an endpoint is waited for with, as ready.h has it. */
static inline bool duo_asks_room(duo_endpoint asked)
{
    return (asked.turn & DUO_TURN_ROOM) != 0;
}

/* The endpoint itself. */
static inline duo_endpoint duo_asked(duo_endpoint asked)
{
    asked.turn &= ~DUO_TURN_ROOM;
    return asked;
}

/* Whether an endpoint, whose side this is, has what it is waited for with, or the news that the peer left. */
static inline bool duo_has_news(duo_endpoint asked, const duo_side *side)
{
    if (duo_is_remote(asked)) return duo_transport_of(asked)->is_ready(asked);
    return duo_asks_room(asked) ? duo_has_room(asked.session, side) : duo_is_ready(side);
}

#endif
