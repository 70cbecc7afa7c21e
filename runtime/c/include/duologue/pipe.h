/*
 * duologue/pipe.h: the memory layout of a session, and the path that most messages take: those with few, small and
 * plain entries, where the ring has free slots and the peer is awake. Generated C calls it with constants, so that
 * little of it remains after optimization. Everything else, and all of C++, goes through the library. Not for programs.
 *
 * This code works in registers. It takes no address of anything that belongs to its caller, writes
 * entries to their slot in the ring and nowhere else, and stores only the message, its word and the
 * position of its own side.
 *
 * runtime/c/src/ring/ring.h explains why it is correct; position.h there defines the numbers.
 */
#ifndef DUOLOGUE_PIPE_H
#define DUOLOGUE_PIPE_H

#include <stdalign.h>
#include <string.h>

#include "duologue/tables.h"

#ifndef __cplusplus

#include "duologue/atomic.h"

enum { DUO_LINE = 64, DUO_INLINE_RING = 2 * DUO_LINE };

/*
 * A line of the ring: a word (see position.h), and as many payloads as fit with it into a cache
 * line. A larger payload has a longer line of its own. A payload is the entries, or a pointer to
 * their block.
 */
typedef struct duo_line {
    /* Explicit, because compilers for 32-bit targets have not always agreed on it; no change elsewhere. */
    alignas(8) DUO_ATOMIC uint64_t word;
    char payloads[];
} duo_line;

/*
 * Notifies a side that waits on many endpoints. Called by its peer: by a sender that has published a message, or by a
 * receiver that has freed slots.
 */
typedef struct duo_notifier {
    void (*notify)(struct duo_notifier *notifier);
} duo_notifier;

/* One side's half of a session, in a cache line of its own. The peer accesses only `notifier`. */
typedef struct duo_side {
    /*
     * The turn of the one valid handle of this side; bit 0 is the side. It only grows, even from
     * session to session in the same memory, so that an old handle never becomes valid again.
     */
    alignas(DUO_LINE) DUO_ATOMIC uint64_t turn;
    /*
     * The position of the next message, and its line. The epoch and the slot are not taken from `at`: they are
     * half of the sum of `base` and `turn`. So `turn`, which grows by 2, is the only field that a message
     * changes within a line.
     */
    uint64_t at;
    uint64_t base;
    duo_line *line;
    /*
     * The notifier that is installed here, until the peer has called it or it was removed. A set may read this at any
     * time.
     */
    duo_notifier *DUO_ATOMIC notifier;
    /* In the list of endpoints to be closed: the next one. */
    struct duo_side *next_closing;
    /* The state that the side is in: in that list, and with DUO_CHECKED always. */
    const duo_state *DUO_ATOMIC state;
    /* The notifier is for free slots: this side is a sender. */
    bool is_for_credit;
    /* `duo_spin` has spun for the next message, so the wait that follows does not. */
    bool has_spun;
} duo_side;

/*
 * What a receiver reports to a sender that stores its messages: see session.c. In a cache line of its
 * own, since the sender reads it with nearly every message and it changes only when the receiver
 * sleeps.
 */
typedef struct duo_signal {
    alignas(DUO_LINE) DUO_ATOMIC uint64_t flags;
#ifdef DUO_RECORD
    DUO_ATOMIC uint64_t number; /* In the first signal: of the session in records; 0 if it is not recorded. */
#endif
} duo_signal;

/*
 * A session. Its memory is never freed, only reused for other sessions, so that `turn` may be read
 * through any handle at any time.
 */
