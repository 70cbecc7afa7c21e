/* What announcing and finding share. */
#ifndef DUOLOGUE_NATS_INNER_H
#define DUOLOGUE_NATS_INNER_H

#include "../src/net/net.h"
#include "duologue/nats.h"

enum { DUO_NATS_SUBJECT = 256, DUO_NATS_ADDRESS = 300 };

typedef struct duo_nats {
    duo_directory directory;
    natsConnection *connection;
    char server[DUO_NATS_ADDRESS];
} duo_nats;

/* The subject of the servers of a name that understand a protocol; false if this is not a name. */
bool duo_nats_subject(char subject[DUO_NATS_SUBJECT], const char *name, const duo_fingerprint *fingerprint, duo_problem *problem);

/* Waits until the NATS server has handled what was sent before. Fails if it does not, or if it does not permit this subject. */
duo_status duo_nats_settle(const duo_nats *nats, const char *subject, duo_problem *problem);

/* The status for a failure of the client library. */
duo_status duo_nats_failed(const duo_nats *nats, natsStatus status, duo_problem *problem);

#endif
