/* The sessions with sensors, as callbacks: what the gateway does with each message, and what it answers. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include "backlog.h"
#include "duologue/ready.h"
#include "sensor_events.h"

/* What all sessions share. */
typedef struct gateway {
    devices known;
    backlog *alarms;
    duo_ports *ports;
    struct session *first;
    bool is_closing;
    /* For the summary at the end. */
    uint64_t registered;
    uint64_t lost;
    uint64_t readings;
    uint64_t raised;
    uint64_t dropped;
    uint64_t done;
    uint64_t failed;
    uint64_t unknown;
    uint64_t unsent;
} gateway;

typedef struct session {
    sensor_server_any_t endpoint;
    /* Its place in the set while it is there. */
    duo_port port;
    gateway *gateway;
    /* NULL until the sensor has registered. */
    device *sensor;
    /* Why it may not register; NULL if it may. */
    const char *refusal;
    /* How the protocol ended; NULL if it did not reach its end. */
    const char *ending;
    struct session *next;
    struct session **place;
} session;

/* Begins to serve a sensor. */
void session_begin(gateway *own, sensor_server_unknown_t endpoint);

/* Continues a session that is ready: handles one message. */
void session_continue(session *own);

/* Ends all sessions. */
void sessions_close(gateway *own);

#endif
