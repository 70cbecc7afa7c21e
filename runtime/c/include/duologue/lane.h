/*
 * duologue/lane.h: the path that most numbers take to and from another process. In a lane, numbers follow one
 * another: each is like the one before, in a line that has free slots or was seen to have more numbers. In
 * single-line turns each message reverses the direction, and all go back and forth in one line. Code that is generated for
 * sessions between processes includes this in its headers; everything else, and all of C++, goes through the
 * library. Not for programs.
 *
 * The invariants are in runtime/c/src/shm/shm.h. Only the number, the word that publishes it and the turn are
 * stored: stores that wait for a line from the other processor soon fill the store buffer, and then the
 * processor stalls.
 */
#ifndef DUOLOGUE_LANE_H
#define DUOLOGUE_LANE_H

#include "duologue/generated.h"

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/* After the last number of a line was sent: moves on to the next line. */
void duo_lane_go_on(duo_endpoint next);

/* After the last number of a line was received: moves on to the next line. */
void duo_lane_line_ends(duo_endpoint next);

/*
 * After a number was sent to a peer that sleeps or has disconnected: wakes the peer, or ends the session, after which
 * the caller zeroes `*next`.
 */
duo_status duo_answer_peer(duo_endpoint next, uint32_t flags);

/*
 * Polls briefly for the message that is the only one in the line. Returns its word, whose lowest byte is `expected`, or 0
 * if it did not arrive; returns 0 at once if polling would be useless.
 */
uint64_t duo_single_line_spin(duo_endpoint from, uint64_t expected);

#ifdef __cplusplus
}
#endif

/* In the word of a line: the next message is in the next line. */
#define DUO_LANE_FULL UINT64_C(0x10)
/* How far the turn advances with the numbers of a line. */
#define DUO_LANE_TURNS 14
/* A word with one message; the lowest bit is the parity of the line's use. */
#define DUO_SINGLE_LINE_ONE UINT64_C(2)

/* Generated code has the type of the message, the runtime its table. */
#define duo_lane_recv(cursor, from, role, message, offset)                                            \
    duo_lane_recv_tagged(cursor, from, role, message, sizeof(message)->tag, offset)

#ifdef __cplusplus
#define duo_store_at_once(endpoint, place) ((void)(endpoint), (void)(place))
#else

/*
 * Stores an endpoint in one store: callers copy it out of a message with one load, which would otherwise
 * have to wait for two stores to reach the cache.
 */
DUO_INLINE void duo_store_at_once(duo_endpoint endpoint, char *place)
{
#if defined(__GNUC__) && UINTPTR_MAX == UINT64_MAX
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair stored = {(uint64_t)(uintptr_t)endpoint.session, endpoint.turn};
    memcpy(place, &stored, sizeof stored);
#else
    memcpy(place, &endpoint, sizeof endpoint);
#endif
}
#endif

#if defined(__cplusplus) || defined(__OPTIMIZE_SIZE__) || defined(DUO_CHECKED)
#define duo_lane_has(cursor, from, role, of) ((void)(cursor), (void)(role), (void)(of), false)
#define duo_lane_send(cursor, from, role, number, next) DUO_USED
#define duo_lane_recv_tagged(cursor, from, role, message, tag_size, offset) ((void)(message))
#define duo_lane_number(from) ((const char *)&(from))
#define duo_lane_taken(cursor, from, role) (from)
#define duo_single_line_has(cursor, from, role) ((void)(cursor), false)
#define duo_single_line_send(from, role, index, next) DUO_USED
#define duo_single_line_tag(cursor, from, role, wait) ((void)(wait), (cursor)->slot = NULL, 0u)
#define duo_single_line_taken(from, role) (from)
#else

/*
 * Whether the next message is part of a lane. `of` is the message of a sender, or NULL if its state has no
 * other message that could be in one. A lane leads from a state to itself, so the turn determines the
 * state. For most numbers, one comparison shows that they are in a lane and not the last of their line.
 */
