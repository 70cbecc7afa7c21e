/*
 * Slices and rounds. All cases of a family take turns, in slices of SLICE nanoseconds; every other
 * round goes in reverse order. The first case is measured before and after the others of its round, and its
 * time in the round is the geometric mean of the two. Cross-CPU times depend on where a virtual machine's
 * CPUs are at the moment, so a ratio is that of tenth percentiles over all rounds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* How long a slice is, in nanoseconds. */
enum { SLICE = 1500000, FEWEST = 20, MOST_CASES = 24 };

/* A round trip of fewer nanoseconds did not leave the core. */
enum { SHARED = 40, ROUND_TRIPS = 500 };

_Noreturn void bench_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    exit(1);
}

void *bench_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BENCH_NEEDS(memory != MAP_FAILED);
    memset(memory, 0, size);
    return memory;
}

void bench_unshared(void *memory, size_t size)
{
    munmap(memory, size);
}

static uint64_t nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What both sides of a slice share, also across processes. */
typedef struct slice {
    const bench_case *measured;
    bench_affinity affinity;
    void *channel;
    uint64_t count;
    _Atomic int ready;
    uint64_t began[2];
    uint64_t ended[2];
    uint64_t sums[2];
} slice;

/* Lets the thread of a side, and those that it starts, run only where the family says. */
static void pin(unsigned side, bench_affinity affinity)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 2) return;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (long cpu = 0; cpu < processors; cpu++) {
        long own = affinity == BENCH_APART ? side : 0;
        if (affinity == BENCH_ANYWHERE || cpu == own) CPU_SET((size_t)cpu, &cpus);
    }
    BENCH_NEEDS(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
}

static void run_side(slice *shared, unsigned side)
{
    pin(side, shared->affinity);
    void *joined = shared->channel;
    if (shared->measured->join[side] != NULL) joined = shared->measured->join[side](joined);
    atomic_fetch_add(&shared->ready, 1);
    for (unsigned looks = 0; atomic_load(&shared->ready) < 2; looks++) {
        if (looks > 10000) sched_yield();
    }
    shared->began[side] = nanoseconds();
    shared->sums[side] = shared->measured->sides[side](joined, shared->count);
    shared->ended[side] = nanoseconds();
    if (joined != shared->channel) free(joined);
}

static void *second_side(void *shared)
{
    run_side(shared, 1);
    return NULL;
}

double bench_slice(const bench_family *family, const bench_case *measured, uint64_t count)
{
    slice *shared = bench_shared(sizeof *shared);
    shared->measured = measured;
    shared->affinity = family->affinity;
    shared->channel = measured->open();
    shared->count = count;
    if (measured->in_processes) {
        pid_t child = fork();
        BENCH_NEEDS(child >= 0);
        if (child == 0) {
            run_side(shared, 1);
            _exit(0);
        }
        run_side(shared, 0);
        int status;
        BENCH_NEEDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    } else {
        pthread_t thread;
        BENCH_NEEDS(pthread_create(&thread, NULL, second_side, shared) == 0);
        run_side(shared, 0);
        BENCH_NEEDS(pthread_join(thread, NULL) == 0);
    }
    measured->close(shared->channel);
    for (unsigned side = 0; side < 2; side++)
        BENCH_NEEDS(shared->sums[side] == family->sum_of(side, count));
    uint64_t began = shared->began[0] > shared->began[1] ? shared->began[0] : shared->began[1];
    uint64_t ended = shared->ended[0] > shared->ended[1] ? shared->ended[0] : shared->ended[1];
    bench_unshared(shared, sizeof *shared);
    return (double)(ended > began ? ended - began : 1) / (double)count;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A quantile of a list, which is sorted in place. */
static double quantile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, by_size);
    return values[(size_t)(part * (double)(count - 1) + 0.5)];
}

/* How many values make a slice, found by trying larger and larger numbers. */
static uint64_t size_of_slice(const bench_family *family, const bench_case *measured)
{
    uint64_t count = FEWEST;
    for (;;) {
        double each = bench_slice(family, measured, count);
        if (each * (double)count > SLICE / 4) {
            double fits = SLICE / each;
            return fits > FEWEST ? (uint64_t)fits : FEWEST;
        }
        count *= 4;
    }
}

/* Nanoseconds that a cache line takes to the other CPU and back. */
static double distance(void)
{
    static const bench_family family = {.sum_of = sum_of_ping_pong};
    return bench_slice(&family, &raw_ping_pong, ROUND_TRIPS);
}

/* Square root of the product, without the math library. */
static double geometric_mean(double a, double b)
{
    double mean = (a + b) / 2;
    for (int i = 0; i < 20; i++) mean = (mean + a * b / mean) / 2;
    return mean;
}

