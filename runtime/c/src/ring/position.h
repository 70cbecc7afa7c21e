/*
 * The position of a side in its session: pure arithmetic, with the same result on both sides.
 *
 * The messages of a session are totally ordered and both sides know the order, so both compute the same
 * positions without communicating. A position consists of a line of the ring, a slot in that line (`place`
 * in the code), and an epoch. The epoch counts how often the index went back to line 0, because the
 * direction changed or because an unbounded run came round the ring (a lap). A line's word contains the
 * epoch of the messages in it and their count, which distinguishes them from all earlier ones.
 *
 *     word      63 epoch 43 | 42 count 40 | 39 processor 32 | 31 indexes 4 | 3 flags 0
 *     position  63 epoch 43 | 42 place 40 | 39 processor 32 | 31 0 | 28 flags 26 | 25 line 0
 *     flags     63 epoch 43 | 42 place 40 | 39     0     32 | 31 what 26          | 25 line 0
 *
 * Positions, words and the flags of a receiver have their common parts in the same bits, so that one
 * subtraction compares a word with a position.
 *
 * The kernel compares one half of the word that a side sleeps on. For flags and for the credit that is the
 * low half, which has the mark that only the sleeping side sets. For the word of a line it is the high
 * half, which everything that is published changes. The low half would not do: after a message that turns
 * the direction its sender may wait in the same word, and its mark is the one that the other side had set.
 */
#ifndef DUOLOGUE_POSITION_H
#define DUOLOGUE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    EPOCH_SHIFT = 43,
    SLOT_SHIFT = 40,
    PROCESSOR_SHIFT = 32,
    INDEXES_SHIFT = 4,
    /* Bits of a word for the indexes of its messages among those of their states. */
    INDEX_BITS = 28,
    /* The most messages that a word can count. */
    MOST_IN_LINE = 7
};

#define ONE_EPOCH (UINT64_C(1) << EPOCH_SHIFT)
#define ONE_SLOT (UINT64_C(1) << SLOT_SHIFT)
#define SLOTS (UINT64_C(7) << SLOT_SHIFT)
/* The processor on which the other side last ran, plus 1; 0 if it is not known. */
#define PROCESSORS (UINT64_C(0xff) << PROCESSOR_SHIFT)
#define INDEXES (((UINT64_C(1) << INDEX_BITS) - 1) << INDEXES_SHIFT)

/*
 * In a word: the receiver sleeps on it; the receiver has disconnected; in place of a message: the
 * sender has disconnected; the receiver has installed a notifier. Only the receiver sets the first,
 * second and last, by compare-and-swap.
 */
#define WAITS UINT64_C(1)
#define DEAD UINT64_C(2)
#define CLOSED UINT64_C(4)
#define WORD_ARMED UINT64_C(8)

/* In a position: the run has wrapped around the ring. */
#define LAP (UINT64_C(1) << 28)
/* Every message of the session is swapped. */
#define SWAPS (UINT64_C(1) << 27)
/* The state has messages that keep the direction. */
#define STAYS (UINT64_C(1) << 26)
#define LINES (STAYS - 1)

/* What identifies a message within its session until epochs restart. */
#define KEY (~(ONE_SLOT - 1) | LINES)

/*
 * From this epoch on, the next turn restarts the epochs at 1, after clearing all words. It is half
 * of the number space: a word that is not rewritten ages only by turns, since laps rewrite every
 * line. So no word grows older than this and a few epochs, and none matches a later epoch.
 * Tests make it small.
 */
#ifndef DUO_RENEWAL
#define DUO_RENEWAL (UINT64_C(1) << 20)
#endif

/* The word of a line in which exactly the messages before this position are published. */
static inline uint64_t words_before(uint64_t at)
{
    return at & ~(ONE_SLOT - 1);
}

/* Whether a word has the message at this position. */
static inline bool has_message(uint64_t word, uint64_t at)
{
    return ((word - words_before(at)) >> SLOT_SHIFT) - 1 < MOST_IN_LINE;
}

/* Whether a word says that the sender disconnected where the message at this position would be. */
static inline bool has_closed(uint64_t word, uint64_t at)
{
    return ((word - words_before(at)) >> SLOT_SHIFT) == 0 && (word & CLOSED) != 0;
}

static inline bool has_news(uint64_t word, uint64_t at)
{
    return has_message(word, at) || has_closed(word, at);
}

/* Whether a line begins here that was already in use in this run. */
static inline bool begins_used_line(uint64_t at)
{
    return (at & (LAP | SLOTS)) == LAP;
}

/* Whether messages are swapped here: in the whole session, or where a run begins and cannot continue. */
static inline bool is_swapped(uint64_t at)
{
    return (at & SWAPS) != 0 || (at & (LAP | SLOTS | LINES | STAYS)) == 0;
}

static inline unsigned slot_of(uint64_t at)
{
    return (unsigned)(at >> SLOT_SHIFT) & 7;
}

static inline uint64_t epoch_of(uint64_t at)
{
    return at >> EPOCH_SHIFT;
}

/* After a message that reverses the direction. If the epoch is 1 all words must be cleared. */
static inline uint64_t turned(uint64_t at)
{
    uint64_t epoch = epoch_of(at) >= DUO_RENEWAL ? 1 : epoch_of(at) + 1;
    return epoch << EPOCH_SHIFT | (at & (PROCESSORS | SWAPS));
}

/* After the last message of the ring: its first line again, in another epoch. Wraps as intended. */
static inline uint64_t lapped(uint64_t at)
{
    return ((at & ~(SLOTS | LINES)) | LAP) + ONE_EPOCH;
}

#endif
