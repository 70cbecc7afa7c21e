/* What the tests of the runtime share: a check that reports what failed, and threads. */
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Prints what does not hold and ends the program: anything after that would only confuse. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/*
 * For tests in which nothing rescues a sleeper that was forgotten: no time limit ends its sleep, nothing is polled in
 * between, and no other message wakes it. Such a test would never end, so it is stopped.
 */
#ifdef NOTHING_RESCUES
#include <unistd.h>

enum { IS_RESCUED = 0 };

__attribute__((constructor)) static void end_a_test_that_hangs(void)
{
    alarm(500);
}
#else
enum { IS_RESCUED = 1 };
#endif

static inline pthread_t start(void *(*run)(void *), void *context)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, context) == 0);
    return thread;
}

static inline void finish(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Long enough for another thread to fall asleep; if it is too short, a test only proves less. */
static inline void take_a_moment(void)
{
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

#endif
