/*
 * Payloads: how a value is copied into the one block of its message, what happens to the endpoints and host
 * values inside it, and whether it is a valid value of its type. Generated tables describe what a value consists
 * of; values for which any bytes are valid never get here. The depth of a walk depends on the value, not on the
 * length of the session.
 */
#include <string.h>

#include "link.h"
#include "../floor/tag.h"
#include "transport.h"
#include "../text/text.h"

const duo_type duo_text_type = {DUO_TEXT, true, false, true, 1, NULL, NULL, 0, 0, NULL, NULL};
const duo_type duo_bytes_type = DUO_LIST_TYPE(false, false, 1, NULL);

/* How text, bytes and every generated list begin. */
typedef struct list_view {
    void *data;
    size_t size;
} list_view;

static bool is_inline(const duo_type *type)
{
    return type->kind == DUO_INLINE_LIST || type->kind == DUO_INLINE_TEXT;
}

/* The items of a list or the bytes of text, wherever they are. */
static list_view items_of(const duo_type *type, char *value)
{
    list_view items;
    if (is_inline(type)) {
        uint16_t size;
        memcpy(&size, value, sizeof size);
        items.data = value + type->count;
        items.size = size;
    } else {
        memcpy(&items, value, sizeof items);
    }
    return items;
}

/* Why a value is walked through. Parts that do not matter for that reason are skipped. */
typedef enum walk_reason { SPREADS, MOVES, CHECKS } walk_reason;

static bool matters(const duo_type *type, walk_reason why)
{
    switch (why) {
    case SPREADS: return type->spreads;
    case MOVES: return type->moves;
    case CHECKS: return type->checks;
    }
    return false;
}

/*
 * What a walk does at a list, inline or not, or an enum (before its contents), text, an endpoint or a host value. Returning
 * false ends the walk.
 */
typedef bool visitor(const duo_type *type, char *value, void *context);

static bool walk(const duo_type *type, char *value, walk_reason why, visitor *visit, void *context)
{
    if (!matters(type, why)) return true;
    switch (type->kind) {
    case DUO_LIST:
    case DUO_INLINE_LIST: {
        if (!visit(type, value, context)) return false;
        if (type->element == NULL || !matters(type->element, why)) return true;
        list_view items = items_of(type, value);
        for (size_t i = 0; i < items.size; i++) {
            char *item = (char *)items.data + i * type->size;
            if (!walk(type->element, item, why, visit, context)) return false;
        }
        return true;
    }
    case DUO_OPTION: {
        bool some;
        memcpy(&some, value, sizeof some);
        if (!some) return true;
        return walk(type->fields->type, value + type->fields->offset, why, visit, context);
    }
    case DUO_STRUCT:
        for (size_t i = 0; i < type->count; i++) {
            const duo_field *field = &type->fields[i];
            if (!walk(field->type, value + field->offset, why, visit, context)) return false;
        }
        return true;
    case DUO_ENUM: {
        if (!visit(type, value, context)) return false;
        unsigned tag = tag_at(value, type->size);
        for (size_t i = 0; i < type->count; i++) {
            const duo_field *field = &type->fields[i];
            if (field->variant != tag) continue;
            if (!walk(field->type, value + field->offset, why, visit, context)) return false;
        }
        return true;
    }
    case DUO_TEXT:
    case DUO_INLINE_TEXT:
    case DUO_ENDPOINT:
    case DUO_EXTERN:
        return visit(type, value, context);
    }
    return true;
}

static bool is_sound(const duo_type *type, char *value, void *context)
{
    (void)context;
    switch (type->kind) {
    case DUO_ENUM: return duo_is_tag(tag_at(value, type->size), type->variants);
    case DUO_TEXT:
    case DUO_INLINE_LIST:
    case DUO_INLINE_TEXT: {
        list_view items = items_of(type, value);
        if (is_inline(type) && items.size > type->variants) return false;
        return type->kind == DUO_INLINE_LIST || duo_is_utf8(items.data, items.size);
    }
    case DUO_LIST:
    case DUO_OPTION:
    case DUO_STRUCT:
    case DUO_ENDPOINT:
    case DUO_EXTERN: return true;
    }
    return true;
}

bool duo_is_sound(const duo_type *type, const void *value)
{
    /* Checking changes nothing, although the type of the walk would allow it. */
    return walk(type, (char *)(uintptr_t)value, CHECKS, is_sound, NULL);
}

#ifndef DUO_NO_MALLOC

static bool is_list(const duo_type *type)
{
    return type->kind == DUO_LIST || type->kind == DUO_TEXT;
}

