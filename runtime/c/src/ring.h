/*
 * The ring of a session: slots, words, and the waiting for them. `static inline`, since every
 * operation is one call into session.c and should not become three.
 *
 * A state has one direction, so a side speaks only after it has read all that the other said, and
 * messages are under way in one direction at a time. Hence one ring serves both, the slot index
 * goes back to 0 when the direction turns, and an alternating exchange stays in one cache line.
 * Both sides count the messages of both directions alike; the number in a slot's word tells the
 * message that is awaited from the one that was there before, also from one's own.
 *
 * Why it is correct, whatever the processor reorders:
 *
 * (a) Payload. The sender writes the payload, then exchanges the word (release). The receiver reads
 *     the word (acquire) and finds its number, so it sees the payload. A slot is written again only
 *     by someone who knows that it was read: after a turn, because a later message came back; in a
 *     run, because `taken` (released after the payload was copied out, acquired by the sender)
 *     says so, or because the run is no longer than the ring. Each side's own fields change before
 *     the exchange that publishes, and nothing of a session is touched after the last one.
 * (b) Waking a receiver. It puts WAIT into the word by compare-and-swap, the sender exchanges the
 *     word. Both are read-modify-writes of one word, so one comes first: if WAIT does, the sender
 *     finds it and wakes; if the message does, the compare-and-swap fails and finds the message. The
 *     kernel compares the word once more before it lets the receiver sleep.
 *     A bell is hung up in the same way, with a flag of its own. The sender that finds the flag rings
 *     the bell and then takes it down (release); a side uses its handle, and whoever hung the bell
 *     lets go of it, only when the bell is down (acquire). So both outlive the ringing.
 * (c) Leaving. The same order decides between DEAD (by a receiver that leaves, where it awaits) and
 *     the word that the sender publishes there, be it a message or CLOSED: whoever comes second
 *     finds the other's word, knows that the peer is done, and gives the session back. At the last
 *     message of a protocol its receiver is second. So exactly one side gives it back.
 * (d) A full ring. The sender marks `waiting` by a read-modify-write, then looks at `taken` once
 *     more, then sleeps; the receiver stores `taken`, and every half ring exchanges `waiting`. If
 *     the receiver's exchange comes second, it finds the mark and wakes. If it comes first, the
 *     sender's read-modify-write synchronises with it and sees the newer `taken`. A full ring is
 *     longer than half of one, so after the mark the receiver passes such a place, or leaves.
 * (e) A receiver that leaves does not move `taken`, so no sender can feed it for ever: it reads at
 *     most what the ring holds. A sender that then stands before the full ring is told by LEAVING
 *     in `waiting`, and answers by leaving too, in the one slot that is kept for that; (c) decides.
 */
#ifndef DUOLOGUE_RING_H
#define DUOLOGUE_RING_H

#include <sched.h>

#include "session.h"

/* In `waiting`: the sender sleeps; the receiver is leaving and takes no more. */
#define WAITING UINT64_C(1)
#define LEAVING UINT64_C(2)

