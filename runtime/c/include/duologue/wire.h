/*
 * duologue/wire.h: how generated C describes, to the runtime, the values that leave the process.
 * Programs have no use for it. docs/wire.md defines the encoding.
 */
#ifndef DUOLOGUE_WIRE_H
#define DUOLOGUE_WIRE_H

#include "duologue/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum duo_wire_kind {
    /* `size` bytes, little-endian on the wire. */
    DUO_WIRE_NUMBER,
    DUO_WIRE_BOOL,
    /* `{const char *data; size_t size;}` */
    DUO_WIRE_TEXT,
    /* The same, for any bytes. */
    DUO_WIRE_BYTES,
    /* The same, for larger items; the only part is the item. */
    DUO_WIRE_LIST,
    /* `{bool some; T value;}`; the only part is the value. */
    DUO_WIRE_OPTION,
    /* Parts in sequence: structs, tuples, the entries of a message. */
    DUO_WIRE_STRUCT,
    /* `{enum tag; union as;}`, the tag counted from 1; each part belongs to one variant. */
    DUO_WIRE_ENUM,
    /* Text, bytes or a list of at most `count` items; the only part is the same without a bound. */
    DUO_WIRE_LENGTH,
    /* A payload of at most `count` bytes on the wire; the only part is the same without a limit. */
    DUO_WIRE_LIMIT,
    /* `{uint16_t size; char data[];}` of at most `count` bytes */
    DUO_WIRE_INLINE_TEXT,
    /* The same, for any bytes. */
    DUO_WIRE_INLINE_BYTES,
    /* The same, of at most `count` larger items; the only part is the item, at the offset of `data`. */
    DUO_WIRE_INLINE_LIST
} duo_wire_kind;

struct duo_wire;

/* A part of a value. */
typedef struct duo_wire_part {
    const struct duo_wire *wire;
    size_t offset;
    /* In an enum: the tag to which this part belongs. */
    unsigned variant;
} duo_wire_part;

/* How values of a type are encoded. */
typedef struct duo_wire {
    duo_wire_kind kind;
    /* The size in memory. */
    size_t size;
    /* The smallest size of a value on the wire. */
    size_t least;
    /* In wire order; the parts of one variant are adjacent. */
    const duo_wire_part *parts;
    size_t count;
    /* For an enum: how many variants it has, and how many bytes its tag has in memory. */
    unsigned variants;
    unsigned char tag_size;
} duo_wire;

/* In place of a size: the encodings of the type have no maximum. */
#define DUO_WIRE_UNBOUNDED UINT64_MAX

/* One message of one state; at the same index as its `duo_message`. */
typedef struct duo_wire_message {
    /* The entries; NULL if there are none. */
    const duo_wire *entries;
    /*
     * If not 0: the entries are numbers without gaps between them, with this many bytes in total.
     * On a little-endian machine their encoding is the same as their layout in memory.
     */
    size_t flat;
    /*
     * The number of 8-byte units that the largest message that can follow in the same direction
     * takes: 7 if that message is larger, or of unbounded size.
     */
    unsigned char follow;
    /* The smallest and the largest encoding of its entries. If they are equal, its size is not sent over a stream. */
    uint64_t least;
    uint64_t most;
} duo_wire_message;

/* What the runtime needs to know about a protocol that leaves the process. */
typedef struct duo_wire_protocol {
    const duo_state *states;
    /* For each state, how many messages it has. */
    const unsigned short *counts;
    const duo_message *messages;
    const duo_wire_message *wires;
    duo_fingerprint fingerprint;
    /* Which side sends first. */
    duo_role first;
    /* Its name with its package, of at most 255 bytes; for logs. */
    const char *name;
    /* For each state, how long its receiver waits for a message, in milliseconds, or 0; NULL if no state has a limit. */
    const uint32_t *within;
    /* For observers of sessions over sockets: the names of `states` and `messages`; NULL if there are none. */
    const char *const *state_names;
    const char *const *message_names;
    /* For each role, the fingerprints of older versions that it accepts: `#[accepts(...)]` in the protocol file. */
    const duo_fingerprint *accepts[2];
    size_t accepts_count[2];
} duo_wire_protocol;

/* Numbers without gaps, up to the end of the last one: their size, or 0 if there are gaps. */
#define DUO_WIRE_FLAT(end, size) ((end) == (size) ? (size) : 0)

#ifdef __cplusplus
}
#endif

#endif
