/* The functions of record.c that recorded.c calls. */
#ifndef DUOLOGUE_SRC_RECORD_H
#define DUOLOGUE_SRC_RECORD_H

#ifdef DUO_RECORD

#include "duologue/record.h"
#include "../floor/floor.h"

/* Begins an event of the side that has this endpoint, which may be a used one. False if its session is not recorded. */
bool duo_record_of(duo_recorded *event, duo_endpoint endpoint);

/* Whether the monitor allows the message of this event. */
bool duo_record_allows(const duo_recorded *event);

/* Reports an event to the monitor, to the file and, if the side has left, to the registry. */
void duo_record_event(const duo_recorded *event);

/* registry.c: what a side does, for the registry, if there is one. */
#ifndef DUO_NO_THREADS
bool duo_registry_is_on(void);
/* It is about to send a message, which `duo_registry_takes_back` says was not sent. */
void duo_registry_sends(const duo_recorded *event, const duo_message *message);
void duo_registry_takes_back(const duo_recorded *event, const duo_message *message);
/* There is no space yet for what it is about to send, and then there was. */
void duo_registry_waits_to_send(const duo_recorded *event, const duo_message *message);
void duo_registry_has_sent(const duo_recorded *event, const duo_message *message);
void duo_registry_receives(const duo_recorded *event, const duo_message *message);
/* Around a wait for a message, where the registry is on. */
void duo_registry_waits(const duo_recorded *event, const duo_state *state);
void duo_registry_stops_waiting(const duo_recorded *event);
/* It has left, or found that the session has ended. */
void duo_registry_leaves(const duo_recorded *event);
#else
static inline bool duo_registry_is_on(void) { return false; }
static inline void duo_registry_sends(const duo_recorded *event, const duo_message *message) { (void)event, (void)message; }
static inline void duo_registry_takes_back(const duo_recorded *event, const duo_message *message) { (void)event, (void)message; }
static inline void duo_registry_waits_to_send(const duo_recorded *event, const duo_message *message) { (void)event, (void)message; }
static inline void duo_registry_has_sent(const duo_recorded *event, const duo_message *message) { (void)event, (void)message; }
static inline void duo_registry_receives(const duo_recorded *event, const duo_message *message) { (void)event, (void)message; }
static inline void duo_registry_waits(const duo_recorded *event, const duo_state *state) { (void)event, (void)state; }
static inline void duo_registry_stops_waiting(const duo_recorded *event) { (void)event; }
static inline void duo_registry_leaves(const duo_recorded *event) { (void)event; }
#endif

#endif

#endif
