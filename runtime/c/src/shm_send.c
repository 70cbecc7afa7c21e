/* Sending between processes. */
#include "shm_lines.h"

static duo_status give_back(duo_shm *shm, duo_endpoint from, duo_status status)
{
    unclaim(shm, from);
    return status;
}

/* Before a line: whether it is time to look after the peer, and there is none. */
static inline bool is_alone(duo_shm *shm)
{
    return shm->line_at % DUO_SHM_LINES_UNSEEN == 0 && duo_shm_has_died(shm);
}

/* Sends any message; the handle was claimed. */
NOT_INLINE static duo_status send_any(duo_endpoint from, const duo_message *message,
                                      const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    const duo_wire_message *wire = wire_of(shm, message);
    size_t size = wire->flat;
    if (size == 0 && wire->entries != NULL) {
        if (!duo_wire_measure(wire->entries, entries, &size) || size > shm->peer_takes)
            return give_back(shm, from, DUO_TOO_LARGE);
    }
    if (shm->count == 0 && is_alone(shm)) return duo_shm_end(shm, DUO_CLOSED, next);
    if (shm->count == 0 && !has_line(shm)) {
        duo_status status = duo_shm_await(shm, has_line, wait);
        if (status == DUO_EMPTY) return give_back(shm, from, DUO_FULL);
        if (status != DUO_OK) return duo_shm_end(shm, status, next);
    }
    unsigned room = (DUO_SHM_CELLS - shm->cells) * 8;
    if (size <= room) {
        char *place = shm->line->cells + shm->cells * 8;
        if (wire->flat != 0 && is_little_endian()) {
            memcpy(place, entries, size);
        } else if (wire->entries != NULL) {
            duo_wire_writer writer = {place, place + room, NULL};
            duo_wire_encode(wire->entries, entries, &writer);
        }
        unsigned tag_at = DUO_SHM_TAG_SHIFT + 8 * shm->count;
        uint64_t word = shm->word | (uint64_t)message->index << tag_at;
        shm->count += 1;
        shm->cells += (unsigned)(size + 7) / 8;
        word += UINT64_C(1) << DUO_SHM_COUNT_SHIFT;
        bool is_full = shm->count == DUO_SHM_CELLS || shm->cells + wire->follow > DUO_SHM_CELLS;
        if (is_full) word |= DUO_SHM_FULL;
        if (!publish(shm, word, in_vain(message))) return duo_shm_end(shm, DUO_CLOSED, next);
        if (message->edge == DUO_STAY) {
            if (is_full) begin_line(shm);
            follow(from, next);
            return DUO_OK;
        }
    } else {
        if (wait == DUO_AT_ONCE && !duo_shm_has_room_for(shm, size)) return give_back(shm, from, DUO_FULL);
        duo_status status = duo_shm_send_long(shm, message, wire->entries, entries, size);
        if (status != DUO_OK) return duo_shm_end(shm, status, next);
        if (message->edge == DUO_STAY) {
            begin_line(shm);
            follow(from, next);
            return DUO_OK;
        }
    }
    if (message->edge == DUO_END) {
        duo_shm_end(shm, DUO_OK, next);
        return DUO_OK;
    }
    duo_shm_begin_run(shm);
    follow(from, next);
    return DUO_OK;
}

/* The last step of a message that fills its line, to be jumped to. */
NOT_INLINE static duo_status goes_on(duo_shm *shm)
{
    begin_line(shm);
    return DUO_OK;
}

/* The peer sleeps, or has left: behind a message that was stored, when all else is done. */
NOT_INLINE static duo_status told(duo_shm *shm, duo_status status, uint32_t flags,
                                  duo_endpoint *next)
{
    duo_shm_wake(shm);
    return flags & (DUO_SHM_LEFT | DUO_SHM_DONE) ? duo_shm_end(shm, DUO_CLOSED, next) : status;
}

/* A number in a line that has room: what dialogues mostly consist of, and the first of a line in a stream. */
NOT_INLINE static duo_status send_number(duo_endpoint from, const duo_message *message,
                                         const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    settle(shm);
    const duo_wire_message *wire = wire_of(shm, message);
    bool is_plain = is_little_endian() && wire->flat == 8 && shm->cells < DUO_SHM_CELLS &&
                    shm->line_at <= shm->line_limit && message->edge != DUO_END &&
                    (shm->count > 0 || shm->line_at % DUO_SHM_LINES_UNSEEN > 0);
    if (!is_plain) return send_any(from, message, entries, wait, next);
    unsigned count = shm->count, cells = shm->cells;
    memcpy(shm->line->cells + cells * 8, entries, 8);
    uint64_t word = shm->word + (UINT64_C(1) << DUO_SHM_COUNT_SHIFT);
    word |= (uint64_t)message->index << (DUO_SHM_TAG_SHIFT + 8 * count);
    bool is_full = count + 1 == DUO_SHM_CELLS || cells + 1 + wire->follow > DUO_SHM_CELLS;
    if (is_full) word |= DUO_SHM_FULL;
    atomic_store_explicit(&shm->line->word, word, memory_order_release);
    uint32_t flags = duo_shm_peer_flags(shm);
    shm->word = word;
    shm->count = count + 1;
    shm->cells = cells + 1;
    follow(from, next);
    if (flags != 0) {
        if (message->edge == DUO_TURN) duo_shm_turn(shm);
        else if (is_full) goes_on(shm);
        return told(shm, DUO_OK, flags, next);
    }
    if (message->edge == DUO_TURN) return duo_shm_turn(shm);
    if (is_full) return goes_on(shm);
    if (!shm->heavy) {
        /* Up to the one that fills the line. */
        unsigned messages = DUO_SHM_CELLS - 1 - shm->count;
        unsigned room = DUO_SHM_CELLS - wire->follow - shm->cells;
        uint64_t tag = (uint64_t)message->index << (DUO_SHM_TAG_SHIFT + 8 * shm->count);
        expect(shm, messages < room ? messages : room, message, tag);
    }
    return DUO_OK;
}

/* One more number like the one before it: what streams mostly consist of. */
duo_status duo_shm_send_message(duo_endpoint from, const duo_message *message, const void *entries,
                           uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    if (!claim(shm, from)) return DUO_USED;
    if (shm->alike == 0 || shm->plain != message)
        return send_number(from, message, entries, wait, next);
    memcpy(shm->place, entries, 8);
    uint64_t word = shm->word + shm->plain_tag + (UINT64_C(1) << DUO_SHM_COUNT_SHIFT);
    atomic_store_explicit(&shm->line->word, word, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t flags = atomic_load_explicit(&shm->peer->flags, memory_order_relaxed);
    shm->word = word;
    shm->alike -= 1;
    shm->place += 8;
    shm->plain_tag <<= 8;
    follow(from, next);
    return flags == 0 ? DUO_OK : told(shm, DUO_OK, flags, next);
}
