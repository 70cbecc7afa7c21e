/* Sending and receiving between processes. What must hold is in shm.h, the layout in docs/wire.md. */
#include "shm.h"

#include <string.h>

#include "wire.h"

/* How often a receiver looks before it begins to wait in earnest. */
enum { LOOKS = 64 };

static bool is_little_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* What was copied out of the region is not read there again, whatever the compiler would like. */
static void copied(void)
{
    __asm__ __volatile__("" ::: "memory");
}

static void begin_line(duo_shm *shm)
{
    uint64_t index = (shm->line_at - shm->line_run) & (shm->line_count - 1);
    uint64_t bit = UINT64_C(1) << (index % 64);
    shm->parities[index / 64] ^= bit;
    shm->parity = (shm->parities[index / 64] & bit) != 0;
    shm->line = &shm->lines[index];
    shm->count = 0;
    shm->cells = 0;
    shm->alike = shm->alike_at_first = 0;
    shm->word = shm->parity;
    shm->line_at += 1;
}

void duo_shm_begin_run(duo_shm *shm)
{
    /* All that went before has been read by somebody: everything is free. */
    shm->line_run = shm->line_at;
    shm->line_limit = shm->line_at + shm->line_count;
    shm->byte_run = shm->byte_at;
    shm->byte_limit = shm->byte_at + shm->byte_count;
    begin_line(shm);
}

/* Adds up what was done of messages that are alike. */
static inline void settle(duo_shm *shm)
{
    unsigned done = (unsigned)(shm->alike_at_first - shm->alike);
    shm->count += done;
    shm->cells += done;
    shm->alike = shm->alike_at_first = 0;
}

/* So many messages like this one may follow. */
static inline void expect(duo_shm *shm, uint64_t alike, const void *plain, uint64_t tag)
{
    shm->alike = shm->alike_at_first = alike;
    shm->plain = plain;
    shm->place = shm->line->cells + shm->cells * 8;
    shm->plain_tag = tag;
}

static duo_shm *shm_of(duo_endpoint endpoint)
{
    return (duo_shm *)(void *)endpoint.session;
}

/* The session is over. */
static duo_status ended(duo_shm *shm, duo_status status, duo_endpoint *next)
{
    duo_shm_leave(shm, status == DUO_OK ? DUO_SHM_DONE : DUO_SHM_LEFT);
    if (next != NULL) memset(next, 0, sizeof *next);
    return status;
}

/* As sender: whether the current line may be written. Never trusts that the peer's count makes sense. */
static bool has_line(duo_shm *shm)
{
    if (shm->line_at <= shm->line_limit) return true;
    uint64_t taken = atomic_load_explicit(&shm->peer->lines_taken, memory_order_acquire);
    if (taken < shm->line_at) shm->line_limit = taken + shm->line_count;
    return shm->line_at <= shm->line_limit;
}

/* A fragment's place is counted in whole lines, so that every fragment begins at one. */
static uint64_t whole(uint64_t bytes)
{
    return (bytes + DUO_LINE - 1) / DUO_LINE * DUO_LINE;
}

/* As sender: the size of the next fragment, when so much is left. */
static uint64_t fragment_of(const duo_shm *shm, uint64_t left)
{
    uint64_t place = (shm->byte_at - shm->byte_run) & (shm->byte_count - 1);
    uint64_t most = shm->byte_count / 4 < DUO_SHM_FRAGMENT ? shm->byte_count / 4 : DUO_SHM_FRAGMENT;
    uint64_t straight = shm->byte_count - place;
    if (most > straight) most = straight;
    return left < most ? left : most;
}

static bool has_bytes(duo_shm *shm)
{
    if (!has_line(shm)) return false;
    uint64_t wanted = shm->byte_at + whole(fragment_of(shm, shm->outgoing));
    if (wanted <= shm->byte_limit) return true;
    uint64_t taken = atomic_load_explicit(&shm->peer->bytes_taken, memory_order_acquire);
    if (taken <= shm->byte_at) shm->byte_limit = taken + shm->byte_count;
    return wanted <= shm->byte_limit;
}

/* Publishes the line's word, and wakes the peer. False if the peer has left in one of these ways. */
static inline bool publish(duo_shm *shm, uint64_t word, uint32_t ways)
{
    shm->word = word;
    atomic_store_explicit(&shm->line->word, word, memory_order_release);
    uint32_t flags = duo_shm_peer_flags(shm);
    if (flags == 0) return true;
    duo_shm_wake(shm);
    return (flags & ways) == 0;
}

