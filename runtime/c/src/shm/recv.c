/* Receiving between processes. */
#include "../floor/backoff.h"
#include "lines.h"

enum {
    /* How many parts of a long message one check receives. */
    PARTS_AT_ONCE = 16
};

/* The number of zeros below the lowest bit of a word that is not 0. */
static inline unsigned lowest(uint64_t word)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(word);
#else
    unsigned zeros = 0;
    for (; (word & 1) == 0; word >>= 1) zeros += 1;
    return zeros;
#endif
}

/* As receiver: goes to the next line, and reports this after every quarter of the ring. */
static inline void end_line(duo_shm *shm)
{
    begin_line(shm);
    if (((shm->line_at - 1) & (shm->line_count / 4 - 1)) == 0) duo_shm_report_credit(shm);
}

/* Decodes the entries of a message in cells; `cells` is set to the number of cells it took. */
static duo_status decode_short(duo_shm *shm, const duo_message *kind, const duo_wire *wire,
                               char *entries, arrival *arrived, unsigned *cells)
{
    char bytes[DUO_SHM_CELLS * 8];
    size_t size = (DUO_SHM_CELLS - shm->cells) * 8, taken, space;
    memcpy(bytes, shm->line->cells + shm->cells * 8, size);
    copied();
    if (!duo_wire_check(wire, (const uint8_t *)bytes, size, &taken, &space)) return DUO_BROKEN;
    *cells = (unsigned)(taken + 7) / 8;
    if (kind->type == NULL || !kind->type->spreads) {
        duo_wire_decode(wire, (const uint8_t *)bytes, entries, NULL);
        return DUO_OK;
    }
    if (!duo_shm_allows(shm, space, taken)) return DUO_TOO_LARGE;
    return duo_shm_assemble(shm, wire, NULL, bytes, taken, space, entries, arrived);
}

duo_status duo_shm_await_message(duo_shm *shm, uint64_t wait)
{
    const uint64_t until = duo_until(wait);
    if (!shm->is_met) {
        duo_status status = duo_shm_meet(shm, wait);
        if (status != DUO_OK) return status;
    }
    shm->is_unfinished = false;
    for (unsigned parts = 0;; parts++) {
        if (shm->is_arriving && shm->arrived == shm->arriving_size) return DUO_OK;
        duo_status status = duo_shm_await(shm, line_has_message, duo_left(until));
        if (status != DUO_OK) return status;
        uint64_t word = duo_atomic_load(&shm->line->word, memory_order_acquire);
        if (!shm->is_arriving && !(word & DUO_SHM_LONG)) return DUO_OK;
        if (!(word & DUO_SHM_LONG) || ((word >> DUO_SHM_COUNT_SHIFT) & 7) != 1) return DUO_BROKEN;
        status = duo_shm_take_fragment(shm, word);
        if (status != DUO_EMPTY) return status;
        /*
         * Many sessions are checked in turn, under a lock, which a peer that sends parts of one byte must not hold up.
         */
        shm->is_unfinished = wait == DUO_AT_ONCE && parts + 1 == PARTS_AT_ONCE;
        if (shm->is_unfinished) return DUO_EMPTY;
        /* The limit holds however fast further parts come, and so does the end of a wait that is canceled. */
        if (until != DUO_AT_ONCE && duo_left(until) == DUO_AT_ONCE) return DUO_EMPTY;
        if (parts + 1 >= PARTS_AT_ONCE && duo_is_canceled()) return DUO_EMPTY;
    }
}

