/*
 * duologue/generated.h: what generated headers include: tables and, where they are used, the short paths of messages.
 * Programs have no use for it.
 */
#ifndef DUOLOGUE_GENERATED_H
#define DUOLOGUE_GENERATED_H

#include "duologue/pipe.h"
#include "duologue/tables.h"

#endif