static void print_time(double time)
{
    printf(time < 10 ? "%.2f" : time < 100 ? "%.1f" : "%.0f", time);
}

/* In `rounds` rounds, or each case once if `rounds` is 0; prints a table. */
static void measure(const bench_family *family, unsigned rounds)
{
    const bench_case *cases = family->cases;
    if (rounds == 0) {
        for (size_t i = 0; i < family->count; i++) {
            bench_slice(family, &cases[i], 3);
            printf("%s, %s: works\n", family->name, cases[i].name);
        }
        return;
    }
    BENCH_NEEDS(family->count <= MOST_CASES);
    uint64_t sizes[MOST_CASES];
    double *times[MOST_CASES];
    for (size_t i = 0; i < family->count; i++) {
        sizes[i] = size_of_slice(family, &cases[i]);
        times[i] = calloc(rounds, sizeof **times);
        BENCH_NEEDS(times[i] != NULL);
    }
    unsigned asked = rounds, aside = 0;
    for (unsigned round = 0; round < rounds; round++) {
        if (family->affinity == BENCH_APART && distance() < SHARED) {
            aside++;
            rounds--;
            round--;
            continue;
        }
        double before = bench_slice(family, &cases[0], sizes[0]);
        for (size_t n = 1; n < family->count; n++) {
            size_t i = round % 2 ? family->count - n : n;
            times[i][round] = bench_slice(family, &cases[i], sizes[i]);
        }
        times[0][round] = geometric_mean(before, bench_slice(family, &cases[0], sizes[0]));
    }

    if (rounds == 0) {
        printf("### %s\n\nNot measured: the two CPUs shared a core all the time.\n\n", family->name);
        return;
    }
    double tenths[MOST_CASES] = {0};
    for (size_t i = 0; i < family->count; i++) tenths[i] = quantile(times[i], rounds, 0.1);
    printf("### %s\n\nNanoseconds per %s, %u rounds; ratios of tenth percentiles to *%s*.\n\n", family->name,
           family->unit, rounds, cases[0].name);
    printf("| case | tenth percentile | median | ratio |\n| --- | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < family->count; i++) {
        printf("| %s | ", cases[i].name);
        print_time(tenths[i]);
        printf(" | ");
        print_time(quantile(times[i], rounds, 0.5));
        printf(" | ");
        print_time(tenths[i] / tenths[0]);
        printf(" |\n");
    }
    double unsteadiness = quantile(times[0], rounds, 0.9) / tenths[0];
    bool is_steady = unsteadiness <= 4 && aside <= asked / 2 && sysconf(_SC_NPROCESSORS_ONLN) >= 2;
    if (aside == 1) printf("\nOne round in which the two CPUs shared a core is left out.\n");
    if (aside > 1) printf("\n%u rounds in which the two CPUs shared a core are left out.\n", aside);
    printf("\nThe ninetieth percentile of *%s* is %.1f times its tenth.\n\n", cases[0].name, unsteadiness);
    printf("| bar | at most | measured | |\n| --- | ---: | ---: | --- |\n");
    for (size_t bar = 0; bar < family->bar_count; bar++) {
        const bench_bar *judged = &family->bars[bar];
        double ours = 0, theirs = 0;
        int digits = judged->most < 0.1 ? 4 : 2;
        for (size_t i = 0; i < family->count; i++) {
            if (strcmp(cases[i].name, judged->name) == 0) ours = tenths[i];
            if (strcmp(cases[i].name, judged->peer) == 0) theirs = tenths[i];
        }
        if (ours == 0 || theirs == 0) {
            printf("| %s compared with %s | %.*f | | not measured |\n", judged->name, judged->peer, digits,
                   judged->most);
            continue;
        }
        const char *verdict = ours / theirs <= judged->most ? "met" : "**missed**";
        printf("| %s compared with %s | %.*f | %.*f | %s |\n", judged->name, judged->peer, digits, judged->most,
               digits, ours / theirs, is_steady ? verdict : "too noisy to judge");
    }
    printf("\n");
    for (size_t i = 0; i < family->count; i++) free(times[i]);
}

int bench_run(const bench_family *families, size_t families_count, int count, char **words)
{
    unsigned rounds = 101;
    if (count > 1) rounds = strcmp(words[1], "--quick") == 0 ? 0 : (unsigned)strtoul(words[1], NULL, 10);
    const char *wanted = count > 2 ? words[2] : "";
    for (size_t i = 0; i < families_count; i++)
        if (strncmp(families[i].name, wanted, strlen(wanted)) == 0) measure(&families[i], rounds);
    if (rounds == 0) printf("every case works\n");
    return 0;
}
