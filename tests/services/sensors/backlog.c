#include "backlog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How many alarms may wait while the job queue is down or full. */
enum { MOST_ALARMS = 32 };

struct backlog {
    pthread_mutex_t lock;
    /* Signaled when anything below has changed. */
    pthread_cond_t changed;
    /* Not taken yet, the earliest first. */
    alarm_job *first;
    alarm_job **last;
    /* Have ended, the earliest first. */
    alarm_job *finished;
    alarm_job **last_finished;
    /* How many were raised and have not ended. */
    size_t open;
    /* No more alarms will be raised; no more attempts are to be made. */
    bool is_closing;
    bool is_over;
    void (*notify)(void *context);
    void *context;
};

backlog *backlog_new(void (*notify)(void *context), void *context)
{
    backlog *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&made->lock, NULL);
    made->last = &made->first;
    made->last_finished = &made->finished;
    made->notify = notify;
    made->context = context;
    return made;
}

void alarm_free(alarm_job *own)
{
    duo_release_copy(own->block);
    free(own);
}

void backlog_free(backlog *own)
{
    if (own == NULL) return;
    while (own->finished != NULL) {
        alarm_job *gone = own->finished;
        own->finished = gone->next;
        alarm_free(gone);
    }
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

bool backlog_raise(backlog *own, const char *sensor, const char *text)
{
    alarm_job *made = calloc(1, sizeof *made);
    if (made == NULL) return false;
    snprintf(made->sensor, sizeof made->sensor, "%s", sensor);
    snprintf(made->text, sizeof made->text, "%s", text);
    pthread_mutex_lock(&own->lock);
    const bool has_space = own->open < MOST_ALARMS;
    if (has_space) {
        *own->last = made;
        own->last = &made->next;
        own->open += 1;
        pthread_cond_broadcast(&own->changed);
    }
    pthread_mutex_unlock(&own->lock);
    if (!has_space) free(made);
    return has_space;
}

alarm_job *backlog_take(backlog *own)
{
    pthread_mutex_lock(&own->lock);
    while (own->first == NULL && !own->is_closing) pthread_cond_wait(&own->changed, &own->lock);
    alarm_job *taken = own->first;
    if (taken != NULL) own->first = taken->next;
    if (own->first == NULL) own->last = &own->first;
    pthread_mutex_unlock(&own->lock);
    return taken;
}

void backlog_finish(backlog *own, alarm_job *finished)
{
    pthread_mutex_lock(&own->lock);
    finished->next = NULL;
    *own->last_finished = finished;
    own->last_finished = &finished->next;
    own->open -= 1;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
    own->notify(own->context);
}

/* Waits for a change; false once the time has passed. The caller holds the lock. */
static bool await_change(backlog *own, duo_time_limit limit)
{
    const uint64_t left = duo_time_left(limit);
    if (left == 0) return false;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t nanoseconds = (uint64_t)until.tv_nsec + left % 1000000000;
    until.tv_sec += (time_t)(left / 1000000000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_cond_timedwait(&own->changed, &own->lock, &until);
    return true;
}

bool backlog_pause(backlog *own, uint32_t milliseconds)
{
    const duo_time_limit limit = duo_time_limit_in((uint64_t)milliseconds * 1000000);
    pthread_mutex_lock(&own->lock);
    while (!own->is_over && await_change(own, limit)) continue;
    const bool goes_on = !own->is_over;
    pthread_mutex_unlock(&own->lock);
    return goes_on;
}

alarm_job *backlog_finished(backlog *own)
{
    pthread_mutex_lock(&own->lock);
    alarm_job *finished = own->finished;
    own->finished = NULL;
    own->last_finished = &own->finished;
    pthread_mutex_unlock(&own->lock);
    return finished;
}

void backlog_drain(backlog *own, uint64_t nanoseconds)
{
    const duo_time_limit limit = duo_time_limit_in(nanoseconds);
    pthread_mutex_lock(&own->lock);
    own->is_closing = true;
    pthread_cond_broadcast(&own->changed);
    while (own->open > 0 && await_change(own, limit)) continue;
    own->is_over = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
}
