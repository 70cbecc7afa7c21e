/* Encoding and decoding of payloads, as docs/wire.md defines them. */
#ifndef DUOLOGUE_WIRE_ROOM_H
#define DUOLOGUE_WIRE_ROOM_H

#include <string.h>

#include "duologue/wire.h"

/* The deepest nesting of lists; deeper values are neither sent nor received. */
enum { DUO_WIRE_DEPTH = 256 };

enum { IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

static inline bool duo_wire_contains(const duo_fingerprint *list, size_t count, const duo_fingerprint *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&list[i], wanted, sizeof *wanted) == 0) return true;
    return false;
}

/* Whether the protocol file says that this side accepts an older fingerprint. */
static inline bool duo_wire_accepts(const duo_wire_protocol *protocol, duo_role role, const duo_fingerprint *theirs)
{
    return duo_wire_contains(protocol->accepts[role], protocol->accepts_count[role], theirs);
}

/* Counts are written in 7 bits to a byte, the lowest first; this many bytes at most. */
enum { DUO_WIRE_COUNT = 10 };

/* Writes a count and returns how many bytes it takes. */
static inline size_t duo_put_count(uint8_t *place, uint64_t count)
{
    size_t size = 0;
    for (; count >= 0x80; count >>= 7) place[size++] = (uint8_t)(count | 0x80);
    place[size++] = (uint8_t)count;
    return size;
}

/* Reads the count at the beginning of these bytes: DUO_OK, DUO_EMPTY if it is not complete, DUO_BROKEN. */
duo_status duo_take_count(const uint8_t *bytes, size_t size, size_t *taken, uint64_t *count);

/* Where encoded bytes go. `more` provides space when `at` has reached `end`; false if there is none. */
typedef struct duo_wire_writer {
    char *at;
    char *end;
    bool (*more)(struct duo_wire_writer *writer);
} duo_wire_writer;

/*
 * The encoded size of a value. DUO_TOO_LARGE if it is too deep, or larger than any memory; DUO_INVALID if it
 * contains a tag that its enum does not have, or text that is not UTF-8.
 */
duo_status duo_wire_measure(const duo_wire *wire, const void *value, size_t *size);

/* Encodes a value that was measured; false once the writer has no space left. */
bool duo_wire_encode(const duo_wire *wire, const void *value, duo_wire_writer *writer);

/*
 * Checks arbitrary bytes that nothing else can change: whether a value begins there, how many bytes
 * it takes, and how much memory the items of its lists take. Text and bytes take none.
 */
bool duo_wire_check(const duo_wire *wire, const uint8_t *bytes, size_t size, size_t *taken,
                    size_t *space);

/*
 * Decodes bytes that were checked. Items of lists go to `space`, which is aligned for any type; views
 * of text and bytes point into `bytes`.
 */
void duo_wire_decode(const duo_wire *wire, const uint8_t *bytes, void *value, char *space);

#endif
