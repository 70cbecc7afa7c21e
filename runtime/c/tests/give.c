/* Sets to which any thread adds endpoints: one thread waits, and others use what is ready and give it back. */
#include <poll.h>

#include "line.h"
#include "waits.h"

enum { LINES = 20, WORKERS = 3, MESSAGES = 2000 };

static const uint64_t MOMENT = 2000000;

typedef struct giving {
    duo_ports *ports;
    line *line;
} giving;

static void *give_late(void *context)
{
    const giving *given = context;
    take_a_moment();
    CHECK(duo_ports_give(given->ports, DUO_READY(given->line->in), given->line) == DUO_OK);
    return NULL;
}

/* A wait for an empty set ends when it is interrupted, when its time has passed, and when what was given is ready. */
static void an_empty_set_waits(void)
{
    duo_ports *ports = duo_ports_new_open();
    void *with = NULL;
    CHECK(ports != NULL && duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY);
    CHECK(duo_ports_wait(ports, MOMENT, &with) == DUO_EMPTY);
    pthread_t thread = start(interrupt_late, ports);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY);
    finish(thread);
    line one = new_line();
    say(&one, 1);
    giving given = {ports, &one};
    thread = start(give_late, &given);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &one && hear(&one) == 1);
    finish(thread);
    CHECK(duo_ports_count(ports) == 0);
#ifdef __linux__
    struct pollfd polled = {duo_ports_descriptor(ports), POLLIN, 0};
    CHECK(polled.fd >= 0);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY && poll(&polled, 1, 0) == 0);
    say(&one, 2);
    thread = start(give_late, &given);
    CHECK(poll(&polled, 1, -1) == 1);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK && with == &one && hear(&one) == 2);
    finish(thread);
#endif
    /* What nobody has taken yet still belongs to its owner. */
    CHECK(duo_ports_give(ports, DUO_READY(one.in), &one) == DUO_OK);
    duo_ports_free(ports);
    say(&one, 3);
    CHECK(hear(&one) == 3);
    close_line(one);
}

/* What cannot be added is reported, in the order in which it was given, before what is ready. */
static void refused(void)
{
    line one = new_line(), other = new_line(), third = new_line();
    const numbers_server_stream_t old = one.in;
    say(&one, 1);
    CHECK(hear(&one) == 1);
    duo_ports *ports = duo_ports_new_open(), *others = duo_ports_new();
    CHECK(ports != NULL && others != NULL && duo_ports_add(others, DUO_READY(other.in), &other, NULL) == DUO_OK);
    say(&third, 3);
    CHECK(duo_ports_give(ports, DUO_READY(third.in), &third) == DUO_OK);
    CHECK(duo_ports_give(ports, DUO_READY(old), &one) == DUO_OK);
    CHECK(duo_ports_give(ports, DUO_READY(other.in), &other) == DUO_OK);
    void *with = NULL;
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &one);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &other);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &third && hear(&third) == 3);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY);
    duo_ports_free(ports);
    duo_ports_free(others);
    close_line(one);
    close_line(other);
    close_line(third);
}

/* A line, how many of its numbers were received, and the next one that is left to the workers. */
typedef struct task {
    line line;
    uint64_t heard;
    struct task *next;
} task;

/* What the waiting thread leaves to the workers. */
typedef struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    task *first;
    bool is_over;
    duo_ports *ports;
    size_t done;
} work;

static task *take_work(work *own)
{
    pthread_mutex_lock(&own->lock);
    while (own->first == NULL && !own->is_over) pthread_cond_wait(&own->changed, &own->lock);
    task *taken = own->first;
    if (taken != NULL) own->first = taken->next;
    pthread_mutex_unlock(&own->lock);
    return taken;
}

static void *use(void *context)
{
    work *own = context;
    for (task *here; (here = take_work(own)) != NULL;) {
        CHECK(hear(&here->line) == here->heard++);
        if (here->heard < MESSAGES) {
            CHECK(duo_ports_give(own->ports, DUO_READY(here->line.in), here) == DUO_OK);
            continue;
        }
        pthread_mutex_lock(&own->lock);
        own->done++;
        pthread_mutex_unlock(&own->lock);
        duo_ports_interrupt(own->ports);
    }
    return NULL;
}

static void *talk(void *context)
{
    task *tasks = context;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        for (size_t which = 0; which < LINES; which++) say(&tasks[which].line, i);
        if (i % 100 == 0) take_a_moment();
    }
    return NULL;
}

static bool is_done(work *own)
{
    pthread_mutex_lock(&own->lock);
    bool is_done = own->done == LINES;
    pthread_mutex_unlock(&own->lock);
    return is_done;
}

/* Waits for the next that is ready; DUO_EMPTY after an interrupt, and now and then with a descriptor. */
static duo_status wait_for_one(work *own, int descriptor, void **with)
{
    if (descriptor < 0) return duo_ports_wait(own->ports, DUO_FOREVER, with);
    duo_status status = duo_ports_wait(own->ports, DUO_AT_ONCE, with);
    struct pollfd polled = {descriptor, POLLIN, 0};
    /* What is given or interrupts after the wait makes the descriptor readable. */
    if (status == DUO_EMPTY && !is_done(own)) CHECK(poll(&polled, 1, -1) == 1);
    return status;
}

/* One thread waits, some use what is ready. Every message is received once and in order. */
static void workers(bool has_descriptor)
{
    static task tasks[LINES];
    work own = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .ports = duo_ports_new_open()};
    CHECK(own.ports != NULL);
    const int descriptor = has_descriptor ? duo_ports_descriptor(own.ports) : -1;
    pthread_t threads[WORKERS], talker;
    for (size_t i = 0; i < LINES; i++) tasks[i] = (task){.line = new_line()};
    for (size_t i = 0; i < WORKERS; i++) threads[i] = start(use, &own);
    for (size_t i = 0; i < LINES; i++) CHECK(duo_ports_give(own.ports, DUO_READY(tasks[i].line.in), &tasks[i]) == DUO_OK);
    talker = start(talk, tasks);
    while (!is_done(&own)) {
        void *with;
        if (wait_for_one(&own, descriptor, &with) != DUO_OK) continue;
        task *ready = with;
        pthread_mutex_lock(&own.lock);
        ready->next = own.first;
        own.first = ready;
        pthread_cond_signal(&own.changed);
        pthread_mutex_unlock(&own.lock);
    }
    pthread_mutex_lock(&own.lock);
    own.is_over = true;
    pthread_cond_broadcast(&own.changed);
    pthread_mutex_unlock(&own.lock);
    for (size_t i = 0; i < WORKERS; i++) finish(threads[i]);
    finish(talker);
    CHECK(duo_ports_count(own.ports) == 0);
    duo_ports_free(own.ports);
    for (size_t i = 0; i < LINES; i++) close_line(tasks[i].line);
}

TEST(give)
{
    an_empty_set_waits();
    refused();
    workers(false);
#ifdef __linux__
    workers(true);
#endif
    CHECK(duo_shutdown() == 0);
}
