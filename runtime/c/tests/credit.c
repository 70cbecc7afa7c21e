/* One thread that sends to many, and waits for free slots in whichever ring has some first. */
#include <poll.h>
#include <sched.h>

#include "check.h"
#include "duologue/ready.h"
#include "golden.h"

enum { READERS = 4, MESSAGES = 100000 };

static const uint64_t MOMENT = 2000000;

/* Fills a ring; returns how many messages it sent. */
static uint64_t fill(numbers_client_stream_t *out)
{
    uint64_t sent = 0;
    while (numbers_client_stream_try_send_send(*out, sent, out) == DUO_OK) sent++;
    return sent;
}

/* Reads that many messages. */
static void read_some(numbers_server_stream_t *in, uint64_t first, uint64_t count)
{
    numbers_stream_t got;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(numbers_server_stream_recv(*in, &got) == DUO_OK && got.as.send.value == first + i);
        *in = got.as.send.next;
    }
}

static void there_or_not(void)
{
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    duo_endpoint asked[] = {DUO_WRITABLE(out)};
    size_t which;
    CHECK(duo_select(asked, 1, DUO_AT_ONCE, &which) == DUO_OK);
    uint64_t sent = fill(&out);
    CHECK(duo_select(asked, 1, DUO_AT_ONCE, &which) == DUO_USED);
    asked[0] = DUO_WRITABLE(out);
    CHECK(duo_select(asked, 1, DUO_AT_ONCE, &which) == DUO_EMPTY);
    CHECK(duo_select(asked, 1, MOMENT, &which) == DUO_EMPTY);

    duo_ports *ports = duo_ports_new();
    duo_port place;
    void *with = NULL;
    CHECK(ports != NULL && duo_ports_add(ports, asked[0], &out, &place) == DUO_OK);
    CHECK(duo_ports_add(ports, asked[0], &out, NULL) == DUO_USED);
    CHECK(duo_ports_wait(ports, MOMENT, &with) == DUO_EMPTY);
    read_some(&in, 0, sent);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK && with == &out);
    CHECK(duo_ports_count(ports) == 0 && !duo_ports_remove(ports, place));
    sent = fill(&out);

    /* Removed, used, and closed while it is in the set. */
    CHECK(duo_ports_add(ports, DUO_WRITABLE(out), &out, &place) == DUO_OK);
    CHECK(duo_ports_remove(ports, place));
    CHECK(duo_ports_add(ports, DUO_WRITABLE(out), &out, &place) == DUO_OK);
    CHECK(numbers_client_stream_try_send_send(out, 9, &out) == DUO_FULL);
    read_some(&in, 0, sent);
    CHECK(duo_ports_wait(ports, MOMENT, &with) == DUO_EMPTY && duo_ports_remove(ports, place));
    fill(&out);
    CHECK(duo_ports_add(ports, DUO_WRITABLE(out), &out, NULL) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);

    /* For a waiting sender, a receiver that closes is as good as free slots. */
    CHECK(numbers_init(&in, &out) == DUO_OK);
    fill(&out);
    CHECK(duo_ports_add(ports, DUO_WRITABLE(out), &out, NULL) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK && with == &out);
    CHECK(numbers_client_stream_try_send_send(out, 9, &out) == DUO_CLOSED);

    /* Freeing a set leaves the endpoint as it is. */
    CHECK(numbers_init(&in, &out) == DUO_OK);
    sent = fill(&out);
    CHECK(duo_ports_add(ports, DUO_WRITABLE(out), &out, NULL) == DUO_OK);
    duo_ports_free(ports);
    read_some(&in, 0, sent);
    CHECK(numbers_client_stream_try_send_send(out, 0, &out) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
}

/* Reads everything, with pauses. */
static void *read_on(void *context)
{
    numbers_server_stream_t in = *(numbers_server_stream_t *)context;
    numbers_stream_t got;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == i);
        in = got.as.send.next;
        if (i % 10007 == 0) take_a_moment();
    }
    CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);
    return NULL;
}

