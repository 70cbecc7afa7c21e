/* Memory allocation. pool.c has the memory of sessions. */
#include "floor.h"

#ifndef DUO_NO_MALLOC

#include <stdlib.h>
#if defined(DUO_DEBUG) && defined(__GLIBC__)
#include <malloc.h>
#endif

static duo_memory functions = {malloc, aligned_alloc, free};

void duo_use_memory(duo_memory replacement)
{
    functions = replacement;
}

void *duo_allocate(size_t size)
{
    return functions.allocate(size);
}

void *duo_allocate_aligned(size_t alignment, size_t size)
{
    return functions.allocate_aligned(alignment, size);
}

void duo_release(void *block)
{
#if defined(DUO_DEBUG) && defined(__GLIBC__)
    if (functions.release == free && block != NULL) memset(block, DUO_POISON, malloc_usable_size(block));
#endif
    functions.release(block);
}

/* The space before a block, which keeps it aligned for any type. */
enum { BEFORE_BLOCK = (sizeof(const duo_allocator *) + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t) };

void *duo_allocate_block(const duo_allocator *allocator, size_t size)
{
    if (DUO_LIKELY(allocator == NULL)) return duo_allocate(size);
    if (size > SIZE_MAX - BEFORE_BLOCK) return NULL;
    char *whole = allocator->allocate(allocator->context, size + BEFORE_BLOCK);
    if (whole == NULL) return NULL;
    memcpy(whole, &allocator, sizeof allocator);
    return whole + BEFORE_BLOCK + 1;
}

void duo_release_block(void *block)
{
    if (DUO_LIKELY(((uintptr_t)block & 1) == 0)) {
        duo_release(block);
        return;
    }
    char *whole = (char *)duo_in_block(block) - BEFORE_BLOCK;
    const duo_allocator *allocator;
    memcpy(&allocator, whole, sizeof allocator);
    allocator->release(allocator->context, whole);
}

#endif
