/* Messages that do not fit into a line: they are sent in fragments. */
#include "lines.h"

/* The usual size of a fragment. Only the last one, and the one at the end of the ring, may be smaller. */
static uint64_t usual_fragment(const duo_shm *shm)
{
    return shm->byte_count / 4 < DUO_SHM_FRAGMENT ? shm->byte_count / 4 : DUO_SHM_FRAGMENT;
}

/* As sender: the size of the next fragment if `left` bytes remain. */
static uint64_t fragment_of(const duo_shm *shm, uint64_t left)
{
    uint64_t place = (shm->byte_at - shm->byte_run) & (shm->byte_count - 1);
    uint64_t most = usual_fragment(shm);
    uint64_t straight = shm->byte_count - place;
    if (most > straight) most = straight;
    return left < most ? left : most;
}

static bool has_bytes(duo_shm *shm)
{
    if (!has_line(shm)) return false;
    uint64_t wanted = shm->byte_at + whole(fragment_of(shm, shm->outgoing));
    if (wanted <= shm->byte_limit) return true;
    uint64_t taken = duo_atomic_load(&shm->peer->bytes_taken, memory_order_acquire);
    if (taken <= shm->byte_at) shm->byte_limit = taken + shm->byte_count;
    return wanted <= shm->byte_limit;
}

/* A long message that is being sent: fragments are written where the receiver has already read. */
typedef struct outgoing {
    duo_wire_writer writer;
    duo_shm *shm;
    uint64_t total;
    uint64_t left;
    /* The fragment that is being written. */
    uint64_t size;
    uint64_t word;
    /* How the peer has disconnected. */
    uint32_t gone;
    uint64_t until;
    duo_status status;
} outgoing;

static bool begin_fragment(outgoing *out)
{
    duo_shm *shm = out->shm;
    shm->outgoing = out->left;
    out->status = duo_shm_await(shm, has_bytes, duo_left(out->until));
    if (out->status == DUO_EMPTY) out->status = DUO_FULL;
    if (out->status != DUO_OK) return false;
    out->size = fragment_of(shm, out->left);
    out->writer.at = shm->bytes + ((shm->byte_at - shm->byte_run) & (shm->byte_count - 1));
    out->writer.end = out->writer.at + out->size;
    return true;
}

static void end_fragment(outgoing *out)
{
    duo_shm *shm = out->shm;
    uint64_t head[2] = {out->size, out->total};
    memcpy(shm->line->cells, head, sizeof head);
    shm->byte_at += whole(out->size);
    out->left -= out->size;
    uint64_t more = out->left > 0 ? DUO_SHM_MORE : 0;
    out->gone = publish_line(shm, shm->parity | out->word | more | DUO_SHM_FULL);
}

static bool next_fragment(duo_wire_writer *writer)
{
    outgoing *out = (outgoing *)(void *)writer;
    end_fragment(out);
    if (out->gone != 0) {
        out->status = DUO_CLOSED;
        return false;
    }
    begin_line(out->shm);
    return begin_fragment(out);
}

duo_status duo_shm_send_long(duo_shm *shm, const duo_message *message, const duo_wire *wire,
                             const void *entries, size_t size, uint64_t until, uint32_t *gone)
{
    outgoing out = {{NULL, NULL, next_fragment}, shm, size, size, 0, 0, 0, until, DUO_OK};
    out.word = DUO_SHM_LONG | 1 << DUO_SHM_COUNT_SHIFT |
               (uint64_t)message->index << DUO_SHM_TAG_SHIFT;
    if (begin_fragment(&out) && duo_wire_encode(wire, entries, &out.writer)) end_fragment(&out);
    if (out.status == DUO_FULL && out.left < size) {
        shm->is_withdrawn = true;
        shm->cells = DUO_SHM_CELLS;
    }
    *gone = out.gone;
    return out.status;
}

duo_status duo_shm_withdraw(duo_shm *shm, uint64_t wait)
{
    duo_status status = duo_shm_await(shm, has_line, wait);
    if (status != DUO_OK) return status;
    memset(shm->line->cells, 0, 2 * sizeof(uint64_t));
    uint64_t word = shm->parity | DUO_SHM_LONG | 1 << DUO_SHM_COUNT_SHIFT | DUO_SHM_FULL;
    if (publish_line(shm, word) != 0) return DUO_CLOSED;
    shm->is_withdrawn = false;
    begin_line(shm);
    return DUO_OK;
}

/*
 * Lines for the fragments of a message, including the one at the end of the ring, and one for a message that was
 * given up before.
 */
static uint64_t lines_of(const duo_shm *shm, uint64_t size)
{
    return size / usual_fragment(shm) + 3;
}