/* A long message on its way: fragments are written where the receiver has read. */
typedef struct outgoing {
    duo_wire_writer writer;
    duo_shm *shm;
    uint64_t total;
    uint64_t left;
    /* The fragment that is being written. */
    uint64_t size;
    uint64_t word;
    uint32_t ways;
    duo_status status;
} outgoing;

/*
 * In which ways the peer may have left so that a message is sent in vain. Who has read the last
 * message is done, and this may come to be known before the sender has looked.
 */
static inline uint32_t in_vain(const duo_message *message)
{
    return message->edge == DUO_END ? DUO_SHM_LEFT : DUO_SHM_LEFT | DUO_SHM_DONE;
}

static bool begin_fragment(outgoing *out)
{
    duo_shm *shm = out->shm;
    shm->outgoing = out->left;
    out->status = duo_shm_await(shm, has_bytes, DUO_FOREVER);
    if (out->status != DUO_OK) return false;
    out->size = fragment_of(shm, out->left);
    out->writer.at = shm->bytes + ((shm->byte_at - shm->byte_run) & (shm->byte_count - 1));
    out->writer.end = out->writer.at + out->size;
    return true;
}

static bool end_fragment(outgoing *out)
{
    duo_shm *shm = out->shm;
    uint64_t head[2] = {out->size, out->total};
    memcpy(shm->line->cells, head, sizeof head);
    shm->byte_at += whole(out->size);
    out->left -= out->size;
    uint64_t more = out->left > 0 ? DUO_SHM_MORE : 0;
    if (!publish(shm, shm->parity | out->word | more | DUO_SHM_FULL, out->ways)) {
        out->status = DUO_CLOSED;
        return false;
    }
    return true;
}

static bool next_fragment(duo_wire_writer *writer)
{
    outgoing *out = (outgoing *)(void *)writer;
    if (!end_fragment(out)) return false;
    begin_line(out->shm);
    return begin_fragment(out);
}

/* Sends a message that does not fit into a line. */
static duo_status send_long(duo_shm *shm, const duo_message *message, const duo_wire *wire,
                            const void *entries, size_t size)
{
    outgoing out = {{NULL, NULL, next_fragment}, shm, size, size, 0, 0, in_vain(message), DUO_OK};
    out.word = DUO_SHM_LONG | 1 << DUO_SHM_COUNT_SHIFT |
               (uint64_t)message->index << DUO_SHM_TAG_SHIFT;
    if (begin_fragment(&out) && duo_wire_encode(wire, entries, &out.writer)) end_fragment(&out);
    return out.status;
}

/* Whether a long message can be sent without waiting. */
static bool has_room_for(duo_shm *shm, size_t size)
{
    if (size > shm->byte_count / 2) return false;
    uint64_t taken = atomic_load_explicit(&shm->peer->bytes_taken, memory_order_acquire);
    if (taken <= shm->byte_at && taken + shm->byte_count > shm->byte_limit)
        shm->byte_limit = taken + shm->byte_count;
    taken = atomic_load_explicit(&shm->peer->lines_taken, memory_order_acquire);
    if (taken < shm->line_at && taken + shm->line_count > shm->line_limit)
        shm->line_limit = taken + shm->line_count;
    /* No fragment but the last, and the one at the end of the ring, is short. */
    uint64_t least = shm->byte_count / 4 < DUO_SHM_FRAGMENT ? shm->byte_count / 4 : DUO_SHM_FRAGMENT;
    uint64_t lines = size / least + 2;
    return shm->byte_at + whole(size) + DUO_LINE <= shm->byte_limit &&
           shm->line_at + lines <= shm->line_limit;
}

static inline const duo_wire_message *wire_of(const duo_shm *shm, const duo_message *message)
{
    return &shm->protocol->wires[message - shm->protocol->messages];
}

/* The handle that follows. */
static inline void follow(duo_endpoint from, duo_endpoint *next)
{
    next->session = from.session;
    next->turn = from.turn + 2;
}

/*
 * The same in one store: callers copy the endpoint out of a message in one load, which would have to wait
 * for two stores to reach the cache.
 */
