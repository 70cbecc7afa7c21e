/* Tags of one, two and four bytes: exactly that many are read and written, whatever comes after them. */
#include <string.h>

#include "check.h"
#include "floor/tag.h"
#include "link/link.h"
#include "wire/wire.h"

enum { VARIANTS = 200, LAST = VARIANTS };

static void check(unsigned char size)
{
    const duo_wire wire = {DUO_WIRE_ENUM, size, 1, NULL, 0, VARIANTS, size};
    const duo_type type = DUO_TAG_TYPE(size, VARIANTS);
    /* 199 in two bytes. */
    const uint8_t bytes[2] = {0xc7, 0x01};
    uint8_t value[8], behind[8], written[2];
    memset(value, 0x5a, sizeof value);
    memset(behind, 0x5a, sizeof behind);
    duo_wire_decode(&wire, bytes, value, NULL);
    CHECK(tag_at(value, size) == LAST);
    CHECK(memcmp(value + size, behind, sizeof value - size) == 0);
    size_t measured;
    CHECK(duo_wire_measure(&wire, value, &measured) == DUO_OK && measured == sizeof bytes);
    duo_wire_writer writer = {(char *)written, (char *)written + sizeof written, NULL};
    CHECK(duo_wire_encode(&wire, value, &writer) && memcmp(written, bytes, sizeof bytes) == 0);
    CHECK(duo_is_sound(&type, value));
    put_tag(value, size, 0);
    CHECK(!duo_is_sound(&type, value));
    CHECK(duo_wire_measure(&wire, value, &measured) == DUO_INVALID);
    CHECK(memcmp(value + size, behind, sizeof value - size) == 0);
}

TEST(enums)
{
    check(1);
    check(2);
    check(4);
}
