/* UTF-8 as the Unicode standard defines it (table 3-7): no overlong forms, no surrogates, at most U+10FFFF. */
#include "utf8.h"

#include <string.h>

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
