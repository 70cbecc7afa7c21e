/*
 * duologue/pipe.h: a session as it lies in memory, and the way that most messages take: few,
 * small and plain entries, a ring with room, and a peer that is awake. Generated C calls it with
 * constants, so that hardly anything is left of it. Everything else, and all of C++, takes the
 * way through the library. Not for programs.
 *
 * Why it is correct stands in runtime/c/src/ring.h; the numbers are those of position.h there.
 */
#ifndef DUOLOGUE_PIPE_H
#define DUOLOGUE_PIPE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "duologue/generated.h"

enum { DUO_LINE = 64, DUO_INLINE_RING = 2 * DUO_LINE };

/*
 * A line of the ring: a word (see position.h), and as many payloads as fit with it into a cache
 * line; a larger payload has a longer line of its own. A payload is the entries, or a pointer to
 * their block.
 */
typedef struct duo_line {
    _Atomic uint64_t word;
    char payloads[];
} duo_line;

/* Rung by a sender for a receiver that waits on many endpoints. */
typedef struct duo_bell {
    void (*ring)(struct duo_bell *bell);
} duo_bell;

/* One side's own half of a session, in a cache line of its own. The peer touches `bell` only. */
typedef struct duo_side {
    /*
     * The turn that the one good handle of this side carries; bit 0 is the side. It only grows, also
     * from session to session in the same memory, so that no old handle is ever good again.
     */
    alignas(DUO_LINE) _Atomic uint64_t turn;
    /* The position of the message that comes next, its line, and the place of its payload. */
    uint64_t at;
    duo_line *line;
    char *place;
    union {
        /* As receiver: the bell that hangs here, until the sender has rung it or it was taken down. */
        _Atomic(duo_bell *) bell;
        /* On the list of endpoints to be closed, where no bell hangs: the next of them. */
        struct duo_side *next_closing;
    };
    /* On that list: the state this one is in. */
    const duo_state *state;
} duo_side;

/*
 * What a receiver says to a sender that stores its messages: see leave.c. In a cache line of its
 * own, since the sender reads it with nearly every message and it changes only when the receiver
 * sleeps.
 */
typedef struct duo_signal {
    alignas(DUO_LINE) _Atomic uint64_t flags;
} duo_signal;

/*
 * A session. Lives in memory that is never given back, only used again for other sessions, so that
 * `turn` may be read through any handle at any time.
 */
