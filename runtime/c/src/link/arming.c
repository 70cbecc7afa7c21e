/*
 * Notifiers: how a side that waits on many endpoints is notified of one. ring.h (b) explains why no notification
 * is missed.
 *
 * Other threads may use an endpoint while a notifier is installed there, and the thread that installed it may
 * remove it at the same moment. Both need the position of the side, and one of them must make sure that the
 * sender does not notify. They are ordered by the turn of the side, in which WORD_ARMED is set from the installation
 * until the endpoint is used. Every change of such a turn is a compare-and-swap that acquires and releases,
 * except for the one that clears LOCKED, which releases:
 *
 * - The thread that uses the endpoint changes the turn, if LOCKED is not set, to the next one (or to the same
 *   one without WORD_ARMED), and then removes the notifier. While it finds LOCKED it waits.
 * - The thread that installed the notifier sets LOCKED if the turn is still the one that it knows and the notifier is
 *   still installed. If not, it waits until the notifier is gone: the user removes it a few instructions after
 *   changing the turn.
 *
 * So one of them comes first, and the other sees what it did. In the end the thread that installed the notifier
 * knows that it is not called any more, so that its memory may be reused. A sender that notifies does not read
 * the turn.
 */
#include "../floor/backoff.h"
#include "link.h"
#include "../ring/ring.h"

bool duo_is_ready(const duo_side *side)
{
    return has_news(duo_atomic_load(&side->line->word, memory_order_acquire), side->at);
}

static bool arm_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word | WORD_ARMED,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/* Fails only if the sender has announced its last word. */
static bool arm_flags(duo_side *side)
{
    uint64_t said = 0;
    return duo_atomic_compare_exchange_strong(
        flags_of(session_of(side), role_of(side)), &said, (side->at & KEY) | FLAGS_ARMED,
        memory_order_acq_rel, memory_order_relaxed);
}

/* Marks the turn, so that others can take it only with `duo_take_turn`. Called by the owner of the handle. */
static void mark(duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    /* A thread that acquires this turn sees what kind of notifier it is. */
    duo_atomic_store(&side->turn, turn | DUO_TURN_ARMED, memory_order_release);
}

duo_arming duo_arm(duo_side *side, duo_notifier *notifier, bool for_credit)
{
    side->is_for_credit = for_credit;
    if (!for_credit && duo_is_ready(side)) return DUO_NOT_ARMED;
    /* Published by the compare-and-swap; this is not read without the flag. */
    duo_atomic_store(&side->notifier, notifier, memory_order_relaxed);
    if (for_credit) {
        if (duo_arm_credit(session_of(side), side)) {
            mark(side);
            return DUO_ARMED;
        }
        duo_atomic_store(&side->notifier, NULL, memory_order_relaxed);
        return DUO_NOT_ARMED;
    }
    bool swaps = is_swapped(side->at);
    if (swaps ? arm_word(side) : arm_flags(side)) {
        mark(side);
        return swaps ? DUO_ARMED : DUO_ARMED_UNSEEN;
    }
    duo_atomic_store(&side->notifier, NULL, memory_order_relaxed);
    unsigned passes = 0;
    while (!duo_is_ready(side)) duo_pass(&passes);
    return DUO_NOT_ARMED;
}

/* Takes the flag back; false if the sender has cleared it, and so is about to notify. */
static bool disarm_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word & ~WORD_ARMED,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

static bool disarm_flags(duo_side *side)
{
    uint64_t said = (side->at & KEY) | FLAGS_ARMED;
    return duo_atomic_compare_exchange_strong(flags_of(session_of(side), role_of(side)), &said,
                                              0, memory_order_acq_rel, memory_order_acquire);
}

/* Takes back what the peer would react to; false if the peer has already done so. */
static bool lower_flag(duo_side *side)
{
    if (side->is_for_credit) return duo_disarm_credit(session_of(side));
    return is_swapped(side->at) ? disarm_word(side) : disarm_flags(side);
}

void duo_disarm(duo_side *side)
{
    if (lower_flag(side)) {
        duo_atomic_store(&side->notifier, NULL, memory_order_release);
        return;
    }
    /* The peer is notifying, which takes a few instructions, and then removes the notifier. */
    unsigned passes = 0;
    while (duo_atomic_load(&side->notifier, memory_order_acquire) != NULL) duo_pass(&passes);
}

bool duo_take_turn(duo_side *side, uint64_t turn, uint64_t next)
{
    uint64_t own = duo_atomic_load(&side->turn, memory_order_relaxed);
    unsigned passes = 0;
    while ((own & ~(DUO_TURN_ARMED | DUO_TURN_LOCKED)) == turn) {
        if (own & DUO_TURN_LOCKED) {
            duo_pass(&passes);
            own = duo_atomic_load(&side->turn, memory_order_relaxed);
        } else if (duo_atomic_compare_exchange_weak(&side->turn, &own, next, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

duo_side *duo_lock_armed(duo_endpoint endpoint, const duo_notifier *notifier)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    unsigned passes = 0;
    while (duo_atomic_load(&side->notifier, memory_order_acquire) == notifier) {
        uint64_t own = endpoint.turn | DUO_TURN_ARMED;
        if (duo_atomic_compare_exchange_strong(&side->turn, &own, own | DUO_TURN_LOCKED,
                                               memory_order_acq_rel, memory_order_relaxed)) {
            if (duo_atomic_load(&side->notifier, memory_order_acquire) == notifier) return side;
            duo_unlock_armed(side);
            return NULL;
        }
        /* The thread that has taken the turn also removes the notifier. */
        duo_pass(&passes);
    }
    return NULL;
}

void duo_unlock_armed(duo_side *side)
{
    uint64_t held = duo_atomic_load(&side->turn, memory_order_relaxed);
    duo_atomic_store(&side->turn, held & ~DUO_TURN_LOCKED, memory_order_release);
}

void duo_disarm_endpoint(duo_endpoint endpoint, const duo_notifier *notifier)
{
    duo_side *side = duo_lock_armed(endpoint, notifier);
    if (side == NULL) return;
    duo_disarm(side);
    duo_unlock_armed(side);
}
