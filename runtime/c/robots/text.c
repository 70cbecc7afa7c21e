/* Values as transcripts have them. */
#include "robots.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void duo_robot_text_add(duo_robot_text *text, duo_str more)
{
    if (text->is_cut || more.size == 0) return;
    if (more.size >= SIZE_MAX / 2 - text->size) {
        text->is_cut = true;
        return;
    }
    if (text->size + more.size + 1 > text->space) {
        size_t space = 2 * (text->size + more.size) + 64;
        char *data = realloc(text->data, space);
        if (data == NULL) {
            text->is_cut = true;
            return;
        }
        text->data = data;
        text->space = space;
    }
    memcpy(text->data + text->size, more.data, more.size);
    text->size += more.size;
    text->data[text->size] = '\0';
}

void duo_robot_text_put(duo_robot_text *text, const char *more)
{
    duo_robot_text_add(text, duo_str_from(more));
}

uint64_t duo_robot_number(const void *place, size_t size, bool is_signed)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t number;
    switch (size) {
    case 1: memcpy(&byte, place, sizeof byte); return is_signed ? (uint64_t)(int64_t)(int8_t)byte : byte;
    case 2: memcpy(&half, place, sizeof half); return is_signed ? (uint64_t)(int64_t)(int16_t)half : half;
    case 4: memcpy(&word, place, sizeof word); return is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
    default: memcpy(&number, place, sizeof number); return number;
    }
}

static void put_integer(duo_robot_text *text, const void *place, size_t size, bool is_signed)
{
    char digits[24];
    uint64_t number = duo_robot_number(place, size, is_signed);
    if (is_signed) snprintf(digits, sizeof digits, "%" PRId64, (int64_t)number);
    else snprintf(digits, sizeof digits, "%" PRIu64, number);
    duo_robot_text_put(text, digits);
}

/* Appends a number that `printf` has written, with a point in every locale. */
static void put_digits(duo_robot_text *text, const char *digits, size_t size)
{
    bool has_point = false;
    for (size_t at = 0; at < size; at += 1) {
        const char letter[] = {digits[at], '\0'};
        if ((letter[0] >= '0' && letter[0] <= '9') || letter[0] == '-') duo_robot_text_put(text, letter);
        else if (!has_point) {
            duo_robot_text_put(text, ".");
            has_point = true;
        }
    }
}

static void put_real(duo_robot_text *text, double number)
{
    char digits[64];
    if (number != number) {
        duo_robot_text_put(text, "NaN");
        return;
    }
    if (number - number != 0) {
        duo_robot_text_put(text, number > 0 ? "inf" : "-inf");
        return;
    }
    if (number < 1e15 && number > -1e15) {
        int size = snprintf(digits, sizeof digits, "%.2f", number);
        double same = strtod(digits, NULL);
        if (size > 0 && memcmp(&same, &number, sizeof same) == 0) {
            put_digits(text, digits, (size_t)size);
            return;
        }
    }
    snprintf(digits, sizeof digits, "%.16e", number);
    size_t mantissa = strcspn(digits, "e");
    put_digits(text, digits, mantissa);
    const char *exponent = digits + mantissa;
    duo_robot_text_put(text, "e");
    if (*exponent == 'e') exponent += 1;
    if (*exponent == '-') duo_robot_text_put(text, "-");
    if (*exponent == '-' || *exponent == '+') exponent += 1;
    while (exponent[0] == '0' && exponent[1] != '\0') exponent += 1;
    duo_robot_text_put(text, exponent);
}

/* The character that begins here, and its size. Whatever is no UTF-8 is taken byte by byte. */
static uint32_t decode(const uint8_t *bytes, size_t size, size_t *taken)
{
    uint32_t code = bytes[0];
    size_t length = code < 0xc0 ? 1 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
    *taken = 1;
    if (length == 1 || length > size) return code;
    code &= 0x7fu >> length;
    for (size_t at = 1; at < length; at += 1) code = code << 6 | (bytes[at] & 0x3f);
    *taken = length;
    return code;
}

/* Whether a character is not shown, or changes the direction of what is shown after it. */
static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void put_quoted(duo_robot_text *text, duo_str quoted)
{
    duo_robot_text_put(text, "\"");
    for (size_t at = 0; at < quoted.size;) {
        size_t taken;
        uint32_t code = decode((const uint8_t *)quoted.data + at, quoted.size - at, &taken);
        if (code == '"') duo_robot_text_put(text, "\\\"");
        else if (code == '\\') duo_robot_text_put(text, "\\\\");
        else if (code == '\n') duo_robot_text_put(text, "\\n");
        else if (is_hidden(code)) {
            char escaped[16];
            snprintf(escaped, sizeof escaped, "\\u{%" PRIx32 "}", code);
            duo_robot_text_put(text, escaped);
        } else {
            duo_str same = {quoted.data + at, taken};
            duo_robot_text_add(text, same);
        }
        at += taken;
    }
    duo_robot_text_put(text, "\"");
}

