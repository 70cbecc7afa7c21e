/*
 * How a session ends: by its last message, or because a side disconnects.
 *
 * Where messages are swapped. A sender disconnects by swapping in CLOSED as its last word. A receiver disconnects by
 * setting DEAD in the word that it would read next; if there is a message, it consumes that first. Both are
 * read-modify-writes of one word, so exactly one of the two sees that the other has gone. That side releases the
 * session. After its last swap a sender accesses the session only if the word had WORD_ARMED (for which the receiver
 * waits before it uses its handle) or DEAD (then the sender is alone).
 *
 * Where messages are stored. The sender reads the flags of the receiver, which have one of these values, set by the
 * side in the second column:
 *
 *   0            either                   nothing to report
 *   WAITING      receiver                 it sleeps until the message at this position comes
 *   FLAGS_ARMED  receiver                 a notifier is installed until that message comes
 *   LEAVING      receiver                 it is about to disconnect unless that message is there
 *   GONE         receiver, after LEAVING  it has disconnected; the session is the sender's
 *   CLAIMED      sender, after LEAVING    the message is taken back and the sender has disconnected;
 *                                         the session is the receiver's
 *   ENDING       sender                   its last word is about to be published at this position
 *
 * Each step from one value to the next is a compare-and-swap. A value names the position that it is about, so one that
 * the sender reads late is harmless: it reacts only to the position at which it has just published.
 *
 * A receiver that disconnects sets LEAVING, runs the barrier and checks again. The barrier guarantees that if it finds
 * nothing then, a sender that publishes here sees LEAVING or the value after it. So:
 *
 * - There is no message. The receiver changes LEAVING to GONE and does not access the session again: the sender finds
 *   that with its next message, gets its payload back and releases the session. If that change fails, the sender has
 *   found LEAVING first and changed it to CLAIMED: it gets its payload back and does not access the session again, and
 *   the receiver releases it.
 * - There is a message. The receiver retracts, changing LEAVING to 0, and consumes the message; or it finds CLAIMED and
 *   releases the session. A sender that has published more in the meantime did not see LEAVING at this position, and
 *   ignores it at others: so what it published is consumed.
 *
 * A sender that claims takes nothing out of the ring: its caller still has the entries, the block is found through
 * them, and endpoints inside become valid again from what the entries contain.
 *
 * The last message, or CLOSED, must be the sender's last access, so the sender cannot read flags after it. Instead it
 * sets ENDING before it, by a read-modify-write that takes over a waiter or finds LEAVING. A receiver that is about to
 * set a value and finds ENDING knows that what it would wait for is only a few instructions away.
 *
 * A full ring is left through the credit, whichever way messages are published: see credit.c.
 */
#include "../floor/backoff.h"
#include "link.h"
#include "../ring/ring.h"
#include "transport.h"

/* The word was swapped, and had these flags. */
static bool answer_in_word(duo_session *session, duo_side *side, uint64_t asked)
{
    if (asked & DEAD) {
        duo_session_release(session);
        return false;
    }
    duo_notify_waiter_in_word(session, role_of(side) ^ 1, &side->line->word, asked);
    return true;
}

/* The word was stored. */
static bool answer_in_flags(duo_session *session, const duo_side *side)
{
    unsigned role = role_of(side) ^ 1;
    DUO_ATOMIC uint64_t *flags = flags_of(session, role);
    uint64_t said = duo_atomic_load(flags, memory_order_acquire);
    while ((said & KEY) == (side->at & KEY)) {
        if (said & GONE) {
            duo_session_release(session);
            return false;
        }
        if ((said & (WAITING | FLAGS_ARMED | LEAVING)) == 0) return true;
        uint64_t answer = said & LEAVING ? (side->at & KEY) | CLAIMED : 0;
        if (!duo_atomic_compare_exchange_weak(flags, &said, answer, memory_order_acq_rel,
                                              memory_order_acquire))
            continue;
        if (answer != 0) return false;
        duo_notify_waiter(session, role, said);
        return true;
    }
    return true;
}

bool duo_answer(duo_session *session, duo_side *side, bool swaps, uint64_t asked)
{
    return swaps ? answer_in_word(session, side, asked) : answer_in_flags(session, side);
}

duo_ending duo_announce_end(duo_session *session, const duo_side *side, uint64_t *waiter)
{
    uint64_t key = side->at & KEY;
    DUO_ATOMIC uint64_t *flags = flags_of(session, role_of(side) ^ 1);
    uint64_t said = duo_atomic_load(flags, memory_order_acquire);
    for (;;) {
        bool is_here = (said & KEY) == key;
        /* It is about this position: a sender gets no further than a receiver that is gone. */
        if (said & GONE) return DUO_ALONE;
        bool claims = is_here && (said & LEAVING) != 0;
        /* Any other value is about an earlier position, where there is a message. */
        uint64_t answer = key | (claims ? CLAIMED : ENDING);
        if (!duo_atomic_compare_exchange_weak(flags, &said, answer, memory_order_acq_rel,
                                              memory_order_acquire))
            continue;
        *waiter = said & (WAITING | FLAGS_ARMED);
        return claims ? DUO_CLAIMED : DUO_LAST;
    }
}

