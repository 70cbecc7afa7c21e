/* Many senders on one endpoint. */
#include <sched.h>

#include "check.h"
#include "golden.h"

enum { SENDERS = 4, MESSAGES = 20000 };

static void one_after_the_other(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_client_stream_shared_t shared = {NULL};
    numbers_stream_t got;
    CHECK(numbers_client_stream_share(out, &shared) == DUO_USED && shared.shared == NULL);
    CHECK(numbers_init_with(4, &in, &out) == DUO_OK);
    CHECK(numbers_client_stream_share(out, &shared) == DUO_OK);
    /* The endpoint has become part of the shared one. */
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_USED);
    CHECK(numbers_client_stream_close(out) == DUO_USED);
    duo_shared *other = duo_shared_retain(shared.shared);
    uint64_t fits = 0;
    duo_status status;
    while ((status = numbers_client_stream_shared_try_send_send(shared, fits)) == DUO_OK) fits++;
    CHECK(status == DUO_FULL && fits >= 4);
    for (uint64_t n = 0; n < fits; n++) {
        CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == n);
        in = got.as.send.next;
    }
    CHECK(numbers_client_stream_shared_send_send(shared, fits) == DUO_OK);
    /* The session lives as long as it has a holder. */
    duo_shared_release(shared.shared);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == fits);
    in = got.as.send.next;
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_EMPTY);
    duo_shared_release(other);
    CHECK(numbers_server_stream_try_recv(in, &got) == DUO_CLOSED);
    duo_shared_release(NULL);
}

/* Every send after the receiver has closed reports that, however many there are. */
static void nobody_listens(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_client_stream_shared_t shared = {NULL};
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(numbers_client_stream_share(out, &shared) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    for (int n = 0; n < 3; n++)
        CHECK(numbers_client_stream_shared_send_send(shared, 1) == DUO_CLOSED);
    CHECK(numbers_client_stream_shared_try_send_send(shared, 1) == DUO_CLOSED);
    duo_shared_release(shared.shared);
}

typedef struct sender {
    numbers_client_stream_shared_t shared;
    uint64_t name;
    uint64_t sent;
} sender;

static void *flood(void *context)
{
    sender *self = context;
    for (uint64_t n = 0; n < MESSAGES; n++) {
        uint64_t value = self->name * MESSAGES + n;
        duo_status status;
        if (is_rescued && n % 5 == 0) {
            while ((status = numbers_client_stream_shared_try_send_send(self->shared, value)) ==
                   DUO_FULL)
                sched_yield();
        } else {
            status = numbers_client_stream_shared_send_send(self->shared, value);
        }
        if (status == DUO_CLOSED) break;
        CHECK(status == DUO_OK);
        self->sent++;
    }
    duo_shared_release(self->shared.shared);
    return NULL;
}

/* Four threads, a small ring: nothing is lost, and the messages of each sender arrive in its order. */
static void many(uint64_t until)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    numbers_client_stream_shared_t shared = {NULL};
    CHECK(numbers_init_with(8, &in, &out) == DUO_OK);
    CHECK(numbers_client_stream_share(out, &shared) == DUO_OK);
    sender senders[SENDERS];
    pthread_t threads[SENDERS];
    uint64_t heard[SENDERS] = {0}, count = 0;
    for (uint64_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender){{duo_shared_retain(shared.shared)}, i, 0};
        threads[i] = start(flood, &senders[i]);
    }
    duo_shared_release(shared.shared);
    numbers_stream_t got;
    while (count < until && numbers_server_stream_recv(in, &got) == DUO_OK) {
        uint64_t from = got.as.send.value / MESSAGES;
        CHECK(got.as.send.value % MESSAGES == heard[from]++);
        if (count++ % 9000 == 0) take_a_moment();
        in = got.as.send.next;
    }
    /* Senders that wait for free slots are notified when the receiver closes. */
    if (count == until) CHECK(numbers_server_stream_close(in) == DUO_OK);
    for (uint64_t i = 0; i < SENDERS; i++) {
        finish(threads[i]);
        CHECK(heard[i] <= senders[i].sent);
        if (until == UINT64_MAX) CHECK(heard[i] == MESSAGES);
    }
}

TEST(shared)
{
    one_after_the_other();
    nobody_listens();
    many(UINT64_MAX);
    for (uint64_t until = 0; until < 3000; until += 97) many(until);
}
