/* Streams of numbers that stop and continue anywhere: what was sent can be read, however far behind the receiver is. */
#include <pthread.h>

#include "flow_shm.h"
#include "talk.h"

/* A burst fits into the ring, even if the receiver has not yet reported what it has finished with. */
enum { NUMBERS = 100000, MOST_AT_ONCE = 1300 };

/* Mostly few, and sometimes many. */
static uint64_t some(uint64_t *seed)
{
    uint64_t any = draw(seed), most = any % 4 == 0 ? MOST_AT_ONCE : any % 4 == 1 ? 300 : 20;
    return (any >> 8) % most;
}

static void send_some(flow_client_flow_t *client, uint64_t *sent, uint64_t count)
{
    for (; count > 0; count--) {
        CHECK(flow_client_flow_send_number(*client, *sent, client) == DUO_OK);
        *sent += 1;
    }
}

static void *attach_server(void *place)
{
    flow_server_flow_t *server = place;
    int region = (int)server->receives.turn;
    CHECK(flow_server_attach(region, NULL, server) == DUO_OK);
    return NULL;
}

/* One thread has both sides, so nothing is waited for: each number can be read as soon as it was sent, and no other. */
static void in_turn(void)
{
    int region = region_of(4096);
    flow_client_flow_t client;
    flow_server_flow_t server = {{NULL, (uint64_t)region}};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, attach_server, &server) == 0);
    CHECK(flow_client_attach(region, NULL, &client) == DUO_OK);
    CHECK(pthread_join(thread, NULL) == 0);
    uint64_t seed = 88172645463325252u, sent = 0, read = 0;
    flow_flow_t got = {0};
    while (read < NUMBERS) {
        send_some(&client, &sent, some(&seed));
        /* The rest is left for the next time, if the ring has space for both. */
        uint64_t left = sent - read > MOST_AT_ONCE / 8 ? 0 : some(&seed) % (sent - read + 1);
        bool tries = draw(&seed) % 2 == 0;
        for (; read < sent - left; read++) {
            CHECK((tries ? flow_server_flow_try_recv(server, &got) : flow_server_flow_recv(server, &got)) == DUO_OK);
            CHECK(got.as.number.value == read);
            server = got.as.number.next;
        }
        if (left == 0) CHECK(flow_server_flow_try_recv(server, &got) == DUO_EMPTY);
    }
    CHECK(flow_client_flow_close(client) == DUO_OK);
    for (; read < sent; read++) {
        CHECK(flow_server_flow_recv(server, &got) == DUO_OK && got.as.number.value == read);
        server = got.as.number.next;
    }
    CHECK(flow_server_flow_recv(server, &got) == DUO_CLOSED);
    close(region);
}

static void pause_for(uint64_t turns)
{
    for (volatile uint64_t i = 0; i < turns; i++) continue;
}

/* Reads everything, sometimes faster and sometimes slower than it arrives, and receives each number in some way. */
static void receive_all(int region)
{
    uint64_t seed = 2463534242u, read = 0;
    flow_server_flow_t server;
    CHECK(flow_server_attach(region, NULL, &server) == DUO_OK);
    for (;;) {
        uint64_t many = some(&seed), slow = draw(&seed) % 3 == 0 ? draw(&seed) % 200 : 0;
        uint64_t way = draw(&seed) % 4;
        for (; many > 0; many--) {
            flow_flow_t got = {0};
            duo_status status = DUO_EMPTY;
            while (status == DUO_EMPTY && way == 0) status = flow_server_flow_try_recv(server, &got);
            while (status == DUO_EMPTY && way == 1) status = flow_server_flow_recv_within(server, 500, &got);
            if (way > 1) status = flow_server_flow_recv(server, &got);
            if (status == DUO_CLOSED) {
                CHECK(read == NUMBERS);
                return;
            }
            CHECK(status == DUO_OK && got.as.number.value == read++);
            server = got.as.number.next;
            if (slow > 0) pause_for(slow);
        }
    }
}

static void at_any_speed(void)
{
    int region = region_of(4096);
    pid_t child = start_child(receive_all, region);
    uint64_t seed = 521288629u, sent = 0;
    flow_client_flow_t client;
    CHECK(flow_client_attach(region, NULL, &client) == DUO_OK);
    while (sent < NUMBERS) {
        uint64_t many = some(&seed), slow = draw(&seed) % 3 == 0 ? draw(&seed) % 200 : 0;
        for (; many > 0 && sent < NUMBERS; many--) {
            send_some(&client, &sent, 1);
            if (slow > 0) pause_for(slow);
        }
        if (draw(&seed) % 8 == 0) pause_for(10000);
    }
    CHECK(flow_client_flow_close(client) == DUO_OK);
    finish_child(child);
    close(region);
}

TEST(stream)
{
    in_turn();
    at_any_speed();
}
