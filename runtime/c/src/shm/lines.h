/* What sending and receiving between processes share: the line that is written or read, and the handles. */
#ifndef DUOLOGUE_SHM_LINES_H
#define DUOLOGUE_SHM_LINES_H

#include <string.h>

#include "shm.h"
#include "../floor/tag.h"
#include "../wire/wire.h"

/* Makes sure that what was copied out of the region is not read there again, whatever the compiler would prefer. */
static inline void copied(void)
{
    __asm__ __volatile__("" ::: "memory");
}

static inline duo_shm *shm_of(duo_endpoint endpoint)
{
    return (duo_shm *)(void *)endpoint.session;
}

static inline const duo_wire_message *wire_of(const duo_shm *shm, const duo_message *message)
{
    return &shm->protocol->wires[message - shm->protocol->messages];
}

/* The index of the line that is begun next. */
static inline uint64_t next_index(const duo_shm *shm)
{
    return (shm->line_at - shm->line_run) & (shm->line_count - 1);
}

static inline void begin_line(duo_shm *shm)
{
    uint64_t index = next_index(shm);
    uint64_t bit = UINT64_C(1) << (index % 64);
    shm->parities[index / 64] ^= bit;
    shm->parity = (shm->parities[index / 64] & bit) != 0;
    shm->line = &shm->lines[index];
    shm->count = 0;
    shm->cells = 0;
    shm->remote.lane.end = 0;
    shm->word = shm->parity;
    shm->line_at += 1;
}

/* Accounts for the single-line turns before this turn: each had one message, in the first line. */
static inline void settle_single_line_turns(duo_shm *shm, uint64_t turn)
{
    duo_single_line_turns *line_turns = &shm->remote.line_turns;
    if (line_turns->span == 0) return;
    uint64_t runs = (turn - line_turns->from) / 2;
    line_turns->span = 0;
    shm->line_at += runs;
    shm->line_run = shm->line_at - 1;
    shm->line_limit = shm->line_run + shm->line_count;
    shm->parities[0] ^= runs & 1;
    shm->parity ^= runs & 1;
    shm->word = shm->parity;
}

/* Accounts for the lines of a lane that were begun: all come after the first, and have its parity. */
static inline void settle_lines(duo_shm *shm)
{
    duo_lane *lane = &shm->remote.lane;
    uint64_t lines = (uint64_t)((char *)lane->line - (char *)&shm->line->word) / DUO_LINE;
    if (lines == 0) return;
    uint64_t index = next_index(shm);
    shm->parities[index / 64] ^= ((UINT64_C(1) << lines) - 1) << index % 64;
    shm->line_at += lines;
    shm->line += lines;
    shm->count = 0;
    shm->cells = 0;
    lane->from = lane->end - DUO_LANE_TURNS;
}

/*
 * How many of the next `lines` lines, which are fewer than 64, may follow in a lane: they are adjacent to this
 * one, their bits are in one number, and their next use has the parity of this one.
 */
static inline uint64_t lines_alike(const duo_shm *shm, uint64_t lines)
{
    uint64_t index = next_index(shm), place = index % 64;
    /* The first line does not follow the last in memory. */
    if (index == 0) return 0;
    if (lines > shm->line_count - index) lines = shm->line_count - index;
    if (lines > 64 - place) lines = 64 - place;
    uint64_t bits = ((UINT64_C(1) << lines) - 1) << place;
    uint64_t had = shm->parities[index / 64] & bits;
    return had == (shm->parity ? 0 : bits) ? lines : 0;
}

/* Accounts for what was done with messages that are alike, before this turn. */
static inline void settle(duo_shm *shm, uint64_t turn)
{
    settle_single_line_turns(shm, turn);
    duo_lane *lane = &shm->remote.lane;
    if (lane->end == 0) return;
    settle_lines(shm);
    unsigned done = (unsigned)(turn - lane->from) / 2;
    shm->count += done;
    shm->cells += done;
    /* What the sender has published; there is no tag after the last of its messages. */
    uint64_t behind = ~UINT64_C(0) << DUO_SHM_TAG_SHIFT << 8 * shm->count;
    shm->word = (lane->word + turn - 2) & ~behind;
    lane->end = 0;
}

/* From this turn on `alike` messages of a lane may follow, or none if that is 0. */
static inline void expect(duo_shm *shm, uint64_t turn, uint64_t alike)
{
    duo_lane *lane = &shm->remote.lane;
    lane->from = turn;
    lane->ahead = 0;
    lane->line = &shm->line->word;
    lane->end = alike == 0 ? 0 : turn + 2 * alike;
    lane->place = (uintptr_t)(shm->line->cells + shm->cells * 8) - (uintptr_t)(4 * turn);
}

/* The handle that follows. */
static inline duo_endpoint follow(duo_endpoint from)
{
    return (duo_endpoint){from.session, from.turn + 2};
}

/* Consumes a handle; false if it was used before. */
static inline bool claim(duo_shm *shm, duo_endpoint from)
{
    duo_side *side = &shm->remote.session.sides[from.turn & 1];
    uint64_t turn = from.turn;
#ifdef DUO_CHECKED
    return duo_atomic_compare_exchange_strong(&side->turn, &turn, turn + 2,
                                              memory_order_relaxed, memory_order_relaxed);
#else
    if (duo_atomic_load(&side->turn, memory_order_relaxed) != turn) return false;
    duo_atomic_store(&side->turn, turn + 2, memory_order_relaxed);
    return true;
#endif
}

