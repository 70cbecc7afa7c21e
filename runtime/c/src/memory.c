/* Memory allocation. pool.c has the memory of sessions. */
#include "session.h"

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

#endif
