/* What the two sides of a session ask of each other: waking, notifiers, and free slots. */
#include "link.h"
#include "../ring/ring.h"
#include "../floor/backoff.h"


/*
 * Calls the notifier of a side; called by its peer after it has changed a word, flags or the credit in
 * which the notifier was set.
 */
static void notify_side(duo_side *side)
{
    duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_relaxed);
    notifier->notify(notifier);
    duo_atomic_store(&side->notifier, NULL, memory_order_release);
}

void duo_notify_waiter_in_word(duo_session *session, unsigned role, DUO_ATOMIC uint64_t *word, uint64_t before)
{
    if (before & WAITS) duo_wake(word, DUO_HIGH_HALF);
    if (before & WORD_ARMED) notify_side(&session->sides[role]);
}

void duo_notify_waiter(duo_session *session, unsigned role, uint64_t waiter)
{
    if (waiter & FLAGS_ARMED) notify_side(&session->sides[role]);
    else if (waiter & WAITING) duo_wake(flags_of(session, role), DUO_LOW_HALF);
}

/*
 * Free slots in the ring for a run that has wrapped around it.
 *
 * The receiver reports in the credit which half of the ring (a segment) it has emptied. The sender reads the credit
 * only at the beginning of a segment that it has filled before in this run. A turn proves that the whole ring is
 * empty, so a dialogue never gets here. Both sides change the credit only by read-modify-writes:
 *
 * - CREDIT_WAITS is set by a sender that waits for free slots; a receiver that reports or disconnects clears it and
 *   wakes the sender. The two changes are ordered: if the report is second, it finds the flag; if it is first, the
 *   sender's compare-and-swap fails and finds the free slots.
 * - CREDIT_ARMED is set by a sender that has a notifier installed until there are free slots; a receiver that reports
 *   or disconnects clears it and notifies, and a sender that uses its endpoint clears it itself. Ordered like
 *   CREDIT_WAITS.
 * - CREDIT_LEAVING is set by a receiver that is reading its last messages and will then be gone: no more free slots are
 *   granted, so a sender cannot keep it reading forever.
 * - CREDIT_SENDER_GONE is set by a sender that disconnects while the ring is full. The receiver finds it when it
 *   reports the segment that the sender would have filled next, and writes CLOSED there on behalf of the sender.
 */
#define CREDIT_WAITS UINT64_C(1)
#define CREDIT_LEAVING UINT64_C(2)
#define CREDIT_SENDER_GONE UINT64_C(4)
#define CREDIT_ARMED UINT64_C(8)

/* Segments are numbered across all epochs: twice the epoch, plus one for the second half. */
enum { NUMBER_SHIFT = 8 };
#define SEGMENT_NUMBERS ((UINT64_C(1) << (64 - EPOCH_SHIFT + 1)) - 1)

/* Whether the receiver has emptied that segment, and possibly the one after it. */
static bool emptied_enough(uint64_t credit, uint64_t at)
{
    uint64_t needed = (epoch_of(at) - 1) << 1 | ((at & LINES) != 0);
    return (((credit >> NUMBER_SHIFT) - needed) & SEGMENT_NUMBERS) < 2;
}

duo_credit duo_check_credit(duo_session *session, const duo_side *side, uint64_t *credit)
{
    if (!needs_credit(session, side->at)) return DUO_CREDIT_FREE;
    *credit = duo_atomic_load(&session->credit, memory_order_acquire);
    if (*credit & CREDIT_LEAVING) return DUO_CREDIT_LEAVING;
    if (emptied_enough(*credit, side->at)) return DUO_CREDIT_FREE;
    return DUO_CREDIT_FULL;
}

static bool set_flag(duo_session *session, uint64_t *credit, uint64_t flag)
{
    if (*credit & flag) return true;
    uint64_t waiting = *credit | flag;
    if (!duo_atomic_compare_exchange_strong(&session->credit, credit, waiting,
                                            memory_order_acq_rel, memory_order_acquire))
        return false;
    *credit = waiting;
    return true;
}

bool duo_announce_wait(duo_session *session, uint64_t *credit)
{
    return set_flag(session, credit, CREDIT_WAITS);
}

bool duo_has_credit(duo_session *session, const duo_side *side)
{
    uint64_t credit;
    return duo_check_credit(session, side, &credit) != DUO_CREDIT_FULL;
}

/* Announces that a notifier is installed at a sender that waits for free slots; false if there are free slots. */
static bool arm_credit(duo_session *session, const duo_side *side)
{
    uint64_t credit;
    while (duo_check_credit(session, side, &credit) == DUO_CREDIT_FULL)
        if (set_flag(session, &credit, CREDIT_ARMED)) return true;
    return false;
}

