/*
 * duologue/wire.h: what generated C tells the runtime about values that leave the process. Programs
 * have no use for it. The encoding is that of docs/wire.md.
 */
#ifndef DUOLOGUE_WIRE_H
#define DUOLOGUE_WIRE_H

#include "duologue/generated.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum duo_wire_kind {
    /* So many bytes, little-endian on the wire. */
    DUO_WIRE_NUMBER,
    DUO_WIRE_BOOL,
    /* `{const char *data; size_t size;}` */
    DUO_WIRE_TEXT,
    /* The same, of any bytes. */
    DUO_WIRE_BYTES,
    /* The same, of larger items; the one part is the item. */
    DUO_WIRE_LIST,
    /* `{bool some; T value;}`; the one part is the value. */
    DUO_WIRE_OPTION,
    /* Parts one after the other: structs, tuples, the entries of a message. */
    DUO_WIRE_STRUCT,
    /* `{enum tag; union as;}`, the tag counted from 1; each part belongs to one variant. */
    DUO_WIRE_ENUM
} duo_wire_kind;

struct duo_wire;

/* A part of a value. */
typedef struct duo_wire_part {
    const struct duo_wire *wire;
    size_t offset;
    /* Of an enum: the tag that this part goes with. */
    unsigned variant;
} duo_wire_part;

/* How values of a type are encoded. */
typedef struct duo_wire {
    duo_wire_kind kind;
    /* In memory. */
    size_t size;
    /* No value takes fewer bytes on the wire. */
    size_t least;
    /* In the order of the wire; those of one variant stand together. */
    const duo_wire_part *parts;
    size_t count;
    /* Of an enum: how many, and how many bytes its tag has in memory. */
    unsigned variants;
    unsigned char tag_size;
} duo_wire;

/* One message of one state; at the place of its `duo_message`. */
typedef struct duo_wire_message {
    /* The entries; NULL if there are none. */
    const duo_wire *entries;
    /*
     * If not 0: the entries are numbers without gaps between them, so many bytes in all. On a
     * little-endian machine they are encoded as they lie in memory.
     */
    size_t flat;
    /*
     * How many units of 8 bytes the largest message takes that can follow in the same direction:
     * 7 if it is larger than that, or of any size.
     */
    unsigned char follow;
} duo_wire_message;

/* What the runtime has to know of a protocol that leaves the process. */
typedef struct duo_wire_protocol {
    const duo_state *states;
    /* For each state how many messages it has. */
    const unsigned short *counts;
    const duo_message *messages;
    const duo_wire_message *wires;
    duo_fingerprint fingerprint;
    /* Who speaks first. */
    duo_role first;
} duo_wire_protocol;

/* Numbers without gaps, up to the end of the last one: their size, or 0 if there are gaps. */
#define DUO_WIRE_FLAT(end, size) ((end) == (size) ? (size) : 0)

#ifdef __cplusplus
}
#endif

#endif
