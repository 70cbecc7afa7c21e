/*
 * Robots look for mutants of the servers of tests/run. `cases.h` has a line for each server, its scripts, and a line
 * for each mutant:
 *
 *   CASE(name, prefix, first state, hooks of the client)
 *   MUTANT(name of the case, number, text)
 *
 * Each mutant has a process of its own, which it may break.
 */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "duologue/ready.h"
#if __has_include("double_buffer_robots.h")
#include "hooks.h"
#endif
#include "mutants.h"
#include "transcript.h"

#include "cases.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* How long the robot waits for a mutant that hangs, and for others, in nanoseconds. */
#define SHORT_WAIT UINT64_C(100000000)
#define LONG_WAIT UINT64_C(20000000000)
/* How many seconds the process of a mutant may take. */
#define PATIENCE 120

/* Sessions with a mutant, and how many of them the original plays twice. */
enum { SESSIONS = 5000, AGAIN = 100 };

/* The mutant that plays: 0 is the original. */
static atomic_int current;
static atomic_bool is_over, has_hung;

bool mutant_is(int number)
{
    return atomic_load(&current) == number;
}

void mutant_hangs(int number)
{
    if (!mutant_is(number)) return;
    atomic_store(&has_hung, true);
    const struct timespec moment = {0, 1000000};
    while (!atomic_load(&is_over)) nanosleep(&moment, NULL);
}

/* Servers write no transcript here. What they format lives as long as the process. */
void transcript_line(struct transcript *transcript, const char *format, ...)
{
    (void)transcript;
    (void)format;
}

const char *quoted(struct transcript *transcript, duo_str text)
{
    (void)transcript;
    (void)text;
    return "";
}

const char *hex(struct transcript *transcript, duo_bytes bytes)
{
    (void)transcript;
    (void)bytes;
    return "";
}

const char *text(struct transcript *transcript, const char *format, ...)
{
    enum { SIZE = 64 };
    (void)transcript;
    char *shown = malloc(SIZE);
    CHECK(shown != NULL);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shown, SIZE, format, arguments);
    va_end(arguments);
    return shown;
}

duo_status unexpected(const char *file, int line, duo_status status, unsigned tag)
{
    (void)file;
    (void)line;
    (void)status;
    (void)tag;
    return DUO_USED;
}

