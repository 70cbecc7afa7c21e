/*
 * Many senders and one receiver. The senders run on the CPU of the first side, the receiver on the other.
 * Each sends its part of the numbers, and the receiver adds all of them up.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "stream.h"

enum { MOST_SENDERS = 64 };

unsigned bench_senders = 4;

/* How many numbers one of the senders has to send. */
static uint64_t share_of(unsigned sender, uint64_t count)
{
    return count / bench_senders + (sender < count % bench_senders);
}

/* Runs `send` in a thread for each sender, which inherits the CPU; the first is the calling one. */
typedef struct sending {
    void (*send)(void *channel, unsigned sender, uint64_t count);
    void *channel;
    unsigned sender;
    uint64_t count;
} sending;

static void *send_one(void *context)
{
    const sending *job = context;
    job->send(job->channel, job->sender, share_of(job->sender, job->count));
    return NULL;
}

static uint64_t send_all(void (*send)(void *, unsigned, uint64_t), void *channel, uint64_t count)
{
    sending jobs[MOST_SENDERS];
    pthread_t threads[MOST_SENDERS];
    for (unsigned sender = 0; sender < bench_senders; sender++)
        jobs[sender] = (sending){send, channel, sender, count};
    for (unsigned sender = 1; sender < bench_senders; sender++)
        BENCH_NEEDS(pthread_create(&threads[sender], NULL, send_one, &jobs[sender]) == 0);
    send_one(&jobs[0]);
    for (unsigned sender = 1; sender < bench_senders; sender++) BENCH_NEEDS(pthread_join(threads[sender], NULL) == 0);
    return 0;
}

/* A session for each sender, and a set of their other ends. */
typedef struct lines {
    stream_client_stream_t out[MOST_SENDERS];
    stream_server_stream_t in[MOST_SENDERS];
} lines;

static void *open_lines(void)
{
    lines *made = calloc(1, sizeof *made);
    BENCH_NEEDS(made != NULL);
    for (unsigned i = 0; i < bench_senders; i++) BENCH_NEEDS(stream_init(&made->in[i], &made->out[i]) == DUO_OK);
    return made;
}

static void send_line(void *channel, unsigned sender, uint64_t count)
{
    stream_client_stream_t out = ((lines *)channel)->out[sender];
    for (uint64_t i = 0; i < count; i++) BENCH_NEEDS(stream_client_stream_send_send(out, i, &out) == DUO_OK);
    BENCH_NEEDS(stream_client_stream_close(out) == DUO_OK);
}

static uint64_t send_lines(void *channel, uint64_t count)
{
    return send_all(send_line, channel, count);
}

/* Receives everything that an endpoint has before the endpoint goes back into the set. */
static uint64_t hear_lines(void *channel, uint64_t count)
{
    (void)count;
    lines *from = channel;
    duo_ports *set = duo_ports_new();
    BENCH_NEEDS(set != NULL);
    uint64_t sum = 0;
    for (unsigned i = 0; i < bench_senders; i++)
        BENCH_NEEDS(duo_ports_add(set, DUO_READY(from->in[i]), &from->in[i], NULL) == DUO_OK);
    void *ready;
    while (duo_ports_wait(set, DUO_FOREVER, &ready) == DUO_OK) {
        stream_server_stream_t *in = ready;
        stream_stream_t got;
        duo_status status;
        while ((status = stream_server_stream_try_recv(*in, &got)) == DUO_OK) {
            sum += got.as.send.value;
            *in = got.as.send.next;
        }
        if (status == DUO_CLOSED) continue;
        BENCH_NEEDS(status == DUO_EMPTY && duo_ports_add(set, DUO_READY(*in), in, NULL) == DUO_OK);
    }
    duo_ports_free(set);
    return sum;
}

const bench_case ours_fan_in = {"duologue, duo_ports", open_lines, {send_lines, hear_lines}, free, false, {0}};

/* One session, whose sending end the senders share. */
static void send_shared(void *channel, unsigned sender, uint64_t count)
{
    (void)sender;
    stream_client_stream_shared_t *shared = channel;
    for (uint64_t i = 0; i < count; i++)
        BENCH_NEEDS(stream_client_stream_shared_send_send(*shared, i) == DUO_OK);
}

