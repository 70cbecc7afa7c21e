/*
 * The operations on endpoints: handles, send, receive, and how a session ends. ring.h describes the ring that they use, and
 * why it is correct.
 */
#include "link.h"
#include "transport.h"
#include "../floor/tag.h"
#include "../floor/backoff.h"
#include "../ring/ring.h"
#include "duologue/lane.h"

/*
 * Whether the side of an endpoint is in this state, and so the endpoint has the type that its name says. An endpoint that was
 * taken from the wrong member of a message may not. Always true without DUO_CHECKED.
 */
static inline bool is_in(duo_endpoint endpoint, const duo_state *state)
{
#ifdef DUO_CHECKED
    if (endpoint.session == NULL) return true;
    return duo_atomic_load(&endpoint.session->sides[endpoint.turn & 1].state, memory_order_relaxed) == state;
#else
    (void)endpoint, (void)state;
    return true;
#endif
}

#ifdef DUO_CHECKED
/* The same for the state of a message. */
static inline bool may_say(duo_endpoint endpoint, const duo_message *message)
{
    if (endpoint.session == NULL) return true;
    const duo_state *state =
        duo_atomic_load(&endpoint.session->sides[endpoint.turn & 1].state, memory_order_relaxed);
    return state->messages + message->index == message;
}

/* After a message, the side whose endpoint this was enters the next state. A session that is over may have begun anew. */
static inline void enter_next(duo_endpoint from, const duo_message *message)
{
    if (message->edge != DUO_END)
        duo_atomic_store(&from.session->sides[from.turn & 1].state, message->next, memory_order_relaxed);
}
#endif

/* Consumes a handle: see `duo_claim`. Does not remove a notifier. */
static inline bool claim_turn(duo_side *side, uint64_t turn)
{
#ifndef DUO_CHECKED
    /* Relaxed: only the owner of the one valid handle gets past this, and it has what it needs to see. */
    if (DUO_LIKELY(duo_atomic_load(&side->turn, memory_order_relaxed) == turn)) {
        duo_atomic_store(&side->turn, turn + 2, memory_order_relaxed);
        return true;
    }
#endif
    return duo_take_turn(side, turn, turn + 2);
}

/* `duo_claim` of an endpoint whose peer is in this process. */
static inline duo_side *claim_near(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (!claim_turn(side, endpoint.turn)) return NULL;
    /* The turn is already the next one, the position is not. */
    side->base -= 2;
    load_position(side);
    if (!DUO_LIKELY(duo_atomic_load(&side->notifier, memory_order_acquire) == NULL)) duo_disarm(side);
    return side;
}

duo_side *duo_check_handle(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    if (turn != endpoint.turn && !duo_take_turn(side, endpoint.turn, endpoint.turn)) return NULL;
    load_position(side);
    if (turn != endpoint.turn && duo_atomic_load(&side->notifier, memory_order_acquire) != NULL)
        duo_disarm(side);
    return side;
}

/* A turn was consumed, or restored, without a message. */
static void move_lanes(duo_endpoint endpoint, uint64_t turns)
{
    duo_remote *remote = duo_remote_of(endpoint);
    duo_lane *lane = &remote->lane;
    if (lane->end != 0) {
        lane->end += turns;
        lane->from += turns;
        lane->place -= (uintptr_t)(4 * turns);
        if (lane->ends != 0) lane->ends += turns;
        /* The lane of a sender. */
        if (lane->of != NULL) lane->word -= turns;
    }
    remote->line_turns.from += turns;
}

static duo_side *claim_far(duo_endpoint endpoint)
{
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    if (!claim_turn(side, endpoint.turn)) return NULL;
    move_lanes(endpoint, 2);
    const duo_notifier *notifier = duo_atomic_load(&side->notifier, memory_order_acquire);
    if (notifier != NULL) duo_remote_of(endpoint)->transport->unwatch(endpoint.session, notifier);
    return side;
}

duo_side *duo_claim(duo_endpoint endpoint)
{
    return duo_is_remote(endpoint) ? claim_far(endpoint) : claim_near(endpoint);
}

void duo_unclaim(duo_side *side)
{
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed);
    duo_atomic_store(&side->turn, turn - 2, memory_order_relaxed);
    duo_endpoint endpoint = {session_of(side), turn};
    if (duo_is_remote(endpoint)) move_lanes(endpoint, -(uint64_t)2);
    else side->base += 2;
}

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
 * A full ring is left through the credit, whichever way messages are published: see notify.c.
 */

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

/* What a sender finds when it publishes its last word in a run. */
typedef enum ending { ALONE, TAKEN_BACK, LAST } ending;