/* How often a receiver looks before it lets others run, and before it sleeps. */
enum { LOOKS = 100, YIELDS = 2 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline duo_slot *slot_at(const duo_session *session, size_t position)
{
    return (duo_slot *)(void *)(session->ring + position * session->stride);
}

static inline duo_role role_of(const duo_side *side)
{
    return atomic_load_explicit(&side->turn, memory_order_relaxed) & 1 ? DUO_SERVER : DUO_CLIENT;
}

static inline duo_session *session_of(duo_side *side)
{
    return (duo_session *)(void *)((char *)(side - role_of(side)) - offsetof(duo_session, sides));
}

static inline uint64_t word_of(uint64_t number, unsigned index, uint64_t flags)
{
    return number << DUO_WORD_NUMBER_SHIFT | (uint64_t)index << DUO_WORD_INDEX_SHIFT | flags;
}

static inline unsigned index_of(uint64_t word)
{
    return (unsigned)(word >> DUO_WORD_INDEX_SHIFT) & 0xff;
}

/* Numbers are compared by their 48 bits: a slot is used again long before they come round. */
static inline bool has_number(uint64_t word, uint64_t number)
{
    return word >> DUO_WORD_NUMBER_SHIFT == (number << DUO_WORD_NUMBER_SHIFT) >> DUO_WORD_NUMBER_SHIFT;
}

/* Steps behind a message of the own direction or of the other's. */
static inline void advance(duo_session *session, duo_side *side, duo_edge edge)
{
    side->number += 1;
    if (edge == DUO_STAY) {
        side->position = side->position + 1 == session->slots ? 0 : side->position + 1;
        return;
    }
    side->position = 0;
    /* All that went before has been read by somebody: the whole ring is free. */
    side->limit = side->number + session->capacity;
}

static inline duo_side *peer_of(duo_session *session, const duo_side *side)
{
    return &session->sides[role_of(side) == DUO_CLIENT ? DUO_SERVER : DUO_CLIENT];
}

/*
 * Publishes `word` in the slot of a message whose side has done all else. True if the peer left
 * before: then nobody will read it, and the session is the caller's to give back.
 */
static inline bool publish(duo_slot *slot, uint64_t word, duo_side *peer)
{
    uint64_t before = atomic_exchange_explicit(&slot->word, word, memory_order_acq_rel);
    if (before & DUO_WORD_DEAD) return true;
    if (before & DUO_WORD_WAIT) duo_wake(&slot->word);
    if (before & DUO_WORD_BELL) {
        duo_bell *bell = atomic_load_explicit(&peer->bell, memory_order_relaxed);
        bell->ring(bell);
        atomic_store_explicit(&peer->bell, NULL, memory_order_release);
    }
    return false;
}

/* Whether the ring has room, after a look at how far the receiver is. */
static inline bool has_room(const duo_session *session, duo_side *side, const duo_side *receiver)
{
    if (side->number < side->limit) return true;
    uint64_t taken = atomic_load_explicit(&receiver->taken, memory_order_acquire);
    if (taken + session->capacity > side->limit) side->limit = taken + session->capacity;
    return side->number < side->limit;
}

/* Waits until the ring has room: DUO_OK, DUO_FULL, or DUO_CLOSED if the receiver is leaving. */
static inline duo_status await_room(duo_session *session, duo_side *side, uint64_t wait)
{
    duo_side *receiver = peer_of(session, side);
    if (has_room(session, side, receiver)) return DUO_OK;
    struct timespec deadline = {0};
    if (wait != DUO_AT_ONCE && wait != DUO_FOREVER) deadline = duo_deadline(wait);
    bool in_time = wait != DUO_AT_ONCE;
    for (;;) {
        uint64_t mark = in_time ? WAITING : 0;
        uint64_t said = atomic_fetch_or_explicit(&receiver->waiting, mark, memory_order_acq_rel);
        if (said & LEAVING) return DUO_CLOSED;
        if (has_room(session, side, receiver)) return DUO_OK;
        if (!in_time) return DUO_FULL;
        in_time = duo_wait(&receiver->waiting, WAITING, wait == DUO_FOREVER ? NULL : &deadline);
    }
}

/* As receiver: a message has left its slot, and the run goes on. */
static inline void show_room(duo_session *session, duo_side *side)
{
    atomic_store_explicit(&side->taken, side->number, memory_order_release);
    if (!session->unbounded || (side->number & session->wake_mask) != 0) return;
    uint64_t waiting = atomic_exchange_explicit(&side->waiting, 0, memory_order_acq_rel);
    if (waiting & WAITING) duo_wake(&side->waiting);
}

/* Waits for the next message: its word, or one without the number when the time is over. */
static inline uint64_t await_word(duo_slot *slot, uint64_t number, uint64_t wait)
{
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    if (has_number(word, number) || wait == DUO_AT_ONCE) return word;
    for (int look = 0; look < LOOKS + YIELDS; look++) {
        if (look < LOOKS) relax();
        else sched_yield();
        word = atomic_load_explicit(&slot->word, memory_order_acquire);
        if (has_number(word, number)) return word;
    }
    struct timespec deadline = {0};
    if (wait != DUO_FOREVER) deadline = duo_deadline(wait);
    bool in_time = true;
    while (in_time && !has_number(word, number)) {
        /* A mark from an earlier wait, or from before a sleep that ended early, still stands. */
        if (!(word & DUO_WORD_WAIT) &&
            !atomic_compare_exchange_strong_explicit(&slot->word, &word, word | DUO_WORD_WAIT,
                                                     memory_order_acq_rel, memory_order_acquire))
            continue;
        in_time = duo_wait(&slot->word, word | DUO_WORD_WAIT,
                           wait == DUO_FOREVER ? NULL : &deadline);
        word = atomic_load_explicit(&slot->word, memory_order_acquire);
    }
    return word;
}

#endif