/* A session of the client's robot with a server. */
#define CASE(name, prefix, state, hooks)                                                                               \
    duo_status name##_case_server(prefix##_server_##state##_t start, struct transcript *transcript);                   \
                                                                                                                       \
    typedef struct name##_start {                                                                                      \
        prefix##_server_##state##_t server;                                                                            \
        duo_canceler *canceler;                                                                                        \
    } name##_start;                                                                                                    \
                                                                                                                       \
    static void *serve_##name(void *context)                                                                           \
    {                                                                                                                  \
        name##_start *start = (name##_start *)context;                                                                 \
        (void)name##_case_server(start->server, NULL);                                                                 \
        /* A server that gives up in the middle leaves its endpoint, and the robot must not wait for it. */            \
        duo_cancel(start->canceler);                                                                                   \
        return NULL;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static duo_ending play_##name(duo_play *play)                                                                      \
    {                                                                                                                  \
        name##_start start;                                                                                            \
        prefix##_client_##state##_t client;                                                                            \
        pthread_t thread;                                                                                              \
        CHECK(prefix##_init(&start.server, &client) == DUO_OK);                                                        \
        start.canceler = duo_canceler_new();                                                                           \
        CHECK(start.canceler != NULL);                                                                                 \
        duo_canceler_use(start.canceler);                                                                              \
        atomic_store(&is_over, false);                                                                                 \
        CHECK(pthread_create(&thread, NULL, serve_##name, &start) == 0);                                               \
        duo_ending ending = prefix##_robot_client(client, play, hooks);                                                \
        atomic_store(&is_over, true);                                                                                  \
        CHECK(pthread_join(thread, NULL) == 0);                                                                        \
        duo_canceler_use(NULL);                                                                                        \
        duo_canceler_free(start.canceler);                                                                             \
        return ending;                                                                                                 \
    }
CASES
#undef CASE

typedef struct example {
    const char *name;
    const duo_robot_table *table;
    duo_ending (*play)(duo_play *play);
    const uint8_t *script, *rare;
    size_t script_size, rare_size;
} example;

static const example examples[] = {
#define CASE(name, prefix, state, hooks)                                                                               \
    {#name,                                                                                                            \
     &prefix##_robots,                                                                                                 \
     play_##name,                                                                                                      \
     name##_script,                                                                                                    \
     name##_rare,                                                                                                      \
     sizeof name##_script - 1,                                                                                         \
     sizeof name##_rare - 1},
    CASES
#undef CASE
};

typedef struct mutant {
    const char *example;
    int number;
    const char *name;
} mutant;

static const mutant mutants[] = {
#define MUTANT(example, number, name) {#example, number, name},
    MUTANTS
#undef MUTANT
};

static uint64_t next_number(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Plays a session, with a number that determines its bytes: first each whole script, then a part of one and random bytes. */
static duo_ending session(const example *of, int number_of_mutant, duo_coverage *coverage, uint64_t number,
                          uint64_t within, duo_play *play)
{
    uint8_t bytes[4096];
    size_t size = number == 1 ? of->rare_size : of->script_size;
    CHECK(size + 40 <= sizeof bytes);
    memcpy(bytes, number == 1 ? of->rare : of->script, size);
    if (number > 1) {
        uint64_t state = number;
        size = next_number(&state) % (size + 1);
        size_t more = next_number(&state) % 40;
        for (size_t i = 0; i < more; i += 1) bytes[size++] = (uint8_t)next_number(&state);
    }
    duo_choices choices = duo_choices_bytes(bytes, size);
    duo_play_init(play, &choices);
    play->coverage = coverage;
    play->limit = 30;
    play->pause = 0;
    play->leaves = false;
    play->within = within;
    atomic_store(&current, number_of_mutant);
    return of->play(play);
}

static void say(const char *how, const mutant *one, const char *what, int number)
{
    char line[400];
    int size = snprintf(line, sizeof line, "%s %s %s: %s %d\n", how, one->example, one->name, what, number);
    CHECK(size > 0 && (size_t)size < sizeof line);
    CHECK(write(STDOUT_FILENO, line, (size_t)size) == size);
}

/* Plays with the original and the mutant until two sessions with the same bytes differ. */
static void hunt(const example *of, const mutant *one)
{
    bool hangs = strstr(one->name, "hangs before") != NULL;
    duo_coverage *coverages[] = {duo_coverage_new(of->table), duo_coverage_new(of->table)};
    CHECK(coverages[0] != NULL && coverages[1] != NULL);
    int count = one->number == 0 ? AGAIN : SESSIONS;
    for (int number = 0; number < count; number += 1) {
        duo_play plays[2];
        duo_ending original = session(of, 0, coverages[0], (uint64_t)number, LONG_WAIT, &plays[0]);
        uint64_t within = hangs ? SHORT_WAIT : LONG_WAIT;
        duo_ending ending = session(of, one->number, coverages[1], (uint64_t)number, within, &plays[1]);
        bool differs = original != ending || strcmp(plays[0].transcript, plays[1].transcript) != 0;
        duo_play_free(&plays[0]);
        duo_play_free(&plays[1]);
        if (!differs || (hangs && !atomic_load(&has_hung))) continue;
        say("found", one, duo_ending_text(ending), number);
        return;
    }
    say("missed", one, "sessions:", count);
}

/* Each mutant in a process. */
static void hunt_apart(const mutant *one)
{
    const example *of = NULL;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i += 1)
        if (strcmp(examples[i].name, one->example) == 0) of = &examples[i];
    CHECK(of != NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        hunt(of, one);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) {
        bool is_late = WTERMSIG(status) == SIGALRM;
        say(is_late ? "missed" : "found", one, "ends with signal", WTERMSIG(status));
    } else if (status != 0) {
        say("missed", one, "exit status", WEXITSTATUS(status));
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i += 1) {
        const mutant original = {examples[i].name, 0, "original"};
        hunt_apart(&original);
    }
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i += 1) hunt_apart(&mutants[i]);
    return 0;
}
