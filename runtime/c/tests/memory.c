/* Memory runs out at every possible point: everything is released, and the library still works. */
#include "check.h"
#include "counted.h"
#include "golden.h"

static void opening(void)
{
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    counted.left = 0;
    CHECK(numbers_init(&in, &out) == DUO_NO_MEMORY);
    CHECK(in.receives.session == NULL && out.sends.session == NULL);
    /* The session itself, but not its ring: the session waits in the pool for the next attempt. */
    counted.left = 1;
    CHECK(numbers_init(&in, &out) == DUO_NO_MEMORY);
    CHECK(counted.live == 1);
    counted.left = 1;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(counted.live == 2);
    CHECK(numbers_server_stream_close(in) == DUO_OK);
    CHECK(numbers_client_stream_close(out) == DUO_OK);
    /* The ring waits with its session. */
    CHECK(counted.live == 2);
    counted.left = 1000;
    CHECK(numbers_init_with(SIZE_MAX / 2 + 1, &in, &out) == DUO_NO_MEMORY);
    CHECK(counted.live == 2);
}

/* A session with the shape of an earlier one needs no memory; one with another shape has another ring. */
static void again(void)
{
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    numbers_stream_t got;
    counted.left = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        CHECK(numbers_init(&in, &out) == DUO_OK);
        for (uint64_t sent = 0; sent < i % 40; sent++) {
            CHECK(numbers_server_stream_try_recv(in, &got) == DUO_EMPTY);
            CHECK(numbers_client_stream_send_send(out, i + sent, &out) == DUO_OK);
            CHECK(numbers_server_stream_try_recv(in, &got) == DUO_OK && got.as.send.value == i + sent);
            in = got.as.send.next;
        }
        CHECK(numbers_client_stream_close(out) == DUO_OK);
        CHECK(numbers_server_stream_try_recv(in, &got) == DUO_CLOSED);
    }
    CHECK(counted.live == 2);
    counted.left = 1;
    CHECK(numbers_init_with(100, &in, &out) == DUO_OK && counted.left == 0 && counted.live == 2);
    CHECK(numbers_client_stream_close(out) == DUO_OK && numbers_server_stream_close(in) == DUO_OK);
    counted.left = 1;
    CHECK(numbers_init(&in, &out) == DUO_OK && counted.left == 0 && counted.live == 2);
    CHECK(numbers_client_stream_close(out) == DUO_OK && numbers_server_stream_close(in) == DUO_OK);
}

/* Of many sessions the pool keeps all, and this many of their rings. */
static void many_at_once(void)
{
    enum { MANY = 100, FLAGS_ARMED = 32 };
    numbers_server_stream_t in[MANY];
    numbers_client_stream_t out[MANY];
    counted.left = 1000;
    for (int i = 0; i < MANY; i++) CHECK(numbers_init(&in[i], &out[i]) == DUO_OK);
    long before = counted.live;
    for (int i = 0; i < MANY; i++) {
        CHECK(numbers_client_stream_close(out[i]) == DUO_OK);
        CHECK(numbers_server_stream_close(in[i]) == DUO_OK);
    }
    CHECK(counted.live == before - (MANY - FLAGS_ARMED));
}

static void sending(void)
{
    counted.left = 1000;
    courier_server_carry_t server = {0};
    courier_client_carry_t client = {0};
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    CHECK(courier_init_with(64, &server, &client) == DUO_OK);
    CHECK(numbers_init(&in, &out) == DUO_OK);
    long before = counted.live;
    counted.left = 0;
    courier_client_carry_t untouched = client;
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("note"), in, &client) == DUO_NO_MEMORY);
    CHECK(client.sends.session == untouched.sends.session);
    CHECK(counted.live == before);
    counted.left = 1000;
    CHECK(courier_client_carry_send_parcel(client, DUO_STR("note"), in, &client) == DUO_OK);
    CHECK(counted.live == before + 1);
    courier_carry_t parcel;
    CHECK(courier_server_carry_recv(server, &parcel) == DUO_OK);
    CHECK(parcel.tag == COURIER_CARRY_PARCEL);
    server = parcel.as.parcel.next;
    courier_carry_free(&parcel);
    CHECK(counted.live == before);
    CHECK(numbers_client_stream_send_send(out, 1, &out) == DUO_CLOSED);
    /* Receiving and closing need no memory. */
    CHECK(courier_client_carry_send_parcel(client, DUO_STR(""), in, &client) == DUO_USED);
    CHECK(counted.live == before);
    counted.left = 0;
    CHECK(courier_client_carry_close(client) == DUO_OK);
    CHECK(courier_server_carry_recv(server, &parcel) == DUO_CLOSED);
}

/* Numbers need no memory once their session exists, not even to wait or to close. */
static void nothing_after_opening(void)
{
    counted.left = 1000;
    numbers_server_stream_t in = {0};
    numbers_client_stream_t out = {0};
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    CHECK(numbers_init(&in, &out) == DUO_OK && ping_init(&server, &client) == DUO_OK);
    counted.left = 0;
    long before = counted.live;
    for (uint64_t i = 0; i < 5000; i++) {
        numbers_stream_t got;
        CHECK(numbers_client_stream_send_send(out, i, &out) == DUO_OK);
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == i);
        in = got.as.send.next;
        ping_client_pong_t waiting;
        ping_ping_t asked;
        ping_pong_t answer;
        CHECK(ping_client_ping_send_ping(client, i, &waiting) == DUO_OK);
        CHECK(ping_client_pong_recv_within(waiting, 10, &answer) == DUO_EMPTY);
        CHECK(ping_server_ping_recv(server, &asked) == DUO_OK);
        CHECK(ping_server_pong_send_pong(asked.as.ping.next, i, &server) == DUO_OK);
        CHECK(ping_client_pong_recv(waiting, &answer) == DUO_OK && answer.as.pong.value == i);
        client = answer.as.pong.next;
        if (i % 100 != 0) continue;
        duo_endpoint both[] = {DUO_READY(in), DUO_READY(server)};
        size_t which;
        CHECK(duo_select(both, 2, 1000, &which) == DUO_EMPTY);
    }
    CHECK(counted.left == 0 && counted.live == before);
    CHECK(numbers_client_stream_close(out) == DUO_OK && ping_client_ping_close(client) == DUO_OK);
    CHECK(numbers_server_stream_close(in) == DUO_OK && ping_server_ping_close(server) == DUO_OK);
    CHECK(counted.left == 0);
}

