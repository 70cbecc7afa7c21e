/*
 * duologue/shared.h: one sending endpoint for many senders. Generated code wraps these functions for
 * states all of whose messages lead back to the state; programs use what is generated.
 */
#ifndef DUOLOGUE_SHARED_H
#define DUOLOGUE_SHARED_H

#include "duologue/generated.h"

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/* An endpoint that several hold. Counted: each holder releases it once, on any thread. */
typedef struct duo_shared duo_shared;

/*
 * Makes an endpoint of `state` one that can be shared, with one holder. On failure (DUO_USED,
 * DUO_NO_MEMORY) the endpoint is as before and `shared` is NULL.
 */
DUO_MUST_CHECK duo_status duo_share(duo_endpoint from, const duo_state *state,
                                    duo_shared **shared);

/* One holder more; `shared` itself. */
duo_shared *duo_shared_hold(duo_shared *shared);

/* One holder less. The last one leaves the session. NULL is nobody's. */
void duo_shared_release(duo_shared *shared);

/*
 * Sends like `duo_send`, as one of many; messages of one thread arrive in the order in which it sent
 * them. `wait` is DUO_AT_ONCE or DUO_FOREVER. While one sender waits for room others may try;
 * if the peer is in another process, they are told DUO_FULL.
 */
DUO_MUST_CHECK duo_status duo_shared_send(duo_shared *shared, const duo_message *message,
                                          const void *entries, uint64_t wait);

#ifdef __cplusplus
}
#endif

DUO_C_ENDS

#endif