static void *read_and_leave(void *context)
{
    numbers_server_stream_t in = *(numbers_server_stream_t *)context;
    read_some(&in, 0, MESSAGES / 2 + 1);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    return NULL;
}

typedef struct reader {
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    uint64_t sent;
    pthread_t thread;
} reader;

/* Sends as much as fits; returns whether that was everything, or the receiver has closed. */
static bool send_some(reader *to)
{
    while (to->sent < MESSAGES) {
        duo_status status = numbers_client_stream_try_send_send(to->out, to->sent, &to->out);
        if (status == DUO_FULL) return false;
        if (status == DUO_CLOSED) return true;
        CHECK(status == DUO_OK);
        to->sent += 1;
    }
    CHECK(numbers_client_stream_close(to->out) == DUO_OK);
    return true;
}

typedef enum way { BY_SELECT, BY_SET, BY_DESCRIPTOR } way;

static void many_readers(way by)
{
    static reader readers[READERS];
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    int descriptor = by == BY_DESCRIPTOR ? duo_ports_descriptor(ports) : -1;
    for (int i = 0; i < READERS; i++) {
        reader *here = &readers[i];
        here->sent = 0;
        CHECK(numbers_init(&here->in, &here->out) == DUO_OK);
        CHECK(!send_some(here));
        here->thread = start(i == 0 ? read_and_leave : read_on, &here->in);
        if (by != BY_SELECT) CHECK(duo_ports_add(ports, DUO_WRITABLE(here->out), here, NULL) == DUO_OK);
    }
    reader *open[READERS];
    size_t left = READERS;
    for (size_t i = 0; i < READERS; i++) open[i] = &readers[i];
    while (left > 0) {
        duo_endpoint asked[READERS];
        for (size_t i = 0; i < left; i++) asked[i] = DUO_WRITABLE(open[i]->out);
        size_t which = 0;
        void *with = NULL;
        struct pollfd polled = {descriptor, POLLIN, 0};
        switch (by) {
        case BY_SELECT:
            CHECK(duo_select(asked, left, DUO_FOREVER, &which) == DUO_OK);
            break;
        case BY_SET:
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK);
            break;
        case BY_DESCRIPTOR:
            CHECK(poll(&polled, 1, -1) == 1);
            if (duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY) continue;
            break;
        }
        if (by != BY_SELECT)
            while (open[which] != with) which++;
        reader *ready = open[which];
        if (send_some(ready)) open[which] = open[--left];
        else if (by != BY_SELECT) CHECK(duo_ports_add(ports, DUO_WRITABLE(ready->out), ready, NULL) == DUO_OK);
    }
    for (int i = 0; i < READERS; i++) finish(readers[i].thread);
    duo_ports_free(ports);
}

static void *use_it(void *context)
{
    reader *to = context;
    for (; to->sent < MESSAGES; to->sent++)
        CHECK(numbers_client_stream_send_send(to->out, to->sent, &to->out) == DUO_OK);
    CHECK(numbers_client_stream_close(to->out) == DUO_OK);
    return NULL;
}

/* Another thread uses an endpoint that is in a set, whose thread waits or removes it. */
static void used_by_another(bool is_removed)
{
    static reader here;
    for (int round = 0; round < 5; round++) {
        duo_ports *ports = duo_ports_new();
        duo_port place;
        void *with;
        here.sent = 0;
        CHECK(ports != NULL && numbers_init(&here.in, &here.out) == DUO_OK);
        CHECK(!send_some(&here));
        here.thread = start(read_on, &here.in);
        CHECK(duo_ports_add(ports, DUO_WRITABLE(here.out), &here, &place) == DUO_OK);
        pthread_t user = start(use_it, &here);
        if (is_removed) (void)duo_ports_remove(ports, place);
        else (void)!duo_ports_wait(ports, MOMENT, &with);
        duo_ports_free(ports);
        finish(user);
        finish(here.thread);
    }
}

TEST(credit)
{
    there_or_not();
    many_readers(BY_SELECT);
    many_readers(BY_SET);
    many_readers(BY_DESCRIPTOR);
    used_by_another(false);
    used_by_another(true);
}
