/* Shared memory without any protocol: what the machine can do, and the rings that are in use. All spin. */
#include <stdalign.h>
#include <stdatomic.h>

#include "bench.h"

/* One cache line that both sides write in turn: nothing can be faster with two CPUs. */
typedef struct line {
    alignas(64) _Atomic uint64_t turn;
    uint64_t value;
} line;

static void *open_line(void)
{
    return bench_shared(sizeof(line));
}

static void close_line(void *channel)
{
    bench_unshared(channel, sizeof(line));
}

static void hand_over(line *shared, uint64_t turn, uint64_t value)
{
    shared->value = value;
    atomic_store_explicit(&shared->turn, turn, memory_order_release);
}

static uint64_t take(line *shared, uint64_t turn)
{
    while (atomic_load_explicit(&shared->turn, memory_order_acquire) != turn) bench_relax();
    return shared->value;
}

static uint64_t raw_ping(void *channel, uint64_t count)
{
    line *shared = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        hand_over(shared, 2 * i + 1, i);
        sum += take(shared, 2 * i + 2);
    }
    return sum;
}

static uint64_t raw_pong(void *channel, uint64_t count)
{
    line *shared = channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = take(shared, 2 * i + 1);
        sum += value;
        hand_over(shared, 2 * i + 2, value + 1);
    }
    return sum;
}

const bench_case raw_ping_pong = {"raw line (busy spin)", open_line, {raw_ping, raw_pong}, close_line,
                                  false, {0}};

/*
 * Cache lines full of numbers, each line with a word that counts them: each number can be seen at once, and
 * the sides share nothing but how many halves of the ring are empty. No endpoints, no end, no sleep:
 * hardly anything can be faster with two CPUs.
 */
enum { LINES = 128, HALF = LINES / 2, IN_LINE = 7 };

typedef struct full_line {
    alignas(64) _Atomic uint64_t count;
    uint64_t numbers[IN_LINE];
} full_line;

typedef struct lines {
    full_line lines[LINES];
    alignas(128) _Atomic uint64_t halves;
} lines;

static void *open_lines(void)
{
    return bench_shared(sizeof(lines));
}

static void close_lines(void *channel)
{
    bench_unshared(channel, sizeof(lines));
}

static uint64_t lines_produce(void *channel, uint64_t count)
{
    lines *to = channel;
    uint64_t at_line = 0, place = 0;
    for (uint64_t i = 0; i < count; i++) {
        full_line *here = &to->lines[at_line % LINES];
        here->numbers[place] = i;
        atomic_store_explicit(&here->count, at_line * 8 + ++place, memory_order_release);
        if (place < IN_LINE) continue;
        place = 0;
        if (++at_line % HALF != 0 || at_line < LINES) continue;
        while (atomic_load_explicit(&to->halves, memory_order_acquire) + 1 < at_line / HALF) bench_relax();
    }
    return 0;
}

static uint64_t lines_consume(void *channel, uint64_t count)
{
    lines *from = channel;
    uint64_t sum = 0, at_line = 0, place = 0;
    for (uint64_t i = 0; i < count; i++) {
        full_line *here = &from->lines[at_line % LINES];
        while (atomic_load_explicit(&here->count, memory_order_acquire) < at_line * 8 + place + 1) bench_relax();
        sum += here->numbers[place];
        if (++place < IN_LINE) continue;
        place = 0;
        if (++at_line % HALF == 0)
            atomic_store_explicit(&from->halves, at_line / HALF, memory_order_release);
    }
    return sum;
}

const bench_case raw_stream = {"raw lines (busy spin)", open_lines, {lines_produce, lines_consume},
                               close_lines, false, {0}};

/* A ring for one sender and one receiver; each keeps a copy of the other's index and refreshes it only when
 * the ring seems full or empty. */
enum { SLOTS = 1024 };

typedef struct ring {
    alignas(128) _Atomic uint64_t written;
    uint64_t seen_read;
    alignas(128) _Atomic uint64_t read;
    uint64_t seen_written;
    alignas(128) uint64_t slots[SLOTS];
} ring;

