/* What a side of a session does within a process. */
#ifndef DUOLOGUE_LINK_H
#define DUOLOGUE_LINK_H

#include "../ring/session.h"

/* payload.c */
/* Whether all text in `value` is UTF-8, all its enums have valid tags, and no inline value is larger than its space. */
bool duo_is_sound(const duo_type *type, const void *value);
#ifndef DUO_NO_MALLOC
/* The bytes of `value` that are stored outside it; false if they are more than any memory has. */
bool duo_spread(const duo_type *type, void *value, size_t *size);
/* Copies the outside parts of `value`, which is a copy itself, to `place`; `value` then refers to the copies. */
void duo_copy(const duo_type *type, void *value, char *place);
#else
/* There is no memory outside of values. */
static inline bool duo_spread(const duo_type *type, void *value, size_t *size)
{
    (void)type, (void)value, (void)size;
    return false;
}

static inline void duo_copy(const duo_type *type, void *value, char *place)
{
    (void)type, (void)value, (void)place;
}
#endif
/* Takes the endpoints inside `value` away from all holders of copies; false (and no change) if one is used. */
bool duo_move(const duo_type *type, void *value);
/* Undoes a `duo_move`, given the value as it is or as it was before. */
void duo_move_back(const duo_type *type, const void *value);
/* Closes the endpoints inside `value` and destroys its host values. */
void duo_destroy(const duo_type *type, void *value);

/* park.c */
/* Waits for the next message: true if it is there, or the sender has disconnected; false on timeout. */
bool duo_await_message(duo_session *session, duo_side *side, uint64_t wait);
/* Waits until the ring has free slots: DUO_OK, DUO_FULL, or DUO_CLOSED if the receiver is disconnecting. */
duo_status duo_await_credit(duo_session *session, duo_side *side, uint64_t wait);

/* notify.c */
typedef enum duo_credit { DUO_CREDIT_FREE, DUO_CREDIT_FULL, DUO_CREDIT_LEAVING } duo_credit;
/* Whether the sender may write into its next line. If not, `credit` is set to the value to sleep on. */
duo_credit duo_check_credit(duo_session *session, const duo_side *side, uint64_t *credit);
/* Announces that a sender sleeps on this value of the credit; false if the credit has another value. */
bool duo_announce_wait(duo_session *session, uint64_t *credit);
/* Whether a sender does not have to wait, or the receiver is disconnecting. */
bool duo_has_credit(duo_session *session, const duo_side *side);
/* As receiver, after the last message of a line: reports a half of the ring that has become empty. */
void duo_report_emptied(duo_session *session, const duo_side *side);
/* As sender: leaves a full ring to the receiver's next report; false if the ring is not full. */
bool duo_defer_close(duo_session *session, const duo_side *side);
/* As receiver: announces to a sender that no more messages are wanted. */
void duo_announce_leaving(duo_session *session, const duo_side *side);

/* Wakes the side of this role or calls its notifier, whichever it requested with `waiter` in its flags. */
void duo_notify_waiter(duo_session *session, unsigned role, uint64_t waiter);
/* The same for a side that had set flags in a word that was swapped. */
void duo_notify_waiter_in_word(duo_session *session, unsigned role, DUO_ATOMIC uint64_t *word, uint64_t before);

/* How a notifier was installed. */
typedef enum duo_arming { DUO_NOT_ARMED, DUO_ARMED, DUO_ARMED_UNSEEN } duo_arming;
/*
 * Installs a notifier where a side waits for a message, or for free slots. DUO_NOT_ARMED (and no change)
 * if what it waits for is already there. DUO_ARMED_UNSEEN: a sender is certain to see the notifier only
 * after the caller has run `duo_barrier`, and the caller must then check once more for the message.
 */
duo_arming duo_arm(duo_side *side, duo_notifier *notifier, bool for_credit);
/* Removes the notifier of a side whose handle belongs to the caller; afterwards it is not called. */
void duo_disarm(duo_side *side);
/* The same by the thread that installed it, while others may use the endpoint. */
void duo_disarm_endpoint(duo_endpoint endpoint, const duo_notifier *notifier);
/*
 * Keeps others from using an endpoint while this notifier is installed there. Returns its side, which must be
 * released soon; NULL if the notifier was called, or removed by a thread that uses the endpoint.
 */
duo_side *duo_lock_armed(duo_endpoint endpoint, const duo_notifier *notifier);
void duo_unlock_armed(duo_side *side);
/*
 * Changes the turn of a side from that of a valid handle to `next`, by compare-and-swap; false if the handle
 * is used.
 */
bool duo_take_turn(duo_side *side, uint64_t turn, uint64_t next);
/* Whether there is a message, or a word which says that the peer has disconnected. */
bool duo_is_ready(const duo_side *side);

/* session.c */
/* The side of a handle that is still valid, or NULL. Does not consume the handle, but removes it from a set. */
duo_side *duo_check_handle(duo_endpoint endpoint);
/* Consumes a handle: returns its side, or NULL if it was used before. The side's turn is then two higher. */
duo_side *duo_claim(duo_endpoint endpoint);
/* Makes the handle that was claimed valid again. */
void duo_unclaim(duo_side *side);

#endif
