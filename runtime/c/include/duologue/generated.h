/*
 * duologue/generated.h: what generated headers include: tables and, where they are used, the short paths of messages.
 * Programs have no use for it.
 */
#ifndef DUOLOGUE_GENERATED_H
#define DUOLOGUE_GENERATED_H

#include "duologue/tables.h"

#if !defined(__cplusplus) && !defined(__OPTIMIZE_SIZE__)
#include "duologue/pipe.h"
#endif

#endif