struct duo_session {
    alignas(DUO_LINE) char *ring;
    duo_shape shape;
    /* Only the library may use the endpoints of this session. */
    bool is_apart;
    /* Comes from the pool; otherwise it is in memory provided by the caller. */
    bool is_pooled;
    /* The whole ring is ready. Accessed only by a sender in a run and by the side that restarts the epochs. */
    bool is_whole;
    /* In memory provided by the caller: a session has begun there and has not ended. */
    DUO_ATOMIC bool is_running;
    struct duo_session *next_free;
    /* Of the blocks of its messages; NULL: that of all sessions. */
    const struct duo_allocator *allocator;
    /* Which half of the ring was emptied last, and flags: see notify.c. It changes twice per lap. */
    alignas(8) DUO_ATOMIC uint64_t credit;
    duo_side sides[2];
    duo_signal signals[2];
    alignas(DUO_LINE) char inline_ring[DUO_INLINE_RING];
};

/* In words and positions: see position.h. */
#define DUO_AT_SWAPS (UINT64_C(1) << 27)
#define DUO_AT_STAYS (UINT64_C(1) << 26)
#define DUO_AT_LAP (UINT64_C(1) << 28)
#define DUO_AT_LINES (DUO_AT_STAYS - 1)
#define DUO_AT_SLOT (UINT64_C(1) << 40)
#define DUO_AT_PROCESSORS (UINT64_C(0xff) << 32)
#define DUO_AT_EPOCH (UINT64_C(1) << 43)
#define DUO_WORD_INDEXES (((UINT64_C(1) << 28) - 1) << 4)
#define DUO_WORD_FLAGS UINT64_C(0xb)

/*
 * In a turn: only the library may use the endpoint, because the messages of its session are always
 * swapped, because it belongs to a sender that may have to wait for free slots, or because its peer
 * is in another process.
 */
#define DUO_TURN_APART (UINT64_C(1) << 63)
/* In the turn of a side but in no endpoint, so that every use goes to the library: a notifier is installed here. */
#define DUO_TURN_ARMED (UINT64_C(1) << 61)
/* Set in addition, for a few instructions, while the thread that installed the notifier uses the side: see notify.c. */
#define DUO_TURN_LOCKED (UINT64_C(1) << 60)

/* In a turn: the peer is in another process. */
#define DUO_REMOTE (DUO_TURN_APART | UINT64_C(1) << 62)

/*
 * Numbers that may follow and are like the last one, so that handling them changes nothing but lines shared
 * with another process, or the numbers of a session over a socket, which are one long line. Their count is what the sender may still put into its line, the last of them filling
 * it, or what the receiver has seen there. The turn, which counts by two, determines which of them is next.
 * Further lines may follow if they only have to be begun. See runtime/c/src/shm/shm.h and runtime/c/src/net/operations.c.
 */
typedef struct duo_lane {
    /* The turn after the last of them in the line; 0 if there are none. */
    alignas(DUO_LINE) uint64_t end;
    /* As receiver: the same if the line is full and ends with the last of them, otherwise 0. */
    uint64_t ends;
    /* Four times the turn of a number, plus this, is the address of its slot. Wraps as unsigned numbers do. */
    uintptr_t place;
    /*
     * As sender: the turn of a number, plus this, is the word that publishes it, with the tags of
     * all of them. As receiver: the word of a line that continues like this one.
     */
    uint64_t word;
    DUO_ATOMIC uint64_t *line;
    /* As sender: the flags of the peer. */
    const DUO_ATOMIC uint32_t *peer;
    /* How many lines may follow without the library. */
    uint64_t ahead;
    /* As sender: the message that each of them is; otherwise NULL. */
    const duo_message *of;
    /* The turn of the first. */
    uint64_t from;
    /* As receiver: the tag that is reported. */
    unsigned tag;
} duo_lane;

/*
 * Runs that may follow and consist of one message each, of numbers only: they go back and forth in one line.
 * The turn determines which side sends and which use of the line is next. See runtime/c/src/shm/shm.h.
 */
typedef struct duo_single_line_turns {
    /* The turn of the first, and two for each run to which this applies; 0 if it applies to none. */
    uint64_t from;
    uint64_t span;
    /* The parity of the first use of the line. */
    uint64_t parity;
    /* The address of the numbers, the line's word, and the flags of the peer. */
    char *place;
    DUO_ATOMIC uint64_t *line;
    const DUO_ATOMIC uint32_t *peer;
} duo_single_line_turns;

