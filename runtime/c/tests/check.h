/* What the tests of the runtime share: a check that reports what failed, and threads. */
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
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

/* A case of the program that all tests of a folder are linked into; `driver CASE...` runs these, one after the other. */
typedef struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
} test;

void add_test(test *added);

#define TEST(title)                                                                                \
    static void test_##title(void);                                                                \
    __attribute__((constructor)) static void add_##title(void)                                     \
    {                                                                                              \
        static test added = {#title, test_##title, NULL};                                          \
        add_test(&added);                                                                          \
    }                                                                                              \
    static void test_##title(void)

/* Whether time limits, polling or other messages may wake a sleeper that was forgotten, which hides the mistake. */
extern bool is_rescued;

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

/* The next of numbers that look random, and are the same for the same seed, which is not 0. */
static inline uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Long enough for another thread to fall asleep; if it is too short, a test only proves less. */
static inline void take_a_moment(void)
{
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

#endif