static uint64_t send_all_shared(void *channel, uint64_t count)
{
    stream_client_stream_shared_t shared;
    BENCH_NEEDS(stream_client_stream_share(((lines *)channel)->out[0], &shared) == DUO_OK);
    send_all(send_shared, &shared, count);
    stream_client_stream_shared_release(shared);
    return 0;
}

static uint64_t hear_shared(void *channel, uint64_t count)
{
    stream_server_stream_t in = ((lines *)channel)->in[0];
    uint64_t sum = 0;
    stream_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        BENCH_NEEDS(stream_server_stream_recv(in, &got) == DUO_OK);
        sum += got.as.send.value;
        in = got.as.send.next;
    }
    BENCH_NEEDS(stream_server_stream_recv(in, &got) == DUO_CLOSED);
    return sum;
}

static void close_lines(void *channel)
{
    lines *made = channel;
    for (unsigned i = 1; i < bench_senders; i++) {
        BENCH_NEEDS(stream_client_stream_close(made->out[i]) == DUO_OK);
        BENCH_NEEDS(stream_server_stream_close(made->in[i]) == DUO_OK);
    }
    free(made);
}

const bench_case shared_fan_in = {"duologue, shared sender", open_lines, {send_all_shared, hear_shared},
                                  close_lines, false, {0}};

/* One pipe that all write to. */
static void *open_pipe(void)
{
    int *ends = malloc(2 * sizeof *ends);
    BENCH_NEEDS(ends != NULL && pipe(ends) == 0);
    return ends;
}

static void send_bytes(void *channel, unsigned sender, uint64_t count)
{
    (void)sender;
    int to = ((int *)channel)[1];
    for (uint64_t i = 0; i < count; i++) BENCH_NEEDS(write(to, &i, sizeof i) == (ssize_t)sizeof i);
}

static uint64_t send_pipe(void *channel, uint64_t count)
{
    return send_all(send_bytes, channel, count);
}

/* A single write is not split, and the size of the pipe is a multiple of the size of a number. */
static uint64_t hear_pipe(void *channel, uint64_t count)
{
    int from = ((int *)channel)[0];
    uint64_t sum = 0, value;
    for (uint64_t i = 0; i < count; i++) {
        BENCH_NEEDS(read(from, &value, sizeof value) == (ssize_t)sizeof value);
        sum += value;
    }
    return sum;
}

static void close_pipe(void *channel)
{
    int *ends = channel;
    close(ends[0]);
    close(ends[1]);
    free(ends);
}

const bench_case pipe_fan_in = {"pipe(2), shared", open_pipe, {send_pipe, hear_pipe}, close_pipe, false, {0}};

#ifdef BENCH_HAS_CK

#include <sched.h>

#include "kit.h"

enum { LOOKS = 100 };

/* A ring for each sender, polled in turn: no sleep and no end. Senders share a CPU, so they have to yield. */
static void *open_kits(void)
{
    return kits_open(bench_senders);
}

static void close_kits(void *channel)
{
    bench_unshared(channel, bench_senders * sizeof(kit));
}

static void send_kit(void *channel, unsigned sender, uint64_t count)
{
    kit *to = (kit *)channel + sender;
    for (uint64_t i = 0; i < count; i++) {
        unsigned looks = 0;
        while (!ck_ring_enqueue_spsc(&to->ring, to->slots, (void *)(uintptr_t)(i + 1))) {
            if (++looks < LOOKS) bench_relax();
            else sched_yield();
        }
    }
}

static uint64_t send_kits(void *channel, uint64_t count)
{
    return send_all(send_kit, channel, count);
}

static uint64_t hear_kits(void *channel, uint64_t count)
{
    kit *kits = channel;
    uint64_t sum = 0, left = count;
    while (left > 0) {
        for (unsigned i = 0; i < bench_senders; i++) {
            void *value;
            while (ck_ring_dequeue_spsc(&kits[i].ring, kits[i].slots, &value)) {
                sum += (uint64_t)(uintptr_t)value - 1;
                left--;
            }
        }
    }
    return sum;
}

const bench_case ck_fan_in = {"four of ck_ring, polled", open_kits, {send_kits, hear_kits}, close_kits,
                              false, {0}};

#endif

uint64_t sum_of_fan_in(unsigned side, uint64_t count)
{
    uint64_t sum = 0;
    for (unsigned sender = 0; side == 1 && sender < bench_senders; sender++) {
        uint64_t own = share_of(sender, count);
        sum += own * (own - 1) / 2;
    }
    return sum;
}
