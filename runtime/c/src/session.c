/*
 * The operations on endpoints: open, send, receive, leave. The ring they rest on, and why it is
 * correct, is in ring.h.
 */
#include "ring.h"

#include <string.h>

/* The handle that is good for a side now. */
static duo_endpoint handle_of(duo_session *session, const duo_side *side)
{
    duo_endpoint handle = {session, atomic_load_explicit(&side->turn, memory_order_relaxed)};
    return handle;
}

duo_side *duo_look_at(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    uint64_t turn = atomic_load_explicit(&side->turn, memory_order_relaxed);
    return turn == endpoint.turn ? side : NULL;
}

duo_side *duo_claim(duo_endpoint endpoint)
{
    if (endpoint.session == NULL) return NULL;
    duo_side *side = &endpoint.session->sides[endpoint.turn & 1];
    /* Relaxed: only the owner of the one good handle passes, and it has what it needs to see. */
#ifdef DUO_CHECKED
    uint64_t turn = endpoint.turn;
    bool good = atomic_compare_exchange_strong_explicit(&side->turn, &turn, turn + 2,
                                                        memory_order_relaxed, memory_order_relaxed);
    if (!good) return NULL;
#else
    if (atomic_load_explicit(&side->turn, memory_order_relaxed) != endpoint.turn) return NULL;
    atomic_store_explicit(&side->turn, endpoint.turn + 2, memory_order_relaxed);
#endif
    if (atomic_load_explicit(&side->bell, memory_order_acquire) != NULL) duo_take_down(side);
    return side;
}

void duo_unclaim(duo_side *side)
{
    uint64_t turn = atomic_load_explicit(&side->turn, memory_order_relaxed);
    atomic_store_explicit(&side->turn, turn - 2, memory_order_relaxed);
}

/* Leaves in place of a message. */
static void leave_as_sender(duo_session *session, duo_side *side)
{
    duo_slot *slot = slot_at(session, side->position);
    uint64_t word = word_of(side->number, 0, DUO_WORD_CLOSED);
    if (publish(slot, word, peer_of(session, side))) duo_session_give(session);
}

/* The block of a message, for which its slot has but a pointer. */
static void *block_in(const duo_slot *slot)
{
    void *block;
    memcpy(&block, slot->payload, sizeof block);
    return block;
}

