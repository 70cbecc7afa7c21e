/*
 * Handles: which of them is valid for a side, and how it is consumed and restored. Using a handle removes its endpoint
 * from a set.
 */
#include "link.h"
#include "claim.h"
#include "transport.h"

duo_side *duo_check_handle(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    if (turn != endpoint.turn && !duo_take_turn(side, endpoint.turn, endpoint.turn)) return NULL;
    load_position(side);
    if (turn != endpoint.turn && duo_atomic_load(&side->notifier, memory_order_acquire) != NULL)
        duo_disarm(side);
    return side;
}

/* A turn was consumed, or restored, without a message. */
static void move_lanes(duo_endpoint endpoint, uint64_t turns)
{
    duo_remote *remote = (duo_remote *)(void *)endpoint.session;
    duo_lane *lane = &remote->lane;
    if (lane->end != 0) {
        lane->end += turns;
        lane->from += turns;
        lane->place -= (uintptr_t)(4 * turns);
        if (lane->ends != 0) lane->ends += turns;
        /* The lane of a sender. */
        if (lane->of != NULL) lane->word -= turns;
    }
    remote->line_turns.from += turns;
}

static duo_side *claim_far(duo_endpoint endpoint)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (!claim_turn(side, endpoint.turn)) return NULL;
    move_lanes(endpoint, 2);
    const duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_acquire);
    if (notifier != NULL) duo_transport_of(endpoint)->unwatch(endpoint.session, notifier);
    return side;
}

duo_side *duo_claim(duo_endpoint endpoint)
{
    return duo_is_remote(endpoint) ? claim_far(endpoint) : claim_near(endpoint);
}

void duo_unclaim(duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    duo_atomic_store(&side->turn, turn - 2, memory_order_relaxed);
    duo_endpoint endpoint = {session_of(side), turn};
    if (duo_is_remote(endpoint)) move_lanes(endpoint, -(uint64_t)2);
    else side->base += 2;
}