/* The beginning of a session with another process. Its memory is never freed. */
typedef struct duo_remote {
    duo_session session;
    duo_lane lane;
    duo_single_line_turns line_turns;
    const struct duo_transport *transport;
    /* Its handler has given the endpoint to someone else, and does not end the session. */
    bool is_handed_over;
} duo_remote;

DUO_INLINE bool duo_is_remote(duo_endpoint endpoint)
{
    return (endpoint.turn >> 62 & 1) != 0;
}

/* The session of an endpoint that is remote. */
DUO_INLINE duo_remote *duo_remote_of(duo_endpoint endpoint)
{
    return (duo_remote *)(void *)endpoint.session;
}

/* From this epoch on, a turn restarts the epochs, which the library does. */
#ifndef DUO_RENEWAL
#define DUO_RENEWAL (UINT64_C(1) << 20)
#endif

/* Where the kernel stores the number of a thread's processor, relative to the thread pointer; 0 if it does not. */
extern DUO_ATOMIC ptrdiff_t duo_processor_at;

/* The processor of this thread in the format of words; 0 if it cannot be determined. */
static inline uint64_t duo_processor(void)
{
#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__)
    ptrdiff_t offset = duo_atomic_load(&duo_processor_at, memory_order_relaxed);
    if (offset == 0) return 0;
    uint32_t number;
    __asm__ __volatile__("movl %%fs:(%1), %0" : "=r"(number) : "r"(offset));
    return number < 255 ? (uint64_t)(number + 1) << 32 : 0;
#else
    return 0;
#endif
}

/*
 * The word of a line that publishes one more message: `count` is its epoch and slot, `index` its index among the
 * messages of its state. Indexes of messages before it in the line are repeated; the receiver's flags are not.
 */
DUO_INLINE uint64_t duo_word_with(const duo_line *line, uint64_t count, uint64_t slot, unsigned index,
                                  unsigned index_bits)
{
    uint64_t word = (count + 1) << 40;
    if (index_bits > 0 && slot > 0) word |= duo_atomic_load(&line->word, memory_order_relaxed) & DUO_WORD_INDEXES;
    if (index > 0) word |= (uint64_t)index << (4 + slot * index_bits);
    return word;
}

/*
 * Publishes a word: every message within a process takes this step, whether the header or the library sends it, except
 * for the last one of a run that ends the session. `flags` are the receiver's. Returns what the receiver has asked for,
 * in the word or in its flags; 0 if nothing.
 */
DUO_INLINE uint64_t duo_publish_word(duo_line *line, uint64_t word, bool swaps, const DUO_ATOMIC uint64_t *flags)
{
    if (swaps) return duo_atomic_exchange(&line->word, word, memory_order_acq_rel) & DUO_WORD_FLAGS;
    duo_atomic_store(&line->word, word, memory_order_release);
    /* The sender's half of the barrier: see runtime/c/src/floor/barrier.c. */
    duo_signal_fence(memory_order_seq_cst);
    return duo_atomic_load(flags, memory_order_acquire);
}

/*
 * Publishes the word of a line, where both processes have the barrier of (b) in runtime/c/src/shm/shm.h. Every message
 * between them takes this step, whether the header or the library sends it. Returns the peer's flags; 0 if it neither
 * sleeps nor has disconnected. Over a socket the other side is the thread that writes: see (b) in runtime/c/src/net/operations.c.
 */
DUO_INLINE uint32_t duo_lane_publish(DUO_ATOMIC uint64_t *line, uint64_t word, const DUO_ATOMIC uint32_t *peer)
{
#ifdef DUO_THREAD_SANITIZER
    /* It does not understand the barrier. */
    duo_atomic_exchange(line, word, memory_order_seq_cst);
    return duo_atomic_load(peer, memory_order_seq_cst);
#else
    duo_atomic_store(line, word, memory_order_release);
    duo_signal_fence(memory_order_seq_cst);
    return duo_atomic_load(peer, memory_order_relaxed);
#endif
}

