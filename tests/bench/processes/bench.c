/*
 * What sessions between processes cost, beside what the machine and the system can do.
 *
 *   duologue gen tests/bench/processes/bench.proto --c build --c-shm
 *   cc -O3 -Iruntime/c/include -Iruntime/c/tests -Ibuild tests/bench/processes/bench.c build/[a-z]*.c runtime/c/src/[a-z]*.c -pthread -o build/bench
 *   build/bench 101
 *
 * Two processes, each on a processor of its own. All cases of a family take turns in slices of about a
 * millisecond and a half. A case's ratio to another is that of their tenth percentiles over all rounds, which
 * holds also while a virtual machine's processors move. Without a number of rounds every case runs once, for a
 * few messages, to see that it works.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "numbers_shm.h"
#include "rally_shm.h"
#include "texts_shm.h"

enum { MOST_ROUNDS = 1000, MOST_CASES = 8, LONG = 65536, SHORT = 64, BATCH = 512 };

/* What the two processes of a case share: memory, two pairs of descriptors, and a place to start together. */
typedef struct line {
    alignas(64) _Atomic uint64_t turn;
    uint64_t value;
} line;

typedef struct shared {
    line raw;
    alignas(64) _Atomic int ready;
    uint64_t nanoseconds;
} shared;

typedef struct channel {
    shared *memory;
    int region;
    /* [0] reads what the other writes to [1]; one pair for each direction. */
    int there[2];
    int back[2];
    size_t size;
} channel;

typedef struct bench_case {
    const char *name;
    void (*open)(channel *to);
    uint64_t (*client)(channel *to, uint64_t count);
    uint64_t (*server)(channel *to, uint64_t count);
} bench_case;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void open_nothing(channel *to)
{
    (void)to;
}

static void open_region(channel *to)
{
    CHECK(duo_shm_create(0, &to->region) == DUO_OK);
}

static void open_pipes(channel *to)
{
    CHECK(pipe(to->there) == 0 && pipe(to->back) == 0);
}

static void open_sockets(channel *to)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    to->there[1] = to->back[0] = pair[0];
    to->there[0] = to->back[1] = pair[1];
}

static void read_all(int from, void *to, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t part = read(from, (char *)to + got, size - got);
        CHECK(part > 0);
        got += (size_t)part;
    }
}

static void write_all(int to, const void *from, size_t size)
{
    for (size_t put = 0; put < size;) {
        ssize_t part = write(to, (const char *)from + put, size - put);
        CHECK(part > 0);
        put += (size_t)part;
    }
}

/* One cache line in turn. */
static uint64_t raw_ping(channel *to, uint64_t count)
{
    line *raw = &to->memory->raw;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        raw->value = i;
        atomic_store_explicit(&raw->turn, 2 * i + 1, memory_order_release);
        while (atomic_load_explicit(&raw->turn, memory_order_acquire) != 2 * i + 2) relax();
        sum += raw->value;
    }
    return sum;
}

static uint64_t raw_pong(channel *to, uint64_t count)
{
    line *raw = &to->memory->raw;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        while (atomic_load_explicit(&raw->turn, memory_order_acquire) != 2 * i + 1) relax();
        uint64_t value = raw->value;
        sum += value;
        raw->value = value + 1;
        atomic_store_explicit(&raw->turn, 2 * i + 2, memory_order_release);
    }
    return sum;
}

static uint64_t our_ping(channel *to, uint64_t count)
{
    rally_client_ping_t self;
    CHECK(rally_client_attach(to->region, NULL, &self) == DUO_OK);
    uint64_t sum = 0, began = now();
    for (uint64_t i = 0; i < count; i++) {
        rally_client_pong_t waiting;
        rally_pong_t answer;
        CHECK(rally_client_ping_send_ping(self, i, &waiting) == DUO_OK);
        CHECK(rally_client_pong_recv(waiting, &answer) == DUO_OK);
        sum += answer.as.pong.value;
        self = answer.as.pong.next;
    }
    to->memory->nanoseconds = now() - began;
    CHECK(rally_client_ping_send_stop(self) == DUO_OK);
    return sum;
}

