/*
 * duologue/shared.h: one sending endpoint for many senders. Generated code wraps these functions for
 * states in which every message leads back to the same state; programs use the generated functions.
 */
#ifndef DUOLOGUE_SHARED_H
#define DUOLOGUE_SHARED_H

#include "duologue/tables.h"

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An endpoint with several holders. It is reference-counted: each holder releases it once, on any
 * thread.
 */
typedef struct duo_shared duo_shared;

/*
 * Turns an endpoint of `state` into a shared one with one holder. On failure (DUO_USED,
 * DUO_NO_MEMORY) the endpoint is unchanged and `shared` is NULL.
 */
DUO_MUST_CHECK duo_status duo_share(duo_endpoint from, const duo_state *state,
                                    duo_shared **shared);

/* Adds a holder and returns `shared`. */
duo_shared *duo_shared_retain(duo_shared *shared);

/* Removes a holder. The last one closes the session. NULL is ignored. */
void duo_shared_release(duo_shared *shared);

/*
 * Sends like `duo_send`, as one of many senders; the messages of one thread arrive in the order in
 * which it sent them. `wait` is DUO_AT_ONCE or DUO_FOREVER. While one sender waits for free space
 * others may try to send; if the peer is in another process, they get DUO_FULL.
 */
DUO_MUST_CHECK duo_status duo_shared_send(duo_shared *shared, const duo_message *message,
                                          const void *entries, uint64_t wait);

#ifdef __cplusplus
}
#endif

DUO_C_ENDS

#endif
