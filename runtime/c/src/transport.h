/*
 * Sessions whose peer is in another process. Their endpoints are the same `duo_endpoint`, told apart by
 * the highest bit of the turn, which the turns of sessions within the process never reach. Such a session
 * begins with a `duo_session`, of which only the turns are used, so that handles of both kinds are
 * claimed and moved alike; what else is done with them, a transport does.
 */
#ifndef DUOLOGUE_TRANSPORT_H
#define DUOLOGUE_TRANSPORT_H

#include <errno.h>

#include "session.h"

/* Rare paths are calls, so that the usual ones keep everything in registers. */
#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline))
#else
#define NOT_INLINE
#endif

#define DUO_REMOTE (UINT64_C(1) << 63)

/* The operations of generated.h. The handle was not claimed yet. */
typedef struct duo_transport {
    duo_status (*send)(duo_endpoint from, const duo_message *message, const void *entries,
                       uint64_t wait, duo_endpoint *next);
    duo_status (*recv)(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);
    duo_status (*close)(duo_endpoint endpoint, const duo_state *state);
} duo_transport;

/* What each such session begins with. Lives in memory that is never given back, like every session. */
typedef struct duo_remote {
    duo_session session;
    const duo_transport *transport;
} duo_remote;

static inline bool duo_is_remote(duo_endpoint endpoint)
{
    return (endpoint.turn & DUO_REMOTE) != 0;
}

/* The answer of operations that only sessions within the process have. */
static inline duo_status duo_is_elsewhere(void)
{
    errno = ENOTSUP;
    return DUO_SYSTEM;
}

static inline const duo_transport *duo_transport_of(duo_endpoint endpoint)
{
    return ((const duo_remote *)(const void *)endpoint.session)->transport;
}

#endif
