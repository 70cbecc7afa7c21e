/*
 * duologue/pipe.h: a session as it lies in memory, and the way that most messages take: few,
 * small and plain entries, a ring with room, and a peer that is awake. Generated C calls it with
 * constants, so that hardly anything is left of it. Everything else, and all of C++, takes the
 * way through the library. Not for programs.
 *
 * What is here keeps to registers: it takes the address of nothing that its caller has, writes
 * entries to their place in the ring and nowhere else, and stores no more than the message, its
 * word and where its own side stands.
 *
 * Why it is correct stands in runtime/c/src/ring.h; the numbers are those of position.h there.
 */
#ifndef DUOLOGUE_PIPE_H
#define DUOLOGUE_PIPE_H

#include <stdalign.h>
#include <string.h>

#include "duologue/atomic.h"
#include "duologue/generated.h"

#if defined(__GNUC__)
#define DUO_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define DUO_INLINE static inline __attribute__((always_inline))
#define DUO_COLD __attribute__((cold))
#else
#define DUO_LIKELY(condition) (condition)
#define DUO_INLINE static inline
#define DUO_COLD
#endif

enum { DUO_LINE = 64, DUO_INLINE_RING = 2 * DUO_LINE };

/*
 * A line of the ring: a word (see position.h), and as many payloads as fit with it into a cache
 * line; a larger payload has a longer line of its own. A payload is the entries, or a pointer to
 * their block.
 */
typedef struct duo_line {
    /* Said, since compilers for 32 bits have not always agreed on it; the same elsewhere. */
    alignas(8) DUO_ATOMIC(uint64_t) word;
    char payloads[];
} duo_line;

/* Rung for a side that waits on many endpoints, by its peer: by a sender with a message, or by a receiver that makes room. */
typedef struct duo_bell {
    void (*ring)(struct duo_bell *bell);
} duo_bell;

/* One side's own half of a session, in a cache line of its own. The peer touches `bell` only. */
typedef struct duo_side {
    /*
     * The turn that the one good handle of this side carries; bit 0 is the side. It only grows, also
     * from session to session in the same memory, so that no old handle is ever good again.
     */
    alignas(DUO_LINE) DUO_ATOMIC(uint64_t) turn;
    /*
     * The position of the message that comes next, and its line. Epoch and place are not in `at` but half of
     * `base` and `turn` together: so `turn`, which grows by 2, is all that changes with a message within a line.
     */
    uint64_t at;
    uint64_t base;
    duo_line *line;
    /* The bell that hangs here, until the peer has rung it or it was taken down. A set may look here at any time. */
    DUO_ATOMIC(duo_bell *) bell;
    /* On the list of endpoints to be closed: the next of them. */
    struct duo_side *next_closing;
    /* On that list: the state this one is in. */
    const duo_state *state;
    /* The bell is for room: this side is a sender. */
    bool is_for_room;
} duo_side;

/*
 * What a receiver says to a sender that stores its messages: see leave.c. In a cache line of its
 * own, since the sender reads it with nearly every message and it changes only when the receiver
 * sleeps.
 */
typedef struct duo_signal {
    alignas(DUO_LINE) DUO_ATOMIC(uint64_t) flags;
} duo_signal;

/*
 * A session. Lives in memory that is never given back, only used again for other sessions, so that
 * `turn` may be read through any handle at any time.
 */
struct duo_session {
    alignas(DUO_LINE) char *ring;
    duo_shape shape;
    /* All its endpoints are for the library. */
    bool is_apart;
    /* Comes from the pool; otherwise it lies in memory of the caller's. */
    bool is_pooled;
    /* The whole ring is ready. Only a sender in a run looks at it, and whoever begins epochs again. */
    bool is_whole;
    /* In memory of the caller's: a session has begun there that has not ended. */
    DUO_ATOMIC(bool) is_running;
    struct duo_session *next_free;
    /* Which half of the ring was emptied last, and flags: see room.c. It changes twice in a lap. */
    alignas(8) DUO_ATOMIC(uint64_t) credit;
    duo_side sides[2];
    duo_signal signals[2];
    alignas(DUO_LINE) char inline_ring[DUO_INLINE_RING];
};

