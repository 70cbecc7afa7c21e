/* A protocol with unbounded runs, in a ring as small as requested. */
#include "check.h"
#include "counted.h"
#include "numbers.h"

enum { MANY = 100000 };

static void *count(void *context)
{
    numbers_client_stream_t out = *(numbers_client_stream_t *)context;
    for (uint64_t n = 0; n < MANY; n++)
        CHECK(numbers_client_stream_send_send(out, n, &out) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    return NULL;
}

int main(void)
{
    use_counted_memory();
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    numbers_stream_t got;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    /* The session, and the ring. */
    CHECK(counted.bytes <= 512 + RING + 128);
    size_t sent = 0;
    while (numbers_client_stream_try_send_send(out, sent, &out) == DUO_OK) sent += 1;
    CHECK(sent >= NUMBERS_CAPACITY && sent <= (RING + 128) / 8);
    for (size_t n = 0; n < sent; n++) {
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == n);
        in = got.as.send.next;
    }
    pthread_t thread = start(count, &out);
    for (uint64_t n = 0; n < MANY; n++) {
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == n);
        in = got.as.send.next;
    }
    CHECK(numbers_server_stream_recv(in, &got) == DUO_CLOSED);
    finish(thread);
    return 0;
}
