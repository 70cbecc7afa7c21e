/*
 * duologue/lane.h: numbers that go to and from another process, the way that most of them take. In a lane they
 * follow one another: like the one before, in a line that has room or was seen to have more. In a volley
 * each turns the direction, and they go to and fro in one line. Code that is
 * generated for sessions between processes has it in its headers; everything else, and all of C++, is
 * done by the library. Not for programs.
 *
 * What must hold is in runtime/c/src/shm.h. Nothing is stored but the number, the word that publishes it
 * and the turn: stores that wait for a line from the other processor soon fill the processor's buffer of
 * stores, and then it stands still.
 */
#ifndef DUOLOGUE_LANE_H
#define DUOLOGUE_LANE_H

#include "duologue/generated.h"

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

/* Behind the last number of a line that was sent: goes on to the next line. */
void duo_lane_go_on(duo_endpoint next);

/* Behind the last number of a line that was received: goes on to the next line. */
void duo_lane_line_ends(duo_endpoint next);

/*
 * Behind a number that was sent to a peer that sleeps or has left: wakes it, or ends the session, and then `*next` is
 * zeroed.
 */
duo_status duo_answer_peer(duo_endpoint next, uint32_t flags);

#ifdef __cplusplus
}
#endif

/* In the word of a line: the next message is in the next one. */
#define DUO_LANE_FULL UINT64_C(0x10)
/* As many turns as a line has numbers. */
#define DUO_LANE_TURNS 14
/* A word with one message; the parity of the line's use is in the lowest bit. */
#define DUO_VOLLEY_ONE UINT64_C(2)
/* How often a receiver looks before it begins to wait in earnest. */
enum { DUO_VOLLEY_LOOKS = 64 };

/* Generated code knows the type of the message, and the runtime its table. */
#define duo_lane_recv(way, from, role, message, offset)                                            \
    duo_lane_recv_tagged(way, from, role, message, sizeof(message)->tag, offset)

#if defined(__cplusplus) || defined(__OPTIMIZE_SIZE__) || defined(DUO_CHECKED)
#define duo_lane_has(way, from, role, of) ((void)(way), (void)(role), (void)(of), false)
#define duo_lane_send(way, from, role, number, next) DUO_USED
#define duo_lane_recv_tagged(way, from, role, message, tag_size, offset) ((void)(message))
#define duo_lane_number(from) ((const char *)&(from))
#define duo_lane_taken(way, from, role) (from)
#define duo_store_at_once(endpoint, place) ((void)(endpoint), (void)(place))
#define duo_may_volley(way, from, role) ((void)(way), false)
#define duo_volley_send(from, role, index, next) DUO_USED
#define duo_volley_tag(way, from, role, wait) ((void)(wait), (way)->place = NULL, 0u)
#define duo_volley_taken(from, role) (from)
#else

DUO_INLINE duo_remote *duo_remote_of(duo_endpoint from)
{
    return (duo_remote *)(void *)from.session;
}

/*
 * Stores an endpoint at once: callers copy it out of a message in one load, which would have to wait for
 * two stores to reach the cache.
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

/*
 * Whether the next message is one of a lane. `of` is the message of a sender, or NULL if its state has no
 * other that could be in one; a lane leads from a state to itself, so the turn says which state it is. One
 * comparison tells most numbers that they are in a lane and not the last of their line.
 */
DUO_INLINE bool duo_lane_has(duo_way *way, duo_endpoint from, duo_role role, const void *of)
{
    /* No other turn has this bit. */
    if ((from.turn >> 62 & 1) == 0) return false;
    duo_remote *remote = duo_remote_of(from);
    uint64_t turn = duo_atomic_load(&remote->session.sides[role].turn, memory_order_relaxed);
    if (!DUO_LIKELY(turn == from.turn) || (of != NULL && remote->lane.of != of)) return false;
    way->is_last = false;
    if (DUO_LIKELY(from.turn + 2 < remote->lane.end)) return true;
    way->is_last = true;
    return from.turn + 2 == remote->lane.end;
}

