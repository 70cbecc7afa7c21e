/* What the two sides of the test of limits between languages share. */
#ifndef LIMITS_CASES_H
#define LIMITS_CASES_H

#include <stdio.h>

#include "duologue.h"

/* What the client sends. The first is at its limits, the others are beyond one. In the last session it is late. */
enum { FITS, FIELD, ITEMS, ITEM, MESSAGE, ENTRY, INNER, PROTOCOL, CASES, LATE = CASES };

static const char *const names[] = {"fits", "field", "items", "item", "message", "entry", "inner", "protocol", "late"};

/* Continues only if the operation succeeded. */
#define TRY(operation)                                                                             \
    do {                                                                                           \
        duo_status tried = (operation);                                                            \
        if (tried != DUO_OK) return tried;                                                         \
    } while (0)

static void report(unsigned what, duo_status status)
{
    const char *how = duo_status_text(status);
    if (status == DUO_OK) how = "ok";
    if (status == DUO_BROKEN) how = "broken";
    if (status == DUO_LATE) how = "late";
    printf("%s %s\n", names[what], how);
}

#endif
