/* What the rooms of the runtime share, beside the session as it lies in memory: duologue/pipe.h. */
#ifndef DUOLOGUE_SESSION_H
#define DUOLOGUE_SESSION_H

#include <time.h>

#include "duologue/generated.h"
#include "duologue/pipe.h"

#if defined(__SANITIZE_THREAD__)
#define DUO_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUO_THREAD_SANITIZER 1
#endif
#endif

#ifdef DUO_NO_THREADS
#define DUO_EACH_THREAD
#else
#define DUO_EACH_THREAD _Thread_local
#endif

/* memory.c */
#ifndef DUO_NO_MALLOC
void *duo_allocate(size_t size);
/* `size` is a multiple of `alignment`. */
void *duo_allocate_aligned(size_t alignment, size_t size);
void duo_release(void *memory);
/* Frees a pool, and says how many of those that were made of its kind live on. */
typedef size_t duo_emptier(void);
/* `duo_shutdown` calls it too: for the one pool of sessions with other processes, which programs may do without. */
void duo_empty_too(duo_emptier *emptier);
/* Gives back a session that came from the pool. */
void duo_to_pool(duo_session *session);
#else
/* Memory that has always run out. */
static inline void *duo_allocate(size_t size)
{
    (void)size;
    return NULL;
}

static inline void *duo_allocate_aligned(size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    return NULL;
}

static inline void duo_release(void *memory)
{
    (void)memory;
}

typedef size_t duo_emptier(void);
/* Nothing was allocated, so nothing is given back. */
static inline void duo_empty_too(duo_emptier *emptier)
{
    (void)emptier;
}
#endif

/* layout.c */
/* The shape that a protocol asks for; the size of its ring, or 0 if that is too large. */
size_t duo_lay_out(duo_shape *shape, const duo_protocol *protocol);
/*
 * Puts a session at its beginning; its ring is there. `was_used`: in this ring, by a session whose shape it
 * still has.
 */
void duo_begin(duo_session *session, const duo_protocol *protocol, const duo_shape *shape, bool was_used,
               duo_endpoint *server, duo_endpoint *client);
bool duo_is_shape(const duo_shape *one, const duo_shape *other);
/* Gives a session back. Both sides are done: nobody but the caller may still touch it. */
void duo_session_give(duo_session *session);

/* wait.c */
/* The moment `wait` nanoseconds from now. */
struct timespec duo_deadline(uint64_t wait);
/* The half of a word that the kernel compares: see position.h. */
typedef enum duo_half { DUO_LOW_HALF, DUO_HIGH_HALF } duo_half;
static inline uint32_t *duo_half_of(DUO_ATOMIC(uint64_t) *word, duo_half half)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint32_t *)(void *)word + (half == DUO_LOW_HALF);
#else
    return (uint32_t *)(void *)word + (half == DUO_HIGH_HALF);
#endif
}
/*
 * Sleeps while that half of `word` is the one of `expected`; may return for no reason. False once
 * `deadline` (NULL: never) is past.
 */
bool duo_wait(DUO_ATOMIC(uint64_t) *word, duo_half half, uint64_t expected, const struct timespec *deadline);
/*
 * The same for a sleeper who may be missed, for want of the barrier: no longer than for `*pause` nanoseconds, which
 * then is twice as long, up to a limit. 0 is for the first pause.
 */
bool duo_wait_a_while(DUO_ATOMIC(uint64_t) *word, duo_half half, uint64_t expected, const struct timespec *deadline,
                      uint64_t *pause);
/* The earlier one of `deadline` (NULL: never) and the end of a pause, as above. */
struct timespec duo_end_of_pause(const struct timespec *deadline, uint64_t *pause);
/* Whether a moment is past; NULL is never. */
bool duo_is_past(const struct timespec *deadline);
/* Wakes who sleeps on that half of `word`, which is taken for an address only: the memory may be gone. */
void duo_wake(DUO_ATOMIC(uint64_t) *word, duo_half half);
/* Lets other threads run. */
void duo_yield(void);

/* barrier.c */
/* Whether sessions that begin now have the barrier. */
bool duo_has_barrier(void);
/*
 * The receiver's half of it, between its write and its read. A system call. False if the kernel refuses it: then
 * this was a full fence of this thread alone, and the barrier is lost.
 */
bool duo_barrier(void);
/* Whether it was refused after sessions had begun that rely on it. See barrier.c for what a no means. */
bool duo_barrier_is_lost(void);
/* Whether the program wants to do without it. */
bool duo_barrier_is_unwanted(void);
/* Waits until what was stored before is visible, as far as anybody can tell, where the barrier was refused. */
void duo_grace(void);

/*
 * Between what this side has done and its look whether the barrier is lost. The thread sanitizer knows no fences, and
 * with it there is no barrier to be lost.
 */
static inline void duo_full_fence(void)
{
#if defined(DUO_NO_THREADS) || defined(DUO_THREAD_SANITIZER)
    duo_signal_fence(memory_order_seq_cst);
#else
    duo_thread_fence(memory_order_seq_cst);
#endif
}

/* give_way.c */
/* Lets other threads run before this one goes to sleep. False, and at once, if it does better to sleep. */
bool duo_give_way(void);

/* processor.c */
/* Called with every new session: finds out how a thread learns its processor. */
void duo_find_processor(void);

