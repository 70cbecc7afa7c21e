/*
 * The ring of a session: how a message is published and found. It follows the same design as the ring of the Rust
 * runtime, which runtime/internals.md explains, and differs in its words, its credit, its notifiers and its futexes. So
 * what the models of the Rust runtime explore says nothing about this code. Its argument is below; for waking in a run
 * and for free slots there is a model of its own, tests/ring.pml.
 *
 * A state has one direction, so a side sends only after it has read everything the other side sent, and messages are
 * in flight in one direction at a time. So one ring serves both directions, the index goes back to 0 when the
 * direction changes, and an alternating exchange stays in one cache line.
 *
 * There are two ways to publish. A receiver that finds nothing may go to sleep, and the sender must notice this; and
 * nothing may be sent to a receiver that has disconnected. Both sides know from the position which way is used:
 *
 * - Swapped, where a run begins and cannot continue (an alternating exchange), and everywhere if the system has no
 *   asymmetric barrier. The receiver sets a flag in the word by compare-and-swap, the sender swaps the word. Both are
 *   read-modify-writes of one word, so one comes first: if the flag does, the sender finds it; if the message does,
 *   the compare-and-swap fails and finds the message.
 * - Stored, in runs. The sender stores the word and then reads the receiver's flags, which are in another line. There
 *   is no read-modify-write, and the line does not wait for one while the receiver reads it. The receiver that goes to
 *   sleep pays for the barrier: see barrier.c.
 *
 * Why this is correct, whatever the processor reorders:
 *
 * (a) Payload. The sender writes the payload, then the word (release). The receiver reads the word (acquire) and finds
 *     the count, so it sees the payload. A slot is written again only by a side that knows that it was read: after a
 *     turn, because a later message came back; in a run, because the credit (released after the payload was copied
 *     out, acquired by the sender) says so. When the sender stores its own word again, or the receiver sets a flag in
 *     it by compare-and-swap, what was released before stays released.
 * (b) Sleeping. In the word: as above, and the kernel compares its high half once more before it lets the receiver
 *     sleep: see position.h. In the flags: the receiver sets WAITING, runs the barrier, and checks again. Because of
 *     the barrier either it sees the message, or the sender sees WAITING after its store. Both may happen: the side
 *     that clears the flag, by compare-and-swap, acts on it. A notifier is installed in the same ways. The side that
 *     finds it calls it and then clears `notifier` (release). A side uses its handle, and the thread that installed
 *     the notifier gives it up, only when `notifier` is clear (acquire). So the notifier and the session outlive the
 *     call.
 * (c) Disconnecting and the last message: session.c. A full ring: notify.c.
 * (d) Clearing. When epochs restart at 1, the receiver of the message that reverses the direction clears the words of the
 *     lines that short runs reach, except for that of the first line. All messages have been read, and the peer reads
 *     only the first line. The other lines are as in a new ring: neither side has read them. The first sender that
 *     comes near them clears them before it publishes anything in the last line before them; the receiver reads them
 *     only after it has acquired the last message of that line. Whether they are clear is recorded in the session.
 *     This is read and written by the side that sends and by the side that restarts the epochs, and between any two of
 *     these accesses there is a message that turned the direction.
 * (e) The session stays alive while a sender reads flags after a message that is not the last: it is released by the
 *     receiver of the last message or by the side that remains alone, and both need something that this sender has not
 *     done yet. After its last word a side does not access the session again.
 */
#ifndef DUOLOGUE_RING_H
#define DUOLOGUE_RING_H

#include <string.h>

#include "position.h"
#include "session.h"

/* Keeps rare code out of the code that runs for every message. */
#if defined(__GNUC__)
#define RARELY __attribute__((noinline, cold))
#else
#define RARELY
#endif

/* What duologue/pipe.h defines under its own names. */
_Static_assert(DUO_AT_SWAPS == SWAPS && DUO_AT_STAYS == STAYS && DUO_AT_LAP == LAP, "positions");
_Static_assert(DUO_AT_SLOT == ONE_SLOT && DUO_AT_EPOCH == ONE_EPOCH, "positions");
_Static_assert(DUO_AT_PROCESSORS == PROCESSORS && DUO_WORD_INDEXES == INDEXES, "words");
_Static_assert(DUO_WORD_FLAGS == (WAITS | DEAD | WORD_ARMED) && INDEXES_SHIFT == 4, "words");
_Static_assert(MOST_IN_LINE == 7 && SLOT_SHIFT == 40 && PROCESSOR_SHIFT == 32, "words");

/* In flags: see session.c. */
#define WAITING (UINT64_C(1) << 26)
#define LEAVING (UINT64_C(1) << 27)
#define GONE (UINT64_C(1) << 28)
#define CLAIMED (UINT64_C(1) << 29)
#define ENDING (UINT64_C(1) << 30)
#define FLAGS_ARMED (UINT64_C(1) << 31)