/* Behind a number that was sent: the peer sleeps, or has left. */
DUO_INLINE duo_status duo_lane_answer(duo_endpoint *next, uint32_t flags)
{
    duo_status status = duo_answer_peer(*next, flags);
    if (status != DUO_OK) *next = (duo_endpoint){NULL, 0};
    return status;
}

/* Where the number of a turn goes, or stands. */
DUO_INLINE char *duo_lane_place(const duo_lane *lane, duo_endpoint from)
{
    return (char *)(lane->place + (uintptr_t)(4 * from.turn));
}

/* Uses the endpoint up: the one that follows. */
DUO_INLINE duo_endpoint duo_lane_step(duo_endpoint from, duo_role role)
{
    duo_endpoint next = {from.session, from.turn + 2};
    duo_atomic_store(&from.session->sides[role].turn, next.turn, memory_order_relaxed);
    return next;
}

/* Goes to the next line of those that need nothing but to be begun. */
DUO_INLINE void duo_lane_next_line(duo_lane *lane)
{
    lane->ahead--;
    lane->line += DUO_LINE / sizeof *lane->line;
    /* Its numbers are a line further, and their turns as many as a line has. */
    lane->place += DUO_LINE - 4 * DUO_LANE_TURNS;
    lane->end += DUO_LANE_TURNS;
}

/* Sends a number of 8 bytes where `duo_lane_has` says that there is a place for it. */
DUO_MUST_CHECK DUO_INLINE duo_status duo_lane_send(const duo_way *way, duo_endpoint from, duo_role role,
                                                   const void *number, duo_endpoint *next)
{
    duo_lane *lane = &duo_remote_of(from)->lane;
    memcpy(duo_lane_place(lane, from), number, 8);
    /* A turn counts by two, and so does the word: its count begins at bit 1. */
    uint64_t word = lane->word + from.turn;
    if (DUO_LIKELY(!way->is_last)) {
        duo_atomic_store(lane->line, word, memory_order_release);
        duo_signal_fence(memory_order_seq_cst);
        uint32_t flags = duo_atomic_load(lane->peer, memory_order_relaxed);
        *next = duo_lane_step(from, role);
        if (DUO_LIKELY(flags == 0)) return DUO_OK;
        return duo_lane_answer(next, flags);
    }
    duo_atomic_store(lane->line, word | DUO_LANE_FULL, memory_order_release);
    duo_signal_fence(memory_order_seq_cst);
    uint32_t flags = duo_atomic_load(lane->peer, memory_order_relaxed);
    *next = duo_lane_step(from, role);
    if (DUO_LIKELY(flags == 0 && lane->ahead != 0)) {
        duo_lane_next_line(lane);
        lane->word -= DUO_LANE_TURNS;
        duo_foresee(lane->line, DUO_LINES_AHEAD * DUO_LINE);
        return DUO_OK;
    }
    duo_lane_go_on(*next);
    return DUO_LIKELY(flags == 0) ? DUO_OK : duo_lane_answer(next, flags);
}

/* Where the number is that comes next, if `duo_lane_has` says that there is one. */
DUO_INLINE const char *duo_lane_number(duo_endpoint from)
{
    return duo_lane_place(&duo_remote_of(from)->lane, from);
}

/* Behind a number that was copied: the endpoint that follows. */
DUO_INLINE duo_endpoint duo_lane_taken(const duo_way *way, duo_endpoint from, duo_role role)
{
    duo_lane *lane = &duo_remote_of(from)->lane;
    duo_endpoint next = duo_lane_step(from, role);
    if (DUO_LIKELY(!way->is_last) || next.turn != lane->ends) return next;
    const DUO_ATOMIC(uint64_t) *line = lane->line + DUO_LINE / sizeof *line;
    if (DUO_LIKELY(lane->ahead != 0) &&
        DUO_LIKELY(duo_atomic_load(line, memory_order_acquire) == lane->word)) {
        duo_lane_next_line(lane);
        lane->ends = lane->end;
        duo_fetch(lane->line, lane->fetches);
    } else {
        duo_lane_line_ends(next);
    }
    return next;
}

