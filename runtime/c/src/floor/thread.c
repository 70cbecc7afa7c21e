/* Threads of the runtime, and their conditions. */
#define _GNU_SOURCE
#include "floor.h"

#ifndef DUO_NO_THREADS

#include <signal.h>

int duo_start_thread(pthread_t *thread, void *(*body)(void *), void *context)
{
    pthread_t made;
    /* Signals are for the program's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&made, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0 && thread == NULL) pthread_detach(made);
    if (failed == 0 && thread != NULL) *thread = made;
    return failed;
}

void duo_make_condition(pthread_cond_t *made)
{
    pthread_condattr_t how;
    pthread_condattr_init(&how);
#ifndef __APPLE__
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(made, &how);
    pthread_condattr_destroy(&how);
}

#endif
