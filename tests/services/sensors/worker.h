/* Threads that take alarms to the queue of jobs, and wait for what becomes of them. */
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
    /* A set of one endpoint, so that a wait can be ended from another thread. */
    duo_ports *ports;
} worker;

/* Starts a worker; false if the system has no thread or descriptor left. */
bool worker_start(worker *own, backlog *alarms, const char *queue);

/* After `backlog_drain`: ends a wait for the queue, and waits for the end of the thread. */
void worker_join(worker *own);

#endif