/*
 * Does what the receiver has asked for. If the word was stored, that may be about another message. False if the
 * receiver is gone and the payload belongs to the sender again.
 */
DUO_COLD bool duo_answer(duo_session *session, duo_side *side, bool swaps, uint64_t asked);

/*
 * Polls briefly for the message at this position in the side's line. Returns its word, or 0 if it did not
 * arrive; returns 0 at once if polling would be useless.
 */
uint64_t duo_spin(duo_side *side, const duo_line *line, uint64_t at);

/* A sender prefetches the line that comes this many lines later. */
enum { DUO_LINES_AHEAD = 4 };

#ifndef __OPTIMIZE_SIZE__

/*
 * A side that is about to use its endpoint, and the slot of the payload. Kept in registers. A sender's
 * stores reach memory in order, and all of them wait while a line is still with the receiver. So hardly
 * anything is stored besides the message.
 */
typedef struct duo_cursor {
    duo_session *session;
    duo_side *side;
    const duo_shape *shape;
    /* Epoch and slot of the message. */
    uint64_t count;
    duo_line *line;
    char *slot;
    /* As receiver: the word that has the message. */
    uint64_t word;
    /* In a lane: whether this line has no further number. */
    bool is_last;
} duo_cursor;

/* Finds the side of an endpoint. False if the endpoint is used, or if only the library may use its session. */
DUO_INLINE bool duo_find(duo_cursor *cursor, duo_endpoint from, duo_role role, const duo_shape *known)
{
#ifdef DUO_CHECKED
    (void)cursor, (void)from, (void)role, (void)known;
    return false;
#else
    /* A zeroed endpoint has turn 0; in other turns DUO_TURN_APART is the sign bit. */
    if (!DUO_LIKELY((int64_t)from.turn > 0)) return false;
    duo_side *side = &from.session->sides[role];
    if (!DUO_LIKELY(duo_atomic_load(&side->turn, memory_order_relaxed) == from.turn)) return false;
    cursor->session = from.session;
    cursor->side = side;
    cursor->shape = known != NULL ? known : &from.session->shape;
    cursor->count = (from.turn + side->base) >> 1;
    cursor->line = side->line;
    return cursor->shape->pitch == DUO_LINE;
#endif
}

/* The slot in its line, from 0. */
DUO_INLINE uint64_t duo_slot_of(const duo_cursor *cursor)
{
    return cursor->shape->per_line == 1 ? 0 : cursor->count & 7;
}

/* Whether its line has no slot after this one. */
DUO_INLINE bool duo_ends_line(const duo_cursor *cursor)
{
    return duo_slot_of(cursor) + 1 == cursor->shape->per_line;
}

/* Whether every run of the session has one message: then the rest of a position hardly changes. */
DUO_INLINE bool duo_alternates(const duo_cursor *cursor)
{
    return cursor->shape->per_line == 1 && cursor->shape->lines == 1 && !cursor->shape->unbounded;
}

/*
 * Whether only the library may take the step after a message: into the other half of the ring, which the
 * receiver has to report and for which the sender may have to wait; for a sender, to the last line that
 * is ready; or to epochs that restart.
 */
DUO_INLINE bool duo_steps_far(const duo_cursor *cursor, duo_edge edge, bool sends)
{
    if (edge == DUO_TURN) return cursor->count >> 3 >= DUO_RENEWAL;
    if (DUO_LIKELY(!duo_ends_line(cursor))) return false;
    uint64_t next = (cursor->side->at & DUO_AT_LINES) + 1;
    if (next == cursor->shape->segment || next == cursor->shape->lines) return true;
    return sends && cursor->shape->ready < cursor->shape->lines && next + 1 == cursor->shape->ready;
}