DUO_INLINE bool duo_lane_has(duo_cursor *cursor, duo_endpoint from, duo_role role, const void *of)
{
    if (!duo_is_remote(from)) return false;
    duo_remote *remote = duo_remote_of(from);
    uint64_t turn = duo_atomic_load(&remote->session.sides[role].turn, memory_order_relaxed);
    if (!DUO_LIKELY(turn == from.turn) || (of != NULL && remote->lane.of != of)) return false;
    cursor->is_last = false;
    if (DUO_LIKELY(from.turn + 2 < remote->lane.end)) return true;
    cursor->is_last = true;
    return from.turn + 2 == remote->lane.end;
}

/* After a number was sent: the peer sleeps, or has disconnected. */
DUO_INLINE duo_status duo_lane_answer(duo_endpoint *next, uint32_t flags)
{
    duo_status status = duo_answer_peer(*next, flags);
    if (status != DUO_OK) *next = (duo_endpoint){NULL, 0};
    return status;
}

/* Consumes the endpoint; returns the one that follows. */
DUO_INLINE duo_endpoint duo_lane_step(duo_endpoint from, duo_role role)
{
    duo_endpoint next = {from.session, from.turn + 2};
    duo_atomic_store(&from.session->sides[role].turn, next.turn, memory_order_relaxed);
    return next;
}

/* Publishes a word whose message does not need another line: one number of a lane, or one single-line turn. */
DUO_MUST_CHECK DUO_INLINE duo_status duo_lane_send_word(duo_endpoint from, duo_role role, DUO_ATOMIC uint64_t *line,
                                                        uint64_t word, const DUO_ATOMIC uint32_t *peer,
                                                        duo_endpoint *next)
{
    uint32_t flags = duo_lane_publish(line, word, peer);
    *next = duo_lane_step(from, role);
    return DUO_LIKELY(flags == 0) ? DUO_OK : duo_lane_answer(next, flags);
}

/* The address of the number of this turn. */
DUO_INLINE char *duo_lane_place(const duo_lane *lane, duo_endpoint from)
{
    return (char *)(lane->place + (uintptr_t)(4 * from.turn));
}

/* Goes to the next of the lines that only have to be begun. */
DUO_INLINE void duo_lane_next_line(duo_lane *lane)
{
    lane->ahead--;
    lane->line += DUO_LINE / sizeof *lane->line;
    /* Addresses advance by one line, and turns by the numbers of one line. */
    lane->place += DUO_LINE - 4 * DUO_LANE_TURNS;
    lane->end += DUO_LANE_TURNS;
}

/* Sends a number of 8 bytes for which `duo_lane_has` has found a slot. */
DUO_MUST_CHECK DUO_INLINE duo_status duo_lane_send(const duo_cursor *cursor, duo_endpoint from, duo_role role,
                                                   const void *number, duo_endpoint *next)
{
    duo_lane *lane = &duo_remote_of(from)->lane;
    memcpy(duo_lane_place(lane, from), number, 8);
    /* A turn counts by two, and so does the word: its count begins at bit 1. */
    uint64_t word = lane->word + from.turn;
    if (DUO_LIKELY(!cursor->is_last)) return duo_lane_send_word(from, role, lane->line, word, lane->peer, next);
    uint32_t flags = duo_lane_publish(lane->line, word | DUO_LANE_FULL, lane->peer);
    *next = duo_lane_step(from, role);
    if (DUO_LIKELY(flags == 0 && lane->ahead != 0)) {
        duo_lane_next_line(lane);
        lane->word -= DUO_LANE_TURNS;
        duo_prefetch_write(lane->line, DUO_LINES_AHEAD * DUO_LINE);
        return DUO_OK;
    }
    duo_lane_go_on(*next);
    return DUO_LIKELY(flags == 0) ? DUO_OK : duo_lane_answer(next, flags);
}

/* The address of the next number, if `duo_lane_has` has found one. */
DUO_INLINE const char *duo_lane_number(duo_endpoint from)
{
    return duo_lane_place(&duo_remote_of(from)->lane, from);
}

