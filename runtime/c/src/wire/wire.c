/* Payloads as bytes. Generated tables describe what a value consists of; the walk is as deep as the value is. */
#include "wire.h"

#include <stdalign.h>
#include <string.h>

#include "../floor/tag.h"
#include "../text/text.h"

/* How text, bytes and every generated list begin. */
typedef struct wire_items {
    const char *data;
    size_t size;
} wire_items;

/*
 * The number of items that take no bytes (structs without fields, or of such structs) is not limited
 * by the bytes that are there. They are not walked through, either.
 */
enum { MOST_EMPTY = UINT16_MAX };

static size_t count_size(uint64_t count)
{
    size_t size = 1;
    for (; count >= 0x80; count >>= 7) size += 1;
    return size;
}

static wire_items list_of(const char *value)
{
    wire_items items;
    memcpy(&items, value, sizeof items);
    return items;
}

/* Whether text, bytes or a list are in the value itself, which has space for `wire->count` items. */
static bool is_inline_wire(const duo_wire *wire)
{
    return wire->kind == DUO_WIRE_INLINE_TEXT || wire->kind == DUO_WIRE_INLINE_BYTES ||
           wire->kind == DUO_WIRE_INLINE_LIST;
}

static bool is_text_wire(const duo_wire *wire)
{
    return wire->kind == DUO_WIRE_TEXT || wire->kind == DUO_WIRE_INLINE_TEXT;
}

/* Where the items of an inline value begin: bytes follow their number. */
static size_t inline_data(const duo_wire *wire)
{
    return wire->parts == NULL ? sizeof(uint16_t) : wire->parts->offset;
}

/* Text, bytes or the items of a list, wherever they are. */
static wire_items wire_items_of(const duo_wire *wire, const char *value)
{
    if (!is_inline_wire(wire)) return list_of(value);
    uint16_t size;
    memcpy(&size, value, sizeof size);
    return (wire_items){value + inline_data(wire), size};
}

static bool is_some(const char *value)
{
    uint8_t some;
    memcpy(&some, value, sizeof some);
    return some != 0;
}

/*
 * More space than any memory has. Rounded up, or added once to another such size, it is still far from
 * overflowing a `size_t`; a product is compared with it by a division, before it is computed.
 */
#define WIRE_MUCH (SIZE_MAX / 4)

/* Adds a number of bytes; false if no memory has that many. Many texts may be views of the same bytes. */
static bool add_bytes(size_t *size, size_t more)
{
    if (more > WIRE_MUCH || *size > WIRE_MUCH - more) return false;
    *size += more;
    return true;
}

static duo_status add_count(size_t *size, size_t count)
{
    return add_bytes(size, count_size(count)) ? DUO_OK : DUO_TOO_LARGE;
}

static duo_status measure(const duo_wire *wire, const char *value, size_t depth, size_t *size);

