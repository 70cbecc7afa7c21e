/* Empty and closed are different results, closed is reported only after everything that was sent, and waits end. */
#include "check.h"
#include "golden.h"

static void empty_is_not_closed(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_stream_t got;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_EMPTY);
    CHECK(numbers_server_stream_recv_within(in, 2000000, &got) == DUO_EMPTY);
    CHECK(numbers_client_stream_send_send(out, 7, &out) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == 7);
    in = got.as.send.next;
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_CLOSED && got.tag == 0);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_USED);
    CHECK(numbers_server_stream_close(in) == DUO_USED);
}

static uint64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A wait does not end before its time limit, whatever the size of a `time_t`. */
static void a_limit_is_waited_out(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_stream_t got;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    for (int i = 0; i < 3; i++) {
        uint64_t before = milliseconds();
        CHECK(numbers_server_stream_recv_within(in, UINT64_C(30000000), &got) == DUO_EMPTY);
        CHECK(milliseconds() - before >= 29);
    }
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
}

static void sending_to_nobody(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_send_send(out, 7, &out) == DUO_CLOSED);
    CHECK(out.sends.session == NULL);
    CHECK(numbers_client_stream_send_send(out, 7, &out) == DUO_USED);

    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    ping_client_pong_t waiting;
    ping_ping_t asked;
    CHECK(ping_init(&server, &client) == DUO_OK);
    CHECK(ping_client_ping_send_ping(client, 1, &waiting) == DUO_OK);
    CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
    CHECK(ping_client_pong_close(waiting) == DUO_OK);
    CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_CLOSED);
}

/* Both sides close, in either order, whichever of them is to send next. */
static void both_leave(void)
{
    for (int order = 0; order < 2; order++) {
        for (int steps = 0; steps < 3; steps++) {
            ping_server_ping_t server = {0};
            ping_client_ping_t client = {0};
            ping_client_pong_t waiting = {0};
            ping_server_pong_t answering = {0};
            CHECK(ping_init(&server, &client) == DUO_OK);
            if (steps > 0) CHECK(ping_client_ping_send_ping(client, 1, &waiting) == DUO_OK);
            if (steps > 1) {
                ping_ping_t asked;
                CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
                answering = asked.as.ping.next;
            }
            for (int who = 0; who < 2; who++) {
                if ((who == 0) == (order == 0)) {
                    CHECK(ping_client_ping_close(client) == (steps > 0 ? DUO_USED : DUO_OK));
                    CHECK(ping_client_pong_close(waiting) == (steps > 0 ? DUO_OK : DUO_USED));
                } else {
                    CHECK(ping_server_ping_close(server) == (steps > 1 ? DUO_USED : DUO_OK));
                    CHECK(ping_server_pong_close(answering) == (steps > 1 ? DUO_OK : DUO_USED));
                }
            }
        }
    }
}

/* Sends numbers from `first` on until the ring is full; returns how many it sent. */
static uint64_t fill(numbers_client_stream_t *out, uint64_t first)
{
    uint64_t sent = 0;
    duo_status status;
    while ((status = numbers_client_stream_try_send_send(*out, first + sent, out)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL);
    CHECK(numbers_client_stream_try_send_send(*out, 9, out) == DUO_FULL);
    return sent;
}

static void drain(numbers_server_stream_t *in, uint64_t first, uint64_t count)
{
    numbers_stream_t got;
    for (uint64_t i = first; i < first + count; i++) {
        CHECK(numbers_server_stream_try_recv(*in, &got) == DUO_OK && got.as.send.value == i);
        *in = got.as.send.next;
    }
}

static void full(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_stream_t got;
    CHECK(numbers_init_with(16, &in, &out) == DUO_OK);
    uint64_t fits = fill(&out, 0), sent = fits, read = 0;
    /* What was requested, rounded up to whole lines and two equal halves. */
    CHECK(fits >= 16 && fits <= 28 && fits % 2 == 0);
    for (uint64_t round = 0; round < 20; round++) {
        /* Reading half a ring frees half a ring, and no more. */
        drain(&in, read, fits / 2);
        read += fits / 2;
        CHECK(fill(&out, sent) == fits / 2);
        sent += fits / 2;
    }
    drain(&in, read, fits);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_EMPTY);
    CHECK(fill(&out, sent) == fits);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_try_send_send(out, 9, &out) == DUO_CLOSED);

    /* The sender closes when the ring is full: what it sent is still read, then the session is closed. */
    for (int laps = 0; laps < 2; laps++) {
        CHECK(numbers_init_with(16, &in, &out) == DUO_OK);
        CHECK(fill(&out, 0) == fits);
        if (laps > 0) drain(&in, 0, fits);
        if (laps > 0) CHECK(fill(&out, fits) == fits);
        CHECK(numbers_client_stream_close(out) == DUO_OK);
        drain(&in, laps > 0 ? fits : 0, fits);
        CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);

        /* The same if nothing is read. */
        CHECK(numbers_init_with(16, &in, &out) == DUO_OK);
        CHECK(fill(&out, 0) == fits);
        CHECK(numbers_client_stream_close(out) == DUO_OK);
        CHECK(numbers_server_stream_close(in) == DUO_OK);
    }
}

static void *send_until_closed(void *context)
{
    numbers_client_stream_t out = *(numbers_client_stream_t *)context;
    duo_status status = DUO_OK;
    for (uint64_t i = 0; status == DUO_OK; i++)
        status = numbers_client_stream_send_send(out, i, &out);
    CHECK(status == DUO_CLOSED);
    return NULL;
}

static void *receive_until_closed(void *context)
{
    numbers_server_stream_t in = *(numbers_server_stream_t *)context;
    numbers_stream_t got;
    duo_status status;
    while ((status = numbers_server_stream_recv(in, &got)) == DUO_OK) in = got.as.send.next;
    CHECK(status == DUO_CLOSED);
    return NULL;
}

/* A side that sleeps until there are free slots, or a message, wakes when the other side closes. */
static void leaving_wakes(void)
{
    for (int i = 0; i < 5; i++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
        pthread_t sender = start(send_until_closed, &out);
        take_a_moment();
        CHECK(numbers_server_stream_close(in) == DUO_OK);
        finish(sender);

        CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
        pthread_t receiver = start(receive_until_closed, &in);
        take_a_moment();
        CHECK(numbers_client_stream_close(out) == DUO_OK);
        finish(receiver);
    }
}

/* The same without pauses, so that the close finds the other side at any point. */
static void leaving_at_any_moment(void)
{
    for (int i = 0; i < 2000; i++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        numbers_stream_t got;
        CHECK(numbers_init_with(i % 2 ? 2 : 50, &in, &out) == DUO_OK);
        pthread_t sender = start(send_until_closed, &out);
        for (int n = 0; n < i % 50; n++) {
            CHECK(numbers_server_stream_recv(in, &got) == DUO_OK);
            in = got.as.send.next;
        }
        CHECK(numbers_server_stream_close(in) == DUO_OK);
        finish(sender);
    }
}

TEST(close)
{
    empty_is_not_closed();
    a_limit_is_waited_out();
    sending_to_nobody();
    both_leave();
    full();
    leaving_wakes();
    leaving_at_any_moment();
}