static inline void follow_at_once(duo_endpoint from, char *place)
{
#if defined(__GNUC__) && UINTPTR_MAX == UINT64_MAX
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair next = {(uint64_t)(uintptr_t)from.session, from.turn + 2};
#else
    duo_endpoint next;
    follow(from, &next);
#endif
    memcpy(place, &next, sizeof next);
}

/* Uses up a handle; false if it was used before. */
static inline bool claim(duo_shm *shm, duo_endpoint from)
{
    duo_side *side = &shm->remote.session.sides[from.turn & 1];
    uint64_t turn = from.turn;
#ifdef DUO_CHECKED
    return atomic_compare_exchange_strong_explicit(&side->turn, &turn, turn + 2,
                                                   memory_order_relaxed, memory_order_relaxed);
#else
    if (atomic_load_explicit(&side->turn, memory_order_relaxed) != turn) return false;
    atomic_store_explicit(&side->turn, turn + 2, memory_order_relaxed);
    return true;
#endif
}

static void unclaim(duo_shm *shm, duo_endpoint from)
{
    duo_side *side = &shm->remote.session.sides[from.turn & 1];
    atomic_store_explicit(&side->turn, from.turn, memory_order_relaxed);
}

static duo_status give_back(duo_shm *shm, duo_endpoint from, duo_status status)
{
    unclaim(shm, from);
    return status;
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
    if (shm->count == 0 && !has_line(shm)) {
        duo_status status = duo_shm_await(shm, has_line, wait);
        if (status == DUO_EMPTY) return give_back(shm, from, DUO_FULL);
        if (status != DUO_OK) return ended(shm, status, next);
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
        if (!publish(shm, word, in_vain(message))) return ended(shm, DUO_CLOSED, next);
        if (message->edge == DUO_STAY) {
            if (is_full) begin_line(shm);
            follow(from, next);
            return DUO_OK;
        }
    } else {
        if (wait == DUO_AT_ONCE && !has_room_for(shm, size)) return give_back(shm, from, DUO_FULL);
        duo_status status = send_long(shm, message, wire->entries, entries, size);
        if (status != DUO_OK) return ended(shm, status, next);
        if (message->edge == DUO_STAY) {
            begin_line(shm);
            follow(from, next);
            return DUO_OK;
        }
    }
    if (message->edge == DUO_END) {
        ended(shm, DUO_OK, next);
        return DUO_OK;
    }
    duo_shm_begin_run(shm);
    follow(from, next);
    return DUO_OK;
}

/* The last steps of a send or a receive, to be jumped to. */
NOT_INLINE static duo_status goes_on(duo_shm *shm)
{
    begin_line(shm);
    return DUO_OK;
}

NOT_INLINE static duo_status turns(duo_shm *shm)
{
    duo_shm_begin_run(shm);
    return DUO_OK;
}

/* The peer sleeps, or has left: behind a message that was stored, when all else is done. */
NOT_INLINE static duo_status told(duo_shm *shm, duo_status status, uint32_t flags,
                                  duo_endpoint *next)
{
    duo_shm_wake(shm);
    return flags & (DUO_SHM_LEFT | DUO_SHM_DONE) ? ended(shm, DUO_CLOSED, next) : status;
}

