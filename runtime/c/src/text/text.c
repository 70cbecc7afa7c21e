/* Text: descriptions of statuses, views of strings, UTF-8, escapes, and the report of a message that was misread. */
#include <string.h>

#include "duologue/tables.h"
#include "text.h"

#ifndef DUO_NO_THREADS
#include <stdio.h>
#include <stdlib.h>
#endif

const char *duo_status_text(duo_status status)
{
    switch (status) {
    case DUO_OK: return "done";
    case DUO_CLOSED: return "the peer closed the session";
    case DUO_USED: return "the endpoint was already used";
    case DUO_FULL: return "the buffer is full";
    case DUO_EMPTY: return "nothing has arrived";
    case DUO_NO_MEMORY: return "memory ran out";
    case DUO_BROKEN: return "the peer violated the protocol";
    case DUO_TOO_LARGE: return "the message, or the region, is too large";
    case DUO_REFUSED: return "the session was refused, for example because the protocols differ";
    case DUO_SYSTEM: return "a system call failed: see errno";
    case DUO_INVALID: return "a value in the message is not valid for its type";
    case DUO_LOST: return "the connection to the peer was lost";
    case DUO_LATE: return "a time limit has passed";
    case DUO_ADDRESS: return "not an address: expected unix:PATH, tcp://HOST:PORT or tls://HOST:PORT";
    case DUO_CERTIFICATES: return "an address tls://HOST:PORT requires certificates: set duo_net_options.tls";
    case DUO_TLS: return "TLS cannot be used";
#ifdef DUO_RECORD
    case DUO_STOPPED: return "a monitor did not allow the message";
#else
    /* Never returned, and a device has no room for its text. */
    case DUO_STOPPED: break;
#endif
    }
    return "not a status";
}

duo_str duo_str_from(const char *text)
{
    duo_str view = {text, text == NULL ? 0 : strlen(text)};
    return view;
}

bool duo_str_equal(duo_str left, duo_str right)
{
    return left.size == right.size &&
           (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

void duo_wrong_message(const char *file, int line, const char *message, const char *found, const char *expected)
{
#ifndef DUO_NO_THREADS
    fprintf(stderr, "%s:%d: %s is `%s`, ", file, line, message, found);
    if (expected != NULL) fprintf(stderr, "but the program reads it as `%s`\n", expected);
    else fprintf(stderr, "which has no handler\n");
    abort();
#else
    (void)file, (void)line, (void)message, (void)found, (void)expected;
    for (;;) {
#ifdef __GNUC__
        __builtin_trap();
#endif
    }
#endif
}

/* UTF-8 as the Unicode standard defines it (table 3-7): no overlong forms, no surrogates, at most U+10FFFF. */

/* How many bytes from here on are ASCII, counted in blocks of 32. Where size matters more than time, they are not counted. */
static size_t plain(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
#ifdef __OPTIMIZE_SIZE__
    (void)bytes, (void)size;
#else
    while (size - at >= 32) {
        uint64_t words[4];
        memcpy(words, bytes + at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080)) break;
        at += sizeof words;
    }
#endif
    return at;
}

bool duo_is_utf8(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint8_t first = bytes[at];
        if (first < 0x80) {
            at += 1;
            if (at < size && bytes[at] < 0x80) at += plain(bytes + at, size - at);
            continue;
        }
        /* How many bytes follow, and the bounds of the next one. */
        size_t more = 0;
        uint8_t low = 0x80, high = 0xbf;
        if (first >= 0xc2 && first <= 0xdf) {
            more = 1;
        } else if (first >= 0xe0 && first <= 0xef) {
            more = 2;
            if (first == 0xe0) low = 0xa0;
            if (first == 0xed) high = 0x9f;
        } else if (first >= 0xf0 && first <= 0xf4) {
            more = 3;
            if (first == 0xf0) low = 0x90;
            if (first == 0xf4) high = 0x8f;
        }
        if (more == 0 || size - at <= more) return false;
        for (size_t i = 1; i <= more; i++) {
            if (bytes[at + i] < low || bytes[at + i] > high) return false;
            low = 0x80;
            high = 0xbf;
        }
        at += more + 1;
    }
    return true;
}

/* How text from others is shown, and handed to functions that expect a string of C. */
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
