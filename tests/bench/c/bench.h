/*
 * The parts of the benchmark of the C pipes: cases, each with two sides that run on two CPUs, in two threads
 * or in two processes.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One way to do what a family measures. */
typedef struct bench_case {
    const char *name;
    /* Makes the channel before a slice; its result is passed to both sides. It does not return NULL. */
    void *(*open)(void);
    /*
     * Each side transfers `count` values and returns the sum of those that it received. Side 0 is the client,
     * which begins; it runs in the process that opened the channel.
     */
    uint64_t (*sides[2])(void *channel, uint64_t count);
    /* Runs after both sides, in the process that opened the channel. */
    void (*close)(void *channel);
    /* Side 1 runs in a process of its own, created by `fork` after `open`: the channel has to be shared. */
    bool in_processes;
    /* If not NULL: makes a side's argument from the channel, in the side's thread, before the slice begins. It is freed afterwards. */
    void *(*join[2])(void *channel);
} bench_case;

/* A bar: the case with this name takes at most `most` times as long as the peer. */
typedef struct bench_bar {
    const char *name;
    const char *peer;
    double most;
} bench_bar;

/* Where the sides run: on a processor each, wherever the scheduler puts them, or both on one processor. */
typedef enum bench_affinity { BENCH_APART, BENCH_ANYWHERE, BENCH_TOGETHER } bench_affinity;

/* Cases that do the same; the first is measured before and after the others of each round. */
typedef struct bench_family {
    const char *name;
    const char *unit;
    /* What a side has received when `count` values were transferred. */
    uint64_t (*sum_of)(unsigned side, uint64_t count);
    const bench_case *cases;
    size_t count;
    const bench_bar *bars;
    size_t bar_count;
    bench_affinity affinity;
} bench_family;

/* 0 + 1 + ... */
static inline uint64_t sum_below(uint64_t count)
{
    return count * (count - 1) / 2;
}

/* The server receives each number and sends one that is larger by 1. */
static inline uint64_t sum_of_ping_pong(unsigned side, uint64_t count)
{
    return sum_below(count) + (side == 0 ? count : 0);
}

static inline uint64_t sum_of_stream(unsigned side, uint64_t count)
{
    return side == 0 ? 0 : sum_below(count);
}

/* Ends the program with a message if a condition that must hold does not. */
#define BENCH_NEEDS(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) bench_fail(__FILE__, __LINE__, #condition);                              \
    } while (0)

_Noreturn void bench_fail(const char *file, int line, const char *condition);

/* Memory that is aligned to a cache line, and shared with processes that are created later. */
void *bench_shared(size_t size);
void bench_unshared(void *memory, size_t size);

static inline void bench_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* What one slice of a case took: nanoseconds per value. */
double bench_slice(const bench_family *family, const bench_case *measured, uint64_t count);

#define BENCH_COUNT(list) (sizeof(list) / sizeof *(list))

/* A function that makes a side's argument, an endpoint of this type: `fill` writes it to `*made`, and is true. */
#define BENCH_JOINS(name, type, fill)                                                              \
    static void *name(void *channel)                                                               \
    {                                                                                              \
        type *made = malloc(sizeof *made);                                                         \
        BENCH_NEEDS(made != NULL && (fill));                                                       \
        return made;                                                                               \
    }

/* Measures the families that the words of the command line select, `[--quick] [rounds [family]]`, and returns the program's status. */
int bench_run(const bench_family *families, size_t families_count, int count, char **words);

/* Pipes or sockets: for each side, the descriptor that it reads and the one that it writes. */
typedef struct bench_ends {
    int reads[2];
    int writes[2];
} bench_ends;

void *bench_open_pipes(void);
void *bench_open_unix(void);
void bench_close_ends(void *channel);
void bench_write(int to, const void *from, size_t size);
void bench_read(int from, void *to, size_t size);

/* ours.c: the sides of our sessions, whose arguments are endpoints. */
uint64_t session_ping(void *joined, uint64_t count);
uint64_t session_pong(void *joined, uint64_t count);
uint64_t session_produce(void *joined, uint64_t count);
uint64_t session_consume(void *joined, uint64_t count);

/* ours.c, rings.c, system.c */
extern const bench_case ours_ping_pong, ours_stream;
extern const bench_case raw_ping_pong, raw_stream, ring_ping_pong, ring_stream;
#if defined(__has_include)
#if __has_include(<ck_ring.h>)
#define BENCH_HAS_CK 1
extern const bench_case ck_ping_pong, ck_stream, ck_fan_in;
#endif
#endif
extern const bench_case pipe_ping_pong, pipe_stream, unix_ping_pong, unix_stream;

/* sessions.c */
extern const bench_case calls_session, ours_session, pipe_session;

/* fan_in.c */
extern const bench_case ours_fan_in, shared_fan_in, pipe_fan_in;
uint64_t sum_of_fan_in(unsigned side, uint64_t count);
/* How many senders there are: 64 at most. */
extern unsigned bench_senders;

#endif