static inline void unclaim(duo_shm *shm, duo_endpoint from)
{
    duo_side *side = &shm->remote.session.sides[from.turn & 1];
    duo_atomic_store(&side->turn, from.turn, memory_order_relaxed);
}

/* As sender: whether the current line may be written. Does not trust the peer's count to make sense. */
static inline bool has_line(duo_shm *shm)
{
    if (shm->line_at <= shm->line_limit) return true;
    uint64_t taken = duo_atomic_load(&shm->peer->lines_taken, memory_order_acquire);
    if (taken < shm->line_at) shm->line_limit = taken + shm->line_count;
    return shm->line_at <= shm->line_limit;
}

/* Publishes the line's word, and wakes the peer. Returns how the peer has disconnected; then all that it sent can be seen. */
static inline uint32_t publish_line(duo_shm *shm, uint64_t word)
{
    shm->word = word;
    uint32_t flags = duo_shm_publish_word(shm, word);
    if (flags == 0) return 0;
    duo_shm_wake(shm);
    return flags & (DUO_SHM_LEFT | DUO_SHM_DONE);
}

/* As receiver: whether this word of the line has a message that was not received yet. */
static inline bool is_fresh(const duo_shm *shm, uint64_t word)
{
    return ((word ^ shm->parity) & DUO_SHM_PARITY) == 0 &&
           ((word >> DUO_SHM_COUNT_SHIFT) & 7) > shm->count;
}

/* As receiver: whether there is a message. A sender has none. */
static inline bool line_has_message(duo_shm *shm)
{
    return is_fresh(shm, duo_atomic_load(&shm->line->word, memory_order_acquire));
}

/* A fragment's position is counted in whole lines, so that every fragment begins at one. */
static inline uint64_t whole(uint64_t bytes)
{
    return (bytes + DUO_LINE - 1) / DUO_LINE * DUO_LINE;
}

/* run.c */
/* The session is over: disconnects and returns `status`. `next` may be NULL. */
duo_status duo_shm_end(duo_shm *shm, duo_status status, duo_endpoint *next);
/* The last step of a message that turned the direction; for a tail call. */
duo_status duo_shm_turn(duo_shm *shm, duo_endpoint from);
/* Reports what this side has finished with, and wakes a sender that waits for it. */
void duo_shm_report_credit(duo_shm *shm);

/* long.c */
/*
 * Sends a message that does not fit into a line. DUO_FULL if that took too long: then nothing was sent. `gone` is how the
 * peer has disconnected, as far as this is known after the last part.
 */
duo_status duo_shm_send_long(duo_shm *shm, const duo_message *message, const duo_wire *wire,
                             const void *entries, size_t size, uint64_t until, uint32_t *gone);
/* Before anything else is sent: withdraws the parts of a message that was given up. DUO_EMPTY: no free line yet. */
duo_status duo_shm_withdraw(duo_shm *shm, uint64_t wait);
/* Whether a long message can be sent without waiting. */
bool duo_shm_has_credit_for(duo_shm *shm, size_t size);
/*
 * As sender: DUO_OK if every message that can ever be sent without waiting can be sent now, DUO_EMPTY if not, or what a
 * send would return.
 */
duo_status duo_shm_check_credit(duo_shm *shm);
/* Whether the memory that a message needs may be allocated for it: for the items of its lists, and its bytes. */
static inline bool duo_shm_allows(const duo_shm *shm, size_t space, size_t size)
{
    return space <= shm->memory && size <= shm->memory - space;
}
/* Receives one more part of a long message: DUO_OK if it is complete, DUO_EMPTY if not. */
duo_status duo_shm_take_fragment(duo_shm *shm, uint64_t word);
/* Decodes the entries of a long message that is complete. */
duo_status duo_shm_decode_long(duo_shm *shm, const duo_message *kind, const duo_wire *wire,
                               char *entries, arrival *arrived);
/* Assembles a decoded message. Takes ownership of `buffer`, which has the bytes, if it is given; otherwise copies them. */
duo_status duo_shm_assemble(const duo_shm *shm, const duo_wire *wire, char *buffer, const char *bytes, size_t size,
                            size_t space, char *entries, arrival *arrived);

/* recv.c */
/* Waits for a message with all its parts: DUO_OK, or why the wait has ended. */
duo_status duo_shm_await_message(duo_shm *shm, uint64_t wait);

/* The transport's operations. */
duo_status duo_shm_send_message(duo_endpoint from, const duo_message *message, const void *entries,
                                uint64_t wait, duo_endpoint *next);
duo_status duo_shm_recv_message(duo_endpoint from, const duo_state *state, uint64_t wait,
                                void *message);
void duo_shm_lane_go_on(duo_endpoint next);
void duo_shm_lane_line_ends(duo_endpoint next);
duo_status duo_shm_answer(duo_endpoint next, uint32_t flags);

/*
 * The first step with an endpoint that was claimed, or is being checked, and may be in a set. For a
 * side in a set no messages are expected to be alike, so messages that are alike need not do this.
 */
static inline void duo_shm_leave_set(duo_shm *shm, duo_endpoint endpoint)
{
    const duo_side *side = &shm->remote.session.sides[endpoint.turn & 1];
    const duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_acquire);
    if (notifier != NULL) duo_shm_unwatch(&shm->remote.session, notifier);
}

#endif