/* After a number was copied: returns the endpoint that follows. */
DUO_INLINE duo_endpoint duo_lane_taken(const duo_cursor *cursor, duo_endpoint from, duo_role role)
{
    duo_lane *lane = &duo_remote_of(from)->lane;
    duo_endpoint next = duo_lane_step(from, role);
    if (DUO_LIKELY(!cursor->is_last) || next.turn != lane->ends) return next;
    const DUO_ATOMIC uint64_t *line = lane->line + DUO_LINE / sizeof *line;
    if (DUO_LIKELY(lane->ahead != 0) &&
        DUO_LIKELY(duo_atomic_load(line, memory_order_acquire) == lane->word)) {
        duo_lane_next_line(lane);
        lane->ends = lane->end;
    } else {
        duo_lane_line_ends(next);
    }
    return next;
}

/* Receives a number in a state with several messages; entries are `offset` bytes from the start of `message`. */
DUO_INLINE void duo_lane_recv_tagged(const duo_cursor *cursor, duo_endpoint from, duo_role role,
                                     void *message, size_t tag_size, size_t offset)
{
    struct {
        unsigned tag;
        void *block;
    } arrived = {duo_tag_word(duo_remote_of(from)->lane.tag, tag_size), NULL};
    char *entries = (char *)message + offset;
    memcpy(message, &arrived, sizeof arrived);
    memcpy(entries, duo_lane_number(from), 8);
    duo_store_at_once(duo_lane_taken(cursor, from, role), entries + 8);
}

/*
 * Whether the next message is the first of a run that may be part of single-line turns. If so, `cursor->slot` is the
 * address of its numbers. `cursor->line` has no meaning in a session between processes.
 */
DUO_INLINE bool duo_single_line_has(duo_cursor *cursor, duo_endpoint from, duo_role role)
{
    if (!duo_is_remote(from)) return false;
    duo_remote *remote = duo_remote_of(from);
    uint64_t turn = duo_atomic_load(&remote->session.sides[role].turn, memory_order_relaxed);
    cursor->slot = remote->line_turns.place;
    return DUO_LIKELY(from.turn - remote->line_turns.from < remote->line_turns.span) && DUO_LIKELY(turn == from.turn);
}

/* The parity of this use of the line: it alternates, while the turn counts by two. */
DUO_INLINE uint64_t duo_single_line_parity(const duo_single_line_turns *line_turns, duo_endpoint from)
{
    return line_turns->parity ^ ((from.turn - line_turns->from) >> 1 & 1);
}

/* Sends the message whose numbers are in their slots. `index` is its index among the messages of its state. */
DUO_MUST_CHECK DUO_INLINE duo_status duo_single_line_send(duo_endpoint from, duo_role role, unsigned index,
                                                     duo_endpoint *next)
{
    const duo_single_line_turns *line_turns = &duo_remote_of(from)->line_turns;
    uint64_t word = DUO_SINGLE_LINE_ONE | duo_single_line_parity(line_turns, from) | (uint64_t)index << 8;
    return duo_lane_send_word(from, role, line_turns->line, word, line_turns->peer, next);
}

/*
 * Returns the tag, as users see it, of a message that is the only one in the line; 0 if it does not arrive
 * at once, or if this is not such a run. If it consists of numbers only and reverses the direction, they are at
 * `cursor->slot`, and `duo_single_line_taken` is next.
 */
DUO_INLINE unsigned duo_single_line_tag(duo_cursor *cursor, duo_endpoint from, duo_role role, uint64_t wait)
{
    if (!duo_single_line_has(cursor, from, role)) return 0;
    const duo_single_line_turns *line_turns = &duo_remote_of(from)->line_turns;
    uint64_t expected = DUO_SINGLE_LINE_ONE | duo_single_line_parity(line_turns, from);
    uint64_t word = duo_atomic_load(line_turns->line, memory_order_acquire);
    if ((word & 0xff) != expected) {
        if (wait == DUO_AT_ONCE) return 0;
        word = duo_single_line_spin(from, expected);
        if (word == 0) return 0;
    }
    return (unsigned)(word >> 8 & 0xff) + 1;
}

/* After the numbers of a message were copied: returns the endpoint that follows. */
DUO_INLINE duo_endpoint duo_single_line_taken(duo_endpoint from, duo_role role)
{
    return duo_lane_step(from, role);
}

#endif

DUO_C_ENDS

#endif
