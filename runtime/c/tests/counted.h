/* Memory for the runtime that counts, and of which there is no more than a test wants. */
#ifndef COUNTED_H
#define COUNTED_H

#include <limits.h>
#include <stdlib.h>

#include "duologue.h"

static struct counted {
    /* How many blocks were made, how many there are, and how many more there may be. */
    _Atomic long made, live, left;
    /* All bytes, and those of the largest block that needs no alignment. */
    _Atomic size_t bytes, largest;
} counted = {.left = LONG_MAX};

static inline void *counted_block(void *made, size_t size)
{
    counted.made += 1;
    counted.live += made != NULL;
    counted.bytes += size;
    return made;
}

static inline void *counted_allocate(size_t size)
{
    if (counted.left-- <= 0) return NULL;
    if (size > counted.largest) counted.largest = size;
    return counted_block(malloc(size), size);
}

static inline void *counted_allocate_aligned(size_t alignment, size_t size)
{
    return counted.left-- > 0 ? counted_block(aligned_alloc(alignment, size), size) : NULL;
}

static inline void counted_release(void *memory)
{
    counted.live -= memory != NULL;
    free(memory);
}

static inline void use_counted_memory(void)
{
    duo_use_memory((duo_memory){counted_allocate, counted_allocate_aligned, counted_release});
}

/* Memory of one session, for `duo_use_allocator`. */
typedef struct arena {
    _Atomic long left, made, live;
} arena;

static inline void *arena_take(void *context, size_t size)
{
    arena *own = context;
    if (own->left-- <= 0) return NULL;
    own->made += 1;
    own->live += 1;
    return malloc(size);
}

static inline void arena_give_back(void *context, void *memory)
{
    ((arena *)context)->live -= 1;
    free(memory);
}

#endif