struct duo_session {
    alignas(DUO_LINE) char *ring;
    /* Bytes from one line to the next, and from one payload to the next. */
    uint32_t pitch;
    uint32_t stride;
    uint32_t lines;
    /* The first line of the second half of the ring; `lines` if the run has a bound. */
    uint32_t segment;
    uint8_t per_line;
    /* Bits of a message's index. */
    uint8_t index_bits;
    bool unbounded;
    /* Comes from the pool; otherwise it lies in memory of the caller's. */
    bool is_pooled;
    /* In memory of the caller's: a session has begun there that has not ended. */
    _Atomic bool is_running;
    struct duo_session *next_free;
    /* Which half of the ring was emptied last, and flags: see room.c. It changes twice in a lap. */
    _Atomic uint64_t credit;
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

/* From this epoch on a turn starts epochs again, which the library does. */
#ifndef DUO_RENEWAL
#define DUO_RENEWAL (UINT64_C(1) << 20)
#endif

/* Where the kernel keeps the number of a thread's processor, from the thread's own pointer; 0 if nowhere. */
extern _Atomic ptrdiff_t duo_processor_at;

/* The processor of this thread as words have it; 0 if that cannot be known. */
static inline uint64_t duo_processor(void)
{
#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__)
    ptrdiff_t offset = atomic_load_explicit(&duo_processor_at, memory_order_relaxed);
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
bool duo_answer(duo_session *session, const duo_side *side);
/* The same behind a swap that found flags. */
bool duo_answer_in_word(duo_session *session, duo_side *side, uint64_t before);

/* Looks for a moment whether a message comes; false if it did not, and at once if that is no use. */
bool duo_look_out(const duo_side *side);

#if defined(__GNUC__)
#define DUO_LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define DUO_LIKELY(condition) (condition)
#endif

#ifndef __OPTIMIZE_SIZE__

/* The side of a handle if it is good, and nothing hangs or has to be done first. */
static inline duo_side *duo_plain_side(duo_endpoint from)
{
#ifdef DUO_CHECKED
    (void)from;
    return NULL;
#else
    /* The highest bit is set where the peer is in another process. */
    if (from.session == NULL || from.turn >> 63 != 0) return NULL;
    duo_side *side = &from.session->sides[from.turn & 1];
    return atomic_load_explicit(&side->turn, memory_order_relaxed) == from.turn ? side : NULL;
#endif
}

/* Whether the line has a place behind this position. */
static inline bool duo_within_line(const duo_session *session, uint64_t at)
{
    return (at >> 40 & 7) + 1 < session->per_line;
}

/* Steps behind a message that keeps the direction, within a line or to one that follows it. */
static inline void duo_plain_step(const duo_session *session, duo_side *side, uint64_t at, bool within,
                                  bool stays)
{
    if (!stays) at &= ~DUO_AT_STAYS;
    else at |= DUO_AT_STAYS;
    if (DUO_LIKELY(within)) {
        side->place += session->stride;
        side->at = at + DUO_AT_PLACE;
        return;
    }
    duo_line *line = (duo_line *)(void *)((char *)side->line + session->pitch);
    side->line = line;
    side->place = line->payloads;
    side->at = (at & ~DUO_AT_PLACES) + 1;
}

/* Steps behind a message that turns the direction. */
static inline void duo_plain_turn(const duo_session *session, duo_side *side, uint64_t at,
                                  uint64_t processor, bool stays)
{
    uint64_t epoch = (at & ~(DUO_AT_EPOCH - 1)) + DUO_AT_EPOCH;
    side->line = (duo_line *)(void *)session->ring;
    side->place = side->line->payloads;
    side->at = epoch | processor | (at & DUO_AT_SWAPS) | (stays ? DUO_AT_STAYS : 0);
}

/*
 * `duo_send` of a message that is plain bytes and not the last. `size`, `edge` and `index` are
 * those of the message; `stays` is that of the state behind it.
 */
DUO_MUST_CHECK static inline duo_status duo_send_plain(duo_endpoint from, const duo_message *message,
                                                       const void *entries, uint64_t wait,
                                                       duo_endpoint *next, size_t size,
                                                       duo_edge edge, unsigned index, bool stays)
{
    duo_session *session = from.session;
    duo_side *side = size <= DUO_LINE ? duo_plain_side(from) : NULL;
    if (!DUO_LIKELY(side != NULL)) return duo_send(from, message, entries, wait, next);
    uint64_t at = side->at;
    uint64_t line = at & DUO_AT_LINES;
    bool is_plain = (at & (DUO_AT_LAP | DUO_AT_PLACES)) != DUO_AT_LAP ||
                    (line != 0 && line != session->segment);
    bool within = duo_within_line(session, at);
    if (edge == DUO_STAY)
        is_plain = is_plain && (at & DUO_AT_SWAPS) == 0 && (within || line + 1 < session->lines);
    else
        is_plain = is_plain && at < DUO_RENEWAL * DUO_AT_EPOCH;
    if (!DUO_LIKELY(is_plain)) return duo_send(from, message, entries, wait, next);

    atomic_store_explicit(&side->turn, from.turn + 2, memory_order_relaxed);
    if (size > 0) memcpy(side->place, entries, size);
    uint64_t word = (at & ~(DUO_AT_PLACE - 1)) + DUO_AT_PLACE;
    if ((at & DUO_AT_PLACES) != 0)
        word |= atomic_load_explicit(&side->line->word, memory_order_relaxed) & DUO_WORD_INDEXES;
    if (index != 0) word |= (uint64_t)index << (4 + (at >> 40 & 7) * session->index_bits);
    bool is_taken = true;
    if (edge == DUO_TURN) word |= duo_processor();
    if (edge == DUO_TURN &&
        ((at & DUO_AT_SWAPS) ||
         (at & (DUO_AT_LAP | DUO_AT_PLACES | DUO_AT_LINES | DUO_AT_STAYS)) == 0)) {
        uint64_t before = atomic_exchange_explicit(&side->line->word, word, memory_order_acq_rel);
        if (!DUO_LIKELY((before & DUO_WORD_FLAGS) == 0))
            is_taken = duo_answer_in_word(session, side, before);
    } else {
        atomic_store_explicit(&side->line->word, word, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        _Atomic uint64_t *flags = &session->signals[(from.turn & 1) ^ 1].flags;
        if (!DUO_LIKELY(atomic_load_explicit(flags, memory_order_acquire) == 0))
            is_taken = duo_answer(session, side);
    }
    if (!DUO_LIKELY(is_taken)) {
        memset(next, 0, sizeof *next);
        return DUO_CLOSED;
    }
    if (edge == DUO_STAY) duo_plain_step(session, side, at, within, stays);
    else duo_plain_turn(session, side, at, at & DUO_AT_PROCESSORS, stays);
    next->session = session;
    next->turn = from.turn + 2;
    return DUO_OK;
}

/*
 * `duo_recv` in a state whose one message is plain bytes and not the last. `offset` is where
 * entries are in `message`, the others are as above.
 */
DUO_MUST_CHECK static inline duo_status duo_recv_plain(duo_endpoint from, const duo_state *state,
                                                       uint64_t wait, void *message, size_t offset,
                                                       size_t size, duo_edge edge, bool stays)
{
    duo_session *session = from.session;
    duo_side *side = size <= DUO_LINE ? duo_plain_side(from) : NULL;
    if (!DUO_LIKELY(side != NULL)) return duo_recv(from, state, wait, message);
    uint64_t at = side->at;
    uint64_t word = atomic_load_explicit(&side->line->word, memory_order_acquire);
    bool is_there = ((word - (at & ~(DUO_AT_PLACE - 1))) >> 40) - 1 < 7;
    if (!is_there && wait != DUO_AT_ONCE && duo_look_out(side)) {
        word = atomic_load_explicit(&side->line->word, memory_order_acquire);
        is_there = ((word - (at & ~(DUO_AT_PLACE - 1))) >> 40) - 1 < 7;
    }
    bool is_plain = is_there && atomic_load_explicit(&side->bell, memory_order_acquire) == NULL;
    uint64_t line = at & DUO_AT_LINES;
    bool within = duo_within_line(session, at);
    if (edge == DUO_STAY)
        is_plain = is_plain && (within || (line + 1 != session->segment && line + 1 < session->lines));
    else
        is_plain = is_plain && at < DUO_RENEWAL * DUO_AT_EPOCH;
    if (!DUO_LIKELY(is_plain)) return duo_recv(from, state, wait, message);

    atomic_store_explicit(&side->turn, from.turn + 2, memory_order_relaxed);
    char *entries = (char *)message + offset;
    if (size > 0) memcpy(entries, side->place, size);
    struct {
        unsigned tag;
        void *block;
    } arrived = {1, NULL};
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {session, from.turn + 2};
    memcpy(entries + size, &next, sizeof next);
    if (edge == DUO_STAY) duo_plain_step(session, side, at, within, stays);
    else duo_plain_turn(session, side, at, word & DUO_AT_PROCESSORS, stays);
    return DUO_OK;
}

#endif

#endif