static inline unsigned role_of(const duo_side *side)
{
    return (unsigned)duo_atomic_load(&side->turn, memory_order_relaxed) & 1;
}

static inline duo_session *session_of(const duo_side *side)
{
    const char *sides = (const char *)(side - role_of(side));
    return (duo_session *)(uintptr_t)(sides - offsetof(duo_session, sides));
}

/* The flags of a side. */
static inline DUO_ATOMIC uint64_t *flags_of(duo_session *session, unsigned role)
{
    return &session->signals[role].flags;
}

/* Whether the sender is about to begin a segment that it has filled before in this run. */
static inline bool needs_credit(const duo_session *session, uint64_t at)
{
    uint64_t line = at & LINES;
    return begins_used_line(at) && (line == 0 || line == session->shape.segment);
}

/* The turn of a side without the marks that are set in it. */
static inline uint64_t turn_of(const duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    return turn & ~(DUO_TURN_APART | DUO_TURN_ARMED | DUO_TURN_LOCKED);
}

/* Puts a side at a position that is complete in `at` and belongs to the turn of the side. */
static inline void set_position(duo_side *side, uint64_t at)
{
    side->at = at;
    side->base = 2 * (at >> SLOT_SHIFT) - turn_of(side);
}

/* Stores the complete position in `at`; the turn of the side is that of a valid handle. */
static inline void load_position(duo_side *side)
{
    uint64_t count = (turn_of(side) + side->base) >> 1;
    side->at = (side->at & (ONE_SLOT - 1)) | count << SLOT_SHIFT;
}

static inline void go_to_first_line(const duo_session *session, duo_side *side)
{
    side->line = (duo_line *)(void *)session->ring;
}

/* The slot of the payload of the next message. */
static inline char *payload_slot(const duo_session *session, const duo_side *side)
{
    return side->line->payloads + slot_of(side->at) * session->shape.stride;
}

/* Whether a line has no slot after this position. */
static inline bool ends_line(const duo_session *session, uint64_t at)
{
    return slot_of(at) + 1 >= session->shape.per_line;
}

/* Steps past a message that keeps the direction. */
static inline void go_on(duo_session *session, duo_side *side, const duo_state *next)
{
    uint64_t at = side->at & ~STAYS;
    if (!ends_line(session, at)) {
        at += ONE_SLOT;
    } else if ((at & LINES) + 1 < session->shape.lines) {
        at = (at & ~SLOTS) + 1;
        side->line = (duo_line *)(void *)((char *)side->line + session->shape.pitch);
    } else {
        at = lapped(at);
        go_to_first_line(session, side);
    }
    set_position(side, at | (next->stays ? STAYS : 0));
}

/* Steps past a message of this side that reverses the direction. */
static inline void turn_out(duo_session *session, duo_side *side, const duo_state *next)
{
    set_position(side, turned(side->at) | (next->stays ? STAYS : 0));
    go_to_first_line(session, side);
}

/* Clears the words of lines that no other thread reads. */
static inline void clear_lines(duo_session *session, size_t line, size_t end)
{
    for (; line < end; line++) {
        duo_line *old = (duo_line *)(void *)(session->ring + line * session->shape.pitch);
        duo_atomic_store(&old->word, 0, memory_order_relaxed);
    }
}

/* As sender, after a step that keeps the direction: makes the rest of the ring ready if it is near; see (d). */
static inline void make_ready(duo_session *session, uint64_t at)
{
    if ((at & LINES) + 1 != session->shape.ready || session->is_whole) return;
    clear_lines(session, session->shape.ready, session->shape.lines);
    session->is_whole = true;
}

/* Steps past a message of the peer that reverses the direction and was in `word`. */
static inline void turn_in(duo_session *session, duo_side *side, uint64_t word,
                               const duo_state *next)
{
    uint64_t at = (turned(side->at) & ~PROCESSORS) | (word & PROCESSORS);
    set_position(side, at | (next->stays ? STAYS : 0));
    go_to_first_line(session, side);
    if (epoch_of(at) != 1) return;
    clear_lines(session, 1, session->shape.ready);
    session->is_whole = false;
    duo_atomic_store(&session->credit, 0, memory_order_relaxed);
}

/* The index of the message at a position, among those of its state. */
static inline unsigned index_in(const duo_session *session, uint64_t word, uint64_t at)
{
    unsigned shift = INDEXES_SHIFT + slot_of(at) * session->shape.index_bits;
    return (unsigned)(word >> shift) & ((1U << session->shape.index_bits) - 1);
}

#endif
