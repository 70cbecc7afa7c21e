/* Choices, and values from them. */
#include "robots.h"

#include <stdlib.h>

/* Where the choices of robots come from. */
enum { FROM_BYTES, FROM_SEED, FROM_COVERING };

duo_choices duo_choices_bytes(const uint8_t *bytes, size_t size)
{
    duo_choices choices = {FROM_BYTES, bytes, size, 0, 0, 0, 0};
    return choices;
}

duo_choices duo_choices_seed(uint64_t seed)
{
    duo_choices choices = {FROM_SEED, NULL, 0, 0, seed, 0, 0};
    return choices;
}

duo_choices duo_choices_covering(void)
{
    duo_choices choices = {FROM_COVERING, NULL, 0, 0, 0, 0, 0};
    return choices;
}

/* SplitMix64, by Steele, Lea and Flood (2014). */
static uint64_t mixed(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

bool duo_choices_next(duo_choices *choices, uint8_t *byte)
{
    switch (choices->kind) {
    case FROM_BYTES:
        if (choices->at >= choices->size) return false;
        *byte = choices->bytes[choices->at++];
        return true;
    case FROM_SEED:
        if (choices->left == 0) {
            choices->word = mixed(&choices->state);
            choices->left = 8;
        }
        *byte = (uint8_t)choices->word;
        choices->word >>= 8;
        choices->left -= 1;
        return true;
    default: *byte = 1; return true;
    }
}

/*
 * Values deeper than this, or after this many others of a message, are as small as their type allows. Lists that began before
 * still get their items, of which the lists, texts and byte strings of a message have together as many.
 */
#define MOST_DEPTH 64
#define MOST_SPENT 65536

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

void *duo_values_memory(duo_values *values, size_t count, size_t size)
{
    if (size > 0 && count > (SIZE_MAX - sizeof(duo_robot_block)) / size) return NULL;
    duo_robot_block *block = calloc(1, sizeof *block + count * size);
    if (block == NULL) return NULL;
    block->next = values->state->blocks;
    values->state->blocks = block;
    return block->aligned;
}

void duo_values_release(duo_play_state *state)
{
    while (state->blocks != NULL) {
        duo_robot_block *block = state->blocks;
        state->blocks = block->next;
        free(block);
    }
}

void duo_values_fail(duo_values *values, const char *why, const char *name)
{
    if (values->is_failed) return;
    values->is_failed = true;
    values->state->failure.size = 0;
    duo_robot_text_put(&values->state->failure, why);
    duo_robot_text_put(&values->state->failure, name);
}

/* Counts a value that is about to be made. */
static void enter(duo_values *values)
{
    values->is_minimal = values->depth >= MOST_DEPTH || values->spent >= MOST_SPENT;
    values->spent += 1;
    values->is_tired = values->depth >= 4 || values->spent > 64;
}

uint8_t duo_values_byte(duo_values *values)
{
    uint8_t byte = 0;
    return duo_choices_next(values->choices, &byte) ? byte : 0;
}

static uint64_t exact(duo_values *values, size_t size)
{
    uint64_t number = 0;
    for (size_t at = 0; at < size; at += 1) number |= (uint64_t)duo_values_byte(values) << 8 * at;
    return number;
}

/* A number of `size` bytes, in the lowest bytes of the result. */
static uint64_t integer(duo_values *values, size_t size, bool is_signed)
{
    static const uint64_t borders[] = {
        0x7f,       0x80,       0xff,        0x100,
        0x7fff,     0x8000,     0xffff,      0x10000,
        0x7fffffff, 0x80000000, 0xffffffff,  0x100000000,
        UINT64_C(0x7fffffffffffffff),        UINT64_C(0x8000000000000000),
        UINT64_C(0xffffffffffffffff),        UINT64_C(0x5555555555555555),
    };
    uint8_t byte = duo_values_byte(values);
    if (byte < 128) return byte;
    if (byte < 192) return is_signed ? (uint64_t)0 - (uint64_t)(byte - 127u) : UINT64_MAX - (byte - 128u);
    if (byte < 240) return borders[(byte - 192) % 16];
    return exact(values, size);
}

static double real(duo_values *values, size_t size)
{
    static const double some[] = {-1, 1000, -1000, 1000000, 0.5, -0.5, 100.25, 65536};
    uint8_t byte = duo_values_byte(values);
    if (byte < 128) return byte * 0.25;
    if (byte < 224) return some[byte % 8];
    uint64_t bits = exact(values, size);
    if (size == sizeof(float)) {
        uint32_t narrow = (uint32_t)bits;
        float single;
        memcpy(&single, &narrow, sizeof single);
        return (double)single;
    }
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static size_t counted(duo_values *values, size_t most)
{
    size_t count = 0;
    if (values->is_minimal) return 0;
    uint8_t byte = duo_values_byte(values);
    if (byte < 8) count = byte;
    else if (byte == 255) {
        count = duo_values_byte(values);
        if (count == 255) count = (size_t)exact(values, 2);
    } else if (!values->is_tired) count = byte < 248 ? byte % 4 : byte - 240;
    size_t used = values->spent > values->reserved ? values->spent : values->reserved;
    count = least(least(count, most), MOST_SPENT - least(used, MOST_SPENT));
    values->reserved += count;
    return count;
}

static uint32_t character(duo_values *values)
{
    static const uint32_t special[] = {
        '"',  '\\', '\n',   '\t',   '\'',    '/',    '%',    0xe9,
        0x20ac, 0x1f600, 0xfffd, 0x301, 0x202e, 0x7f, 0xfeff, 0x1f,
    };
    uint8_t byte = duo_values_byte(values);
    if (byte < 26) return 'a' + (uint32_t)byte;
    if (byte < 52) return 'A' + (uint32_t)(byte - 26);
    if (byte < 62) return '0' + (uint32_t)(byte - 52);
    if (byte == 62) return ' ';
    if (byte == 63) return '_';
    if (byte < 224) return 'a' + (uint32_t)(byte % 26);
    if (byte < 240) return special[byte - 224];
    uint32_t code = (uint32_t)exact(values, 3);
    return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
}

/* Writes a character as UTF-8; returns the number of bytes. */
static size_t encode(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t at = size - 1; at > 0; at -= 1) {
        bytes[at] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)((0xf00 >> size & 0xff) | code);
    return size;
}

/* Text or bytes of at most `most` bytes, after a value has been counted. */
static duo_robot_view sequence(duo_values *values, size_t most, bool is_text)
{
    duo_robot_view view = {"", 0};
    size_t count = counted(values, most);
    if (count == 0) return view;
    char *data = duo_values_memory(values, count, is_text ? 4 : 1);
    if (data == NULL) {
        duo_values_fail(values, "out of memory", "");
        return view;
    }
    view.data = data;
    for (size_t at = 0; at < count; at += 1) {
        char bytes[4];
        size_t size = 1;
        values->spent += 1;
        if (is_text) size = encode(character(values), bytes);
        else bytes[0] = (char)duo_values_byte(values);
        if (view.size + size > most) break;
        memcpy(data + view.size, bytes, size);
        view.size += size;
    }
    return view;
}

/* Stores a number of this size. */
static void store(void *place, size_t size, uint64_t number)
{
    const uint8_t byte = (uint8_t)number;
    const uint16_t half = (uint16_t)number;
    const uint32_t word = (uint32_t)number;
    switch (size) {
    case 1: memcpy(place, &byte, sizeof byte); break;
    case 2: memcpy(place, &half, sizeof half); break;
    case 4: memcpy(place, &word, sizeof word); break;
    default: memcpy(place, &number, sizeof number);
    }
}

static void make_parts(duo_values *values, const duo_robot_part *parts, size_t count, char *place)
{
    values->depth += 1;
    for (size_t part = 0; part < count && !values->is_failed; part += 1) {
        duo_values_make(values, parts[part].type, place + parts[part].offset);
    }
    values->depth -= 1;
}

static void make_list(duo_values *values, const duo_robot_type *type, char *place)
{
    const duo_robot_type *item = type->parts[0].type;
    duo_robot_view view = {NULL, 0};
    size_t count = item->is_makeable ? counted(values, type->most) : 0;
    char *items = place + type->parts[0].offset;
    if (type->kind == DUO_ROBOT_INLINE_LIST) {
        store(place, sizeof(uint16_t), count);
    } else {
        if (count > 0) items = duo_values_memory(values, count, item->size);
        if (items == NULL) {
            duo_values_fail(values, "out of memory", "");
            return;
        }
        view.data = count > 0 ? items : NULL;
        view.size = count;
        memcpy(place, &view, sizeof view);
    }
    values->depth += 1;
    for (size_t at = 0; at < count && !values->is_failed; at += 1) {
        duo_values_make(values, item, items + at * item->size);
    }
    values->depth -= 1;
}

static void make_option(duo_values *values, const duo_robot_type *type, char *place)
{
    if (values->is_minimal || !type->parts[0].type->is_makeable) return;
    uint8_t byte = duo_values_byte(values);
    bool some = byte == 1 || (byte > 1 && !values->is_tired && byte % 2 == 1);
    memcpy(place, &some, sizeof some);
    if (some) make_parts(values, type->parts, 1, place);
}

static size_t choose_variant(duo_values *values, const duo_robot_type *type)
{
    size_t makeable = 0;
    for (size_t at = 0; at < type->variant_count; at += 1) makeable += type->variants[at].is_makeable;
    if (values->is_minimal) return type->shallow;
    size_t chosen = 0;
    if (makeable > 1) {
        chosen = duo_values_byte(values);
        if (makeable > 128) chosen |= (size_t)duo_values_byte(values) << 8;
        if (chosen >= makeable && values->is_tired) return type->shallow;
        chosen %= makeable;
    }
    for (size_t at = 0; at < type->variant_count; at += 1) {
        if (type->variants[at].is_makeable && chosen-- == 0) return at;
    }
    return type->shallow;
}

/* Makes an endpoint of a new session, whose other side disconnects at once. That of a session that is over is zeroed, as the memory is. */
static bool open_endpoint(const duo_robot_calls *calls, const duo_robot_type *type, void *place)
{
    duo_endpoint server, client;
    if (type->protocol == NULL) return true;
    if (calls->open(type->protocol, &server, &client) != DUO_OK) return false;
    const bool is_client = type->side == DUO_CLIENT;
    (void)calls->close(is_client ? server : client, type->state);
    memcpy(place, is_client ? &client : &server, sizeof client);
    return true;
}

void duo_values_make(duo_values *values, const duo_robot_type *type, void *place)
{
    const void *hooks = values->robot->hooks;
    enter(values);
    switch (type->kind) {
    case DUO_ROBOT_BOOL: {
        bool is_true = duo_values_byte(values) % 2 == 1;
        memcpy(place, &is_true, sizeof is_true);
        break;
    }
    case DUO_ROBOT_UNSIGNED: store(place, type->size, integer(values, type->size, false)); break;
    case DUO_ROBOT_SIGNED: store(place, type->size, integer(values, type->size, true)); break;
    case DUO_ROBOT_REAL: {
        double number = real(values, type->size);
        float single = (float)number;
        if (type->size == sizeof single) memcpy(place, &single, sizeof single);
        else memcpy(place, &number, sizeof number);
        break;
    }
    case DUO_ROBOT_TEXT:
    case DUO_ROBOT_BYTES: {
        duo_robot_view view = sequence(values, type->most, type->kind == DUO_ROBOT_TEXT);
        memcpy(place, &view, sizeof view);
        break;
    }
    case DUO_ROBOT_INLINE_TEXT:
    case DUO_ROBOT_INLINE_BYTES: {
        duo_robot_view view = sequence(values, type->most, type->kind == DUO_ROBOT_INLINE_TEXT);
        store(place, sizeof(uint16_t), view.size);
        memcpy((char *)place + sizeof(uint16_t), view.data, view.size);
        break;
    }
    case DUO_ROBOT_LIST:
    case DUO_ROBOT_INLINE_LIST: make_list(values, type, place); break;
    case DUO_ROBOT_OPTION: make_option(values, type, place); break;
    case DUO_ROBOT_TUPLE:
    case DUO_ROBOT_STRUCT: make_parts(values, type->parts, type->count, place); break;
    case DUO_ROBOT_ENUM: {
        size_t chosen = choose_variant(values, type);
        store(place, type->tag_size, chosen + 1);
        make_parts(values, type->variants[chosen].parts, type->variants[chosen].count, place);
        break;
    }
    case DUO_ROBOT_ENDPOINT:
        if (!open_endpoint(&values->robot->table->calls, type, place)) duo_values_fail(values, "out of memory", "");
        break;
    case DUO_ROBOT_HOST:
        if (hooks == NULL || !values->robot->calls->make(hooks, type->host, values, place)) {
            duo_values_fail(values, "no hook made a value of the type ", type->name);
        }
        break;
    }
}

/* For hooks: each value counts. */

bool duo_values_bool(duo_values *values)
{
    enter(values);
    return duo_values_byte(values) % 2 == 1;
}

#define DUO_VALUES_INTEGER(type, word, is_signed)               \
    type duo_values_##word(duo_values *values)                  \
    {                                                           \
        enter(values);                                          \
        return (type)integer(values, sizeof(type), is_signed);  \
    }

DUO_VALUES_INTEGER(uint8_t, u8, false)
DUO_VALUES_INTEGER(uint16_t, u16, false)
DUO_VALUES_INTEGER(uint32_t, u32, false)
DUO_VALUES_INTEGER(uint64_t, u64, false)
DUO_VALUES_INTEGER(int8_t, i8, true)
DUO_VALUES_INTEGER(int16_t, i16, true)
DUO_VALUES_INTEGER(int32_t, i32, true)
DUO_VALUES_INTEGER(int64_t, i64, true)

float duo_values_f32(duo_values *values)
{
    enter(values);
    return (float)real(values, sizeof(float));
}

double duo_values_f64(duo_values *values)
{
    enter(values);
    return real(values, sizeof(double));
}

size_t duo_values_count(duo_values *values, size_t most)
{
    enter(values);
    return counted(values, most);
}

duo_str duo_values_text(duo_values *values, size_t most)
{
    enter(values);
    duo_robot_view view = sequence(values, most, true);
    duo_str text = {(const char *)view.data, view.size};
    return text;
}

duo_bytes duo_values_bytes(duo_values *values, size_t most)
{
    enter(values);
    duo_robot_view view = sequence(values, most, false);
    duo_bytes bytes = {(const uint8_t *)view.data, view.size};
    return bytes;
}