/* A number in a line that has room: what dialogues mostly consist of, and the first of a line in a stream. */
NOT_INLINE static duo_status send_number(duo_endpoint from, const duo_message *message,
                                         const void *entries, uint64_t wait, duo_endpoint *next)
{
    duo_shm *shm = shm_of(from);
    settle(shm);
    const duo_wire_message *wire = wire_of(shm, message);
    bool is_plain = is_little_endian() && wire->flat == 8 && shm->cells < DUO_SHM_CELLS &&
                    shm->line_at <= shm->line_limit && message->edge != DUO_END;
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
        if (message->edge == DUO_TURN) turns(shm);
        else if (is_full) goes_on(shm);
        return told(shm, DUO_OK, flags, next);
    }
    if (message->edge == DUO_TURN) return turns(shm);
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
static duo_status shm_send(duo_endpoint from, const duo_message *message, const void *entries,
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

/* What every generated message type begins with. */
typedef struct arrival {
    unsigned tag;
    void *block;
} arrival;

static duo_status nothing(duo_status status, void *message)
{
    const arrival none = {0, NULL};
    memcpy(message, &none, sizeof none);
    return status;
}

static inline bool is_fresh(const duo_shm *shm, uint64_t word)
{
    return ((word ^ shm->parity) & DUO_SHM_PARITY) == 0 &&
           ((word >> DUO_SHM_COUNT_SHIFT) & 7) > shm->count;
}

static bool has_message(duo_shm *shm)
{
    return is_fresh(shm, atomic_load_explicit(&shm->line->word, memory_order_acquire));
}

/* As receiver: says what has been done with, and wakes a sender that waits for it. */
static void show_room(duo_shm *shm)
{
    /* The line that was begun last is not done with. */
    atomic_store_explicit(&shm->own->lines_taken, shm->line_at - 1, memory_order_release);
    atomic_store_explicit(&shm->own->bytes_taken, shm->byte_at, memory_order_release);
    if (duo_shm_peer_flags(shm) & DUO_SHM_ASLEEP) duo_shm_wake(shm);
}

/* As receiver: goes to the next line, and every quarter of the ring says so. */
static inline void end_line(duo_shm *shm)
{
    begin_line(shm);
    if (((shm->line_at - 1) & (shm->line_count / 4 - 1)) == 0) show_room(shm);
}

/* Puts a decoded message together. Takes over `bytes`, a block, if it is given; else copies `size` bytes. */
static duo_status assemble(const duo_wire *wire, char *block, const char *bytes, size_t size,
                           size_t room, char *entries, arrival *arrived)
{
    if (block == NULL || room > 0) {
        /* Items first, since they need alignment; then the bytes that text points into. */
        char *whole_block = duo_allocate(room + size > 0 ? room + size : 1);
        if (whole_block == NULL) return DUO_NO_MEMORY;
        if (bytes != NULL) memcpy(whole_block + room, bytes, size);
        if (block != NULL) duo_release(block);
        block = whole_block;
    }
    duo_wire_decode(wire, (const uint8_t *)block + room, entries, block);
    arrived->block = block;
    return DUO_OK;
}

/* One part more of a long message: DUO_OK if it is whole, DUO_EMPTY if not. */
static duo_status take_fragment(duo_shm *shm, uint64_t word)
{
    uint64_t head[2];
    memcpy(head, shm->line->cells, sizeof head);
    copied();
    uint64_t place = (shm->byte_at - shm->byte_run) & (shm->byte_count - 1);
    if (!shm->is_arriving) {
        if (head[1] > shm->takes || head[1] == 0) return DUO_BROKEN;
        shm->arriving = duo_allocate((size_t)head[1]);
        if (shm->arriving == NULL) return DUO_NO_MEMORY;
        shm->is_arriving = true;
        shm->arriving_size = (size_t)head[1];
        shm->arrived = 0;
        shm->arriving_tag = (unsigned)(word >> DUO_SHM_TAG_SHIFT) & 0xff;
    }
    size_t left = shm->arriving_size - shm->arrived;
    if (head[0] == 0 || head[0] > left || head[0] > shm->byte_count - place) return DUO_BROKEN;
    if (((word & DUO_SHM_MORE) != 0) != (head[0] < left)) return DUO_BROKEN;
    memcpy(shm->arriving + shm->arrived, shm->bytes + place, (size_t)head[0]);
    copied();
    shm->byte_at += whole(head[0]);
    shm->arrived += (size_t)head[0];
    if (head[0] == left) return DUO_OK;
    begin_line(shm);
    show_room(shm);
    return DUO_EMPTY;
}

/* The entries of a long message that is whole. */
static duo_status decode_long(duo_shm *shm, const duo_message *kind, const duo_wire *wire,
                              char *entries, arrival *arrived)
{
    const uint8_t *bytes = (const uint8_t *)shm->arriving;
    size_t taken, room;
    if (wire == NULL) return DUO_BROKEN;
    if (!duo_wire_check(wire, bytes, shm->arriving_size, &taken, &room)) return DUO_BROKEN;
    if (taken != shm->arriving_size) return DUO_BROKEN;
    duo_status status = DUO_OK;
    if (kind->type != NULL && kind->type->spreads) {
        status = assemble(wire, shm->arriving, shm->arriving, shm->arriving_size, room, entries,
                          arrived);
    } else {
        duo_wire_decode(wire, bytes, entries, NULL);
        duo_release(shm->arriving);
    }
    if (status != DUO_OK) return status;
    shm->arriving = NULL;
    shm->is_arriving = false;
    return DUO_OK;
}

/* The entries of a message in cells; how many cells it took. */
static duo_status decode_short(duo_shm *shm, const duo_message *kind, const duo_wire *wire,
                               char *entries, arrival *arrived, unsigned *cells)
{
    char bytes[DUO_SHM_CELLS * 8];
    size_t size = (DUO_SHM_CELLS - shm->cells) * 8, taken, room;
    memcpy(bytes, shm->line->cells + shm->cells * 8, size);
    copied();
    if (!duo_wire_check(wire, (const uint8_t *)bytes, size, &taken, &room)) return DUO_BROKEN;
    *cells = (unsigned)(taken + 7) / 8;
    if (kind->type == NULL || !kind->type->spreads) {
        duo_wire_decode(wire, (const uint8_t *)bytes, entries, NULL);
        return DUO_OK;
    }
    return assemble(wire, NULL, bytes, taken, room, entries, arrived);
}

/* Waits for a message, all parts of it: DUO_OK, or what ends the waiting. */
static duo_status await_message(duo_shm *shm, uint64_t wait)
{
    bool is_limited = wait != DUO_AT_ONCE && wait != DUO_FOREVER;
    uint64_t begin = is_limited ? duo_shm_now() : 0;
    uint64_t left = wait;
    for (;;) {
        if (shm->is_arriving && shm->arrived == shm->arriving_size) return DUO_OK;
        duo_status status = duo_shm_await(shm, has_message, left);
        if (status != DUO_OK) return status;
        uint64_t word = atomic_load_explicit(&shm->line->word, memory_order_acquire);
        if (!shm->is_arriving && !(word & DUO_SHM_LONG)) return DUO_OK;
        if (!(word & DUO_SHM_LONG) || ((word >> DUO_SHM_COUNT_SHIFT) & 7) != 1) return DUO_BROKEN;
        status = take_fragment(shm, word);
        if (status != DUO_EMPTY) return status;
        if (!is_limited) continue;
        uint64_t passed = duo_shm_now() - begin;
        if (passed >= wait) return DUO_EMPTY;
        left = wait - passed;
    }
}

/* Receives any message; the handle was claimed. */
NOT_INLINE static duo_status recv_any(duo_endpoint from, const duo_state *state, uint64_t wait,
                                      void *message)
{
    duo_shm *shm = shm_of(from);
    uint64_t word = atomic_load_explicit(&shm->line->word, memory_order_acquire);
    if (!is_fresh(shm, word) || (word & DUO_SHM_LONG)) {
        duo_status status = await_message(shm, wait);
        if (status == DUO_EMPTY || status == DUO_NO_MEMORY) {
            unclaim(shm, from);
            return nothing(status, message);
        }
        if (status != DUO_OK) return nothing(ended(shm, status, NULL), message);
        word = atomic_load_explicit(&shm->line->word, memory_order_acquire);
        /* A word that went back to what it was is none that a sound peer writes. */
        if (!is_fresh(shm, word)) return nothing(ended(shm, DUO_BROKEN, NULL), message);
    }
    unsigned tag = shm->is_arriving
                       ? shm->arriving_tag
                       : (unsigned)(word >> (DUO_SHM_TAG_SHIFT + 8 * shm->count)) & 0xff;
    if (tag >= shm->protocol->counts[state - shm->protocol->states])
        return nothing(ended(shm, DUO_BROKEN, NULL), message);
    const duo_message *kind = &state->messages[tag];
    const duo_wire_message *wire = &shm->protocol->wires[kind - shm->protocol->messages];
    char *entries = (char *)message + state->entries;
    arrival arrived = {tag + 1, NULL};
    unsigned cells = 0;
    duo_status status = DUO_OK;
    bool was_long = shm->is_arriving;
    if (was_long) {
        status = decode_long(shm, kind, wire->entries, entries, &arrived);
    } else if (wire->flat != 0 && is_little_endian()) {
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
    if (status != DUO_OK) return nothing(ended(shm, status, NULL), message);
    memcpy(message, &arrived, sizeof arrived);
    duo_endpoint next = {NULL, 0};
    if (kind->edge == DUO_END) {
        if (kind->next != NULL) memcpy(entries + kind->size, &next, sizeof next);
        ended(shm, DUO_OK, NULL);
        return DUO_OK;
    }
    follow(from, &next);
    memcpy(entries + kind->size, &next, sizeof next);
    if (kind->edge == DUO_TURN) {
        duo_shm_begin_run(shm);
        return DUO_OK;
    }
    shm->count += 1;
    shm->cells += cells;
    if (was_long) {
        begin_line(shm);
        show_room(shm);
    } else if ((word & DUO_SHM_FULL) && ((word >> DUO_SHM_COUNT_SHIFT) & 7) == shm->count) {
        end_line(shm);
    }
    return DUO_OK;
}

NOT_INLINE static duo_status line_ends(duo_shm *shm)
{
    end_line(shm);
    return DUO_OK;
}

/* How many messages behind this one are in the word, of its tag, and not the last of a line that is full. */
static inline uint64_t seen_alike(uint64_t word, unsigned count)
{
    unsigned all = (unsigned)(word >> DUO_SHM_COUNT_SHIFT) & 7;
    if (word & DUO_SHM_FULL) all -= 1;
    uint64_t tags = word >> (DUO_SHM_TAG_SHIFT + 8 * count);
    uint64_t alike = 0;
    for (unsigned at = count + 1; at < all && ((tags ^ tags >> 8) & 0xff) == 0; at++) {
        tags >>= 8;
        alike += 1;
    }
    return alike;
}

/* A number that is already there. What is anything else, `recv_any` looks at anew. */
NOT_INLINE static duo_status recv_number(duo_endpoint from, const duo_state *state, uint64_t wait,
                                         void *message)
{
    duo_shm *shm = shm_of(from);
    settle(shm);
    uint64_t word = atomic_load_explicit(&shm->line->word, memory_order_acquire);
    if (wait != DUO_AT_ONCE) {
        /* In a dialogue the answer is about to come. */
        for (int looks = 0; looks < LOOKS && !is_fresh(shm, word); looks++) {
            duo_shm_relax();
            word = atomic_load_explicit(&shm->line->word, memory_order_acquire);
        }
    }
    if (!is_fresh(shm, word) || (word & DUO_SHM_LONG)) return recv_any(from, state, wait, message);
    const duo_wire_protocol *protocol = shm->protocol;
    unsigned count = shm->count, cells = shm->cells;
    unsigned tag = (unsigned)(word >> (DUO_SHM_TAG_SHIFT + 8 * count)) & 0xff;
    if (tag >= protocol->counts[state - protocol->states] || cells == DUO_SHM_CELLS)
        return recv_any(from, state, wait, message);
    const duo_message *kind = &state->messages[tag];
    if (!is_little_endian() || wire_of(shm, kind)->flat != 8 || kind->edge == DUO_END)
        return recv_any(from, state, wait, message);
    char *entries = (char *)message + state->entries;
    arrival arrived = {tag + 1, NULL};
    memcpy(message, &arrived, sizeof arrived);
    memcpy(entries, shm->line->cells + cells * 8, 8);
    follow_at_once(from, entries + kind->size);
    if (kind->edge == DUO_TURN) return turns(shm);
    shm->count = count + 1;
    shm->cells = cells + 1;
    if ((word & DUO_SHM_FULL) && ((word >> DUO_SHM_COUNT_SHIFT) & 7) == count + 1)
        return line_ends(shm);
    if (kind->next == state) {
        uint64_t alike = seen_alike(word, count), room = DUO_SHM_CELLS - shm->cells;
        expect(shm, alike < room ? alike : room, state, tag + 1);
        shm->plain_next = kind->size;
    }
    return DUO_OK;
}

/* One more number like the one before it, which was seen with it. */
static duo_status shm_recv(duo_endpoint from, const duo_state *state, uint64_t wait, void *message)
{
    duo_shm *shm = shm_of(from);
    if (!claim(shm, from)) return nothing(DUO_USED, message);
    if (shm->alike == 0 || shm->plain != state) return recv_number(from, state, wait, message);
    char *entries = (char *)message + state->entries;
    arrival arrived = {(unsigned)shm->plain_tag, NULL};
    memcpy(message, &arrived, sizeof arrived);
    memcpy(entries, shm->place, 8);
    follow_at_once(from, entries + shm->plain_next);
    shm->alike -= 1;
    shm->place += 8;
    return DUO_OK;
}

static duo_status shm_close(duo_endpoint endpoint, const duo_state *state)
{
    (void)state;
    duo_shm *shm = shm_of(endpoint);
    if (!claim(shm, endpoint)) return DUO_USED;
    duo_shm_leave(shm, DUO_SHM_LEFT);
    return DUO_OK;
}

const duo_transport duo_shm_transport = {shm_send, shm_recv, shm_close};
