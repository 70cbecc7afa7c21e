/*
 * The operations on endpoints: send and receive. ring.h describes the ring that they use,
 * and why it is correct.
 */
#include "../link/link.h"
#include "../link/claim.h"
#include "../floor/tag.h"
#include "../link/transport.h"

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
        duo_leave_as_sender(session, side);
        if (next != NULL) memset(next, 0, sizeof *next);
    }
    return status;
}

/* Publishes the last message of a session in a run. False if the payload belongs to the sender again. */
static bool finish(duo_session *session, duo_side *side, uint64_t word)
{
    unsigned peer = role_of(side) ^ 1;
    uint64_t waiter;
    switch (duo_announce_end(session, side, &waiter)) {
    case DUO_ALONE: duo_session_release(session); return false;
    case DUO_CLAIMED: return false;
    case DUO_LAST: break;
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
    if (!duo_may_say(from, message)) return DUO_USED;
    duo_status status = duo_is_remote(from) ? duo_transport_of(from)->send(from, message, entries, wait, next)
                                            : send_within(from, message, entries, wait, next);
    if (status == DUO_OK) duo_enter_next(from, message);
    return status;
#else
    if (duo_is_remote(from))
        return duo_transport_of(from)->send(from, message, entries, wait, next);
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
    if (!duo_is_in(from, state)) return nothing(DUO_USED, message);
    duo_status status = duo_is_remote(from) ? duo_transport_of(from)->recv(from, state, wait, message)
                                            : recv_within(from, state, wait, message);
    if (status == DUO_OK) duo_enter_next(from, &state->messages[tag_at(message, state->tag_size) - 1]);
    return status;
#else
    if (duo_is_remote(from)) return duo_transport_of(from)->recv(from, state, wait, message);
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
