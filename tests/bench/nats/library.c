/* The client library alone, with messages and subjects that are as long as those of a session. */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"

/*
 * LENGTH: a message with a number: the counts of a session, its position and the number. FRAME: a number in a batch. BATCH: how much a
 * session may send before the receiver has read half of it.
 */
enum { LENGTH = 16, FRAME = 9, BATCH = (64 << 10) / FRAME * FRAME, TIMEOUT = 60000 };

#define NEEDS_NATS(call) BENCH_NEEDS((call) == NATS_OK)

static natsConnection *connection;
static char subjects[2][80];

void library_begin(const char *server)
{
    char url[256];
    natsOptions *options;
    snprintf(url, sizeof url, "nats://%s", server);
    NEEDS_NATS(natsOptions_Create(&options));
    NEEDS_NATS(natsOptions_SetURL(options, url));
    NEEDS_NATS(natsOptions_SetSendAsap(options, true));
    NEEDS_NATS(natsConnection_Connect(&connection, options));
    natsOptions_Destroy(options);
    for (unsigned side = 0; side < 2; side++) {
        memset(subjects[side], 'x', 72);
        subjects[side][70] = '.';
        subjects[side][71] = (char)('0' + side);
    }
}

void library_end(void)
{
    natsConnection_Destroy(connection);
    nats_Close();
}

/* What each side receives. */
typedef struct ends {
    natsSubscription *sides[2];
} ends;

static void *open_ends(void)
{
    ends *made = malloc(sizeof *made);
    BENCH_NEEDS(made != NULL);
    for (unsigned side = 0; side < 2; side++) {
        NEEDS_NATS(natsConnection_SubscribeSync(&made->sides[side], connection, subjects[side]));
        NEEDS_NATS(natsSubscription_SetPendingLimits(made->sides[side], -1, -1));
    }
    NEEDS_NATS(natsConnection_Flush(connection));
    return made;
}

static void close_ends(void *channel)
{
    ends *made = channel;
    for (unsigned side = 0; side < 2; side++) natsSubscription_Destroy(made->sides[side]);
    free(made);
}

static void put(unsigned char *frame, uint64_t value)
{
    memcpy(frame, &value, sizeof value);
}

static uint64_t get(const char *frame)
{
    uint64_t value;
    memcpy(&value, frame, sizeof value);
    return value;
}

static void publish(const char *subject, uint64_t value)
{
    unsigned char message[LENGTH] = {0};
    put(message + LENGTH - 8, value);
    NEEDS_NATS(natsConnection_Publish(connection, subject, message, LENGTH));
}

/* The number of a message, which is freed. */
static uint64_t taken(natsMsg *message)
{
    BENCH_NEEDS(natsMsg_GetDataLength(message) == LENGTH);
    uint64_t value = get(natsMsg_GetData(message) + LENGTH - 8);
    natsMsg_Destroy(message);
    return value;
}

static uint64_t ping(void *channel, uint64_t count)
{
    natsSubscription *own = ((ends *)channel)->sides[0];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        natsMsg *answer;
        publish(subjects[1], i);
        NEEDS_NATS(natsSubscription_NextMsg(&answer, own, TIMEOUT));
        sum += taken(answer);
    }
    return sum;
}

static uint64_t ask(void *channel, uint64_t count)
{
    (void)channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        unsigned char message[LENGTH] = {0};
        natsMsg *answer;
        put(message + LENGTH - 8, i);
        NEEDS_NATS(natsConnection_Request(&answer, connection, subjects[1], message, LENGTH, TIMEOUT));
        sum += taken(answer);
    }
    return sum;
}

/* Answers messages where they want their answer, or at the client's subject. */
static uint64_t pong(void *channel, uint64_t count)
{
    natsSubscription *own = ((ends *)channel)->sides[1];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        natsMsg *message;
        char reply[256];
        NEEDS_NATS(natsSubscription_NextMsg(&message, own, TIMEOUT));
        const char *wanted = natsMsg_GetReply(message);
        snprintf(reply, sizeof reply, "%s", wanted == NULL ? subjects[0] : wanted);
        uint64_t value = taken(message);
        sum += value;
        publish(reply, value + 1);
    }
    return sum;
}

static uint64_t produce_batches(void *channel, uint64_t count)
{
    (void)channel;
    static unsigned char batch[BATCH];
    size_t size = 0;
    for (uint64_t i = 0; i < count; i++) {
        batch[size] = 1;
        put(batch + size + 1, i);
        size += FRAME;
        if (size < BATCH && i + 1 < count) continue;
        NEEDS_NATS(natsConnection_Publish(connection, subjects[1], batch, (int)size));
        size = 0;
    }
    return 0;
}

static uint64_t produce_numbers(void *channel, uint64_t count)
{
    (void)channel;
    for (uint64_t i = 0; i < count; i++) publish(subjects[1], i);
    return 0;
}

/* Adds up the numbers of messages whose frames have this length, with the number at the end of each. */
static uint64_t consume(void *channel, uint64_t count, size_t length)
{
    natsSubscription *own = ((ends *)channel)->sides[1];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count;) {
        natsMsg *message;
        NEEDS_NATS(natsSubscription_NextMsg(&message, own, TIMEOUT));
        const char *bytes = natsMsg_GetData(message);
        size_t size = (size_t)natsMsg_GetDataLength(message);
        for (size_t at = 0; at + length <= size; at += length, i++) sum += get(bytes + at + length - 8);
        natsMsg_Destroy(message);
    }
    return sum;
}

static uint64_t consume_batches(void *channel, uint64_t count)
{
    return consume(channel, count, FRAME);
}

static uint64_t consume_numbers(void *channel, uint64_t count)
{
    return consume(channel, count, LENGTH);
}

const bench_case library_ping_pong = {"publish and subscribe of nats.c", open_ends, {ping, pong}, close_ends, false, {0}};
const bench_case library_request = {"request of nats.c", open_ends, {ask, pong}, close_ends, false, {0}};
const bench_case library_batches = {"publish of nats.c, 64 KiB each", open_ends, {produce_batches, consume_batches}, close_ends, false, {0}};
const bench_case library_numbers = {"publish of nats.c, each number", open_ends, {produce_numbers, consume_numbers}, close_ends, false, {0}};
