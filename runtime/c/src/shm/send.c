/* Sending between processes. */
#include "lines.h"

static duo_status give_back(duo_shm *shm, duo_endpoint from, duo_status status)
{
    unclaim(shm, from);
    return status;
}

/* Whether it is time to check the peer, which has sent nothing since the run began. */
static inline bool is_time(const duo_shm *shm)
{
    return shm->count == 0 && (shm->line_at - shm->line_run) % DUO_SHM_LINES_UNSEEN == 0;
}

/* Does what must be done before a message; DUO_EMPTY if that takes too long. */
NOT_INLINE static duo_status get_ready(duo_shm *shm, uint64_t until)
{
    duo_status status = DUO_OK;
    if (!shm->is_met) status = duo_shm_meet(shm, duo_left(until));
    if (status == DUO_OK && shm->is_withdrawn) status = duo_shm_withdraw(shm, duo_left(until));
    return status;
}

/* Sends any message; the handle was claimed. */
NOT_INLINE static duo_status send_any(duo_endpoint from, const duo_message *message,
                                      const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    const duo_wire_message *wire = wire_of(shm, message);
    size_t size = wire->flat;
    if (!shm->is_met || shm->is_withdrawn) {
        uint64_t until = duo_until(wait);
        duo_status status = get_ready(shm, until);
        if (status == DUO_EMPTY) return give_back(shm, from, DUO_FULL);
        if (status != DUO_OK) return duo_shm_end(shm, status, next);
        wait = duo_left(until);
    }
    if (size == 0 && wire->entries != NULL) {
        duo_status status = duo_wire_measure(wire->entries, entries, &size);
        if (status == DUO_OK && size > shm->peer_takes) status = DUO_TOO_LARGE;
        if (status != DUO_OK) return give_back(shm, from, status);
    }
    if (is_time(shm) && duo_shm_has_died(shm)) return duo_shm_end(shm, duo_shm_why_gone(shm), next);
    uint64_t until = size > DUO_SHM_CELLS * 8 ? duo_until(wait) : wait;
    if (shm->count == 0 && !has_line(shm)) {
        duo_status status = duo_shm_await(shm, has_line, wait);
        if (status == DUO_EMPTY) return give_back(shm, from, DUO_FULL);
        if (status != DUO_OK) return duo_shm_end(shm, status, next);
    }
    unsigned space = (DUO_SHM_CELLS - shm->cells) * 8;
    bool is_full = true;
    uint32_t gone = 0;
    if (size <= space) {
        char *place = shm->line->cells + shm->cells * 8;
        if (wire->flat != 0 && IS_LITTLE_ENDIAN) {
            memcpy(place, entries, size);
        } else if (wire->entries != NULL) {
            duo_wire_writer writer = {place, place + space, NULL};
            duo_wire_encode(wire->entries, entries, &writer);
        }
        unsigned tag_at = DUO_SHM_TAG_SHIFT + 8 * shm->count;
        uint64_t word = shm->word | (uint64_t)message->index << tag_at;
        shm->count += 1;
        shm->cells += (unsigned)(size + 7) / 8;
        word += UINT64_C(1) << DUO_SHM_COUNT_SHIFT;
        is_full = shm->count == DUO_SHM_CELLS || shm->cells + wire->follow > DUO_SHM_CELLS;
        if (is_full) word |= DUO_SHM_FULL;
        gone = publish_line(shm, word);
    } else {
        if (wait == DUO_AT_ONCE && !duo_shm_has_credit_for(shm, size)) return give_back(shm, from, DUO_FULL);
        duo_status status = duo_shm_send_long(shm, message, wire->entries, entries, size, until, &gone);
        if (status == DUO_FULL) return give_back(shm, from, status);
        if (status != DUO_OK) return duo_shm_end(shm, status, next);
    }
    /* A peer that has read the last message is done, and this may become known before this side has checked. */
    if (message->edge == DUO_END) return duo_shm_end(shm, gone & DUO_SHM_LEFT ? DUO_CLOSED : DUO_OK, next);
    if (message->edge == DUO_TURN) duo_shm_begin_run(shm, from.turn + 2);
    else if (is_full) begin_line(shm);
    if (gone != 0 && !line_has_message(shm)) return duo_shm_end(shm, DUO_CLOSED, next);
    *next = follow(from);
    return DUO_OK;
}

