/* How text from others is shown, and handed to functions that expect a string of C. */
#include "duologue.h"

#include <string.h>

#include "utf8.h"

/* Where escaped text goes, and how much of it there has been. */
typedef struct escaped {
    char *place;
    size_t space;
    size_t size;
    bool is_full;
} escaped;

/* Writes all of these bytes, or none of them. */
static void append_escaped(escaped *to, const char *bytes, size_t size)
{
    /* The last byte is the terminating zero. */
    to->is_full = to->is_full || to->space == 0 || to->size + size > to->space - 1;
    if (!to->is_full) {
        memcpy(to->place + to->size, bytes, size);
        to->place[to->size + size] = '\0';
    }
    to->size += size;
}

static void add_byte(escaped *to, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char all[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    append_escaped(to, all, sizeof all);
}

static void add_ascii(escaped *to, uint8_t byte)
{
    char plain = (char)byte;
    switch (byte) {
    case '\\': append_escaped(to, "\\\\", 2); break;
    case '"': append_escaped(to, "\\\"", 2); break;
    case '\n': append_escaped(to, "\\n", 2); break;
    case '\r': append_escaped(to, "\\r", 2); break;
    case '\t': append_escaped(to, "\\t", 2); break;
    default:
        if (byte < 0x20 || byte == 0x7f) add_byte(to, byte);
        else append_escaped(to, &plain, 1);
    }
}

/* The size of the character that begins here; 0 if there is none. */
static size_t character(const uint8_t *bytes, size_t size)
{
    size_t length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    return length <= size && duo_is_utf8(bytes, length) ? length : 0;
}

size_t duo_str_escape(char *place, size_t space, duo_str text)
{
    escaped to = {place, space, 0, false};
    const uint8_t *bytes = (const uint8_t *)text.data;
    if (space > 0) place[0] = '\0';
    for (size_t at = 0; at < text.size;) {
        if (bytes[at] < 0x80) {
            add_ascii(&to, bytes[at++]);
            continue;
        }
        size_t length = character(bytes + at, text.size - at);
        /* U+0080 to U+009F are control characters. */
        bool is_shown = length > 0 && !(bytes[at] == 0xc2 && bytes[at + 1] < 0xa0);
        if (is_shown) append_escaped(&to, text.data + at, length);
        else add_byte(&to, bytes[at]);
        at += is_shown ? length : 1;
    }
    return to.size;
}

size_t duo_str_copy(char *place, size_t space, duo_str text)
{
    if (space == 0) return text.size;
    size_t size = text.size;
    if (size > space - 1) {
        size = space - 1;
        /* These bytes continue a character. */
        while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80) size -= 1;
    }
    if (size > 0) memcpy(place, text.data, size);
    place[size] = '\0';
    return text.size;
}
