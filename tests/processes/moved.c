/* Ends of a stream that change hands in the middle of it: no number is lost, duplicated or invented. */
#include "carry.h"
#include "flow_shm.h"
#include "talk.h"

enum { BEFORE = 3, NUMBERS = 40 };

static flow_server_flow_t server_of(int region)
{
    flow_server_flow_t server;
    CHECK(flow_server_attach(region, NULL, &server) == DUO_OK);
    return server;
}

static flow_client_flow_t client_of(int region)
{
    flow_client_flow_t client;
    CHECK(flow_client_attach(region, NULL, &client) == DUO_OK);
    return client;
}

/* Receives the numbers from `from` to `to`. */
static flow_server_flow_t receive(flow_server_flow_t server, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n < to; n++) {
        flow_flow_t got;
        CHECK(flow_server_flow_recv(server, &got) == DUO_OK && got.as.number.value == n);
        server = got.as.number.next;
    }
    return server;
}

static flow_client_flow_t send(flow_client_flow_t client, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n < to; n++) CHECK(flow_client_flow_send_number(client, n, &client) == DUO_OK);
    return client;
}

static void receive_all(int region)
{
    flow_flow_t got;
    CHECK(flow_server_flow_recv(receive(server_of(region), 0, NUMBERS), &got) == DUO_CLOSED);
}

static void send_all(int region)
{
    CHECK(flow_client_flow_close(send(client_of(region), 0, NUMBERS)) == DUO_OK);
}

static void shared(void)
{
    int region = region_of(4096);
    pid_t child = start_child(receive_all, region);
    flow_client_flow_shared_t sender;
    CHECK(flow_client_flow_share(send(client_of(region), 0, BEFORE), &sender) == DUO_OK);
    for (uint64_t n = BEFORE; n < NUMBERS; n++)
        CHECK(flow_client_flow_shared_send_number(sender, n) == DUO_OK);
    flow_client_flow_shared_release(sender);
    finish_child(child);
    close(region);
}

static void given(void)
{
    int region = region_of(4096);
    pid_t child = start_child(receive_all, region);
    carry_server_carry_t there;
    carry_client_carry_t here;
    CHECK(carry_init(&there, &here) == DUO_OK);
    flow_client_flow_t client = send(client_of(region), 0, BEFORE);
    CHECK(carry_client_carry_send_give(here, client, &here) == DUO_OK);
    carry_carry_t got;
    CHECK(carry_server_carry_recv(there, &got) == DUO_OK);
    client = flow_client_flow_take(&got.as.give.value);
    CHECK(flow_client_flow_close(send(client, BEFORE, NUMBERS)) == DUO_OK);
    carry_server_carry_close(got.as.give.next);
    carry_client_carry_close(here);
    finish_child(child);
    close(region);
}

static void taken(void)
{
    int region = region_of(4096);
    pid_t child = start_child(send_all, region);
    carry_server_carry_t there;
    carry_client_carry_t here;
    CHECK(carry_init(&there, &here) == DUO_OK);
    flow_server_flow_t server = server_of(region);
    /* All numbers are there, so the first three are followed by others. */
    take_a_moment();
    server = receive(server, 0, BEFORE);
    CHECK(carry_client_carry_send_take(here, server, &here) == DUO_OK);
    carry_carry_t got;
    CHECK(carry_server_carry_recv(there, &got) == DUO_OK);
    server = receive(flow_server_flow_take(&got.as.take.value), BEFORE, NUMBERS);
    flow_flow_t last;
    CHECK(flow_server_flow_recv(server, &last) == DUO_CLOSED);
    carry_server_carry_close(got.as.take.next);
    carry_client_carry_close(here);
    finish_child(child);
    close(region);
}

TEST(moved)
{
    shared();
    given();
    taken();
}