/* Announces that the next word to be published is the last. With LAST, `waiter` is for `duo_notify_waiter`. */
static ending announce_end(duo_session *session, const duo_side *side, uint64_t *waiter)
{
    uint64_t key = side->at & KEY;
    DUO_ATOMIC uint64_t *flags = flags_of(session, role_of(side) ^ 1);
    uint64_t said = duo_atomic_load(flags, memory_order_acquire);
    for (;;) {
        bool is_here = (said & KEY) == key;
        /* It is about this position: a sender gets no further than a receiver that is gone. */
        if (said & GONE) return ALONE;
        bool claims = is_here && (said & LEAVING) != 0;
        /* Any other value is about an earlier position, where there is a message. */
        uint64_t answer = key | (claims ? CLAIMED : ENDING);
        if (!duo_atomic_compare_exchange_weak(flags, &said, answer, memory_order_acq_rel,
                                              memory_order_acquire))
            continue;
        *waiter = said & (WAITING | FLAGS_ARMED);
        return claims ? TAKEN_BACK : LAST;
    }
}

/* Disconnects as sender. */
static void leave_as_sender(duo_session *session, duo_side *side)
{
    if (duo_defer_close(session, side)) return;
    unsigned peer = role_of(side) ^ 1;
    DUO_ATOMIC uint64_t *word = &side->line->word;
    bool swaps = is_swapped(side->at);
    uint64_t waiter = 0;
    if (!swaps) {
        switch (announce_end(session, side, &waiter)) {
        case ALONE: duo_session_release(session); return;
        case TAKEN_BACK: return;
        case LAST: break;
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

/* Disconnects as receiver: reads, destroys and follows the messages that are there. */
static void leave_as_receiver(duo_session *session, duo_side *side, const duo_state *state)
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
            leave_as_sender(session, side);
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
    if (!is_in(endpoint, state)) return DUO_USED;
    if (duo_is_remote(endpoint)) return duo_remote_of(endpoint)->transport->close(endpoint, state);
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
        if (state->sender == role_of(side)) leave_as_sender(session, side);
        else leave_as_receiver(session, side, state);
    }
    closing = false;
    return DUO_OK;
}

/* The handle that is currently valid for a side. */
static duo_endpoint handle_of(duo_session *session, const duo_side *side)
{
    duo_endpoint handle = {session, duo_atomic_load(&side->turn, memory_order_relaxed)};
    return handle;
}

static size_t aligned(size_t size)
{
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* Entries and everything they refer to, in one block; NULL if memory ran out. */
static void *block_of(const duo_session *session, const duo_message *message, const void *entries)
{
    /* Measuring changes nothing, although the type of the walk would allow it. */
    size_t start = aligned(message->size), spread;
    if (!duo_spread(message->type, (void *)(uintptr_t)entries, &spread)) return NULL;
    void *block = duo_allocate_block(session->allocator, start + spread);
    if (block == NULL) return NULL;
    char *inside = duo_in_block(block);
    memcpy(inside, entries, message->size);
    duo_copy(message->type, inside, inside + start);
    return block;
}

/* Whether a payload is a few words of plain bytes, which are copied without a call. */
static inline bool is_small(const duo_message *message)
{
    const duo_type *type = message->type;
    return (type == NULL || !(type->spreads || type->moves)) &&
           message->size % sizeof(uint64_t) == 0 && message->size <= DUO_LINE;
}

static inline void copy_words(char *to, const char *from, size_t size)
{
    for (; size > 0; size -= sizeof(uint64_t)) {
        memcpy(to, from, sizeof(uint64_t));
        to += sizeof(uint64_t);
        from += sizeof(uint64_t);
    }
}

/* A payload that will never be read belongs to the sender again: its block, and the endpoints in it. */
static duo_status take_back(const duo_message *message, const void *entries, void *block,
                            duo_endpoint *next)
{
    if (message->type != NULL && message->type->moves) duo_move_back(message->type, entries);
    if (block != NULL) duo_release_block(block);
    if (next != NULL) memset(next, 0, sizeof *next);
    return DUO_CLOSED;
}

/* Puts a payload that is more than a few plain words into its slot; `block` is set to its block, if it has one. */
static duo_status fill(const duo_session *session, char *place, const duo_message *message, const void *entries,
                       void **block)
{
    const duo_type *type = message->type;
    void *payload = place;
    if (type != NULL && type->spreads) {
        *block = block_of(session, message, entries);
        if (*block == NULL) return DUO_NO_MEMORY;
        payload = duo_in_block(*block);
        memcpy(place, block, sizeof *block);
    } else {
        memcpy(payload, entries, message->size);
    }
    if (type == NULL || !type->moves || duo_move(type, payload)) return DUO_OK;
    if (*block != NULL) duo_release_block(*block);
    return DUO_USED;
}

/* Waits for free slots. If the receiver is disconnecting, this side disconnects too. */
static duo_status await_credit(duo_session *session, duo_side *side, uint64_t wait, duo_endpoint *next)
{
    duo_status status = duo_await_credit(session, side, wait);
    if (status == DUO_CLOSED) {
        leave_as_sender(session, side);
        if (next != NULL) memset(next, 0, sizeof *next);
    }
    return status;
}

/* Publishes the last message of a session in a run. False if the payload belongs to the sender again. */
static bool finish(duo_session *session, duo_side *side, uint64_t word)
{
    unsigned peer = role_of(side) ^ 1;
    uint64_t waiter;
    switch (announce_end(session, side, &waiter)) {
    case ALONE: duo_session_release(session); return false;
    case TAKEN_BACK: return false;
    case LAST: break;
    }
    duo_atomic_store(&side->line->word, word, memory_order_release);
    duo_notify_waiter(session, peer, waiter);
    return true;
}

/* Publishes a message that is in its slot. False if the payload belongs to the sender again. */
static inline bool publish(duo_session *session, duo_side *side, const duo_message *message,
                           unsigned peer)
{
    uint64_t at = side->at;
    bool swaps = is_swapped(at);
    uint64_t word = duo_word_with(side->line, at >> SLOT_SHIFT, slot_of(at), message->index,
                                  session->shape.index_bits);
    if (message->edge == DUO_TURN) word |= duo_processor();
    if (message->edge == DUO_END && !swaps) return finish(session, side, word);
    uint64_t asked = duo_publish_word(side->line, word, swaps, flags_of(session, peer));
    return DUO_LIKELY(asked == 0) || duo_answer(session, side, swaps, asked);
}

/* Steps past a message of this side. */
static inline void step_out(duo_session *session, duo_side *side, const duo_message *message)
{
    if (message->edge == DUO_STAY) {
        if (session->shape.unbounded && ends_line(session, side->at))
            duo_prefetch_write(side->line, (size_t)DUO_LINES_AHEAD * session->shape.pitch);
        go_on(session, side, message->next);
        make_ready(session, side->at);
    } else turn_out(session, side, message->next);
}

/* Marks the next endpoint of a sender as one for the library if the sender may have to wait. */
static inline void set_apart(duo_session *session, duo_side *side)
{
    bool is_apart = session->is_apart || needs_credit(session, side->at);
    uint64_t turn = duo_atomic_load(&side->turn, memory_order_relaxed) & ~DUO_TURN_APART;
    duo_atomic_store(&side->turn, turn | (is_apart ? DUO_TURN_APART : 0), memory_order_relaxed);
}

NOT_INLINE static duo_status send_within(duo_endpoint from, const duo_message *message,
                                         const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_session *session = from.session;
    duo_side *side = claim_near(from);
    if (side == NULL) return DUO_USED;
    void *block = NULL;
    if (message->type != NULL && message->type->checks && !duo_is_sound(message->type, entries)) {
        duo_unclaim(side);
        return DUO_INVALID;
    }
    duo_status status = DUO_OK;
    if (needs_credit(session, side->at)) status = await_credit(session, side, wait, next);
    if (status == DUO_OK && !is_small(message))
        status = fill(session, payload_slot(session, side), message, entries, &block);
    else if (status == DUO_OK) copy_words(payload_slot(session, side), entries, message->size);
    if (status != DUO_OK) {
        if (status != DUO_CLOSED) duo_unclaim(side);
        return status;
    }
    if (!publish(session, side, message, (unsigned)(from.turn & 1) ^ 1))
        return take_back(message, entries, block, next);
    duo_endpoint after = {NULL, 0};
    if (message->edge != DUO_END) {
        step_out(session, side, message);
        set_apart(session, side);
        after = handle_of(session, side);
    }
    if (next != NULL) *next = after;
    return DUO_OK;
}

/* Two separate jumps, so that neither kind of session saves registers for the other. */
duo_status DUO_UNRECORDED(duo_send)(duo_endpoint from, const duo_message *message, const void *entries,
                    uint64_t wait, duo_endpoint *next)
{
#ifdef DUO_CHECKED
    if (!may_say(from, message)) return DUO_USED;
    duo_status status = duo_is_remote(from) ? duo_remote_of(from)->transport->send(from, message, entries, wait, next)
                                            : send_within(from, message, entries, wait, next);
    if (status == DUO_OK) enter_next(from, message);
    return status;
#else
    if (duo_is_remote(from))
        return duo_remote_of(from)->transport->send(from, message, entries, wait, next);
    return send_within(from, message, entries, wait, next);
#endif
}

/* Steps past a message of the peer that is not the last. */
static inline void step_in(duo_session *session, duo_side *side, uint64_t word,
                           const duo_message *message)
{
    if (message->edge == DUO_TURN) {
        turn_in(session, side, word, message->next);
        return;
    }
    if (ends_line(session, side->at)) duo_report_emptied(session, side);
    go_on(session, side, message->next);
}

/* Receives a message that has a block, is larger than a few words, or is the last. */
RARELY static duo_status take_slowly(duo_session *session, duo_side *side, uint64_t word,
                                     const duo_message *kind, size_t tag_size, char *entries,
                                     void *message)
{
    arrival arrived = {duo_tag_word(kind->index + 1, tag_size), NULL};
    const void *payload = payload_slot(session, side);
    if (kind->type != NULL && kind->type->spreads) {
        memcpy(&arrived.block, payload, sizeof arrived.block);
        payload = duo_in_block(arrived.block);
    }
    if (kind->size > 0) memcpy(entries, payload, kind->size);
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {NULL, 0};
    if (kind->edge == DUO_END) {
        if (kind->next != NULL) memcpy(entries + kind->size, &next, sizeof next);
        duo_session_release(session);
        return DUO_OK;
    }
    next = handle_of(session, side);
    memcpy(entries + kind->size, &next, sizeof next);
    step_in(session, side, word, kind);
    return DUO_OK;
}

NOT_INLINE static duo_status recv_within(duo_endpoint from, const duo_state *state, uint64_t wait,
                                         void *message)
{
    duo_session *session = from.session;
    duo_side *side = claim_near(from);
    if (side == NULL) return nothing(DUO_USED, message);

    uint64_t word = duo_atomic_load(&side->line->word, memory_order_acquire);
    if (!has_message(word, side->at)) {
        if (!duo_await_message(session, side, wait)) {
            duo_unclaim(side);
            return nothing(DUO_EMPTY, message);
        }
        word = duo_atomic_load(&side->line->word, memory_order_acquire);
        if (!has_message(word, side->at)) {
            duo_session_release(session);
            return nothing(DUO_CLOSED, message);
        }
    }
    const duo_message *kind = &state->messages[index_in(session, word, side->at)];
    char *entries = (char *)message + state->entries;
    if (!DUO_LIKELY(is_small(kind) && kind->edge != DUO_END))
        return take_slowly(session, side, word, kind, state->tag_size, entries, message);
    copy_words(entries, payload_slot(session, side), kind->size);
    arrival arrived = {duo_tag_word(kind->index + 1, state->tag_size), NULL};
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {session, from.turn + 2};
    memcpy(entries + kind->size, &next, sizeof next);
    step_in(session, side, word, kind);
    return DUO_OK;
}

duo_status DUO_UNRECORDED(duo_recv)(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
#ifdef DUO_CHECKED
    if (!is_in(from, state)) return nothing(DUO_USED, message);
    duo_status status = duo_is_remote(from) ? duo_remote_of(from)->transport->recv(from, state, wait, message)
                                            : recv_within(from, state, wait, message);
    if (status == DUO_OK) enter_next(from, &state->messages[tag_at(message, state->tag_size) - 1]);
    return status;
#else
    if (duo_is_remote(from)) return duo_remote_of(from)->transport->recv(from, state, wait, message);
    return recv_within(from, state, wait, message);
#endif
}

#ifndef DUO_NO_MALLOC
duo_status duo_use_allocator(duo_endpoint endpoint, const duo_allocator *allocator)
{
    if (duo_check_handle(endpoint) == NULL) return DUO_USED;
    endpoint.session->allocator = allocator;
    return DUO_OK;
}
#endif

void duo_free(const duo_state *state, void *message)
{
    /* Only these bytes are the tag: those between it and the block need not be what was received. */
    unsigned tag = tag_at(message, state->tag_size);
    if (tag == 0) return;
    arrival arrived;
    memcpy(&arrived, message, sizeof arrived);
    const duo_type *type = state->messages[tag - 1].type;
    if (type != NULL) duo_destroy(type, (char *)message + state->entries);
#ifdef DUO_DEBUG
    /* A view that is used afterwards leads nowhere, instead of to memory that happens to be unchanged. */
    memset((char *)message + state->entries, DUO_POISON, state->messages[tag - 1].size);
#endif
    if (arrived.block != NULL) duo_release_block(arrived.block);
    arrived = (struct arrival){0, NULL};
    memcpy(message, &arrived, sizeof arrived);
}

/* The steps of lanes (duologue/lane.h) that take more than a few instructions. Each transport has its own. */

void duo_lane_go_on(duo_endpoint next)
{
    duo_remote_of(next)->transport->lane_go_on(next);
}

void duo_lane_line_ends(duo_endpoint next)
{
    duo_remote_of(next)->transport->lane_line_ends(next);
}

duo_status duo_answer_peer(duo_endpoint next, uint32_t flags)
{
    return duo_remote_of(next)->transport->answer_peer(next, flags);
}
