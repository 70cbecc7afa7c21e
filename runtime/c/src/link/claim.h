/* Consuming a handle, on the paths that most messages take. */
#ifndef DUOLOGUE_CLAIM_H
#define DUOLOGUE_CLAIM_H

#include "link.h"
#include "../ring/ring.h"

/* Consumes a handle: see `duo_claim`. Does not remove a notifier. */
static inline bool claim_turn(duo_side *side, uint64_t turn)
{
#ifndef DUO_CHECKED
    /* Relaxed: only the owner of the one valid handle gets past this, and it has what it needs to see. */
    if (DUO_LIKELY(duo_atomic_load(&side->turn, memory_order_relaxed) == turn)) {
        duo_atomic_store(&side->turn, turn + 2, memory_order_relaxed);
        return true;
    }
#endif
    return duo_take_turn(side, turn, turn + 2);
}

/* `duo_claim` of an endpoint whose peer is in this process. */
static inline duo_side *claim_near(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (!claim_turn(side, endpoint.turn)) return NULL;
    /* The turn is already the next one, the position is not. */
    side->base -= 2;
    load_position(side);
    if (!DUO_LIKELY(duo_atomic_load(&side->notifier, memory_order_acquire) == NULL)) duo_disarm(side);
    return side;
}

#endif