/* The position in one number. */
DUO_INLINE uint64_t duo_at(const duo_cursor *cursor)
{
    return (cursor->side->at & (DUO_AT_SLOT - 1)) | cursor->count << 40;
}

/* Makes the endpoint a used one. The returned endpoint is valid once the side is at the next position. */
DUO_INLINE duo_endpoint duo_use_up(const duo_cursor *cursor, duo_endpoint from)
{
    duo_atomic_store(&cursor->side->turn, from.turn + 2, memory_order_relaxed);
    duo_endpoint next = {cursor->session, from.turn + 2};
    return next;
}

/* Steps past a message that keeps the direction. */
DUO_INLINE duo_endpoint duo_go_on(const duo_cursor *cursor, duo_endpoint from, bool stays)
{
    duo_side *side = cursor->side;
    if (!stays) side->at &= ~DUO_AT_STAYS;
    if (!DUO_LIKELY(!duo_ends_line(cursor))) {
        side->at++;
        side->line = (duo_line *)(void *)((char *)cursor->line + DUO_LINE);
        side->base = 2 * (cursor->count & ~UINT64_C(7)) - (from.turn + 2);
    }
    return duo_use_up(cursor, from);
}

/* Steps past a message that reverses the direction. `others` are the parts of a position that this does not change. */
DUO_INLINE duo_endpoint duo_turn_on(const duo_cursor *cursor, duo_endpoint from, bool stays, uint64_t others)
{
    duo_side *side = cursor->side;
    side->at = others | (stays ? DUO_AT_STAYS : 0);
    side->base = 2 * ((cursor->count | 7) + 1) - (from.turn + 2);
    if (cursor->shape->lines > 1) side->line = (duo_line *)(void *)cursor->session->ring;
    return duo_use_up(cursor, from);
}

/*
 * Whether a message that consists of plain bytes and is not the last can be sent here and now. If so,
 * its entries go to `cursor->slot`, and `duo_publish` is next. If not, use `duo_send`. `known` is NULL if
 * the shape is not known.
 */
DUO_INLINE bool duo_may_send(duo_cursor *cursor, duo_endpoint from, duo_role role, const duo_shape *known,
                             duo_edge edge)
{
    if (!DUO_LIKELY(duo_find(cursor, from, role, known))) return false;
    if (!DUO_LIKELY(!duo_steps_far(cursor, edge, true))) return false;
    cursor->slot = cursor->line->payloads + duo_slot_of(cursor) * cursor->shape->stride;
    return true;
}

/* Before the library answers a receiver, it needs the position; it may also release the session. */
DUO_INLINE void duo_stop(const duo_cursor *cursor, duo_endpoint from)
{
    cursor->side->at = duo_at(cursor);
    (void)duo_use_up(cursor, from);
}

/*
 * Publishes the message whose entries are in their slot. `index` is its index among the messages of its
 * state. `begins` says whether no message of the state keeps the direction, `stays` whether a message of
 * the next state does.
 */
DUO_INLINE duo_status duo_publish_here(const duo_cursor *cursor, duo_endpoint from, duo_role role,
                                       duo_edge edge, unsigned index, bool begins, bool stays,
                                       duo_endpoint *next)
{
    uint64_t word = duo_word_with(cursor->line, cursor->count, duo_slot_of(cursor), index, cursor->shape->index_bits);
    if (edge == DUO_TURN) word |= duo_processor();
    const bool swaps = edge == DUO_TURN && begins && duo_slot_of(cursor) == 0 &&
                       (duo_alternates(cursor) || (cursor->side->at & (DUO_AT_LAP | DUO_AT_LINES)) == 0);
    uint64_t asked = duo_publish_word(cursor->line, word, swaps, &cursor->session->signals[role ^ 1].flags);
    if (!DUO_LIKELY(asked == 0)) {
        duo_stop(cursor, from);
        if (!duo_answer(cursor->session, cursor->side, swaps, asked)) {
            duo_endpoint none = {NULL, 0};
            *next = none;
            return DUO_CLOSED;
        }
    }
    if (edge == DUO_STAY) {
        if (cursor->shape->unbounded && !DUO_LIKELY(!duo_ends_line(cursor)))
            duo_prefetch_write(cursor->line, DUO_LINES_AHEAD * DUO_LINE);
        *next = duo_go_on(cursor, from, stays);
    } else {
        uint64_t others = cursor->side->at & (DUO_AT_PROCESSORS | DUO_AT_SWAPS);
        *next = duo_turn_on(cursor, from, stays, others);
    }
    return DUO_OK;
}