/* payload.c */
/* Whether all text in `value` is UTF-8, and its enums have tags that there are. */
bool duo_is_sound(const duo_type *type, const void *value);
/* Bytes of `value` that live outside it; false if there are more than any memory has. */
bool duo_spread(const duo_type *type, void *value, size_t *size);
/* Copies the outside parts of `value`, a copy itself, to `place`; `value` then refers to them. */
void duo_copy(const duo_type *type, void *value, char *place);
/* Takes the endpoints inside `value` from whoever holds copies; false (and nothing) if one is used. */
bool duo_move(const duo_type *type, void *value);
/* Undoes a `duo_move`, by the value as it is or as it was before. */
void duo_move_back(const duo_type *type, const void *value);
/* Closes the endpoints inside `value` and destroys its host values. */
void duo_destroy(const duo_type *type, void *value);

/* park.c */
/* Waits for the message that comes next: true if it is there, or the sender left; false when the time is over. */
bool duo_await_message(duo_session *session, duo_side *side, uint64_t wait);
/* Waits until the ring has room: DUO_OK, DUO_FULL, or DUO_CLOSED if the receiver is leaving. */
duo_status duo_await_room(duo_session *session, duo_side *side, uint64_t wait);

/* room.c */
typedef enum duo_room { DUO_ROOM_FREE, DUO_ROOM_FULL, DUO_ROOM_LEAVING } duo_room;
/* Whether the sender may write into its next line. If not, `credit` gets the word to sleep on. */
duo_room duo_look_for_room(duo_session *session, const duo_side *side, uint64_t *credit);
/* Says that a sender sleeps on this value of the credit; false if the credit is another. */
bool duo_say_waiting(duo_session *session, uint64_t *credit);
/* Whether a sender does not have to wait, or the receiver is leaving. */
bool duo_has_room(duo_session *session, const duo_side *side);
/* Says that a bell hangs at a sender that waits for room; false if there is room. */
bool duo_hang_for_room(duo_session *session, const duo_side *side);
/* Takes that back; false if the receiver comes to ring. */
bool duo_unhang_for_room(duo_session *session);
/* As receiver, behind the last message of a line: reports that a half of the ring is empty. */
void duo_report_emptied(duo_session *session, const duo_side *side);
/* As sender: leaves a full ring to the receiver's next report, if it is one. */
bool duo_is_orphaned(duo_session *session, const duo_side *side);
/* As receiver: tells a sender that nobody wants more. */
void duo_announce_leaving(duo_session *session, const duo_side *side);

/* leave.c */
/* What a sender that publishes its last word in a run finds. */
typedef enum duo_ending { DUO_ALONE, DUO_CLAIMED, DUO_LAST } duo_ending;
/* Says that what is published next is the last. With DUO_LAST `waiter` is for `duo_tell`. */
duo_ending duo_announce_end(duo_session *session, const duo_side *side, uint64_t *waiter);
/* Wakes or rings whoever had said `waiter` in the flags of this side. */
void duo_tell(duo_session *session, unsigned role, uint64_t waiter);
/* The same for whoever had set flags in a word that was swapped. */
void duo_tell_in_word(duo_session *session, unsigned role, DUO_ATOMIC(uint64_t) *word, uint64_t before);
/*
 * Whether the peer left without having read all that this side has sent, which it may where the barrier is lost. It
 * may also have left after its answer: then that can be seen now.
 */
bool duo_was_left(const duo_side *side);
/* As sender. */
void duo_leave_as_sender(duo_session *session, duo_side *side);
/* As receiver: reads, destroys and follows the messages that are there. */
void duo_leave_as_receiver(duo_session *session, duo_side *side, const duo_state *state);

/* bell.c */
/* How a bell was hung up. */
typedef enum duo_hanging { DUO_NOT_HUNG, DUO_HUNG, DUO_HUNG_UNSEEN } duo_hanging;
/*
 * Hangs up a bell where a side awaits a message, or room. DUO_NOT_HUNG (and nothing) if there is one
 * already. DUO_HUNG_UNSEEN: a sender is certain to see the bell only after the caller has run
 * `duo_barrier`, and then looked once more for the message.
 */
duo_hanging duo_hang(duo_side *side, duo_bell *bell, bool for_room);
/* Takes down the bell of a side whose handle is the caller's; afterwards nobody rings it. */
void duo_take_down(duo_side *side);
/* The same by whoever hung it up, while others may use the endpoint. */
void duo_take_off(duo_endpoint endpoint, const duo_bell *bell);
/*
 * Keeps others from using an endpoint as long as this bell hangs there: its side, to be let go of soon; NULL
 * if the bell was rung, or taken down by who uses the endpoint.
 */
duo_side *duo_hold(duo_endpoint endpoint, const duo_bell *bell);
void duo_let_go(duo_side *side);
/* Sets the turn of a side from that of a good handle to `next`, by compare-and-swap; false if it is used. */
bool duo_take_turn(duo_side *side, uint64_t turn, uint64_t next);
/* Whether a message is there, or the word that the peer left, or the peer left without a word. */
bool duo_is_ready(const duo_side *side);
/* As sender, behind a change of a word or of flags that showed a bell of this side. */
void duo_ring_bell(duo_side *side);

/* session.c */
/* The side of a handle that is still good, or NULL. Uses nothing up, but takes it out of a set. */
duo_side *duo_look_at(duo_endpoint endpoint);
/* Uses up a handle: its side, or NULL if it was used before. The side's turn is then two higher. */
duo_side *duo_claim(duo_endpoint endpoint);
/* Makes the handle that was claimed good again. */
void duo_unclaim(duo_side *side);

#endif
