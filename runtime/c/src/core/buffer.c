/* Bytes that have arrived, or are to be written. */
#include <assert.h>
#include <string.h>

#include "net.h"

/*
 * How large a buffer is at first, and how large it may be to be kept while it is empty: by an active session, and by an
 * idle one.
 */
enum { FIRST = 1024, KEPT = 2 * DUO_NET_FULL, SMALL = 4096 };

bool duo_net_reserve(duo_net_buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->end) return true;
    size_t size = duo_net_size(buffer);
    if (more > SIZE_MAX / 4 || size > SIZE_MAX / 4) return false;
    if (size + more <= buffer->capacity) {
        memmove(buffer->bytes, buffer->bytes + buffer->from, size);
    } else {
        size_t capacity = buffer->capacity < FIRST ? FIRST : buffer->capacity;
        while (capacity < size + more) capacity *= 2;
        char *bytes = duo_allocate(capacity);
        if (bytes == NULL) return false;
        if (size > 0) memcpy(bytes, buffer->bytes + buffer->from, size);
        if (buffer->bytes != NULL) duo_release(buffer->bytes);
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    buffer->from = 0;
    buffer->end = size;
    return true;
}

void duo_net_append(duo_net_buffer *buffer, const void *bytes, size_t size)
{
    memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
}

void duo_net_drop(duo_net_buffer *buffer, size_t size)
{
    buffer->from += size;
    if (buffer->from < buffer->end) return;
    buffer->from = buffer->end = 0;
    if (buffer->capacity > KEPT) duo_net_shrink(buffer);
}

bool duo_net_is_large(const duo_net_buffer *buffer)
{
    return buffer->capacity > SMALL;
}

static_assert((int)DUO_NET_RESERVED <= (int)SMALL, "a buffer that is not large has space for what is reserved");

bool duo_net_shrink(duo_net_buffer *buffer)
{
    if (duo_net_size(buffer) > 0 || !duo_net_is_large(buffer)) return duo_net_is_large(buffer);
    const bool is_reserved = buffer->is_reserved;
    char *bytes = is_reserved ? duo_allocate(SMALL) : NULL;
    if (is_reserved && bytes == NULL) return true;
    duo_net_forget(buffer);
    if (is_reserved) *buffer = (duo_net_buffer){bytes, 0, 0, SMALL, true};
    return false;
}

void duo_net_forget(duo_net_buffer *buffer)
{
    if (buffer->bytes != NULL) duo_release(buffer->bytes);
    *buffer = (duo_net_buffer){NULL, 0, 0, 0, false};
}