/* In words and positions: see position.h. */
#define DUO_AT_SWAPS (UINT64_C(1) << 27)
#define DUO_AT_STAYS (UINT64_C(1) << 26)
#define DUO_AT_LAP (UINT64_C(1) << 28)
#define DUO_AT_LINES (DUO_AT_STAYS - 1)
#define DUO_AT_PLACE (UINT64_C(1) << 40)
#define DUO_AT_PLACES (UINT64_C(7) << 40)
#define DUO_AT_PROCESSORS (UINT64_C(0xff) << 32)
#define DUO_AT_EPOCH (UINT64_C(1) << 43)
#define DUO_WORD_INDEXES (((UINT64_C(1) << 28) - 1) << 4)
#define DUO_WORD_FLAGS UINT64_C(0xb)

/*
 * In a turn: only the library may use the endpoint, since in its session messages are always swapped,
 * because it is a sender's that may have to wait for room, or because its peer is in another process.
 */
#define DUO_TURN_APART (UINT64_C(1) << 63)
/* In the turn of a side and in no endpoint, so that the library has a look: a bell was hung up here. */
#define DUO_TURN_BELL (UINT64_C(1) << 61)
/* Beside it, for a few instructions: whoever hung it up looks at the side. See bell.c. */
#define DUO_TURN_HELD (UINT64_C(1) << 60)

/* In a turn: the peer is in another process. */
#define DUO_REMOTE (DUO_TURN_APART | UINT64_C(1) << 62)

/*
 * Numbers that may follow and are like the last one, since they change nothing but lines that another
 * process shares: as many as the sender may put into its line, the last of which fills it, or the receiver has
 * seen there. Which of them comes next the turn says, which counts by two. Lines that need nothing but to be
 * begun may follow. See runtime/c/src/shm.h.
 */
typedef struct duo_lane {
    /* The turn behind the last of them in the line; 0 if there are none. */
    alignas(DUO_LINE) uint64_t end;
    /* As receiver: the same if the line is full and ends with the last of them, else 0. */
    uint64_t ends;
    /* Four times the turn of a number and this are its place. Goes round as unsigned numbers do. */
    uintptr_t place;
    /*
     * As sender: the turn of a number and this are the word that publishes it, with the tags of all.
     * As receiver: the word of a line that goes on as this one does.
     */
    uint64_t word;
    DUO_ATOMIC(uint64_t) *line;
    /* As sender: what the peer says of itself. */
    const DUO_ATOMIC(uint32_t) *peer;
    /* So many lines may follow without the library. */
    uint64_t ahead;
    /* As sender: the message that they are; else NULL. */
    const duo_message *of;
    /* The turn of the first. */
    uint64_t from;
    /* As receiver: the tag that is told, and how far ahead it fetches lines, in bytes. */
    unsigned tag;
    unsigned fetches;
} duo_lane;

/*
 * Runs that may follow and are of one message each, of numbers only: they go to and fro in one line. Whose turn
 * it is, and which use of the line comes next, the turn says. See runtime/c/src/shm.h.
 */
typedef struct duo_volley {
    /* The turn of the first, and two for each of those to which this applies; 0 if to none. */
    uint64_t from;
    uint64_t span;
    /* Of the first use of the line. */
    uint64_t parity;
    /* The place of the numbers, the line's word, and what the peer says of itself. */
    char *place;
    DUO_ATOMIC(uint64_t) *line;
    const DUO_ATOMIC(uint32_t) *peer;
} duo_volley;

/* What a session with another process begins with. Lives in memory that is never given back. */
typedef struct duo_remote {
    duo_session session;
    duo_lane lane;
    duo_volley volley;
    const struct duo_transport *transport;
} duo_remote;

/* From this epoch on a turn starts epochs again, which the library does. */
#ifndef DUO_RENEWAL
#define DUO_RENEWAL (UINT64_C(1) << 20)
#endif