/* The parts of a struct, or of one variant of an enum. */
static duo_status measure_parts(const duo_wire *wire, const char *value, unsigned variant,
                                size_t depth, size_t *size)
{
    for (size_t i = 0; i < wire->count; i++) {
        const duo_wire_part *part = &wire->parts[i];
        if (part->variant != variant) continue;
        duo_status status = measure(part->wire, value + part->offset, depth, size);
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

static duo_status measure_list(const duo_wire *item, wire_items items, size_t depth, size_t *size)
{
    duo_status status = add_count(size, items.size);
    if (depth == DUO_WIRE_DEPTH) return DUO_TOO_LARGE;
    if (item->least == 0) return items.size <= MOST_EMPTY ? status : DUO_TOO_LARGE;
    if (item->kind == DUO_WIRE_NUMBER || item->kind == DUO_WIRE_BOOL) {
        bool fits = items.size <= WIRE_MUCH / item->size && add_bytes(size, items.size * item->size);
        return fits ? status : DUO_TOO_LARGE;
    }
    for (size_t i = 0; i < items.size && status == DUO_OK; i++)
        status = measure(item, items.data + i * item->size, depth + 1, size);
    return status;
}

static duo_status measure(const duo_wire *wire, const char *value, size_t depth, size_t *size)
{
    switch (wire->kind) {
    case DUO_WIRE_NUMBER:
    case DUO_WIRE_BOOL: return add_bytes(size, wire->size) ? DUO_OK : DUO_TOO_LARGE;
    case DUO_WIRE_TEXT:
    case DUO_WIRE_BYTES:
    case DUO_WIRE_INLINE_TEXT:
    case DUO_WIRE_INLINE_BYTES: {
        wire_items bytes = wire_items_of(wire, value);
        if (is_inline_wire(wire) && bytes.size > wire->count) return DUO_INVALID;
        if (!add_bytes(size, bytes.size)) return DUO_TOO_LARGE;
        if (is_text_wire(wire) && !duo_is_utf8((const uint8_t *)bytes.data, bytes.size)) return DUO_INVALID;
        return add_count(size, bytes.size);
    }
    case DUO_WIRE_LIST:
    case DUO_WIRE_INLINE_LIST: {
        wire_items items = wire_items_of(wire, value);
        if (is_inline_wire(wire) && items.size > wire->count) return DUO_INVALID;
        return measure_list(wire->parts->wire, items, depth, size);
    }
    case DUO_WIRE_OPTION: {
        duo_status status = add_count(size, is_some(value));
        if (status != DUO_OK || !is_some(value)) return status;
        return measure(wire->parts->wire, value + wire->parts->offset, depth, size);
    }
    case DUO_WIRE_STRUCT: return measure_parts(wire, value, 0, depth, size);
    case DUO_WIRE_ENUM: {
        unsigned tag = tag_at(value, wire->tag_size);
        if (!duo_is_tag(tag, wire->variants)) return DUO_INVALID;
        duo_status status = add_count(size, tag - 1);
        return status == DUO_OK ? measure_parts(wire, value, tag, depth, size) : status;
    }
    case DUO_WIRE_LENGTH:
        if (list_of(value).size > wire->count) return DUO_TOO_LARGE;
        return measure(wire->parts->wire, value, depth, size);
    case DUO_WIRE_LIMIT: {
        size_t before = *size;
        duo_status status = measure(wire->parts->wire, value, depth, size);
        return status == DUO_OK && *size - before > wire->count ? DUO_TOO_LARGE : status;
    }
    }
    return DUO_INVALID;
}

duo_status duo_wire_measure(const duo_wire *wire, const void *value, size_t *size)
{
    *size = 0;
    return measure(wire, value, 0, size);
}

static bool put(duo_wire_writer *writer, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        size_t space = (size_t)(writer->end - writer->at);
        if (space == 0) {
            if (writer->more == NULL || !writer->more(writer)) return false;
            continue;
        }
        size_t part = size < space ? size : space;
        memcpy(writer->at, from, part);
        writer->at += part;
        from += part;
        size -= part;
    }
    return true;
}

static bool put_count(duo_wire_writer *writer, uint64_t count)
{
    uint8_t bytes[DUO_WIRE_COUNT];
    return put(writer, bytes, duo_put_count(bytes, count));
}

static bool put_number(duo_wire_writer *writer, const char *value, size_t size)
{
    char turned[8];
    if (IS_LITTLE_ENDIAN) return put(writer, value, size);
    for (size_t i = 0; i < size; i++) turned[i] = value[size - 1 - i];
    return put(writer, turned, size);
}

static bool encode(const duo_wire *wire, const char *value, duo_wire_writer *writer)
{
    switch (wire->kind) {
    case DUO_WIRE_NUMBER: return put_number(writer, value, wire->size);
    case DUO_WIRE_BOOL: {
        uint8_t byte = is_some(value);
        return put(writer, &byte, 1);
    }
    case DUO_WIRE_TEXT:
    case DUO_WIRE_BYTES:
    case DUO_WIRE_INLINE_TEXT:
    case DUO_WIRE_INLINE_BYTES: {
        wire_items bytes = wire_items_of(wire, value);
        return put_count(writer, bytes.size) && put(writer, bytes.data, bytes.size);
    }
    case DUO_WIRE_LIST:
    case DUO_WIRE_INLINE_LIST: {
        wire_items items = wire_items_of(wire, value);
        const duo_wire *item = wire->parts->wire;
        if (!put_count(writer, items.size)) return false;
        if (item->kind == DUO_WIRE_NUMBER && IS_LITTLE_ENDIAN)
            return put(writer, items.data, items.size * item->size);
        if (item->least == 0) return true;
        for (size_t i = 0; i < items.size; i++)
            if (!encode(item, items.data + i * item->size, writer)) return false;
        return true;
    }
    case DUO_WIRE_OPTION: {
        uint8_t some = is_some(value);
        if (!put(writer, &some, 1)) return false;
        return some == 0 || encode(wire->parts->wire, value + wire->parts->offset, writer);
    }
    case DUO_WIRE_STRUCT:
        for (size_t i = 0; i < wire->count; i++) {
            const duo_wire_part *part = &wire->parts[i];
            if (!encode(part->wire, value + part->offset, writer)) return false;
        }
        return true;
    case DUO_WIRE_ENUM: {
        unsigned tag = tag_at(value, wire->tag_size);
        if (!put_count(writer, tag - 1)) return false;
        for (size_t i = 0; i < wire->count; i++) {
            const duo_wire_part *part = &wire->parts[i];
            if (part->variant != tag) continue;
            if (!encode(part->wire, value + part->offset, writer)) return false;
        }
        return true;
    }
    case DUO_WIRE_LENGTH:
    case DUO_WIRE_LIMIT: return encode(wire->parts->wire, value, writer);
    }
    return false;
}

bool duo_wire_encode(const duo_wire *wire, const void *value, duo_wire_writer *writer)
{
    return encode(wire, value, writer);
}

/* What is left to read, and the space that has been reserved for items of lists. */
typedef struct reader {
    const uint8_t *at;
    const uint8_t *end;
    size_t space;
} reader;

static size_t left(const reader *from)
{
    return (size_t)(from->end - from->at);
}

duo_status duo_take_count(const uint8_t *bytes, size_t size, size_t *taken, uint64_t *count)
{
    *count = 0;
    for (*taken = 0; *taken < DUO_WIRE_COUNT; *taken += 1) {
        if (*taken == size) return DUO_EMPTY;
        uint8_t byte = bytes[*taken];
        if (*taken == DUO_WIRE_COUNT - 1 && byte > 1) return DUO_BROKEN;
        *count |= (uint64_t)(byte & 0x7f) << (7 * *taken);
        if (byte >= 0x80) continue;
        if (byte == 0 && *taken > 0) return DUO_BROKEN;
        *taken += 1;
        return DUO_OK;
    }
    return DUO_BROKEN;
}

static bool take_count(reader *from, uint64_t *count)
{
    size_t taken;
    if (duo_take_count(from->at, left(from), &taken, count) != DUO_OK) return false;
    from->at += taken;
    return true;
}

static size_t wire_aligned(size_t size)
{
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* Reserves space for items; false if no memory has that much. */
static bool add_items(reader *from, const duo_wire *item, uint64_t count)
{
    /* The count was compared with the remaining bytes, but one byte there may be many in memory. */
    if (item->size != 0 && count > WIRE_MUCH / item->size) return false;
    size_t space = wire_aligned((size_t)count * item->size);
    if (space > WIRE_MUCH || from->space > WIRE_MUCH - space) return false;
    from->space += space;
    return true;
}

static bool check(const duo_wire *wire, reader *from, size_t depth)
{
    switch (wire->kind) {
    case DUO_WIRE_NUMBER:
        if (left(from) < wire->size) return false;
        from->at += wire->size;
        return true;
    case DUO_WIRE_BOOL: return left(from) > 0 && *from->at++ <= 1;
    case DUO_WIRE_TEXT:
    case DUO_WIRE_BYTES:
    case DUO_WIRE_INLINE_TEXT:
    case DUO_WIRE_INLINE_BYTES: {
        uint64_t size;
        if (!take_count(from, &size) || size > left(from)) return false;
        if (is_inline_wire(wire) && size > wire->count) return false;
        if (is_text_wire(wire) && !duo_is_utf8(from->at, (size_t)size)) return false;
        from->at += size;
        return true;
    }
    case DUO_WIRE_LIST:
    case DUO_WIRE_INLINE_LIST: {
        uint64_t count;
        const duo_wire *item = wire->parts->wire;
        if (depth == DUO_WIRE_DEPTH || !take_count(from, &count)) return false;
        if (count > (item->least > 0 ? left(from) / item->least : MOST_EMPTY)) return false;
        if (is_inline_wire(wire) ? count > wire->count : !add_items(from, item, count)) return false;
        if (item->kind == DUO_WIRE_NUMBER) {
            from->at += count * item->size;
            return true;
        }
        if (item->least == 0) return true;
        for (uint64_t i = 0; i < count; i++)
            if (!check(item, from, depth + 1)) return false;
        return true;
    }
    case DUO_WIRE_OPTION: {
        if (left(from) == 0) return false;
        uint8_t some = *from->at++;
        return some == 0 || (some == 1 && check(wire->parts->wire, from, depth));
    }
    case DUO_WIRE_STRUCT:
        for (size_t i = 0; i < wire->count; i++)
            if (!check(wire->parts[i].wire, from, depth)) return false;
        return true;
    case DUO_WIRE_ENUM: {
        uint64_t position;
        if (!take_count(from, &position) || position >= wire->variants) return false;
        for (size_t i = 0; i < wire->count; i++) {
            const duo_wire_part *part = &wire->parts[i];
            if (part->variant == position + 1 && !check(part->wire, from, depth)) return false;
        }
        return true;
    }
    case DUO_WIRE_LENGTH: {
        uint64_t count;
        reader ahead = *from;
        if (!take_count(&ahead, &count) || count > wire->count) return false;
        return check(wire->parts->wire, from, depth);
    }
    case DUO_WIRE_LIMIT: {
        const uint8_t *start = from->at;
        return check(wire->parts->wire, from, depth) && (size_t)(from->at - start) <= wire->count;
    }
    }
    return false;
}

bool duo_wire_check(const duo_wire *wire, const uint8_t *bytes, size_t size, size_t *taken,
                    size_t *space)
{
    reader from = {bytes, bytes + size, 0};
    if (!check(wire, &from, 0)) return false;
    *taken = (size_t)(from.at - bytes);
    *space = from.space;
    return true;
}

/* Bytes that were checked, and the space for items. */
typedef struct builder {
    const uint8_t *at;
    char *space;
} builder;

static uint64_t next_count(builder *from)
{
    uint64_t count = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *from->at++;
        count |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return count;
    }
}

/* Stores how many items a list has, and returns the space for them. */
static char *begin_list(const duo_wire *wire, builder *from, char *value, size_t count)
{
    if (is_inline_wire(wire)) {
        uint16_t size = (uint16_t)count;
        memcpy(value, &size, sizeof size);
        return value + inline_data(wire);
    }
    char *place = from->space;
    wire_items items = {place, count};
    memcpy(value, &items, sizeof items);
    from->space += wire_aligned(count * wire->parts->wire->size);
    return place;
}

static void decode(const duo_wire *wire, builder *from, char *value)
{
    switch (wire->kind) {
    case DUO_WIRE_NUMBER:
        for (size_t i = 0; i < wire->size; i++)
            value[i] = (char)from->at[IS_LITTLE_ENDIAN ? i : wire->size - 1 - i];
        from->at += wire->size;
        return;
    case DUO_WIRE_BOOL: {
        bool is = *from->at++ != 0;
        memcpy(value, &is, sizeof is);
        return;
    }
    case DUO_WIRE_TEXT:
    case DUO_WIRE_BYTES: {
        size_t size = (size_t)next_count(from);
        wire_items bytes = {(const char *)from->at, size};
        from->at += size;
        memcpy(value, &bytes, sizeof bytes);
        return;
    }
    case DUO_WIRE_INLINE_TEXT:
    case DUO_WIRE_INLINE_BYTES: {
        uint16_t size = (uint16_t)next_count(from);
        memcpy(value, &size, sizeof size);
        if (size > 0) memcpy(value + inline_data(wire), from->at, size);
        from->at += size;
        return;
    }
    case DUO_WIRE_LIST:
    case DUO_WIRE_INLINE_LIST: {
        const duo_wire *item = wire->parts->wire;
        size_t count = (size_t)next_count(from);
        char *place = begin_list(wire, from, value, count);
        if (item->kind == DUO_WIRE_NUMBER && IS_LITTLE_ENDIAN && count > 0) {
            memcpy(place, from->at, count * item->size);
            from->at += count * item->size;
            return;
        }
        if (item->least == 0) return;
        for (size_t i = 0; i < count; i++) decode(item, from, place + i * item->size);
        return;
    }
    case DUO_WIRE_OPTION: {
        bool some = *from->at++ != 0;
        memcpy(value, &some, sizeof some);
        if (some) decode(wire->parts->wire, from, value + wire->parts->offset);
        return;
    }
    case DUO_WIRE_STRUCT:
        for (size_t i = 0; i < wire->count; i++)
            decode(wire->parts[i].wire, from, value + wire->parts[i].offset);
        return;
    case DUO_WIRE_ENUM: {
        unsigned tag = (unsigned)next_count(from) + 1;
        put_tag(value, wire->tag_size, tag);
        for (size_t i = 0; i < wire->count; i++) {
            const duo_wire_part *part = &wire->parts[i];
            if (part->variant == tag) decode(part->wire, from, value + part->offset);
        }
        return;
    }
    case DUO_WIRE_LENGTH:
    case DUO_WIRE_LIMIT: decode(wire->parts->wire, from, value); return;
    }
}

void duo_wire_decode(const duo_wire *wire, const uint8_t *bytes, void *value, char *space)
{
    builder from = {bytes, space};
    decode(wire, &from, value);
}
