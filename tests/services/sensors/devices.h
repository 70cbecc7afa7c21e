/* The sensors that the gateway knows by name, connected or not. Only the thread of the event loop uses them. */
#ifndef DEVICES_H
#define DEVICES_H

#include "jobs_types.h"
#include "sensors_types.h"

/* Including the terminating zero byte. */
enum { NAME_SPACE = 33, UNIT_SPACE = 17, REASON_SPACE = 81 };

/* What the gateway remembers of a sensor. */
typedef struct device {
    char name[NAME_SPACE];
    /* Safe to print: see `duo_str_escape`. */
    char unit[UNIT_SPACE];
    bool is_connected;
    settings_t settings;
    /* The sensor has not received these settings yet; it is to stop. */
    bool is_changed;
    bool is_stopped;
    /* The last reading was out of bounds, so an alarm has been raised. */
    bool is_out;
    /* Statistics of the readings that are numbers. */
    uint64_t count;
    double last;
    double mean;
    double lowest;
    double highest;
    uint64_t alarms;
    /* How many of them have an outcome, the latest of these, and the memory that it refers to. */
    uint64_t outcomes;
    outcome_t outcome;
    void *block;
} device;

typedef struct devices {
    /* Sorted by name. */
    device **all;
    size_t count;
} devices;

/* Whether a text can be the name of a sensor: 1 to 32 ASCII letters, digits, dots, hyphens and underscores. */
bool device_is_name(duo_str text);

/* The sensor of this name; NULL if there is none. */
device *devices_find(const devices *known, const char *name);

/* The same, but adds the sensor if there is none. NULL if there are too many, or memory ran out. */
device *devices_add(devices *known, const char *name);

void devices_free(devices *known);

/* Adds a reading; true if it is the first one that is out of bounds, so that an alarm is to be raised. */
bool device_note(device *own, reading_t reading);

/* Keeps a copy of an outcome until the next one. */
void device_keep_outcome(device *own, outcome_t outcome);

/* Prints one line about the sensor. */
void device_print(const device *own);

/* Writes an outcome as text that is safe to print. */
void outcome_print(char *place, size_t space, outcome_t outcome);

#endif
