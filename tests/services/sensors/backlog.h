/*
 * The alarms that pass between the event loop, which raises them and handles their outcomes, and the workers, which
 * submit them to the job queue. Any thread may call these functions, except where they say otherwise.
 */
#ifndef BACKLOG_H
#define BACKLOG_H

#include "devices.h"

enum { ALARM_SPACE = 160 };

/* How an alarm has ended. */
typedef enum alarm_end {
    /* The queue did not accept it before the gateway ended. */
    ALARM_UNSENT,
    /* The queue has accepted it, but its outcome did not arrive. */
    ALARM_UNKNOWN,
    /* `outcome` says how. */
    ALARM_OUTCOME
} alarm_end;

typedef struct alarm_job {
    struct alarm_job *next;
    char sensor[NAME_SPACE];
    /* The input of the job. */
    char text[ALARM_SPACE];
    alarm_end end;
    outcome_t outcome;
    /* The memory that the outcome refers to. */
    void *block;
} alarm_job;

typedef struct backlog backlog;

/* `notify` is called by workers when an alarm has ended. NULL if memory ran out. */
backlog *backlog_new(void (*notify)(void *context), void *context);

/* Must not be called while a worker runs. */
void backlog_free(backlog *own);

/* Adds an alarm; false if there are too many that have not ended. */
bool backlog_raise(backlog *own, const char *sensor, const char *text);

/* Workers: waits for an alarm; NULL once there is nothing left to do. */
alarm_job *backlog_take(backlog *own);

/* Workers: the alarm has ended. */
void backlog_finish(backlog *own, alarm_job *finished);

/* Workers: waits before another attempt; false if there is to be none. */
bool backlog_pause(backlog *own, uint32_t milliseconds);

/* The alarms that have ended since the last call, the earliest first; `alarm_free` frees each. */
alarm_job *backlog_finished(backlog *own);

void alarm_free(alarm_job *own);

/* Waits until all alarms have ended, for at most that many nanoseconds. After that, workers no longer wait. */
void backlog_drain(backlog *own, uint64_t nanoseconds);

#endif
