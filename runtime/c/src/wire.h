/* Encoding and decoding of payloads, as docs/wire.md has it. */
#ifndef DUOLOGUE_WIRE_ROOM_H
#define DUOLOGUE_WIRE_ROOM_H

#include "duologue/wire.h"

/* Lists inside lists; what is deeper is neither sent nor taken. */
enum { DUO_WIRE_DEPTH = 256 };

/* Where encoded bytes go. `more` makes room when `at` has come to `end`; false if there is none. */
typedef struct duo_wire_writer {
    char *at;
    char *end;
    bool (*more)(struct duo_wire_writer *writer);
} duo_wire_writer;

/*
 * The encoded size of a value. DUO_TOO_LARGE if it is too deep, or larger than any memory; DUO_INVALID if it has a
 * tag that its enum does not have, or text that is not UTF-8.
 */
duo_status duo_wire_measure(const duo_wire *wire, const void *value, size_t *size);

/* Encodes a value that was measured; false once the writer has no more room. */
bool duo_wire_encode(const duo_wire *wire, const void *value, duo_wire_writer *writer);

/*
 * Checks bytes that nobody else can change, whatever they are: whether a value begins there, how many
 * bytes it takes, and how much room the items of its lists take in memory. Text and bytes take none.
 */
bool duo_wire_check(const duo_wire *wire, const uint8_t *bytes, size_t size, size_t *taken,
                    size_t *room);

/*
 * Decodes bytes that were checked. Items of lists go to `room`, aligned for everything; views of text
 * and bytes point into `bytes`.
 */
void duo_wire_decode(const duo_wire *wire, const uint8_t *bytes, void *value, char *room);

#endif