static void put_bytes(duo_robot_text *text, const uint8_t *bytes, size_t size)
{
    duo_robot_text_put(text, "<");
    for (size_t at = 0; at < size; at += 1) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", bytes[at]);
        duo_robot_text_put(text, digits);
    }
    duo_robot_text_put(text, ">");
}

/* Parts in brackets, separated by commas, each with its name if it has one. */
static void put_parts(duo_robot_text *text, const duo_robot *robot, const duo_robot_part *parts, size_t count,
                      const char *place, const char *brackets[2])
{
    duo_robot_text_put(text, brackets[0]);
    for (size_t part = 0; part < count; part += 1) {
        if (part > 0) duo_robot_text_put(text, ", ");
        if (parts[part].name != NULL) {
            duo_robot_text_put(text, parts[part].name);
            duo_robot_text_put(text, ": ");
        }
        duo_robot_text_value(text, robot, parts[part].type, place + parts[part].offset);
    }
    duo_robot_text_put(text, brackets[1]);
}

static void put_items(duo_robot_text *text, const duo_robot *robot, const duo_robot_type *item, const char *items,
                      size_t count)
{
    duo_robot_text_put(text, "[");
    for (size_t at = 0; at < count && !text->is_cut; at += 1) {
        if (at > 0) duo_robot_text_put(text, ", ");
        duo_robot_text_value(text, robot, item, items + at * item->size);
    }
    duo_robot_text_put(text, "]");
}

void duo_robot_text_value(duo_robot_text *text, const duo_robot *robot, const duo_robot_type *type, const void *place)
{
    static const char *const round[] = {"(", ")"}, *const curly[] = {"{", "}"};
    const char *brackets[2] = {type->kind == DUO_ROBOT_STRUCT ? curly[0] : round[0],
                               type->kind == DUO_ROBOT_STRUCT ? curly[1] : round[1]};
    const char *bytes = place;
    duo_robot_view view = {NULL, 0};
    uint16_t size = 0;
    bool is_true = false;
    switch (type->kind) {
    case DUO_ROBOT_BOOL:
        memcpy(&is_true, place, sizeof is_true);
        duo_robot_text_put(text, is_true ? "true" : "false");
        break;
    case DUO_ROBOT_UNSIGNED: put_integer(text, place, type->size, false); break;
    case DUO_ROBOT_SIGNED: put_integer(text, place, type->size, true); break;
    case DUO_ROBOT_REAL: {
        double number;
        float single;
        if (type->size == sizeof single) {
            memcpy(&single, place, sizeof single);
            number = (double)single;
        } else {
            memcpy(&number, place, sizeof number);
        }
        put_real(text, number);
        break;
    }
    case DUO_ROBOT_TEXT:
    case DUO_ROBOT_BYTES:
    case DUO_ROBOT_LIST: memcpy(&view, place, sizeof view); break;
    case DUO_ROBOT_INLINE_TEXT:
    case DUO_ROBOT_INLINE_BYTES:
    case DUO_ROBOT_INLINE_LIST:
        memcpy(&size, place, sizeof size);
        view.data = bytes + (type->kind == DUO_ROBOT_INLINE_LIST ? type->parts[0].offset : sizeof size);
        view.size = size;
        break;
    case DUO_ROBOT_OPTION:
        memcpy(&is_true, place, sizeof is_true);
        if (is_true) {
            duo_robot_text_put(text, "some");
            put_parts(text, robot, type->parts, 1, bytes, brackets);
        } else {
            duo_robot_text_put(text, "none");
        }
        break;
    case DUO_ROBOT_TUPLE:
    case DUO_ROBOT_STRUCT: put_parts(text, robot, type->parts, type->count, bytes, brackets); break;
    case DUO_ROBOT_ENUM: {
        size_t tag = (size_t)duo_robot_number(place, type->tag_size, false);
        if (tag == 0 || tag > type->variant_count) break;
        const duo_robot_variant *variant = &type->variants[tag - 1];
        duo_robot_text_put(text, variant->name);
        if (variant->count > 0) put_parts(text, robot, variant->parts, variant->count, bytes, brackets);
        break;
    }
    case DUO_ROBOT_ENDPOINT: duo_robot_text_put(text, type->name); break;
    case DUO_ROBOT_HOST:
        if (robot->hooks == NULL || !robot->calls->show(robot->hooks, type->host, place, text)) {
            duo_robot_text_put(text, "<");
            duo_robot_text_put(text, type->name);
            duo_robot_text_put(text, ">");
        }
        break;
    }
    if (type->kind == DUO_ROBOT_TEXT || type->kind == DUO_ROBOT_INLINE_TEXT) {
        duo_str quoted = {view.data, view.size};
        put_quoted(text, quoted);
    } else if (type->kind == DUO_ROBOT_BYTES || type->kind == DUO_ROBOT_INLINE_BYTES) {
        put_bytes(text, view.data, view.size);
    } else if (type->kind == DUO_ROBOT_LIST || type->kind == DUO_ROBOT_INLINE_LIST) {
        put_items(text, robot, type->parts[0].type, view.data, view.size);
    }
}