/* Undoes `arm_credit`; false if the receiver is about to notify. */
static bool disarm_credit(duo_session *session)
{
    uint64_t credit = duo_atomic_load(&session->credit, memory_order_acquire);
    while (credit & CREDIT_ARMED) {
        if (duo_atomic_compare_exchange_weak(&session->credit, &credit, credit & ~CREDIT_ARMED,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/*
 * After the receiver, whose side this is, has changed the credit: notifies and wakes a sender that had asked for it
 * before.
 */
static void answer_sender(duo_session *session, const duo_side *side, uint64_t before)
{
    if (before & CREDIT_ARMED) notify_side(&session->sides[role_of(side) ^ 1]);
    if (before & CREDIT_WAITS) duo_wake(&session->credit, DUO_LOW_HALF);
}

static void report(duo_session *session, const duo_side *side, uint64_t which, size_t start)
{
    uint64_t at = side->at;
    uint64_t number = (epoch_of(at) << 1 | which) & SEGMENT_NUMBERS;
    uint64_t credit = duo_atomic_load(&session->credit, memory_order_relaxed);
    while (!duo_atomic_compare_exchange_weak(
        &session->credit, &credit, number << NUMBER_SHIFT | (credit & CREDIT_LEAVING),
        memory_order_acq_rel, memory_order_relaxed))
        continue;
    if (credit & CREDIT_SENDER_GONE) {
        /* The sender stopped before this segment, one lap later, and is gone: only this side uses the line. */
        duo_line *line = (duo_line *)(void *)(session->ring + start * session->shape.pitch);
        uint64_t closed = (epoch_of(at) + 1) << EPOCH_SHIFT | CLOSED;
        duo_atomic_store(&line->word, closed, memory_order_release);
    }
    answer_sender(session, side, credit);
}

void duo_report_emptied(duo_session *session, const duo_side *side)
{
    size_t emptied = (side->at & LINES) + 1;
    if (emptied == session->shape.segment) report(session, side, 0, 0);
    else if (emptied == session->shape.lines) report(session, side, 1, session->shape.segment);
}

bool duo_defer_close(duo_session *session, const duo_side *side)
{
    if (!needs_credit(session, side->at)) return false;
    uint64_t credit = duo_atomic_load(&session->credit, memory_order_acquire);
    while (!emptied_enough(credit, side->at)) {
        if (duo_atomic_compare_exchange_weak(&session->credit, &credit,
                                             (credit & ~CREDIT_WAITS) | CREDIT_SENDER_GONE,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

void duo_announce_leaving(duo_session *session, const duo_side *side)
{
    uint64_t said = duo_atomic_load(&session->credit, memory_order_relaxed);
    while (!duo_atomic_compare_exchange_weak(&session->credit, &said,
                                             (said & ~(CREDIT_WAITS | CREDIT_ARMED)) | CREDIT_LEAVING,
                                             memory_order_acq_rel, memory_order_relaxed))
        continue;
    answer_sender(session, side, said);
}

/*
 * Notifiers: how a side that waits on many endpoints is notified of one. ring.h (b) explains why no notification
 * is missed.
 *
 * Other threads may use an endpoint while a notifier is installed there, and the thread that installed it may
 * remove it at the same moment. Both need the position of the side, and one of them must make sure that the
 * sender does not notify. They are ordered by the turn of the side, in which WORD_ARMED is set from the installation
 * until the endpoint is used. Every change of such a turn is a compare-and-swap that acquires and releases,
 * except for the one that clears LOCKED, which releases:
 *
 * - The thread that uses the endpoint changes the turn, if LOCKED is not set, to the next one (or to the same
 *   one without WORD_ARMED), and then removes the notifier. While it finds LOCKED it waits.
 * - The thread that installed the notifier sets LOCKED if the turn is still the one that it knows and the notifier is
 *   still installed. If not, it waits until the notifier is gone: the user removes it a few instructions after
 *   changing the turn.
 *
 * So one of them comes first, and the other sees what it did. In the end the thread that installed the notifier
 * knows that it is not called any more, so that its memory may be reused. A sender that notifies does not read
 * the turn.
 */

bool duo_is_ready(const duo_side *side)
{
    return has_news(duo_atomic_load(&side->line->word, memory_order_acquire), side->at);
}

static bool arm_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word | WORD_ARMED,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

/* Fails only if the sender has announced its last word. */
static bool arm_flags(duo_side *side)
{
    uint64_t said = 0;
    return duo_atomic_compare_exchange_strong(
        flags_of(session_of(side), role_of(side)), &said, (side->at & KEY) | FLAGS_ARMED,
        memory_order_acq_rel, memory_order_relaxed);
}

/* Marks the turn, so that others can take it only with `duo_take_turn`. Called by the owner of the handle. */
static void mark(duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    /* A thread that acquires this turn sees what kind of notifier it is. */
    duo_atomic_store(&side->turn, turn | DUO_TURN_ARMED, memory_order_release);
}

duo_arming duo_arm(duo_side *side, duo_notifier *notifier, bool for_credit)
{
    side->is_for_credit = for_credit;
    if (!for_credit && duo_is_ready(side)) return DUO_NOT_ARMED;
    /* Published by the compare-and-swap; this is not read without the flag. */
    duo_atomic_store(&side->notifier, notifier, memory_order_relaxed);
    if (for_credit) {
        if (arm_credit(session_of(side), side)) {
            mark(side);
            return DUO_ARMED;
        }
        duo_atomic_store(&side->notifier, NULL, memory_order_relaxed);
        return DUO_NOT_ARMED;
    }
    bool swaps = is_swapped(side->at);
    if (swaps ? arm_word(side) : arm_flags(side)) {
        mark(side);
        return swaps ? DUO_ARMED : DUO_ARMED_UNSEEN;
    }
    duo_atomic_store(&side->notifier, NULL, memory_order_relaxed);
    unsigned passes = 0;
    while (!duo_is_ready(side)) duo_pass(&passes);
    return DUO_NOT_ARMED;
}

/* Takes the flag back; false if the sender has cleared it, and so is about to notify. */
static bool disarm_word(duo_side *side)
{
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    while (!has_news(word, side->at)) {
        if (duo_atomic_compare_exchange_weak(&side->line->word, &word, word & ~WORD_ARMED,
                                             memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

static bool disarm_flags(duo_side *side)
{
    uint64_t said = (side->at & KEY) | FLAGS_ARMED;
    return duo_atomic_compare_exchange_strong(flags_of(session_of(side), role_of(side)), &said,
                                              0, memory_order_acq_rel, memory_order_acquire);
}

/* Takes back what the peer would react to; false if the peer has already done so. */
static bool lower_flag(duo_side *side)
{
    if (side->is_for_credit) return disarm_credit(session_of(side));
    return is_swapped(side->at) ? disarm_word(side) : disarm_flags(side);
}

void duo_disarm(duo_side *side)
{
    if (lower_flag(side)) {
        duo_atomic_store(&side->notifier, NULL, memory_order_release);
        return;
    }
    /* The peer is notifying, which takes a few instructions, and then removes the notifier. */
    unsigned passes = 0;
    while (duo_atomic_load(&side->notifier, memory_order_acquire) != NULL) duo_pass(&passes);
}

bool duo_take_turn(duo_side *side, uint64_t turn, uint64_t next)
{
    uint64_t own = duo_atomic_load(&side->turn, memory_order_relaxed);
    unsigned passes = 0;
    while ((own & ~(DUO_TURN_ARMED | DUO_TURN_LOCKED)) == turn) {
        if (own & DUO_TURN_LOCKED) {
            duo_pass(&passes);
            own = duo_atomic_load(&side->turn, memory_order_relaxed);
        } else if (duo_atomic_compare_exchange_weak(&side->turn, &own, next, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

duo_side *duo_lock_armed(duo_endpoint endpoint, const duo_notifier *notifier)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    unsigned passes = 0;
    while (duo_atomic_load(&side->notifier, memory_order_acquire) == notifier) {
        uint64_t own = endpoint.turn | DUO_TURN_ARMED;
        if (duo_atomic_compare_exchange_strong(&side->turn, &own, own | DUO_TURN_LOCKED,
                                               memory_order_acq_rel, memory_order_relaxed)) {
            if (duo_atomic_load(&side->notifier, memory_order_acquire) == notifier) return side;
            duo_unlock_armed(side);
            return NULL;
        }
        /* The thread that has taken the turn also removes the notifier. */
        duo_pass(&passes);
    }
    return NULL;
}

void duo_unlock_armed(duo_side *side)
{
    uint64_t held = duo_atomic_load(&side->turn, memory_order_relaxed);
    duo_atomic_store(&side->turn, held & ~DUO_TURN_LOCKED, memory_order_release);
}

void duo_disarm_endpoint(duo_endpoint endpoint, const duo_notifier *notifier)
{
    duo_side *side = duo_lock_armed(endpoint, notifier);
    if (side == NULL) return;
    duo_disarm(side);
    duo_unlock_armed(side);
}