/* Where the kernel keeps the number of a thread's processor, from the thread's own pointer; 0 if nowhere. */
extern DUO_ATOMIC(ptrdiff_t) duo_processor_at;

/* The processor of this thread as words have it; 0 if that cannot be known. */
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
 * Behind a message that was stored: does what the receiver asked for, if it was about this message.
 * False if the receiver is gone and the payload is the sender's again.
 */
DUO_COLD bool duo_answer(duo_session *session, const duo_side *side);
/* The same behind a swap that found flags. */
DUO_COLD bool duo_answer_in_word(duo_session *session, duo_side *side, uint64_t before);

/*
 * Looks for a moment whether the message at this position comes into the line; its word, or 0 if it did
 * not, and at once if that is no use.
 */
uint64_t duo_look_out(const duo_line *line, uint64_t at);

/* A sender asks for the line that comes so many lines later. */
enum { DUO_LINES_AHEAD = 4 };

/*
 * Asks the processor for a line that this side is going to write, some bytes behind one that it has written, so that
 * stores do not wait for one line after the other. Only a hint, also where no line is. What compilers make
 * of theirs for every x86-64 leaves the line with the other side, too; a processor without this one ignores it.
 */
DUO_INLINE void duo_foresee(const void *line, size_t bytes)
{
    const char *place = (const char *)((uintptr_t)line + bytes);
#if defined(__GNUC__) && defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*place));
#elif defined(__GNUC__)
    __builtin_prefetch(place, 1);
#else
    (void)place;
#endif
}