static uint64_t our_pong(channel *to, uint64_t count)
{
    rally_server_ping_t self;
    CHECK(rally_server_attach(to->region, NULL, &self) == DUO_OK);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        rally_ping_t asked;
        CHECK(rally_server_ping_recv(self, &asked) == DUO_OK);
        sum += asked.as.ping.value;
        CHECK(rally_server_pong_send_pong(asked.as.ping.next, asked.as.ping.value + 1, &self) ==
              DUO_OK);
    }
    rally_ping_t last;
    CHECK(rally_server_ping_recv(self, &last) == DUO_OK && last.tag == RALLY_PING_STOP);
    return sum;
}

static uint64_t file_ping(channel *to, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = i;
        write_all(to->there[1], &value, sizeof value);
        read_all(to->back[0], &value, sizeof value);
        sum += value;
    }
    return sum;
}

static uint64_t file_pong(channel *to, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value;
        read_all(to->there[0], &value, sizeof value);
        sum += value++;
        write_all(to->back[1], &value, sizeof value);
    }
    return sum;
}

static uint64_t our_source(channel *to, uint64_t count)
{
    numbers_client_stream_t self;
    CHECK(numbers_client_attach(to->region, NULL, &self) == DUO_OK);
    for (uint64_t i = 0; i < count; i++)
        CHECK(numbers_client_stream_send_number(self, i, &self) == DUO_OK);
    CHECK(numbers_client_stream_send_stop(self) == DUO_OK);
    return count * (count - 1) / 2;
}

static uint64_t our_sink(channel *to, uint64_t count)
{
    numbers_server_stream_t self;
    CHECK(numbers_server_attach(to->region, NULL, &self) == DUO_OK);
    uint64_t sum = 0, began = now();
    numbers_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(numbers_server_stream_recv(self, &got) == DUO_OK);
        sum += got.as.number.value;
        self = got.as.number.next;
    }
    to->memory->nanoseconds = now() - began;
    CHECK(numbers_server_stream_recv(self, &got) == DUO_OK && got.tag == NUMBERS_STREAM_STOP);
    return sum;
}

static uint64_t file_source(channel *to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) write_all(to->there[1], &i, sizeof i);
    return count * (count - 1) / 2;
}

static uint64_t file_sink(channel *to, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value;
        read_all(to->there[0], &value, sizeof value);
        sum += value;
    }
    return sum;
}

/* 512 numbers to a write, and to a read. */
static uint64_t batch_source(channel *to, uint64_t count)
{
    uint64_t batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        for (uint64_t at = 0; at < size; at++) batch[at] = i + at;
        write_all(to->there[1], batch, size * sizeof *batch);
    }
    return count * (count - 1) / 2;
}

static uint64_t batch_sink(channel *to, uint64_t count)
{
    uint64_t sum = 0, batch[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        uint64_t size = count - i < BATCH ? count - i : BATCH;
        read_all(to->there[0], batch, size * sizeof *batch);
        for (uint64_t at = 0; at < size; at++) sum += batch[at];
    }
    return sum;
}

static uint64_t our_texts_out(channel *to, uint64_t count)
{
    static char text[LONG];
    memset(text, 'x', to->size);
    texts_client_stream_t self;
    CHECK(texts_client_attach(to->region, NULL, &self) == DUO_OK);
    duo_str view = {text, to->size};
    for (uint64_t i = 0; i < count; i++)
        CHECK(texts_client_stream_send_text(self, view, &self) == DUO_OK);
    CHECK(texts_client_stream_send_stop(self) == DUO_OK);
    return count * to->size;
}

static uint64_t our_texts_in(channel *to, uint64_t count)
{
    texts_server_stream_t self;
    CHECK(texts_server_attach(to->region, NULL, &self) == DUO_OK);
    uint64_t sum = 0, began = now();
    texts_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(texts_server_stream_recv(self, &got) == DUO_OK);
        sum += got.as.text.value.size;
        self = got.as.text.next;
        texts_stream_free(&got);
    }
    to->memory->nanoseconds = now() - began;
    CHECK(texts_server_stream_recv(self, &got) == DUO_OK && got.tag == TEXTS_STREAM_STOP);
    return sum;
}

/* The length, then the text, in one write. */
static uint64_t file_texts_out(channel *to, uint64_t count)
{
    static char text[LONG + 8];
    uint64_t size = to->size;
    memset(text, 'x', sizeof text);
    memcpy(text, &size, sizeof size);
    for (uint64_t i = 0; i < count; i++) write_all(to->there[1], text, size + 8);
    return count * size;
}