void duo_leave_as_sender(duo_session *session, duo_side *side)
{
    if (duo_defer_close(session, side)) return;
    unsigned peer = role_of(side) ^ 1;
    DUO_ATOMIC uint64_t *word = &side->line->word;
    bool swaps = is_swapped(side->at);
    uint64_t waiter = 0;
    if (!swaps) {
        switch (duo_announce_end(session, side, &waiter)) {
        case DUO_ALONE: duo_session_release(session); return;
        case DUO_CLAIMED: return;
        case DUO_LAST: break;
        }
    }
    uint64_t closed = words_before(side->at) | CLOSED;
    if ((side->at & SLOTS) != 0) {
        /*
         * The epoch and the count stay the same. The processor field, which is unused here, shows that the word has
         * changed.
         */
        uint64_t before = duo_atomic_load(word, memory_order_relaxed);
        closed |= (before & INDEXES) | (~before & PROCESSORS);
    }
    if (swaps) {
        uint64_t before = duo_atomic_exchange(word, closed, memory_order_acq_rel);
        if (before & DEAD) duo_session_release(session);
        else if (before & (WAITS | WORD_ARMED)) duo_notify_waiter_in_word(session, peer, word, before);
    } else {
        duo_atomic_store(word, closed, memory_order_release);
        duo_notify_waiter(session, peer, waiter);
    }
}

/* Destroys a message that will never be read. */
static void discard(const duo_message *message, char *place)
{
    if (message->type == NULL) return;
    if (!message->type->spreads) {
        duo_destroy(message->type, place);
        return;
    }
    void *block;
    memcpy(&block, place, sizeof block);
    duo_destroy(message->type, duo_in_block(block));
    duo_release_block(block);
}

/* What a receiver finds when it announces that it disconnects. */
typedef enum decision { SENDER_ENDS, RECEIVER_ENDS, RETRACTED } decision;

/* Announces in the flags that the receiver disconnects, and checks again. */
static decision announce_and_check(duo_session *session, const duo_side *side)
{
    uint64_t key = side->at & KEY;
    DUO_ATOMIC uint64_t *flags = flags_of(session, role_of(side));
    uint64_t said = duo_atomic_load(flags, memory_order_acquire);
    uint64_t leaves = key | LEAVING;
    if ((said & ENDING) ||
        !duo_atomic_compare_exchange_strong(flags, &said, leaves, memory_order_acq_rel,
                                            memory_order_relaxed))
        return RETRACTED;
    duo_barrier();
    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    uint64_t next = has_news(word, side->at) ? 0 : key | GONE;
    uint64_t was = leaves;
    if (duo_atomic_compare_exchange_strong(flags, &was, next, memory_order_acq_rel,
                                           memory_order_acquire))
        return next != 0 ? SENDER_ENDS : RETRACTED;
    return was & CLAIMED ? RECEIVER_ENDS : RETRACTED;
}

/* Disconnects where there is no message; true if the receiver is done, false if there is a word to be read. */
static bool leave_if_empty(duo_session *session, duo_side *side)
{
    unsigned passes = 0;
    DUO_ATOMIC uint64_t *place = &side->line->word;
    uint64_t word = duo_atomic_load(place, memory_order_acquire);
    bool swaps = is_swapped(side->at);
    while (!has_news(word, side->at)) {
        if (swaps) {
            if (duo_atomic_compare_exchange_strong(place, &word, (word & ~WAITS) | DEAD,
                                                   memory_order_acq_rel, memory_order_acquire))
                return true;
            continue;
        }
        switch (announce_and_check(session, side)) {
        case SENDER_ENDS: return true;
        case RECEIVER_ENDS: duo_session_release(session); return true;
        case RETRACTED: duo_pass(&passes); break;
        }
        word = duo_atomic_load(place, memory_order_acquire);
    }
    return false;
}

void duo_leave_as_receiver(duo_session *session, duo_side *side, const duo_state *state)
{
    bool is_announced = false;
    while (!leave_if_empty(session, side)) {
        uint64_t at = side->at;
        uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
        if (!has_message(word, at)) {
            duo_session_release(session);
            return;
        }
        if (session->shape.unbounded && !is_announced) duo_announce_leaving(session, side);
        is_announced = true;
        const duo_message *message = &state->messages[index_in(session, word, at)];
        discard(message, payload_slot(session, side));
        if (message->edge == DUO_END) {
            duo_session_release(session);
            return;
        }
        if (message->edge == DUO_TURN) {
            turn_in(session, side, word, message->next);
            duo_leave_as_sender(session, side);
            return;
        }
        if (ends_line(session, at)) duo_report_emptied(session, side);
        go_on(session, side, message->next);
        state = message->next;
    }
}

/*
 * Endpoints to be closed by this thread. Destroying a message finds endpoints inside it. They wait
 * here for the loop below, so that they are not closed recursively.
 */
static DUO_EACH_THREAD duo_side *to_close;
static DUO_EACH_THREAD bool closing;

duo_status DUO_UNRECORDED(duo_close)(duo_endpoint endpoint, const duo_state *state)
{
    if (!duo_is_in(endpoint, state)) return DUO_USED;
    if (duo_is_remote(endpoint)) return duo_transport_of(endpoint)->close(endpoint, state);
    duo_side *side = duo_claim(endpoint);
    if (side == NULL) return DUO_USED;
    duo_atomic_store(&side->state, state, memory_order_relaxed);
    side->next_closing = to_close;
    to_close = side;
    if (closing) return DUO_OK;
    closing = true;
    while (to_close != NULL) {
        side = to_close;
        to_close = side->next_closing;
        duo_session *session = session_of(side);
        state = duo_atomic_load(&side->state, memory_order_relaxed);
        if (state->sender == role_of(side)) duo_leave_as_sender(session, side);
        else duo_leave_as_receiver(session, side, state);
    }
    closing = false;
    return DUO_OK;
}