/* Receives a number where there is one of several messages; entries are `offset` bytes from the start of `message`. */
DUO_INLINE void duo_lane_recv_tagged(const duo_way *way, duo_endpoint from, duo_role role,
                                     void *message, size_t tag_size, size_t offset)
{
    struct {
        unsigned tag;
        void *block;
    } arrived = {duo_tag_word(duo_remote_of(from)->lane.tag, tag_size), NULL};
    char *entries = (char *)message + offset;
    memcpy(message, &arrived, sizeof arrived);
    memcpy(entries, duo_lane_number(from), 8);
    duo_store_at_once(duo_lane_taken(way, from, role), entries + 8);
}

/*
 * Whether the next message is the first of a run that may be one of a volley. If so, `way->place` is where its
 * numbers are; `way->line` is nothing of a session between processes.
 */
DUO_INLINE bool duo_may_volley(duo_way *way, duo_endpoint from, duo_role role)
{
    if ((from.turn >> 62 & 1) == 0) return false;
    duo_remote *remote = duo_remote_of(from);
    uint64_t turn = duo_atomic_load(&remote->session.sides[role].turn, memory_order_relaxed);
    way->place = remote->volley.place;
    return DUO_LIKELY(from.turn - remote->volley.from < remote->volley.span) && DUO_LIKELY(turn == from.turn);
}

/* The parity of this use of the line: they alternate, as the turn counts by two. */
DUO_INLINE uint64_t duo_volley_parity(const duo_volley *volley, duo_endpoint from)
{
    return volley->parity ^ ((from.turn - volley->from) >> 1 & 1);
}

/* Sends the message whose numbers are in their place. `index` is its own among those of its state. */
DUO_MUST_CHECK DUO_INLINE duo_status duo_volley_send(duo_endpoint from, duo_role role, unsigned index,
                                                     duo_endpoint *next)
{
    const duo_volley *volley = &duo_remote_of(from)->volley;
    uint64_t word = DUO_VOLLEY_ONE | duo_volley_parity(volley, from) | (uint64_t)index << 8;
    duo_atomic_store(volley->line, word, memory_order_release);
    duo_signal_fence(memory_order_seq_cst);
    uint32_t flags = duo_atomic_load(volley->peer, memory_order_relaxed);
    *next = duo_lane_step(from, role);
    return DUO_LIKELY(flags == 0) ? DUO_OK : duo_lane_answer(next, flags);
}

/*
 * The tag, as users see it, of a message that is the only one in the line; 0 if it does not come at once, or
 * this is no volley. If it is of numbers only and turns the direction they are at `way->place`, and
 * `duo_volley_taken` is next.
 */
DUO_INLINE unsigned duo_volley_tag(duo_way *way, duo_endpoint from, duo_role role, uint64_t wait)
{
    if (!duo_may_volley(way, from, role)) return 0;
    const duo_volley *volley = &duo_remote_of(from)->volley;
    uint64_t expected = DUO_VOLLEY_ONE | duo_volley_parity(volley, from);
    uint64_t word = duo_atomic_load(volley->line, memory_order_acquire);
    for (int looks = 0; (word & 0xff) != expected; looks++) {
        if (wait == DUO_AT_ONCE || looks == DUO_VOLLEY_LOOKS) return 0;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
        word = duo_atomic_load(volley->line, memory_order_acquire);
    }
    return (unsigned)(word >> 8 & 0xff) + 1;
}

/* Behind the numbers of a message that were copied: the endpoint that follows. */
DUO_INLINE duo_endpoint duo_volley_taken(duo_endpoint from, duo_role role)
{
    return duo_lane_step(from, role);
}

#endif

DUO_C_ENDS

#endif