/* If the number leads back to its state, more like it may follow in the line, and the last of them fills it. */
static inline void expect_numbers(duo_shm *shm, duo_endpoint from, const duo_message *message,
                                  unsigned follow)
{
    if (shm->heavy || message->next->messages + message->index != message) return;
    unsigned messages = DUO_SHM_CELLS - shm->count;
    unsigned space = DUO_SHM_CELLS - follow - shm->cells + 1;
    /* Tags of messages that are not counted yet mean nothing. */
    uint64_t tags = DUO_SHM_ALIKE * message->index << DUO_SHM_TAG_SHIFT;
    tags &= ~UINT64_C(0) << DUO_SHM_TAG_SHIFT << 8 * shm->count;
    expect(shm, from.turn + 2, messages < space ? messages : space);
    duo_lane *lane = &shm->remote.lane;
    lane->of = message;
    lane->word = (shm->word | tags) - from.turn;
    lane->peer = &shm->peer->flags;
}

/* Whether the next message may go into the line, and nothing has to be done first. */
static inline bool is_open(const duo_shm *shm)
{
    return shm->line_at <= shm->line_limit && shm->cells < DUO_SHM_CELLS && !is_time(shm);
}

/* A number has filled its line: more may follow it. */
static inline void lane_goes_on(duo_shm *shm, duo_endpoint from, const duo_message *message, unsigned follow)
{
    begin_line(shm);
    /* The next message is then sent the usual way, which waits for free lines, or closes the session. */
    if (!has_line(shm) || (is_time(shm) && duo_shm_has_died(shm))) return;
    expect_numbers(shm, from, message, follow);
    duo_lane *lane = &shm->remote.lane;
    if (lane->end != lane->from + DUO_LANE_TURNS) return;
    uint64_t seen = (shm->line_at - shm->line_run) % DUO_SHM_LINES_UNSEEN;
    uint64_t lines = DUO_SHM_LINES_UNSEEN - 1 - seen, space = shm->line_limit - shm->line_at;
    lane->ahead = lines_alike(shm, lines < space ? lines : space);
    duo_prefetch_write(lane->line, DUO_LINES_AHEAD * DUO_LINE);
}

void duo_shm_lane_go_on(duo_endpoint next)
{
    duo_shm *shm = shm_of(next);
    const duo_message *message = shm->remote.lane.of;
    duo_endpoint from = {next.session, next.turn - 2};
    settle_lines(shm);
    lane_goes_on(shm, from, message, wire_of(shm, message)->follow);
}

/* After a message was sent: the peer sleeps, or has disconnected, maybe after it has answered the message. */
duo_status duo_shm_answer(duo_endpoint next, uint32_t flags)
{
    duo_shm *shm = shm_of(next);
    duo_shm_wake(shm);
    if ((flags & (DUO_SHM_LEFT | DUO_SHM_DONE)) == 0) return DUO_OK;
    settle(shm, next.turn);
    return line_has_message(shm) ? DUO_OK : duo_shm_end(shm, DUO_CLOSED, NULL);
}

/* A number in a line that has space: most messages of a dialogue, and those that fill the lines of a stream. */
NOT_INLINE static duo_status send_number(duo_endpoint from, const duo_message *message,
                                         const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    duo_shm_leave_set(shm, from);
    settle(shm, from.turn);
    const duo_wire_message *wire = wire_of(shm, message);
    bool is_plain = IS_LITTLE_ENDIAN && wire->flat == 8 && is_open(shm) && message->edge != DUO_END;
    if (!is_plain) return send_any(from, message, entries, wait, next);
    unsigned count = shm->count, cells = shm->cells;
    memcpy(shm->line->cells + cells * 8, entries, 8);
    uint64_t word = shm->word + (UINT64_C(1) << DUO_SHM_COUNT_SHIFT);
    word |= (uint64_t)message->index << (DUO_SHM_TAG_SHIFT + 8 * count);
    bool is_full = count + 1 == DUO_SHM_CELLS || cells + 1 + wire->follow > DUO_SHM_CELLS;
    if (is_full) word |= DUO_SHM_FULL;
    uint32_t flags = duo_shm_publish_word(shm, word);
    shm->word = word;
    shm->count = count + 1;
    shm->cells = cells + 1;
    duo_store_at_once(follow(from), (char *)next);
    if (message->edge == DUO_TURN) duo_shm_begin_run(shm, from.turn + 2);
    else if (is_full) lane_goes_on(shm, from, message, wire->follow);
    else expect_numbers(shm, from, message, wire->follow);
    if (flags == 0) return DUO_OK;
    duo_status status = duo_shm_answer(*next, flags);
    if (status != DUO_OK) memset(next, 0, sizeof *next);
    return status;
}

/* For callers that do not check for a lane themselves. */
duo_status duo_shm_send_message(duo_endpoint from, const duo_message *message, const void *entries,
                                uint64_t wait, duo_endpoint *next)
{
    duo_role role = (duo_role)(from.turn & 1);
    duo_cursor cursor;
    if (duo_lane_has(&cursor, from, role, message)) return duo_lane_send(&cursor, from, role, entries, next);
    if (!claim(shm_of(from), from)) return DUO_USED;
    return send_number(from, message, entries, wait, next);
}
