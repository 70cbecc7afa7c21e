/* Empty and closed are different answers, closed comes only after all that was sent, and waits end. */
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

/* Both leave, in either order, whoever would speak next. */
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

static void full(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_stream_t got;
    CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t sent = 0;
        while (numbers_client_stream_try_send_send(out, sent, &out) == DUO_OK) sent++;
        CHECK(sent == 4);
        CHECK(numbers_client_stream_try_send_send(out, 9, &out) == DUO_FULL);
        for (uint64_t i = 0; i < 4; i++) {
            CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == i);
            in = got.as.send.next;
            /* Each message read makes room for one at once. */
            if (i == 0) {
                CHECK(numbers_client_stream_try_send_send(out, 4, &out) == DUO_OK);
                CHECK(numbers_client_stream_try_send_send(out, 5, &out) == DUO_FULL);
            }
        }
        CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == 4);
        in = got.as.send.next;
        CHECK(numbers_server_stream_try_recv(in, &got) == DUO_EMPTY);
    }
    for (uint64_t i = 0; i < 4; i++)
        CHECK(numbers_client_stream_try_send_send(out, i, &out) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_try_send_send(out, 9, &out) == DUO_CLOSED);

    /* The sender leaves a full ring: what it sent is still read, then it is closed. */
    CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
    for (uint64_t i = 0; i < 4; i++)
        CHECK(numbers_client_stream_try_send_send(out, i, &out) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    for (uint64_t i = 0; i < 4; i++) {
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == i);
        in = got.as.send.next;
    }
    CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);
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

/* A side that sleeps, for room or for a message, wakes when the other leaves. */
static void leaving_wakes(void)
{
    for (int i = 0; i < 5; i++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
        pthread_t sender = start(send_until_closed, &out);
        doze();
        CHECK(numbers_server_stream_close(in) == DUO_OK);
        finish(sender);

        CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
        pthread_t receiver = start(receive_until_closed, &in);
        doze();
        CHECK(numbers_client_stream_close(out) == DUO_OK);
        finish(receiver);
    }
}

/* The same without pauses, so that leaving meets the other side anywhere. */
static void leaving_at_any_moment(void)
{
    for (int i = 0; i < 2000; i++) {
        numbers_server_stream_t in = {0};
        numbers_client_stream_t out = {0};
        numbers_stream_t got;
        CHECK(numbers_init_with(i % 2 ? 2 : 8, &in, &out) == DUO_OK);
        pthread_t sender = start(send_until_closed, &out);
        for (int n = 0; n < i % 50; n++) {
            CHECK(numbers_server_stream_recv(in, &got) == DUO_OK);
            in = got.as.send.next;
        }
        CHECK(numbers_server_stream_close(in) == DUO_OK);
        finish(sender);
    }
}

int main(void)
{
    empty_is_not_closed();
    sending_to_nobody();
    both_leave();
    full();
    leaving_wakes();
    leaving_at_any_moment();
    return 0;
}
