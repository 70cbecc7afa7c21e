/* Bells: how a side that waits on many endpoints hears of one. Why this is correct is in ring.h (b). */
#include "ring.h"

bool duo_is_ready(duo_side *side)
{
    duo_slot *slot = slot_at(session_of(side), side->position);
    return has_number(atomic_load_explicit(&slot->word, memory_order_acquire), side->number);
}

bool duo_hang(duo_side *side, duo_bell *bell)
{
    duo_slot *slot = slot_at(session_of(side), side->position);
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    /* Published by the compare-and-swap; without the flag nobody looks here. */
    atomic_store_explicit(&side->bell, bell, memory_order_relaxed);
    while (!has_number(word, side->number)) {
        if (atomic_compare_exchange_weak_explicit(&slot->word, &word, word | DUO_WORD_BELL,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
    return false;
}

void duo_take_down(duo_side *side)
{
    duo_slot *slot = slot_at(session_of(side), side->position);
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    while (!has_number(word, side->number)) {
        if (atomic_compare_exchange_weak_explicit(&slot->word, &word, word & ~DUO_WORD_BELL,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            atomic_store_explicit(&side->bell, NULL, memory_order_relaxed);
            return;
        }
    }
    /* The sender has exchanged the word: it rings, a few instructions, and takes the bell down. */
    for (int look = 0; atomic_load_explicit(&side->bell, memory_order_acquire) != NULL; look++) {
        if (look < LOOKS) relax();
        else sched_yield();
    }
}