/* The same where it is known whether the line has a further slot, so that this is checked only once. */
DUO_INLINE duo_status duo_publish(const duo_cursor *cursor, duo_endpoint from, duo_role role, duo_edge edge,
                                  unsigned index, bool begins, bool stays, duo_endpoint *next)
{
    if (edge == DUO_STAY && !DUO_LIKELY(!duo_ends_line(cursor)))
        return duo_publish_here(cursor, from, role, edge, index, begins, stays, next);
    return duo_publish_here(cursor, from, role, edge, index, begins, stays, next);
}

/* Whether a word has the message of this epoch and slot: see position.h. */
DUO_INLINE bool duo_word_has(uint64_t word, uint64_t count)
{
    return (word >> 40) - count - 1 < 7;
}

/*
 * Finds the next message. Returns its tag, as users see it; 0 if it does not arrive at once, or if only the library may
 * receive it. If it consists of plain bytes and `duo_may_step` allows its step, its entries are at `cursor->slot`, and
 * `duo_taken` is next. If not, use `duo_recv`.
 */
DUO_INLINE unsigned duo_arrived_tag(duo_cursor *cursor, duo_endpoint from, duo_role role, const duo_shape *known,
                                    uint64_t wait)
{
    if (!DUO_LIKELY(duo_find(cursor, from, role, known))) return 0;
    cursor->word = duo_atomic_load(&cursor->line->word, memory_order_acquire);
    if (!duo_word_has(cursor->word, cursor->count)) {
        if (wait == DUO_AT_ONCE) return 0;
        cursor->word = duo_spin(cursor->side, cursor->line, duo_at(cursor));
        if (cursor->word == 0) return 0;
    }
    cursor->slot = cursor->line->payloads + duo_slot_of(cursor) * cursor->shape->stride;
    unsigned bits = cursor->shape->index_bits;
    return ((unsigned)(cursor->word >> (4 + duo_slot_of(cursor) * bits)) & ((1U << bits) - 1)) + 1;
}

/* Whether the step after the message that was found can be taken here. */
DUO_INLINE bool duo_may_step(const duo_cursor *cursor, duo_edge edge)
{
    return DUO_LIKELY(!duo_steps_far(cursor, edge, false));
}

/* Both, for a state that has only one message, which consists of plain bytes and is not the last. */
DUO_INLINE bool duo_may_recv(duo_cursor *cursor, duo_endpoint from, duo_role role, const duo_shape *known,
                             duo_edge edge, uint64_t wait)
{
    return duo_arrived_tag(cursor, from, role, known, wait) != 0 && duo_may_step(cursor, edge);
}

/* Frees the slot of a message whose entries were copied; returns the endpoint that follows. */
DUO_INLINE duo_endpoint duo_taken(const duo_cursor *cursor, duo_endpoint from, duo_edge edge, bool stays)
{
    if (edge == DUO_STAY) return duo_go_on(cursor, from, stays);
    uint64_t others = (cursor->word & DUO_AT_PROCESSORS) | (cursor->side->at & DUO_AT_SWAPS);
    return duo_turn_on(cursor, from, stays, others);
}

#endif

#endif

#endif
