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
#include "link.h"
#include "../ring/ring.h"

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

bool duo_arm_credit(duo_session *session, const duo_side *side)
{
    uint64_t credit;
    while (duo_check_credit(session, side, &credit) == DUO_CREDIT_FULL)
        if (set_flag(session, &credit, CREDIT_ARMED)) return true;
    return false;
}

bool duo_disarm_credit(duo_session *session)
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
    if (before & CREDIT_ARMED) duo_notify(&session->sides[role_of(side) ^ 1]);
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