static size_t aligned(size_t size)
{
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* Destroys a message that nobody will read. */
static void discard(const duo_message *message, duo_slot *slot)
{
    if (message->type == NULL) return;
    if (!message->type->spreads) {
        duo_destroy(message->type, slot->payload);
        return;
    }
    void *block = block_in(slot);
    duo_destroy(message->type, block);
    duo_release(block);
}

/* Leaves where a message is awaited; reads, destroys and follows those that are there. */
static void leave_as_receiver(duo_session *session, duo_side *side, const duo_state *state)
{
    if (session->unbounded) {
        uint64_t waiting = atomic_exchange_explicit(&side->waiting, LEAVING, memory_order_acq_rel);
        if (waiting & WAITING) duo_wake(&side->waiting);
    }
    for (;;) {
        duo_slot *slot = slot_at(session, side->position);
        uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
        while (!has_number(word, side->number)) {
            uint64_t dead = (word & ~DUO_WORD_WAIT) | DUO_WORD_DEAD;
            if (atomic_compare_exchange_strong_explicit(&slot->word, &word, dead,
                                                        memory_order_acq_rel, memory_order_acquire))
                return;
        }
        if (word & DUO_WORD_CLOSED) {
            duo_session_give(session);
            return;
        }
        const duo_message *message = &state->messages[index_of(word)];
        discard(message, slot);
        if (message->edge == DUO_END) {
            duo_session_give(session);
            return;
        }
        advance(session, side, message->edge);
        if (message->edge == DUO_TURN) {
            leave_as_sender(session, side);
            return;
        }
        state = message->next;
    }
}

duo_status duo_open(const duo_protocol *protocol, duo_endpoint *server, duo_endpoint *client)
{
    duo_endpoint nothing = {NULL, 0};
    *server = *client = nothing;
    duo_session *session = duo_session_take(protocol);
    if (session == NULL) return DUO_NO_MEMORY;
    *server = handle_of(session, &session->sides[DUO_SERVER]);
    *client = handle_of(session, &session->sides[DUO_CLIENT]);
    return DUO_OK;
}

/* Entries and all they refer to, in one block; NULL if memory ran out. */
static void *block_of(const duo_message *message, const void *entries)
{
    /* The walk that measures changes nothing, though its type could. */
    size_t start = aligned(message->size);
    char *block = duo_allocate(start + duo_spread(message->type, (void *)(uintptr_t)entries));
    if (block == NULL) return NULL;
    memcpy(block, entries, message->size);
    duo_copy(message->type, block, block + start);
    return block;
}

duo_status duo_send(duo_endpoint from, const duo_message *message, const void *entries,
                    uint64_t wait, duo_endpoint *next)
{
    const duo_type *type = message->type;
    duo_session *session = from.session;
    duo_side *side = duo_claim(from);
    if (side == NULL) return DUO_USED;

    void *block = NULL;
    if (type != NULL && type->spreads) {
        block = block_of(message, entries);
        if (block == NULL) {
            duo_unclaim(side);
            return DUO_NO_MEMORY;
        }
    }
    duo_status status = await_room(session, side, wait);
    if (status != DUO_OK) {
        if (block != NULL) duo_release(block);
        if (status == DUO_FULL) {
            duo_unclaim(side);
        } else {
            leave_as_sender(session, side);
            if (next != NULL) memset(next, 0, sizeof *next);
        }
        return status;
    }
    duo_slot *slot = slot_at(session, side->position);
    if (block != NULL) memcpy(slot->payload, &block, sizeof block);
    else if (message->size > 0) memcpy(slot->payload, entries, message->size);
    void *payload = block != NULL ? block : slot->payload;
    if (type != NULL && type->moves && !duo_move(type, payload)) {
        if (block != NULL) duo_release(block);
        duo_unclaim(side);
        return DUO_USED;
    }

    uint64_t word = word_of(side->number, message->index, 0);
    duo_endpoint after = handle_of(session, side);
    duo_side *peer = peer_of(session, side);
    advance(session, side, message->edge);
    if (publish(slot, word, peer)) {
        if (type != NULL && type->moves) duo_move_back(type, payload);
        if (block != NULL) duo_release(block);
        duo_session_give(session);
        if (next != NULL) memset(next, 0, sizeof *next);
        return DUO_CLOSED;
    }
    if (next != NULL) *next = message->edge == DUO_END ? (duo_endpoint){NULL, 0} : after;
    return DUO_OK;
}

/* What every generated message type begins with. */
typedef struct arrival {
    unsigned tag;
    void *block;
} arrival;

duo_status duo_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    arrival arrived = {0, NULL};
    memcpy(message, &arrived, sizeof arrived);
    duo_session *session = from.session;
    duo_side *side = duo_claim(from);
    if (side == NULL) return DUO_USED;

    duo_slot *slot = slot_at(session, side->position);
    uint64_t word = await_word(slot, side->number, wait);
    if (!has_number(word, side->number)) {
        duo_unclaim(side);
        return DUO_EMPTY;
    }
    if (word & DUO_WORD_CLOSED) {
        duo_session_give(session);
        return DUO_CLOSED;
    }
    const duo_message *kind = &state->messages[index_of(word)];
    char *entries = (char *)message + state->entries;
    arrived.tag = kind->index + 1;
    if (kind->type != NULL && kind->type->spreads) arrived.block = block_in(slot);
    if (kind->size > 0)
        memcpy(entries, arrived.block != NULL ? arrived.block : slot->payload, kind->size);
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = handle_of(session, side);
    if (kind->edge == DUO_END) {
        next = (duo_endpoint){NULL, 0};
        if (kind->next != NULL) memcpy(entries + kind->size, &next, sizeof next);
        duo_session_give(session);
        return DUO_OK;
    }
    memcpy(entries + kind->size, &next, sizeof next);
    advance(session, side, kind->edge);
    if (kind->edge == DUO_STAY) show_room(session, side);
    return DUO_OK;
}

/*
 * Endpoints to be closed by this thread. Destroying a message finds endpoints inside it; they wait
 * here for the loop below instead of closing within one another.
 */
static _Thread_local duo_side *to_close;
static _Thread_local bool closing;

duo_status duo_close(duo_endpoint endpoint, const duo_state *state)
{
    duo_side *side = duo_claim(endpoint);
    if (side == NULL) return DUO_USED;
    side->state = state;
    side->next_closing = to_close;
    to_close = side;
    if (closing) return DUO_OK;
    closing = true;
    while (to_close != NULL) {
        side = to_close;
        to_close = side->next_closing;
        duo_session *session = session_of(side);
        if (side->state->sender == role_of(side)) leave_as_sender(session, side);
        else leave_as_receiver(session, side, side->state);
    }
    closing = false;
    return DUO_OK;
}

void duo_free(const duo_state *state, void *message)
{
    arrival arrived;
    memcpy(&arrived, message, sizeof arrived);
    if (arrived.tag == 0) return;
    const duo_type *type = state->messages[arrived.tag - 1].type;
    if (type != NULL) duo_destroy(type, (char *)message + state->entries);
    if (arrived.block != NULL) duo_release(arrived.block);
    arrived = (struct arrival){0, NULL};
    memcpy(message, &arrived, sizeof arrived);
}
