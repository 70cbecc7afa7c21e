/* Sessions within a process, as one translation unit: all files of these rooms, from the lowest. */
#define _GNU_SOURCE

#include "floor/backoff.c"
#include "floor/barrier.c"
#include "floor/cancel.c"
#include "floor/system.c"

#include "text/text.c"

#include "record/record.c"
#include "record/registry.c"

#include "ring/layout.c"
#include "ring/pool.c"

#include "link/notify.c"
#include "link/park.c"
#include "link/payload.c"
#include "link/recorded.c"
#include "link/session.c"

#include "many/ports.c"
#include "many/select.c"
#include "many/shared.c"
