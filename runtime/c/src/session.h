/* What the rooms of the runtime share: the session as it lies in memory. Not for programs. */
#ifndef DUOLOGUE_SESSION_H
#define DUOLOGUE_SESSION_H

#include <stdalign.h>
#include <stdatomic.h>
#include <time.h>

#include "duologue/generated.h"

enum { DUO_LINE = 64, DUO_INLINE_RING = 2 * DUO_LINE };

/*
 * A place for one message. `word` holds, from the low end: 8 flags, 8 bits of message index, 48
 * bits of message number. The payload follows: the entries, or a pointer to their block.
 */
typedef struct duo_slot {
    _Atomic uint64_t word;
    char payload[];
} duo_slot;

/*
 * The receiver sleeps on this word, or is about to. Only it sets the flag, only the sender's
 * exchange clears it.
 */
#define DUO_WORD_WAIT UINT64_C(1)
/* The receiver left before a message came. */
#define DUO_WORD_DEAD UINT64_C(2)
/* In place of a message: the sender left. */
#define DUO_WORD_CLOSED UINT64_C(4)
/* The receiver has hung up a bell, for the sender to ring when it exchanges this word. */
#define DUO_WORD_BELL UINT64_C(8)
#define DUO_WORD_INDEX_SHIFT 8
#define DUO_WORD_NUMBER_SHIFT 16

/* Rung by a sender for a receiver that waits on many endpoints. */
typedef struct duo_bell {
    void (*ring)(struct duo_bell *bell);
} duo_bell;

/*
 * One side's own half of a session, in a line of its own. The peer reads `taken` and `waiting`, and
 * while the flag is up `bell`.
 */
typedef struct duo_side {
    /*
     * The turn that the one good handle of this side carries; bit 0 is the side. It only grows, also
     * from session to session in the same memory, so that no old handle is ever good again.
     */
    alignas(DUO_LINE) _Atomic uint64_t turn;
    /* The number of the message that comes next, counted over both directions. */
    uint64_t number;
    /* As sender: there is room for messages with smaller numbers. */
    uint64_t limit;
    /* The slot that comes next: the position in the current run, wrapping in runs without bound. */
    size_t position;
    /* As receiver: messages with smaller numbers have left their slots. */
    _Atomic uint64_t taken;
    /* As receiver: what the sender asks of it and hears from it when the ring is full. */
    _Atomic uint64_t waiting;
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
 * A session. Lives in memory that is never given back, only used again for other sessions, so that
 * `turn` may be read through any handle at any time.
 */
struct duo_session {
    alignas(DUO_LINE) char *ring;
    size_t stride;
    size_t slots;
    size_t capacity;
    /* A receiver looks for a waiting sender when the number has none of these bits. */
    uint64_t wake_mask;
    bool unbounded;
    struct duo_session *next_free;
    duo_side sides[2];
    alignas(DUO_LINE) char inline_ring[DUO_INLINE_RING];
};

/* memory.c */
void *duo_allocate(size_t size);
void duo_release(void *memory);
/* A session with a ring for `protocol`; NULL if memory ran out. */
duo_session *duo_session_take(const duo_protocol *protocol);
/* The other way. Both sides are done: nobody but the caller may still touch the session. */
void duo_session_give(duo_session *session);

/* wait.c */
/* The moment `wait` nanoseconds from now. */
struct timespec duo_deadline(uint64_t wait);
/*
 * Sleeps while the low half of `word` is that of `expected`; may return for no reason. False once
 * `deadline` (NULL: never) is past.
 */
bool duo_wait(_Atomic uint64_t *word, uint64_t expected, const struct timespec *deadline);
/* Wakes who sleeps on `word`, which is taken for an address only: the memory may be gone. */
void duo_wake(_Atomic uint64_t *word);

/* payload.c */
/* Bytes of `value` that live outside it. */
size_t duo_spread(const duo_type *type, void *value);
/* Copies the outside parts of `value`, a copy itself, to `place`; `value` then refers to them. */
void duo_copy(const duo_type *type, void *value, char *place);
/* Takes the endpoints inside `value` from whoever holds copies; false (and nothing) if one is used. */
bool duo_move(const duo_type *type, void *value);
/* Undoes a `duo_move`. */
void duo_move_back(const duo_type *type, void *value);
/* Closes the endpoints inside `value` and destroys its host values. */
void duo_destroy(const duo_type *type, void *value);

/* bell.c */
/* Hangs up a bell where a side awaits a message; false (and nothing) if there is one. */
bool duo_hang(duo_side *side, duo_bell *bell);
/* Takes down the bell of a side; afterwards nobody rings it. */
void duo_take_down(duo_side *side);
/* Whether a message is there, or the word that the peer left. */
bool duo_is_ready(duo_side *side);

/* session.c */
/* The side of a handle that is still good, or NULL. Uses nothing up. */
duo_side *duo_look_at(duo_endpoint endpoint);
/* Uses up a handle: its side, or NULL if it was used before. The side's turn is then two higher. */
duo_side *duo_claim(duo_endpoint endpoint);
/* Makes the handle that was claimed good again. */
void duo_unclaim(duo_side *side);

#endif
