/*
 * Room in the ring for a run that has come round it.
 *
 * The receiver reports in the credit which half of the ring (a segment) it has emptied, and the
 * sender looks there only where a segment begins that it has filled before in this run. A turn
 * proves that the whole ring is empty, so a dialogue never comes here. Both sides change the
 * credit by read-modify-writes only:
 *
 * - ROOM_WAITS, by a sender that waits for room; whoever reports or leaves takes it back and
 *   wakes it.
 *   The two changes are ordered: if the report is second it finds the flag; if it is first, the sender's
 *   compare-and-swap fails and finds the room.
 * - ROOM_LEAVING, by a receiver that is reading its last messages and will then be gone: no more
 *   room is given, so no sender can feed it for ever.
 * - ROOM_ORPHANED, by a sender that leaves while the ring is full. The receiver finds it when it
 *   reports the segment before which the sender stood, and writes CLOSED there in the sender's
 *   name.
 */
#include "ring.h"

#define ROOM_WAITS UINT64_C(1)
#define ROOM_LEAVING UINT64_C(2)
#define ROOM_ORPHANED UINT64_C(4)

/* Segments are numbered over all epochs, twice the epoch and one more for the second half. */
enum { NUMBER_SHIFT = 8 };
#define SEGMENT_NUMBERS ((UINT64_C(1) << (64 - EPOCH_SHIFT + 1)) - 1)

/* Whether the receiver has emptied that segment, and possibly the one behind it. */
static bool emptied_enough(uint64_t credit, uint64_t at)
{
    uint64_t needed = (epoch_of(at) - 1) << 1 | ((at & LINES) != 0);
    return (((credit >> NUMBER_SHIFT) - needed) & SEGMENT_NUMBERS) < 2;
}

duo_room duo_look_for_room(duo_session *session, const duo_side *side, uint64_t *credit)
{
    if (!needs_room(session, side->at)) return DUO_ROOM_FREE;
    *credit = atomic_load_explicit(&session->credit, memory_order_acquire);
    if (*credit & ROOM_LEAVING) return DUO_ROOM_LEAVING;
    if (emptied_enough(*credit, side->at)) return DUO_ROOM_FREE;
    return duo_was_left(side) ? DUO_ROOM_LEAVING : DUO_ROOM_FULL;
}

bool duo_say_waiting(duo_session *session, uint64_t *credit)
{
    if (*credit & ROOM_WAITS) return true;
    uint64_t waiting = *credit | ROOM_WAITS;
    if (!atomic_compare_exchange_strong_explicit(&session->credit, credit, waiting,
                                                 memory_order_acq_rel, memory_order_acquire))
        return false;
    *credit = waiting;
    return true;
}

static void report(duo_session *session, uint64_t at, uint64_t which, size_t start)
{
    uint64_t number = (epoch_of(at) << 1 | which) & SEGMENT_NUMBERS;
    uint64_t credit = atomic_load_explicit(&session->credit, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        &session->credit, &credit, number << NUMBER_SHIFT | (credit & ROOM_LEAVING),
        memory_order_acq_rel, memory_order_relaxed))
        continue;
    if (credit & ROOM_ORPHANED) {
        /* The sender stopped before this segment, one lap later, and is gone: the line is ours alone. */
        duo_line *line = (duo_line *)(void *)(session->ring + start * session->shape.pitch);
        uint64_t closed = (epoch_of(at) + 1) << EPOCH_SHIFT | CLOSED;
        atomic_store_explicit(&line->word, closed, memory_order_release);
    }
    if (credit & ROOM_WAITS) duo_wake(&session->credit, DUO_LOW_HALF);
}

void duo_report_emptied(duo_session *session, uint64_t at)
{
    size_t emptied = (at & LINES) + 1;
    if (emptied == session->shape.segment) report(session, at, 0, 0);
    else if (emptied == session->shape.lines) report(session, at, 1, session->shape.segment);
}

bool duo_is_orphaned(duo_session *session, const duo_side *side)
{
    if (!needs_room(session, side->at)) return false;
    uint64_t credit = atomic_load_explicit(&session->credit, memory_order_acquire);
    while (!emptied_enough(credit, side->at)) {
        if (atomic_compare_exchange_weak_explicit(&session->credit, &credit,
                                                  (credit & ~ROOM_WAITS) | ROOM_ORPHANED,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

void duo_announce_leaving(duo_session *session)
{
    uint64_t said = atomic_load_explicit(&session->credit, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&session->credit, &said,
                                                  (said & ~ROOM_WAITS) | ROOM_LEAVING,
                                                  memory_order_acq_rel, memory_order_relaxed))
        continue;
    if (said & ROOM_WAITS) duo_wake(&session->credit, DUO_LOW_HALF);
}