/* Asks for a line that this side is going to read. Only a hint, too. */
DUO_INLINE void duo_fetch(const void *line, size_t bytes)
{
    const char *place = (const char *)((uintptr_t)line + bytes);
#if defined(__GNUC__)
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

#ifndef __OPTIMIZE_SIZE__

/*
 * A side that is about to use its endpoint, and the place of the payload. Lives in registers. What memory
 * takes of a sender it takes in order, and all waits while a line is still with the receiver: so hardly
 * anything is stored beside the message.
 */
typedef struct duo_way {
    duo_session *session;
    duo_side *side;
    const duo_shape *shape;
    /* Epoch and place of the message. */
    uint64_t count;
    duo_line *line;
    char *place;
    /* As receiver: the word that has the message. */
    uint64_t word;
    /* In a lane: whether it has no other number in this line. */
    bool is_last;
} duo_way;

/* Finds the side of an endpoint. False if the endpoint is used, or its session is one for the library. */
DUO_INLINE bool duo_find(duo_way *way, duo_endpoint from, duo_role role, const duo_shape *known)
{
#ifdef DUO_CHECKED
    (void)way, (void)from, (void)role, (void)known;
    return false;
#else
    /* A zeroed endpoint has turn 0, and of others DUO_TURN_APART is the sign. */
    if (!DUO_LIKELY((int64_t)from.turn > 0)) return false;
    duo_side *side = &from.session->sides[role];
    if (!DUO_LIKELY(duo_atomic_load(&side->turn, memory_order_relaxed) == from.turn)) return false;
    way->session = from.session;
    way->side = side;
    way->shape = known != NULL ? known : &from.session->shape;
    way->count = (from.turn + side->base) >> 1;
    way->line = side->line;
    return way->shape->pitch == DUO_LINE;
#endif
}

/* The place in its line, from 0. */
DUO_INLINE uint64_t duo_place_of(const duo_way *way)
{
    return way->shape->per_line == 1 ? 0 : way->count & 7;
}

/* Whether its line has no place behind this one. */
DUO_INLINE bool duo_ends_line(const duo_way *way)
{
    return duo_place_of(way) + 1 == way->shape->per_line;
}

/* Whether all runs of the session are of one message: then the rest of a position hardly changes. */
DUO_INLINE bool duo_alternates(const duo_way *way)
{
    return way->shape->per_line == 1 && way->shape->lines == 1 && !way->shape->unbounded;
}

/*
 * Whether the step behind a message is one for the library: to another half of the ring, which the
 * receiver has to be told of and for which the sender may have to wait; as sender, to the last line that
 * is ready; or to epochs that start again.
 */
DUO_INLINE bool duo_steps_far(const duo_way *way, duo_edge edge, bool sends)
{
    if (edge == DUO_TURN) return way->count >> 3 >= DUO_RENEWAL;
    if (DUO_LIKELY(!duo_ends_line(way))) return false;
    uint64_t next = (way->side->at & DUO_AT_LINES) + 1;
    if (next == way->shape->segment || next == way->shape->lines) return true;
    return sends && way->shape->ready < way->shape->lines && next + 1 == way->shape->ready;
}

/* The position in one number. */
DUO_INLINE uint64_t duo_at(const duo_way *way)
{
    return (way->side->at & (DUO_AT_PLACE - 1)) | way->count << 40;
}

/* Makes the endpoint a used one. What is good is the one that this gives back, when the side stands there. */
DUO_INLINE duo_endpoint duo_use_up(const duo_way *way, duo_endpoint from)
{
    duo_atomic_store(&way->side->turn, from.turn + 2, memory_order_relaxed);
    duo_endpoint next = {way->session, from.turn + 2};
    return next;
}

/* Steps behind a message that keeps the direction. */
DUO_INLINE duo_endpoint duo_go_on(const duo_way *way, duo_endpoint from, bool stays)
{
    duo_side *side = way->side;
    if (!stays) side->at &= ~DUO_AT_STAYS;
    if (!DUO_LIKELY(!duo_ends_line(way))) {
        side->at++;
        side->line = (duo_line *)(void *)((char *)way->line + DUO_LINE);
        side->base = 2 * (way->count & ~UINT64_C(7)) - (from.turn + 2);
    }
    return duo_use_up(way, from);
}

/* Steps behind a message that turns the direction. `others` are what of a position it leaves as it is. */
DUO_INLINE duo_endpoint duo_turn_on(const duo_way *way, duo_endpoint from, bool stays, uint64_t others)
{
    duo_side *side = way->side;
    side->at = others | (stays ? DUO_AT_STAYS : 0);
    side->base = 2 * ((way->count | 7) + 1) - (from.turn + 2);
    if (way->shape->lines > 1) side->line = (duo_line *)(void *)way->session->ring;
    return duo_use_up(way, from);
}

/*
 * Whether a message that is plain bytes and not the last can be sent here and now. If so its entries go
 * to `way->place`, and `duo_publish` is next; if not, it is a case for `duo_send`. The shape is NULL if
 * it is not known.
 */
DUO_INLINE bool duo_may_send(duo_way *way, duo_endpoint from, duo_role role, const duo_shape *known,
                             duo_edge edge)
{
    if (!DUO_LIKELY(duo_find(way, from, role, known))) return false;
    if (!DUO_LIKELY(!duo_steps_far(way, edge, true))) return false;
    way->place = way->line->payloads + duo_place_of(way) * way->shape->stride;
    return true;
}

/* Before the library answers a receiver it is told where; and it may give the session away. */
DUO_INLINE void duo_stop(const duo_way *way, duo_endpoint from)
{
    way->side->at = duo_at(way);
    (void)duo_use_up(way, from);
}

/*
 * Publishes the message whose entries are in their place. `index` is its own among those of its state;
 * `begins` says whether no message of the state keeps the direction, `stays` whether one of the next does.
 */
DUO_INLINE duo_status duo_publish_here(const duo_way *way, duo_endpoint from, duo_role role,
                                       duo_edge edge, unsigned index, bool begins, bool stays,
                                       duo_endpoint *next)
{
    DUO_ATOMIC(uint64_t) *place = &way->line->word;
    uint64_t word = (way->count + 1) << 40;
    unsigned index_bits = way->shape->index_bits;
    if (index_bits > 0 && duo_place_of(way) > 0)
        word |= duo_atomic_load(place, memory_order_relaxed) & DUO_WORD_INDEXES;
    if (index > 0) word |= (uint64_t)index << (4 + duo_place_of(way) * index_bits);
    if (edge == DUO_TURN) word |= duo_processor();
    bool is_taken = true;
    if (edge == DUO_TURN && begins && duo_place_of(way) == 0 &&
        (duo_alternates(way) || (way->side->at & (DUO_AT_LAP | DUO_AT_LINES)) == 0)) {
        uint64_t before = duo_atomic_exchange(place, word, memory_order_acq_rel);
        if (!DUO_LIKELY((before & DUO_WORD_FLAGS) == 0)) {
            duo_stop(way, from);
            is_taken = duo_answer_in_word(way->session, way->side, before);
        }
    } else {
        duo_atomic_store(place, word, memory_order_release);
        duo_signal_fence(memory_order_seq_cst);
        DUO_ATOMIC(uint64_t) *flags = &way->session->signals[role ^ 1].flags;
        if (!DUO_LIKELY(duo_atomic_load(flags, memory_order_acquire) == 0)) {
            duo_stop(way, from);
            is_taken = duo_answer(way->session, way->side);
        }
    }
    if (!DUO_LIKELY(is_taken)) {
        duo_endpoint none = {NULL, 0};
        *next = none;
        return DUO_CLOSED;
    }
    if (edge == DUO_STAY) {
        if (way->shape->unbounded && !DUO_LIKELY(!duo_ends_line(way)))
            duo_foresee(way->line, DUO_LINES_AHEAD * DUO_LINE);
        *next = duo_go_on(way, from, stays);
    } else {
        uint64_t others = way->side->at & (DUO_AT_PROCESSORS | DUO_AT_SWAPS);
        *next = duo_turn_on(way, from, stays, others);
    }
    return DUO_OK;
}

/* The same where it is known whether a place follows in the line, so that it is looked at once only. */
DUO_INLINE duo_status duo_publish(const duo_way *way, duo_endpoint from, duo_role role, duo_edge edge,
                                  unsigned index, bool begins, bool stays, duo_endpoint *next)
{
    if (edge == DUO_STAY && !DUO_LIKELY(!duo_ends_line(way)))
        return duo_publish_here(way, from, role, edge, index, begins, stays, next);
    return duo_publish_here(way, from, role, edge, index, begins, stays, next);
}

/* Whether a word has the message of this epoch and place: see position.h. */
DUO_INLINE bool duo_word_has(uint64_t word, uint64_t count)
{
    return (word >> 40) - count - 1 < 7;
}

/*
 * Whether the message of a state that has only one, which is plain bytes and not the last, can be
 * received here and now. If so its entries are at `way->place`, and `duo_taken` is next; if not, it is a
 * case for `duo_recv`.
 */
DUO_INLINE bool duo_may_recv(duo_way *way, duo_endpoint from, duo_role role, const duo_shape *known,
                             duo_edge edge, uint64_t wait)
{
    if (!DUO_LIKELY(duo_find(way, from, role, known))) return false;
    way->word = duo_atomic_load(&way->line->word, memory_order_acquire);
    if (!duo_word_has(way->word, way->count)) {
        if (wait == DUO_AT_ONCE) return false;
        way->word = duo_look_out(way->line, duo_at(way));
        if (way->word == 0) return false;
    }
    if (!DUO_LIKELY(!duo_steps_far(way, edge, false))) return false;
    way->place = way->line->payloads + duo_place_of(way) * way->shape->stride;
    return true;
}

/* Gives the place of a message free whose entries were copied: the endpoint that follows. */
DUO_INLINE duo_endpoint duo_taken(const duo_way *way, duo_endpoint from, duo_edge edge, bool stays)
{
    if (edge == DUO_STAY) return duo_go_on(way, from, stays);
    uint64_t others = (way->word & DUO_AT_PROCESSORS) | (way->side->at & DUO_AT_SWAPS);
    return duo_turn_on(way, from, stays, others);
}

#endif

#endif
