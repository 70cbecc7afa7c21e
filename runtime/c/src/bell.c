/*
 * Bells: how a side that waits on many endpoints is notified of one. ring.h (b) explains why no notification
 * is missed.
 *
 * Other threads may use an endpoint while a bell is installed there, and the thread that installed it may
 * remove it at the same moment. Both need the position of the side, and one of them must make sure that the
 * sender does not ring. They are ordered by the turn of the side, in which BELL is set from the installation
 * until the endpoint is used. Every change of such a turn is a compare-and-swap that acquires and releases,
 * except for the one that clears HELD, which releases:
 *
 * - The thread that uses the endpoint changes the turn, if HELD is not set, to the next one (or to the same
 *   one without BELL), and then removes the bell. While it finds HELD it waits.
 * - The thread that installed the bell sets HELD if the turn is still the one that it knows and the bell is
 *   still installed. If not, it waits until the bell is gone: the user removes it a few instructions after
 *   changing the turn.
 *
 * So one of them comes first, and the other sees what it did. In the end the thread that installed the bell
 * knows that it is not rung any more, so that its memory may be reused. A sender that rings does not read
 * the turn.
 */
#include "backoff.h"
#include "ring.h"

bool duo_is_ready(const duo_side *side)
{
    return has_news(duo_atomic_load(&side->line->word, memory_order_acquire), side->at) ||
           duo_was_left(side);
}

static bool hang_in_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word | BELL,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/* Fails only if the sender has announced its last word. */
static bool hang_in_flags(duo_side *side)
{
    uint64_t said = 0;
    return duo_atomic_compare_exchange_strong(
        flags_of(session_of(side), role_of(side)), &said, (side->at & KEY) | RINGS,
        memory_order_acq_rel, memory_order_relaxed);
}

/* Marks the turn, so that others can take it only with `duo_take_turn`. Called by the owner of the handle. */
static void mark(duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    /* A thread that acquires this turn sees what kind of bell it is. */
    duo_atomic_store(&side->turn, turn | DUO_TURN_BELL, memory_order_release);
}

duo_hanging duo_hang(duo_side *side, duo_bell *bell, bool for_room)
{
    side->is_for_room = for_room;
    if (!for_room && duo_is_ready(side)) return DUO_NOT_HUNG;
    /* Published by the compare-and-swap; this is not read without the flag. */
    duo_atomic_store(&side->bell, bell, memory_order_relaxed);
    if (for_room) {
        if (duo_hang_for_room(session_of(side), side)) {
            mark(side);
            /* As in `duo_await_room`. */
            duo_full_fence();
            if (!duo_was_left(side)) return DUO_HUNG;
            duo_take_down(side);
            return DUO_NOT_HUNG;
        }
        duo_atomic_store(&side->bell, NULL, memory_order_relaxed);
        return DUO_NOT_HUNG;
    }
    bool swaps = is_swapped(side->at);
    if (swaps ? hang_in_word(side) : hang_in_flags(side)) {
        mark(side);
        if (!swaps) return DUO_HUNG_UNSEEN;
        fence_after_exchange();
        if (!duo_was_left(side)) return DUO_HUNG;
        duo_take_down(side);
        return DUO_NOT_HUNG;
    }
    duo_atomic_store(&side->bell, NULL, memory_order_relaxed);
    unsigned passes = 0;
    while (!duo_is_ready(side)) duo_pass(&passes);
    return DUO_NOT_HUNG;
}

/* Takes the flag back; false if the sender has cleared it, and so is about to ring. */
static bool unhang_in_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word & ~BELL,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

static bool unhang_in_flags(duo_side *side)
{
    uint64_t said = (side->at & KEY) | RINGS;
    return duo_atomic_compare_exchange_strong(flags_of(session_of(side), role_of(side)), &said,
                                              0, memory_order_acq_rel, memory_order_acquire);
}

/* Takes back what the peer would react to; false if the peer has already done so. */
static bool unhang(duo_side *side)
{
    if (side->is_for_room) return duo_unhang_for_room(session_of(side));
    return is_swapped(side->at) ? unhang_in_word(side) : unhang_in_flags(side);
}

void duo_take_down(duo_side *side)
{
    if (unhang(side)) {
        duo_atomic_store(&side->bell, NULL, memory_order_release);
        return;
    }
    /* The peer is ringing, which takes a few instructions, and then removes the bell. */
    unsigned passes = 0;
    while (duo_atomic_load(&side->bell, memory_order_acquire) != NULL) duo_pass(&passes);
}

bool duo_take_turn(duo_side *side, uint64_t turn, uint64_t next)
{
    uint64_t own = duo_atomic_load(&side->turn, memory_order_relaxed);
    unsigned passes = 0;
    while ((own & ~(DUO_TURN_BELL | DUO_TURN_HELD)) == turn) {
        if (own & DUO_TURN_HELD) {
            duo_pass(&passes);
            own = duo_atomic_load(&side->turn, memory_order_relaxed);
        } else if (duo_atomic_compare_exchange_weak(&side->turn, &own, next, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

duo_side *duo_hold(duo_endpoint endpoint, const duo_bell *bell)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    unsigned passes = 0;
    while (duo_atomic_load(&side->bell, memory_order_acquire) == bell) {
        uint64_t own = endpoint.turn | DUO_TURN_BELL;
        if (duo_atomic_compare_exchange_strong(&side->turn, &own, own | DUO_TURN_HELD,
                                               memory_order_acq_rel, memory_order_relaxed)) {
            if (duo_atomic_load(&side->bell, memory_order_acquire) == bell) return side;
            duo_let_go(side);
            return NULL;
        }
        /* The thread that has taken the turn also removes the bell. */
        duo_pass(&passes);
    }
    return NULL;
}

void duo_let_go(duo_side *side)
{
    uint64_t held = duo_atomic_load(&side->turn, memory_order_relaxed);
    duo_atomic_store(&side->turn, held & ~DUO_TURN_HELD, memory_order_release);
}

void duo_take_off(duo_endpoint endpoint, const duo_bell *bell)
{
    duo_side *side = duo_hold(endpoint, bell);
    if (side == NULL) return;
    duo_take_down(side);
    duo_let_go(side);
}

void duo_ring_bell(duo_side *side)
{
    duo_bell *bell = duo_atomic_load(&side->bell, memory_order_relaxed);
    bell->ring(bell);
    duo_atomic_store(&side->bell, NULL, memory_order_release);
}
