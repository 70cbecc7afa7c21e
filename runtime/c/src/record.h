/* The functions of record.c that recorded.c calls. */
#ifndef DUOLOGUE_SRC_RECORD_H
#define DUOLOGUE_SRC_RECORD_H

#ifdef DUO_RECORD

#include "duologue/record.h"
#include "session.h"

/* Begins an event of the side that has this endpoint, which may be a used one. False if its session is not recorded. */
bool duo_record_of(duo_recorded *event, duo_endpoint endpoint);

/* Whether the monitor allows the message of this event. */
bool duo_record_allows(const duo_recorded *event);

/* Reports an event to the monitor and to the file. */
void duo_record_event(const duo_recorded *event);

#endif

#endif
