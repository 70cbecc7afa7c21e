/* Bells: how a side that waits on many endpoints hears of one. Why this is correct is in ring.h (b). */
#include "ring.h"

enum { LOOKS_BEFORE_YIELD = 100 };

bool duo_is_ready(const duo_side *side)
{
    return has_news(atomic_load_explicit(&side->line->word, memory_order_acquire), side->at);
}

static bool hang_in_word(duo_side *side)
{
    uint64_t word = atomic_load_explicit(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (atomic_compare_exchange_weak_explicit(&side->line->word, &word, word | BELL,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/* Fails only if the sender says that its last word comes. */
static bool hang_in_flags(duo_side *side)
{
    uint64_t said = 0;
    return atomic_compare_exchange_strong_explicit(
        flags_of(session_of(side), role_of(side)), &said, (side->at & KEY) | RINGS,
        memory_order_acq_rel, memory_order_relaxed);
}

/* Only its own side changes a turn. */
static void mark(duo_side *side, uint64_t bell)
{
    uint64_t turn = atomic_load_explicit(&side->turn, memory_order_relaxed) & ~DUO_TURN_BELL;
    atomic_store_explicit(&side->turn, turn | bell, memory_order_relaxed);
}

duo_hanging duo_hang(duo_side *side, duo_bell *bell)
{
    if (duo_is_ready(side)) return DUO_NOT_HUNG;
    /* Published by the compare-and-swap; without the flag nobody looks here. */
    atomic_store_explicit(&side->bell, bell, memory_order_relaxed);
    bool swaps = is_swapped(side->at);
    if (swaps ? hang_in_word(side) : hang_in_flags(side)) {
        mark(side, DUO_TURN_BELL);
        return swaps ? DUO_HUNG : DUO_HUNG_UNSEEN;
    }
    atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
    while (!duo_is_ready(side)) duo_yield();
    return DUO_NOT_HUNG;
}

/* Takes the flag back; false if the sender has lowered it, and so comes to ring. */
static bool unhang_in_word(duo_side *side)
{
    uint64_t word = atomic_load_explicit(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (atomic_compare_exchange_weak_explicit(&side->line->word, &word, word & ~BELL,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

static bool unhang_in_flags(duo_side *side)
{
    uint64_t said = (side->at & KEY) | RINGS;
    return atomic_compare_exchange_strong_explicit(flags_of(session_of(side), role_of(side)), &said,
                                                   0, memory_order_acq_rel, memory_order_acquire);
}

void duo_take_down(duo_side *side)
{
    mark(side, 0);
    if (is_swapped(side->at) ? unhang_in_word(side) : unhang_in_flags(side)) {
        atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
        return;
    }
    /* The sender rings, a few instructions, and takes the bell down. */
    for (int look = 0; atomic_load_explicit(&side->bell, memory_order_acquire) != NULL; look++) {
        if (look < LOOKS_BEFORE_YIELD) relax();
        else duo_yield();
    }
}

void duo_ring_bell(duo_side *side)
{
    duo_bell *bell = atomic_load_explicit(&side->bell, memory_order_relaxed);
    bell->ring(bell);
    atomic_store_explicit(&side->bell, NULL, memory_order_release);
}