/*
 * The largest message that is sent without waiting. There is space for it whenever the receiver has read
 * everything, although the receiver may have reported less than that, by up to a quarter of the lines.
 */
static uint64_t largest_at_once(const duo_shm *shm)
{
    uint64_t lines = (shm->line_count - shm->line_count / 4 - 3) * usual_fragment(shm);
    return lines < shm->byte_count / 2 ? lines : shm->byte_count / 2;
}

static bool has_all_credit(duo_shm *shm)
{
    return duo_shm_has_credit_for(shm, (size_t)largest_at_once(shm));
}

duo_status duo_shm_check_credit(duo_shm *shm)
{
    shm->is_unfinished = false;
    duo_status status = shm->is_met ? DUO_OK : duo_shm_meet(shm, DUO_AT_ONCE);
    return status == DUO_OK ? duo_shm_await(shm, has_all_credit, DUO_AT_ONCE) : status;
}

bool duo_shm_has_credit_for(duo_shm *shm, size_t size)
{
    if (size > largest_at_once(shm)) return false;
    uint64_t taken = duo_atomic_load(&shm->peer->bytes_taken, memory_order_acquire);
    if (taken <= shm->byte_at && taken + shm->byte_count > shm->byte_limit)
        shm->byte_limit = taken + shm->byte_count;
    taken = duo_atomic_load(&shm->peer->lines_taken, memory_order_acquire);
    if (taken < shm->line_at && taken + shm->line_count > shm->line_limit)
        shm->line_limit = taken + shm->line_count;
    return shm->byte_at + whole(size) + DUO_LINE <= shm->byte_limit &&
           shm->line_at + lines_of(shm, size) <= shm->line_limit;
}

duo_status duo_shm_assemble(const duo_shm *shm, const duo_wire *wire, char *buffer, const char *bytes, size_t size,
                            size_t space, char *entries, arrival *arrived)
{
    const duo_allocator *allocator = shm->remote.session.allocator;
    void *block = buffer;
    if (buffer == NULL || space > 0 || allocator != NULL) {
        /* Items first, since they need alignment; then the bytes that text points into. */
        block = duo_allocate_block(allocator, space + size > 0 ? space + size : 1);
        if (block == NULL) return DUO_NO_MEMORY;
        if (bytes != NULL) memcpy((char *)duo_in_block(block) + space, bytes, size);
        if (buffer != NULL) duo_release(buffer);
    }
    char *inside = duo_in_block(block);
    duo_wire_decode(wire, (const uint8_t *)inside + space, entries, inside);
    arrived->block = block;
    return DUO_OK;
}

duo_status duo_shm_take_fragment(duo_shm *shm, uint64_t word)
{
    uint64_t head[2];
    memcpy(head, shm->line->cells, sizeof head);
    copied();
    uint64_t place = (shm->byte_at - shm->byte_run) & (shm->byte_count - 1);
    bool is_withdrawn = head[0] == 0 && head[1] == 0 && !(word & DUO_SHM_MORE);
    if (shm->is_arriving && is_withdrawn) {
        duo_release(shm->arriving);
        shm->arriving = NULL;
        shm->is_arriving = false;
        begin_line(shm);
        duo_shm_report_credit(shm);
        return DUO_EMPTY;
    }
    if (!shm->is_arriving) {
        if (head[1] > shm->takes || head[1] == 0) return DUO_BROKEN;
        if (!duo_shm_allows(shm, 0, (size_t)head[1])) return DUO_TOO_LARGE;
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
    duo_shm_report_credit(shm);
    return DUO_EMPTY;
}

duo_status duo_shm_decode_long(duo_shm *shm, const duo_message *kind, const duo_wire *wire,
                               char *entries, arrival *arrived)
{
    const uint8_t *bytes = (const uint8_t *)shm->arriving;
    size_t taken, space;
    if (wire == NULL) return DUO_BROKEN;
    if (!duo_wire_check(wire, bytes, shm->arriving_size, &taken, &space)) return DUO_BROKEN;
    if (taken != shm->arriving_size) return DUO_BROKEN;
    duo_status status = DUO_OK;
    if (kind->type != NULL && kind->type->spreads) {
        if (!duo_shm_allows(shm, space, shm->arriving_size)) return DUO_TOO_LARGE;
        status = duo_shm_assemble(shm, wire, shm->arriving, shm->arriving, shm->arriving_size, space,
                                  entries, arrived);
    } else {
        duo_wire_decode(wire, bytes, entries, NULL);
        duo_release(shm->arriving);
    }
    if (status != DUO_OK) return status;
    shm->arriving = NULL;
    shm->is_arriving = false;
    return DUO_OK;
}
