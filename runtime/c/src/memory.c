/* Memory allocation. pool.c has the memory of sessions. */
#include "session.h"

#ifndef DUO_NO_MALLOC

#include <stdlib.h>

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
    functions.release(block);
}

#endif
