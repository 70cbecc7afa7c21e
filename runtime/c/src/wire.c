/* What sessions between processes share, as one translation unit. */
#define _GNU_SOURCE

#include "wire/wire.c"
