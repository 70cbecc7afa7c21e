/*
 * The operations on endpoints: open, send, receive, leave. The ring they rest on, and why it is
 * correct, is in ring.h.
 */
#include "ring.h"
#include "transport.h"

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

static size_t aligned(size_t size)
{
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
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

/* Small payloads are copied by a few moves, without a call. */
static inline void copy_entries(void *to, const void *from, size_t size)
{
    if (size == sizeof(uint64_t)) memcpy(to, from, sizeof(uint64_t));
    else if (size > 0) memcpy(to, from, size);
}

/* A payload that nobody will read is the sender's again: its block, and the endpoints in it. */
static duo_status take_back(const duo_message *message, const void *entries, void *block,
                            duo_endpoint *next)
{
    if (message->type != NULL && message->type->moves) duo_move_back(message->type, entries);
    if (block != NULL) duo_release(block);
    if (next != NULL) memset(next, 0, sizeof *next);
    return DUO_CLOSED;
}

/* Puts a payload that is more than plain bytes into its place; `block` gets its block, if it has one. */
static duo_status fill(duo_side *side, const duo_message *message, const void *entries, void **block)
{
    const duo_type *type = message->type;
    void *payload = side->place;
    if (type->spreads) {
        payload = *block = block_of(message, entries);
        if (payload == NULL) return DUO_NO_MEMORY;
        memcpy(side->place, block, sizeof *block);
    } else {
        copy_entries(payload, entries, message->size);
    }
    if (!type->moves || duo_move(type, payload)) return DUO_OK;
    if (*block != NULL) duo_release(*block);
    return DUO_USED;
}

/* Waits for room. If the receiver is leaving so does this side. */
static duo_status make_room(duo_session *session, duo_side *side, uint64_t wait, duo_endpoint *next)
{
    duo_status status = duo_await_room(session, side, wait);
    if (status == DUO_CLOSED) {
        duo_leave_as_sender(session, side);
        if (next != NULL) memset(next, 0, sizeof *next);
    }
    return status;
}

/* Publishes the last message of a session in a run. False if the payload is the sender's again. */
static bool finish(duo_session *session, duo_side *side, uint64_t word)
{
    unsigned peer = role_of(side) ^ 1;
    uint64_t waiter;
    switch (duo_announce_end(session, side, &waiter)) {
    case DUO_ALONE: duo_session_give(session); return false;
    case DUO_CLAIMED: return false;
    case DUO_LAST: break;
    }
    atomic_store_explicit(&side->line->word, word, memory_order_release);
    duo_tell(session, peer, waiter);
    return true;
}

/* Swaps a message in. False if the payload is the sender's again. */
static inline bool swap(duo_session *session, duo_side *side, uint64_t word)
{
    _Atomic uint64_t *place = &side->line->word;
    unsigned peer = role_of(side) ^ 1;
    uint64_t before = atomic_exchange_explicit(place, word, memory_order_acq_rel);
    if ((before & (WAITS | DEAD | BELL)) == 0) return true;
    if (before & DEAD) {
        duo_session_give(session);
        return false;
    }
    duo_tell_in_word(session, peer, place, before);
    return true;
}

NOT_INLINE static duo_status send_within(duo_endpoint from, const duo_message *message,
                                         const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_session *session = from.session;
    duo_side *side = duo_claim(from);
    if (side == NULL) return DUO_USED;
    void *block = NULL;
    duo_status status = DUO_OK;
    if (begins_used_line(side->at)) status = make_room(session, side, wait, next);
    if (status == DUO_OK && message->type != NULL) status = fill(side, message, entries, &block);
    else if (status == DUO_OK) copy_entries(side->place, entries, message->size);
    if (status != DUO_OK) {
        if (status != DUO_CLOSED) duo_unclaim(side);
        return status;
    }

    uint64_t word = stamp(session, side, message);
    if (message->edge == DUO_TURN) word |= processor_stamp();
    if (is_swapped(side->at)) {
        if (!swap(session, side, word)) return take_back(message, entries, block, next);
    } else if (message->edge == DUO_END) {
        if (!finish(session, side, word)) return take_back(message, entries, block, next);
    } else {
        atomic_store_explicit(&side->line->word, word, memory_order_release);
        light_barrier();
        const _Atomic uint64_t *flags = flags_of(session, (unsigned)(from.turn & 1) ^ 1);
        if (atomic_load_explicit(flags, memory_order_acquire) != 0 && !duo_answer(session, side))
            return take_back(message, entries, block, next);
    }
    duo_endpoint after = {NULL, 0};
    if (message->edge != DUO_END) {
        if (message->edge == DUO_STAY) go_on(session, side, message->next);
        else turn_out(session, side, message->next);
        after = (duo_endpoint){session, from.turn + 2};
    }
    if (next != NULL) *next = after;
    return DUO_OK;
}

/* Two jumps, so that neither kind of session saves registers for the other. */
duo_status duo_send(duo_endpoint from, const duo_message *message, const void *entries,
                    uint64_t wait, duo_endpoint *next)
{
    if (duo_is_remote(from))
        return duo_transport_of(from)->send(from, message, entries, wait, next);
    return send_within(from, message, entries, wait, next);
}

/* What every generated message type begins with. */
typedef struct arrival {
    unsigned tag;
    void *block;
} arrival;

/* Zeroes the tag of a message that did not come. */
static duo_status nothing(duo_status status, void *message)
{
    arrival none = {0, NULL};
    memcpy(message, &none, sizeof none);
    return status;
}

NOT_INLINE static duo_status recv_within(duo_endpoint from, const duo_state *state, uint64_t wait,
                                         void *message)
{
    duo_session *session = from.session;
    duo_side *side = duo_claim(from);
    if (side == NULL) return nothing(DUO_USED, message);

    uint64_t word = atomic_load_explicit(&side->line->word, memory_order_acquire);
    if (!has_message(word, side->at)) {
        if (!duo_await_message(session, side, wait)) {
            duo_unclaim(side);
            return nothing(DUO_EMPTY, message);
        }
        word = atomic_load_explicit(&side->line->word, memory_order_acquire);
        if (!has_message(word, side->at)) {
            duo_session_give(session);
            return nothing(DUO_CLOSED, message);
        }
    }
    const duo_message *kind = &state->messages[index_in(session, word, side->at)];
    char *entries = (char *)message + state->entries;
    arrival arrived = {kind->index + 1, NULL};
    const void *payload = side->place;
    if (kind->type != NULL && kind->type->spreads) {
        memcpy(&arrived.block, side->place, sizeof arrived.block);
        payload = arrived.block;
    }
    copy_entries(entries, payload, kind->size);
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {session, from.turn + 2};
    if (kind->edge == DUO_END) {
        next = (duo_endpoint){NULL, 0};
        if (kind->next != NULL) memcpy(entries + kind->size, &next, sizeof next);
        duo_session_give(session);
        return DUO_OK;
    }
    memcpy(entries + kind->size, &next, sizeof next);
    if (kind->edge == DUO_TURN) {
        turn_in(session, side, word, kind->next);
    } else {
        if (ends_line(session, side->at)) duo_report_emptied(session, side->at);
        go_on(session, side, kind->next);
    }
    return DUO_OK;
}

duo_status duo_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    if (duo_is_remote(from)) return duo_transport_of(from)->recv(from, state, wait, message);
    return recv_within(from, state, wait, message);
}

/*
 * Endpoints to be closed by this thread. Destroying a message finds endpoints inside it; they wait
 * here for the loop below instead of closing within one another.
 */
static _Thread_local duo_side *to_close;
static _Thread_local bool closing;

duo_status duo_close(duo_endpoint endpoint, const duo_state *state)
{
    if (duo_is_remote(endpoint)) return duo_transport_of(endpoint)->close(endpoint, state);
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
        if (side->state->sender == role_of(side)) duo_leave_as_sender(session, side);
        else duo_leave_as_receiver(session, side, side->state);
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
