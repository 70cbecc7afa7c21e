/* UTF-8. */
#ifndef DUOLOGUE_TEXT_H
#define DUOLOGUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool duo_is_utf8(const uint8_t *bytes, size_t size);

#endif
