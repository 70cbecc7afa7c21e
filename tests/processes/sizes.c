/*
 * Counts and sizes whose product or sum no memory has: they are refused, and never overflow to a small
 * number. Where pointers have 32 bits a peer, or views of one text, can bring about any of these.
 */
#include <string.h>

#include "check.h"
#include "link/link.h"
#include "wire/wire.h"

enum { ITEM = 1 << 20, COUNT = 4096 };

typedef struct view {
    const void *data;
    size_t size;
} view;

/* One byte on the wire, a million in memory. */
static const duo_wire wide = {DUO_WIRE_ENUM, ITEM, 1, NULL, 0, 1, 1};
static const duo_wire_part wide_items[] = {{&wide, 0, 0}};
static const duo_wire wides = {DUO_WIRE_LIST, sizeof(view), 1, wide_items, 1, 0, 0};

/* Bytes that claim to contain that many items, and do contain them. */
static bool is_taken(unsigned count, size_t *space)
{
    static uint8_t bytes[2 + COUNT + 16];
    size_t taken;
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (uint8_t)(count | 0x80);
    bytes[1] = (uint8_t)(count >> 7);
    return duo_wire_check(&wides, bytes, 2 + (size_t)count, &taken, space) && taken == 2 + (size_t)count;
}

static void counts_of_a_peer(void)
{
    size_t space = 0;
    CHECK(is_taken(128, &space) && space == 128 * (size_t)ITEM);
    for (unsigned more = 0; more < 16; more++) {
        bool taken = is_taken(COUNT + more, &space);
#if SIZE_MAX > UINT32_MAX
        CHECK(taken && space == (COUNT + more) * (size_t)ITEM);
#else
        CHECK(!taken);
#endif
    }
}

static const duo_wire bytes_wire = {DUO_WIRE_BYTES, sizeof(view), 1, NULL, 0, 0, 0};
static const duo_wire number_wire = {DUO_WIRE_NUMBER, 8, 8, NULL, 0, 0, 0};
static const duo_wire_part bytes_items[] = {{&bytes_wire, 0, 0}};
static const duo_wire_part number_items[] = {{&number_wire, 0, 0}};
static const duo_wire many_bytes = {DUO_WIRE_LIST, sizeof(view), 1, bytes_items, 1, 0, 0};
static const duo_wire numbers = {DUO_WIRE_LIST, sizeof(view), 1, number_items, 1, 0, 0};

static const duo_type plain_list = DUO_LIST_TYPE(false, false, 8, NULL);
static const duo_type list_of_lists = DUO_LIST_TYPE(false, false, sizeof(view), &plain_list);

/* Many views of the same bytes, whose sizes add up to a little more than the largest possible size. */
static void views_of_the_same(void)
{
    static const uint8_t one;
    static view views[16];
    const view all = {views, 16};
    size_t size;
    for (size_t i = 0; i < 16; i++) views[i] = (view){&one, SIZE_MAX / 16 + 2};
    CHECK(duo_wire_measure(&many_bytes, &all, &size) == DUO_TOO_LARGE);
    for (size_t i = 0; i < 16; i++) views[i].size = 1000;
    CHECK(duo_wire_measure(&many_bytes, &all, &size) == DUO_OK && size == 1 + 16 * 1002);
    const view numbers_of_it = {&one, SIZE_MAX / 8 + 2};
    CHECK(duo_wire_measure(&numbers, &numbers_of_it, &size) == DUO_TOO_LARGE);

    for (size_t i = 0; i < 16; i++) views[i].size = SIZE_MAX / 8 / 16 + 2;
    CHECK(!duo_spread(&list_of_lists, (void *)(uintptr_t)&all, &size));
    for (size_t i = 0; i < 16; i++) views[i].size = SIZE_MAX / 8 + 2;
    CHECK(!duo_spread(&list_of_lists, (void *)(uintptr_t)&all, &size));
    for (size_t i = 0; i < 16; i++) views[i].size = 2;
    CHECK(duo_spread(&list_of_lists, (void *)(uintptr_t)&all, &size) && size == 16 * (sizeof(view) + 16));
}

TEST(sizes)
{
    counts_of_a_peer();
    views_of_the_same();
}