/* Receives any message; the handle was claimed. */
NOT_INLINE static duo_status recv_any(duo_endpoint from, const duo_state *state, uint64_t wait,
                                      void *message)
{
    duo_shm *shm = shm_of(from);
    uint64_t word = duo_atomic_load(&shm->line->word, memory_order_acquire);
    if (!shm->is_met || shm->is_arriving || !is_fresh(shm, word) || (word & DUO_SHM_LONG)) {
        duo_status status = duo_shm_await_message(shm, wait);
        if (status == DUO_EMPTY || status == DUO_NO_MEMORY) {
            unclaim(shm, from);
            /* A run that has not begun may still be part of single-line turns. */
            bool begins = shm->count == 0 && shm->line_at - 1 == shm->line_run && !shm->is_arriving;
            if (begins) duo_shm_expect_single_line_turns(shm, from.turn);
            return nothing(status, message);
        }
        if (status != DUO_OK) return nothing(duo_shm_end(shm, status, NULL), message);
        word = duo_atomic_load(&shm->line->word, memory_order_acquire);
        /* No correct peer writes a word that goes back to what it was. */
        if (!is_fresh(shm, word)) return nothing(duo_shm_end(shm, DUO_BROKEN, NULL), message);
    }
    unsigned tag = shm->is_arriving
                       ? shm->arriving_tag
                       : (unsigned)(word >> (DUO_SHM_TAG_SHIFT + 8 * shm->count)) & 0xff;
    if (tag >= shm->protocol->counts[state - shm->protocol->states])
        return nothing(duo_shm_end(shm, DUO_BROKEN, NULL), message);
    const duo_message *kind = &state->messages[tag];
    const duo_wire_message *wire = &shm->protocol->wires[kind - shm->protocol->messages];
    char *entries = (char *)message + state->entries;
    arrival arrived = {duo_tag_word(tag + 1, state->tag_size), NULL};
    unsigned cells = 0;
    duo_status status = DUO_OK;
    bool was_long = shm->is_arriving;
    if (was_long) {
        status = duo_shm_decode_long(shm, kind, wire->entries, entries, &arrived);
    } else if (wire->flat != 0 && IS_LITTLE_ENDIAN) {
        cells = (unsigned)(wire->flat + 7) / 8;
        if (shm->cells + cells > DUO_SHM_CELLS) status = DUO_BROKEN;
        else memcpy(entries, shm->line->cells + shm->cells * 8, wire->flat);
    } else if (wire->entries != NULL) {
        status = decode_short(shm, kind, wire->entries, entries, &arrived, &cells);
    }
    if (status == DUO_NO_MEMORY) {
        unclaim(shm, from);
        return nothing(status, message);
    }
    if (status != DUO_OK) return nothing(duo_shm_end(shm, status, NULL), message);
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {NULL, 0};
    if (kind->edge == DUO_END) {
        if (kind->next != NULL) memcpy(entries + kind->size, &next, sizeof next);
        duo_shm_end(shm, DUO_OK, NULL);
        return DUO_OK;
    }
    next = follow(from);
    memcpy(entries + kind->size, &next, sizeof next);
    if (kind->edge == DUO_TURN) {
        duo_shm_begin_run(shm, from.turn + 2);
        return DUO_OK;
    }
    shm->count += 1;
    shm->cells += cells;
    if (was_long) {
        begin_line(shm);
        duo_shm_report_credit(shm);
    } else if ((word & DUO_SHM_FULL) && ((word >> DUO_SHM_COUNT_SHIFT) & 7) == shm->count) {
        end_line(shm);
    }
    return DUO_OK;
}

/* How many messages of a word, counted from a place on, have the tag of the one at that place. */
static inline uint64_t seen_alike(uint64_t word, unsigned place)
{
    unsigned all = (unsigned)(word >> DUO_SHM_COUNT_SHIFT) & 7;
    uint64_t tags = word >> DUO_SHM_TAG_SHIFT >> 8 * place;
    uint64_t others = (tags ^ (tags & 0xff) * DUO_SHM_ALIKE) & UINT64_C(0xffffffffffffff);
    uint64_t alike = others == 0 ? DUO_SHM_CELLS : (uint64_t)lowest(others) / 8;
    uint64_t seen = all > place ? all - place : 0;
    return alike < seen ? alike : seen;
}

/* What was seen to follow a number, from a place in the line on, is a lane if it is like the number. */
static inline void expect_seen(duo_shm *shm, duo_endpoint from, unsigned tag, uint64_t word)
{
    if (((word >> DUO_SHM_TAG_SHIFT >> 8 * shm->count) & 0xff) != tag) return;
    uint64_t alike = seen_alike(word, shm->count), space = DUO_SHM_CELLS - shm->cells;
    if (alike > space) alike = space;
    expect(shm, from.turn + 2, alike);
    bool is_all = shm->count + alike == ((word >> DUO_SHM_COUNT_SHIFT) & 7);
    duo_lane *lane = &shm->remote.lane;
    lane->of = NULL;
    lane->tag = tag + 1;
    lane->ends = is_all && (word & DUO_SHM_FULL) ? lane->end : 0;
}

/* The word of a line that was begun and is full of such numbers. */
static inline uint64_t word_of_all(const duo_shm *shm, unsigned tag)
{
    uint64_t tags = DUO_SHM_ALIKE * tag << DUO_SHM_TAG_SHIFT;
    return tags | DUO_SHM_FULL | DUO_SHM_CELLS << DUO_SHM_COUNT_SHIFT | shm->parity;
}