static void push(ring *to, uint64_t value)
{
    uint64_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    while (at - to->seen_read == SLOTS) {
        to->seen_read = atomic_load_explicit(&to->read, memory_order_acquire);
        if (at - to->seen_read == SLOTS) bench_relax();
    }
    to->slots[at % SLOTS] = value;
    atomic_store_explicit(&to->written, at + 1, memory_order_release);
}

static uint64_t pop(ring *from)
{
    uint64_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    while (at == from->seen_written) {
        from->seen_written = atomic_load_explicit(&from->written, memory_order_acquire);
        if (at == from->seen_written) bench_relax();
    }
    uint64_t value = from->slots[at % SLOTS];
    atomic_store_explicit(&from->read, at + 1, memory_order_release);
    return value;
}

static void *open_rings(void)
{
    return bench_shared(2 * sizeof(ring));
}

static void close_rings(void *channel)
{
    bench_unshared(channel, 2 * sizeof(ring));
}

/* The sides of both benchmarks, for rings of this type with these functions. */
#define SIDES(type, push, pop)                                                                     \
    static uint64_t type##_ping(void *channel, uint64_t count)                                     \
    {                                                                                              \
        type *rings = channel;                                                                     \
        uint64_t sum = 0;                                                                          \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            push(&rings[0], i);                                                                    \
            sum += pop(&rings[1]);                                                                 \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static uint64_t type##_pong(void *channel, uint64_t count)                                     \
    {                                                                                              \
        type *rings = channel;                                                                     \
        uint64_t sum = 0;                                                                          \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            uint64_t value = pop(&rings[0]);                                                       \
            sum += value;                                                                          \
            push(&rings[1], value + 1);                                                            \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static uint64_t type##_produce(void *channel, uint64_t count)                                  \
    {                                                                                              \
        for (uint64_t i = 0; i < count; i++) push(channel, i);                                     \
        return 0;                                                                                  \
    }                                                                                              \
    static uint64_t type##_consume(void *channel, uint64_t count)                                  \
    {                                                                                              \
        uint64_t sum = 0;                                                                          \
        for (uint64_t i = 0; i < count; i++) sum += pop(channel);                                  \
        return sum;                                                                                \
    }

SIDES(ring, push, pop)

const bench_case ring_ping_pong = {"two cached-index rings (busy spin)", open_rings,
                                   {ring_ping, ring_pong}, close_rings, false, {0}};
const bench_case ring_stream = {"cached-index ring (busy spin)", open_rings,
                                {ring_produce, ring_consume}, close_rings, false, {0}};

#ifdef BENCH_HAS_CK

#include "kit.h"

kit *kits_open(unsigned count)
{
    kit *kits = bench_shared(count * sizeof *kits);
    for (unsigned i = 0; i < count; i++) ck_ring_init(&kits[i].ring, KIT_SLOTS);
    return kits;
}

static void *open_kits(void)
{
    return kits_open(2);
}

static void close_kits(void *channel)
{
    bench_unshared(channel, 2 * sizeof(kit));
}

static void kit_push(kit *to, uint64_t value)
{
    while (!ck_ring_enqueue_spsc(&to->ring, to->slots, (void *)(uintptr_t)(value + 1))) bench_relax();
}

static uint64_t kit_pop(kit *from)
{
    void *value;
    while (!ck_ring_dequeue_spsc(&from->ring, from->slots, &value)) bench_relax();
    return (uint64_t)(uintptr_t)value - 1;
}

SIDES(kit, kit_push, kit_pop)

const bench_case ck_ping_pong = {"two of ck_ring (busy spin)", open_kits, {kit_ping, kit_pong},
                                 close_kits, false, {0}};
const bench_case ck_stream = {"ck_ring (busy spin)", open_kits, {kit_produce, kit_consume}, close_kits,
                              false, {0}};

#endif