/* The payloads of a session are in memory of its own, wherever they end. */
static void own_memory(void)
{
    arena arenas[2] = {{.left = 1000}, {.left = 1000}};
    const duo_allocator own[] = {{arena_take, arena_give_back, &arenas[0]}, {arena_take, arena_give_back, &arenas[1]}};
    courier_server_carry_t servers[2];
    courier_client_carry_t clients[2];
    courier_carry_t parcel;
    counted.left = 1000;
    for (int i = 0; i < 2; i++) {
        const courier_server_carry_t none = {{0}};
        CHECK(courier_init_with(64, &servers[i], &clients[i]) == DUO_OK);
        CHECK(duo_use_allocator(none.receives, &own[i]) == DUO_USED);
        CHECK(duo_use_allocator(servers[i].receives, &own[i]) == DUO_OK);
    }
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 3; n++) {
            numbers_server_stream_t in;
            numbers_client_stream_t out;
            CHECK(numbers_init(&in, &out) == DUO_OK && numbers_client_stream_close(out) == DUO_OK);
            CHECK(courier_client_carry_send_parcel(clients[i], DUO_STR("note"), in, &clients[i]) == DUO_OK);
        }
    }
    CHECK(arenas[0].live == 3 && arenas[1].live == 3);
    /* Read and freed, here in the reverse order; then unread; then out of memory; then returned. */
    for (int i = 1; i >= 0; i--) {
        CHECK(courier_server_carry_recv(servers[i], &parcel) == DUO_OK && parcel.tag == COURIER_CARRY_PARCEL);
        CHECK(duo_str_equal(parcel.as.parcel.note, DUO_STR("note")));
        servers[i] = parcel.as.parcel.next;
        courier_carry_free(&parcel);
        CHECK(arenas[i].live == 2);
    }
    CHECK(courier_server_carry_close(servers[0]) == DUO_OK);
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    CHECK(numbers_init(&in, &out) == DUO_OK);
    CHECK(courier_client_carry_send_parcel(clients[0], DUO_STR("note"), in, &clients[0]) == DUO_CLOSED);
    CHECK(arenas[0].live == 0);
    arenas[1].left = 0;
    CHECK(courier_client_carry_send_parcel(clients[1], DUO_STR("note"), in, &clients[1]) == DUO_NO_MEMORY);
    CHECK(courier_client_carry_close(clients[1]) == DUO_OK && courier_server_carry_close(servers[1]) == DUO_OK);
    CHECK(arenas[1].live == 0);
    CHECK(numbers_client_stream_close(out) == DUO_OK && numbers_server_stream_close(in) == DUO_OK);
    /* A later session in the same memory has no allocator. */
    CHECK(courier_init_with(64, &servers[0], &clients[0]) == DUO_OK);
    CHECK(numbers_init(&in, &out) == DUO_OK && numbers_client_stream_close(out) == DUO_OK);
    long after = counted.live;
    CHECK(courier_client_carry_send_parcel(clients[0], DUO_STR("note"), in, &clients[0]) == DUO_OK && counted.live == after + 1);
    CHECK(courier_client_carry_close(clients[0]) == DUO_OK && courier_server_carry_close(servers[0]) == DUO_OK);
}

/* Everything is released except for what running sessions have; those continue, and so does the library. */
static void shutting_down(void)
{
    counted.left = 1000;
    numbers_server_stream_t in;
    numbers_client_stream_t out;
    numbers_stream_t got;
    CHECK(duo_shutdown() == 0 && counted.live == 0 && duo_shutdown() == 0);
    CHECK(numbers_init(&in, &out) == DUO_OK);
    ping_server_ping_t servers[4];
    ping_client_ping_t clients[4];
    for (int i = 0; i < 4; i++) CHECK(ping_init(&servers[i], &clients[i]) == DUO_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(ping_client_ping_close(clients[i]) == DUO_OK);
        CHECK(ping_server_ping_close(servers[i]) == DUO_OK);
    }
    /* A session and its ring, and a session of which one side was closed. */
    CHECK(ping_client_ping_close(clients[3]) == DUO_OK);
    CHECK(duo_shutdown() == 2 && counted.live == 3);
    for (uint64_t n = 0; n < 100; n++) {
        CHECK(numbers_client_stream_send_send(out, n, &out) == DUO_OK);
        CHECK(numbers_server_stream_recv(in, &got) == DUO_OK && got.as.send.value == n);
        in = got.as.send.next;
    }
    CHECK(numbers_client_stream_close(out) == DUO_OK && numbers_server_stream_close(in) == DUO_OK);
    CHECK(ping_server_ping_close(servers[3]) == DUO_OK);
    CHECK(duo_shutdown() == 0 && counted.live == 0);
}

TEST(memory)
{
    use_counted_memory();
    opening();
    again();
    sending();
    nothing_after_opening();
    /* The pool: as many sessions as were alive at once, and the ring of the one that last had one. */
    CHECK(counted.live == 3);
    many_at_once();
    own_memory();
    shutting_down();
}