/* A number has ended its line: checks what is in the next one. */
static inline void check_next_line(duo_shm *shm, duo_endpoint from, unsigned tag)
{
    end_line(shm);
    uint64_t word = duo_atomic_load(&shm->line->word, memory_order_acquire);
    if (!is_fresh(shm, word) || (word & DUO_SHM_LONG)) return;
    expect_seen(shm, from, tag, word);
    duo_lane *lane = &shm->remote.lane;
    lane->word = word_of_all(shm, tag);
    if (word != lane->word) return;
    /* Only lines after which nothing has to be reported. */
    uint64_t quarter = shm->line_count / 4, lines = quarter - 1 - ((shm->line_at - 1) & (quarter - 1));
    lane->ahead = lines_alike(shm, lines < 63 ? lines : 63);
}

void duo_shm_lane_line_ends(duo_endpoint next)
{
    duo_shm *shm = shm_of(next);
    duo_endpoint from = {next.session, next.turn - 2};
    settle_lines(shm);
    check_next_line(shm, from, shm->remote.lane.tag - 1);
}

/* The last step of a number that ended its line; for a tail call. */
NOT_INLINE static duo_status line_ends(duo_shm *shm, duo_endpoint from, unsigned tag)
{
    check_next_line(shm, from, tag);
    return DUO_OK;
}

/* Receives a number that is already there. Anything else is checked again by `recv_any`. */
NOT_INLINE static duo_status recv_number(duo_endpoint from, const duo_state *state, uint64_t wait,
                                         void *message)
{
    duo_shm *shm = shm_of(from);
    duo_shm_leave_set(shm, from);
    settle(shm, from.turn);
    uint64_t word = duo_atomic_load(&shm->line->word, memory_order_acquire);
    if (is_fresh(shm, word)) {
        shm->has_spun = false;
    } else if (wait != DUO_AT_ONCE && duo_shm_may_spin(shm)) {
        /* In a dialogue the answer is about to arrive. */
        for (int looks = 0; looks < DUO_SPINS && !is_fresh(shm, word); looks++) {
            duo_relax();
            word = duo_atomic_load(&shm->line->word, memory_order_acquire);
        }
        shm->has_spun = !is_fresh(shm, word);
    }
    if (shm->is_arriving || !is_fresh(shm, word) || (word & DUO_SHM_LONG))
        return recv_any(from, state, wait, message);
    const duo_wire_protocol *protocol = shm->protocol;
    unsigned count = shm->count, cells = shm->cells;
    unsigned tag = (unsigned)(word >> (DUO_SHM_TAG_SHIFT + 8 * count)) & 0xff;
    if (tag >= protocol->counts[state - protocol->states] || cells == DUO_SHM_CELLS)
        return recv_any(from, state, wait, message);
    const duo_message *kind = &state->messages[tag];
    if (!IS_LITTLE_ENDIAN || wire_of(shm, kind)->flat != 8 || kind->edge == DUO_END)
        return recv_any(from, state, wait, message);
    char *entries = (char *)message + state->entries;
    arrival arrived = {duo_tag_word(tag + 1, state->tag_size), NULL};
    memcpy(message, &arrived, sizeof arrived);
    memcpy(entries, shm->line->cells + cells * 8, 8);
    duo_store_at_once(follow(from), entries + kind->size);
    if (kind->edge == DUO_TURN) return duo_shm_turn(shm, from);
    shm->count = count + 1;
    shm->cells = cells + 1;
    bool is_last = (word & DUO_SHM_FULL) && ((word >> DUO_SHM_COUNT_SHIFT) & 7) == count + 1;
    if (kind->next != state) {
        if (is_last) end_line(shm);
        return DUO_OK;
    }
    if (is_last) return line_ends(shm, from, tag);
    expect_seen(shm, from, tag, word);
    return DUO_OK;
}

uint64_t duo_single_line_spin(duo_endpoint from, uint64_t expected)
{
    duo_shm *shm = shm_of(from);
    if (!duo_shm_may_spin(shm)) return 0;
    for (int looks = 0; looks < DUO_SPINS; looks++) {
        duo_relax();
        uint64_t word = duo_atomic_load(shm->remote.line_turns.line, memory_order_acquire);
        if ((word & 0xff) == expected) return word;
    }
    shm->has_spun = true;
    return 0;
}

/* For callers that do not check for a lane themselves. */
duo_status duo_shm_recv_message(duo_endpoint from, const duo_state *state, uint64_t wait,
                                void *message)
{
    duo_role role = (duo_role)(from.turn & 1);
    duo_cursor cursor;
    if (duo_lane_has(&cursor, from, role, NULL)) {
        duo_lane_recv_tagged(&cursor, from, role, message, state->tag_size, state->entries);
        return DUO_OK;
    }
    if (!claim(shm_of(from), from)) return nothing(DUO_USED, message);
    return recv_number(from, state, wait, message);
}
