/* Whether bytes are UTF-8. */
#ifndef DUOLOGUE_UTF8_H
#define DUOLOGUE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool duo_is_utf8(const uint8_t *bytes, size_t size);

#endif
