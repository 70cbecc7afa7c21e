/*
 * Tags in memory, of received messages and of enums. A compiler may give an enum fewer bytes than an `int` has
 * (`-fshort-enums`, which is the default of arm-none-eabi), so the generated tables contain the number of bytes. The
 * program and its tables are compiled by the same compiler in the same way; nothing here depends on how the runtime
 * itself was compiled.
 */
#ifndef DUOLOGUE_TAG_H
#define DUOLOGUE_TAG_H

#include <string.h>

#include "duologue/tables.h"

/*
 * The beginning of every generated message type. Only the first bytes of `tag` are the message's tag, see
 * `duo_tag_word`.
 */
typedef struct arrival {
    unsigned tag;
    void *block;
} arrival;

/* Zeroes the tag where no message was received. */
static inline duo_status nothing(duo_status status, void *message)
{
    arrival none = {0, NULL};
    memcpy(message, &none, sizeof none);
    return status;
}

/* Reads a tag of `size` bytes. */
static inline unsigned tag_at(const void *place, size_t size)
{
    if (size == sizeof(uint8_t)) return *(const uint8_t *)place;
    if (size == sizeof(uint16_t)) {
        uint16_t tag;
        memcpy(&tag, place, sizeof tag);
        return tag;
    }
    unsigned tag;
    memcpy(&tag, place, sizeof tag);
    return tag;
}

/* Writes a tag of `size` bytes, and nothing else. */
static inline void put_tag(void *place, size_t size, unsigned tag)
{
    unsigned word = duo_tag_word(tag, size);
    memcpy(place, &word, size);
}

#endif
