/* Copies of values that outlive the message they came in. */
#include "../link/link.h"

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