static uint64_t file_texts_in(channel *to, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size;
        read_all(to->there[0], &size, sizeof size);
        char *text = malloc(size);
        CHECK(text != NULL);
        read_all(to->there[0], text, size);
        sum += size;
        free(text);
    }
    return sum;
}

static void pin(size_t processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sysconf(_SC_NPROCESSORS_ONLN) >= 2) CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

static void close_all(channel *to)
{
    const int all[] = {to->region, to->there[0], to->there[1], to->back[0], to->back[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0) close(all[i]);
}

/* Nanoseconds for so many messages. */
static double measure(const bench_case *measured, shared *memory, size_t size, uint64_t count)
{
    channel to = {memory, -1, {-1, -1}, {-1, -1}, size};
    memset(memory, 0, sizeof *memory);
    measured->open(&to);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    bool is_server = child == 0;
    if (is_server) CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    pin(is_server);
    atomic_fetch_add(&memory->ready, 1);
    while (atomic_load(&memory->ready) < 2) relax();
    uint64_t began = now();
    uint64_t sum = is_server ? measured->server(&to, count) : measured->client(&to, count);
    uint64_t ended = now();
    uint64_t numbers = count * (count - 1) / 2;
    CHECK(sum == numbers || sum == numbers + count || sum == count * size);
    if (is_server) {
        if (memory->nanoseconds == 0) memory->nanoseconds = ended - began;
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close_all(&to);
    return (double)memory->nanoseconds;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void family(const char *title, const bench_case *cases, size_t count, size_t size,
                   unsigned rounds)
{
    static double times[MOST_CASES][MOST_ROUNDS];
    uint64_t messages[MOST_CASES];
    shared *memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0);
    CHECK(memory != MAP_FAILED && count <= MOST_CASES && rounds <= MOST_ROUNDS);
    for (size_t i = 0; i < count; i++) {
        double each = measure(&cases[i], memory, size, 50) / 50;
        if (rounds == 0) continue;
        each = measure(&cases[i], memory, size, 2000) / 2000;
        messages[i] = 1 + (uint64_t)(1500000 / each);
        if (messages[i] < 20) messages[i] = 20;
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t at = 0; at < count; at++) {
            size_t i = round % 2 == 0 ? at : count - 1 - at;
            times[i][round] = measure(&cases[i], memory, size, messages[i]) / (double)messages[i];
        }
    }
    munmap(memory, sizeof *memory);
    if (rounds == 0) return;
    printf("\n%-34s %10s %10s %8s\n", title, "median ns", "p10 ns", "ratio");
    for (size_t i = 0; i < count; i++) qsort(times[i], rounds, sizeof(double), by_size);
    for (size_t i = 0; i < count; i++)
        printf("%-34s %10.1f %10.1f %8.3f\n", cases[i].name, times[i][rounds / 2],
               times[i][rounds / 10], times[i][rounds / 10] / times[0][rounds / 10]);
}

int main(int count, char **words)
{
    const bench_case ping_pong[] = {
        {"duologue", open_region, our_ping, our_pong},
        {"one cache line, spinning", open_nothing, raw_ping, raw_pong},
        {"pipe(2)", open_pipes, file_ping, file_pong},
        {"Unix socket pair", open_sockets, file_ping, file_pong},
    };
    const bench_case stream[] = {
        {"duologue, each seen at once", open_region, our_source, our_sink},
        {"pipe(2), 8 bytes a write", open_pipes, file_source, file_sink},
        {"pipe(2), 4096 bytes a write", open_pipes, batch_source, batch_sink},
        {"Unix socket pair, 8 bytes a write", open_sockets, file_source, file_sink},
    };
    const bench_case texts[] = {
        {"duologue", open_region, our_texts_out, our_texts_in},
        {"pipe(2)", open_pipes, file_texts_out, file_texts_in},
        {"Unix socket pair", open_sockets, file_texts_out, file_texts_in},
    };
    unsigned rounds = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : 0;
    family("ping-pong, u64", ping_pong, 4, 0, rounds);
    family("stream, u64", stream, 4, 0, rounds);
    family("stream, texts of 64 bytes", texts, 3, SHORT, rounds);
    family("stream, texts of 64 KiB", texts, 3, LONG, rounds);
    if (rounds == 0) printf("every case works\n");
    return 0;
}