/* Lists of larger elements start at an address that suits any type. */
static size_t padding(const duo_type *type, size_t used)
{
    size_t unit = type->size > 1 ? alignof(max_align_t) : 1;
    return (unit - used % unit) % unit;
}

/* More bytes than any memory has; even with some padding this is far from overflowing a `size_t`. */
#define MUCH (SIZE_MAX / 2)

static bool add_size(const duo_type *type, char *value, void *context)
{
    size_t *used = context;
    if (!is_list(type)) return true;
    list_view items;
    memcpy(&items, value, sizeof items);
    *used += padding(type, *used);
    /* Items are in memory once, but many lists may be views of the same items. */
    if (*used > MUCH || (type->size != 0 && items.size > (MUCH - *used) / type->size)) return false;
    *used += items.size * type->size;
    return true;
}

bool duo_spread(const duo_type *type, void *value, size_t *size)
{
    *size = 0;
    return walk(type, value, SPREADS, add_size, size);
}

typedef struct copy_block {
    char *start;
    size_t used;
} copy_block;

static bool copy_list(const duo_type *type, char *value, void *context)
{
    copy_block *left = context;
    if (!is_list(type)) return true;
    list_view items;
    memcpy(&items, value, sizeof items);
    size_t size = items.size * type->size;
    left->used += padding(type, left->used);
    char *place = left->start + left->used;
    if (size > 0) memcpy(place, items.data, size);
    left->used += size;
    items.data = place;
    memcpy(value, &items, sizeof items);
    return true;
}

void duo_copy(const duo_type *type, void *value, char *place)
{
    copy_block left = {place, 0};
    walk(type, value, SPREADS, copy_list, &left);
}

#endif

static bool move_endpoint(const duo_type *type, char *value, void *context)
{
    size_t *moved = context;
    if (type->kind != DUO_ENDPOINT) return true;
    duo_endpoint endpoint;
    memcpy(&endpoint, value, sizeof endpoint);
    if (duo_claim(endpoint) == NULL) return false;
    endpoint.turn += 2;
    memcpy(value, &endpoint, sizeof endpoint);
    duo_note_handed_over(endpoint);
    *moved += 1;
    return true;
}

static bool move_endpoint_back(const duo_type *type, char *value, void *context)
{
    size_t *left = context;
    if (type->kind != DUO_ENDPOINT) return true;
    if (*left == 0) return false;
    duo_endpoint endpoint;
    memcpy(&endpoint, value, sizeof endpoint);
    duo_unclaim(&endpoint.session->sides[endpoint.turn & 1]);
    *left -= 1;
    return true;
}

bool duo_move(const duo_type *type, void *value)
{
    size_t moved = 0;
    if (walk(type, value, MOVES, move_endpoint, &moved)) return true;
    walk(type, value, MOVES, move_endpoint_back, &moved);
    return false;
}

void duo_move_back(const duo_type *type, const void *value)
{
    size_t all = SIZE_MAX;
    /* Moving back does not change the value, although the type of the walk would allow it. */
    walk(type, (char *)(uintptr_t)value, MOVES, move_endpoint_back, &all);
}

/* A host value whose bytes are all zero counts as taken. */
static bool is_zero(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (value[i] != 0) return false;
    return true;
}

static bool destroy_part(const duo_type *type, char *value, void *context)
{
    (void)context;
    if (type->kind == DUO_ENDPOINT) {
        duo_endpoint endpoint;
        memcpy(&endpoint, value, sizeof endpoint);
        duo_close(endpoint, type->state);
    } else if (type->kind == DUO_EXTERN && !is_zero(value, type->size)) {
        type->drop(value);
    }
    return true;
}

void duo_destroy(const duo_type *type, void *value)
{
    walk(type, value, MOVES, destroy_part, NULL);
}

/* Copies of values that outlive the message they came in. */
#ifndef DUO_NO_MALLOC

duo_status duo_copy_value(const duo_type *type, void *value, void **block)
{
    size_t size;
    *block = NULL;
    if (!duo_spread(type, value, &size)) return DUO_NO_MEMORY;
    /* Even if all lists are empty: they must not refer to the message. */
    char *place = duo_allocate(size > 0 ? size : 1);
    if (place == NULL) return DUO_NO_MEMORY;
    duo_copy(type, value, place);
    *block = place;
    return DUO_OK;
}

duo_status duo_str_duplicate(duo_str from, duo_str *to, void **block)
{
    *to = from;
    return duo_copy_value(&duo_text_type, to, block);
}

duo_status duo_bytes_duplicate(duo_bytes from, duo_bytes *to, void **block)
{
    *to = from;
    return duo_copy_value(&duo_bytes_type, to, block);
}

void duo_release_copy(void *block)
{
    if (block != NULL) duo_release(block);
}

#endif
