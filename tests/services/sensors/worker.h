/* Threads that submit alarms to the job queue, and wait for their outcomes. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>

#include "backlog.h"
#include "duologue/ready.h"
#include "jobs_net.h"

typedef struct worker {
    pthread_t thread;
    backlog *alarms;
    /* The address of the queue. */
    const char *queue;
    /* The session with the queue; zeroed if there is none. */
    jobs_client_idle_t idle;
    /* Ends its waits for the queue. */
    duo_canceler *canceler;
} worker;

/* Starts a worker; false if the system has no thread left. It ends after `backlog_drain`, at the latest when it is canceled. */
bool worker_start(worker *own, backlog *alarms, const char *queue, duo_canceler *canceler);

#endif
