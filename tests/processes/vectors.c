/* The bytes of tests/wire/payloads.txt, read and written. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "payloads_shm.h"
#include "wire/wire.h"

static const char *const names[] = {"none",   "bool", "u8",    "u16",  "u32",   "u64",    "i8",
                                    "i16",    "i32",  "i64",   "f32",  "f64",   "str",    "bytes",
                                    "list",   "lists", "option", "options", "tuple", "empties",
                                    "record", "tree", "colour", "shape", "many", "over"};

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t size = 0;
    if (strcmp(text, "-") == 0) return 0;
    for (; text[0] != '\0'; text += 2) {
        unsigned byte;
        CHECK(isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]));
        CHECK(sscanf(text, "%2x", &byte) == 1);
        bytes[size++] = (uint8_t)byte;
    }
    return size;
}

/* Whether the bytes are accepted; if so, they are written again. */
static bool is_taken(const duo_wire *wire, const uint8_t *given, size_t size)
{
    size_t taken = 0, space = 0;
    /* In memory of exactly their size, so that reading past the end is detected. */
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    CHECK(bytes != NULL);
    if (size > 0) memcpy(bytes, given, size);
    bool is_right = wire == NULL ? size == 0 : duo_wire_check(wire, bytes, size, &taken, &space);
    if (!is_right || wire == NULL || taken != size) {
        free(bytes);
        return is_right && (wire == NULL || taken == size);
    }
    payloads_all_t message;
    memset(&message, 0, sizeof message);
    char *items = malloc(space > 0 ? space : 1);
    CHECK(items != NULL);
    memset(items, 0, space);
    duo_wire_decode(wire, bytes, &message.as, items);
    size_t measured;
    CHECK(duo_wire_measure(wire, &message.as, &measured) == DUO_OK && measured == size);
    char written[600];
    duo_wire_writer writer = {written, written + sizeof written, NULL};
    CHECK(size <= sizeof written && duo_wire_encode(wire, &message.as, &writer));
    CHECK((size_t)(writer.at - written) == size && memcmp(written, bytes, size) == 0);
    free(items);
    free(bytes);
    return true;
}

TEST(vectors)
{
    FILE *file = fopen(TESTS "/wire/payloads.txt", "r");
    CHECK(file != NULL);
    char line[2048];
    size_t right = 0, wrong = 0, seen[26] = {0};
    while (fgets(line, sizeof line, file) != NULL) {
        char name[16], hex[1200], verdict[8];
        uint8_t bytes[600];
        if (line[0] == '#' || line[0] == '\n') continue;
        CHECK(sscanf(line, "%15s %1199s %7s", name, hex, verdict) == 3);
        size_t index = 0;
        while (index < 26 && strcmp(names[index], name) != 0) index++;
        CHECK(index < 26);
        bool is_right = strcmp(verdict, "yes") == 0;
        CHECK(is_right || strcmp(verdict, "no") == 0);
        size_t size = from_hex(hex, bytes);
        if (is_taken(duo_wire_of_payloads.wires[index].entries, bytes, size) != is_right) {
            fprintf(stderr, "%s %s should be `%s`\n", name, hex, verdict);
            exit(1);
        }
        *(is_right ? &right : &wrong) += 1;
        seen[index] += is_right;
    }
    fclose(file);
    for (size_t i = 0; i < 26; i++) CHECK(seen[i] > 0);
    CHECK(right > 30 && wrong > 30);
}
