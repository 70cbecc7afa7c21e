/* Payloads of every kind arrive as they were sent, and whatever is not taken or not read is closed and dropped once. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "handles.h"
#include "payloads.h"

static payloads_server_start_t server;
static payloads_client_start_t client;
static payloads_start_t got;

static void begin(void)
{
    CHECK(payloads_init(&server, &client) == DUO_OK);
}

static void receive(payloads_start_tag_t expected)
{
    CHECK(payloads_server_start_recv(server, &got) == DUO_OK);
    CHECK(got.tag == expected);
}

static void leave(void)
{
    CHECK(payloads_server_start_close(server) == DUO_OK);
    CHECK(payloads_client_start_close(client) == DUO_OK);
}

/* A pair of endpoints to be sent; the other end shows what became of it. */
typedef struct pair {
    ticks_client_run_t out;
    ticks_server_run_t in;
} pair;

static pair make_pair(void)
{
    pair made;
    CHECK(ticks_init(&made.in, &made.out) == DUO_OK);
    return made;
}

static void check_closed_for(ticks_server_run_t in)
{
    ticks_run_t tick;
    CHECK(ticks_server_run_try_recv(in, &tick) == DUO_CLOSED);
}

static void check_open(pair both)
{
    ticks_run_t tick;
    CHECK(ticks_client_run_send_tick(both.out, 3, &both.out) == DUO_OK);
    CHECK(ticks_server_run_try_recv(both.in, &tick) == DUO_OK && tick.as.tick.value == 3);
    CHECK(ticks_server_run_close(tick.as.tick.next) == DUO_OK);
    CHECK(ticks_client_run_close(both.out) == DUO_OK);
}

static void nested_values(void)
{
    begin();
    char name[] = "a name";
    uint32_t row[] = {1, 2, 3};
    duo_opt_str_t names[] = {{true, {name, 6}}, {false, {NULL, 0}}, {true, DUO_STR("")}};
    duo_list_u32_t rows[] = {{row, 3}, {NULL, 0}, {row + 1, 1}};
    const uint8_t bytes[] = {0, 1, 255};
    deep_t leaf = {.names = {names, 1}};
    deep_t inner[] = {leaf, {.inner = {&leaf, 1}}};
    deep_t sent = {{names, 3}, {rows, 3}, {true, {DUO_STR("note"), {bytes, 3}}}, {inner, 2}};
    CHECK(payloads_client_start_send_deep(client, sent, &client) == DUO_OK);
    /* The sender's values belong to it again, and the message has copies. */
    memset(name, 'x', 6);
    memset(row, 0, sizeof row);
    memset(names, 0, sizeof names);
    memset(inner, 0, sizeof inner);

    receive(PAYLOADS_START_DEEP);
    server = got.as.deep.next;
    deep_t deep = got.as.deep.deep;
    CHECK(deep.names.size == 3 && deep.names.data[0].some && !deep.names.data[1].some);
    CHECK(duo_str_equal(deep.names.data[0].value, DUO_STR("a name")));
    CHECK(deep.names.data[2].some && deep.names.data[2].value.size == 0);
    CHECK(deep.rows.size == 3 && deep.rows.data[0].size == 3 && deep.rows.data[1].size == 0);
    CHECK(deep.rows.data[0].data[2] == 3 && deep.rows.data[2].data[0] == 2);
    CHECK(deep.note.some && duo_str_equal(deep.note.value.v0, DUO_STR("note")));
    CHECK(deep.note.value.v1.size == 3 && deep.note.value.v1.data[2] == 255);
    CHECK(deep.inner.size == 2 && deep.inner.data[1].inner.size == 1);
    duo_str innermost = deep.inner.data[1].inner.data[0].names.data[0].value;
    CHECK(duo_str_equal(innermost, DUO_STR("a name")));
    payloads_start_free(&got);
    leave();
}

static void lists_of_endpoints(void)
{
    begin();
    pair first = make_pair();
    pair second = make_pair();
    duo_opt_ticks_client_run_t ports[] = {{true, first.out}, {false, {{0}}}, {true, second.out}};
    CHECK(payloads_client_start_send_ports(client, (duo_list_opt_ticks_client_run_t){ports, 3},
                                           &client) == DUO_OK);
    CHECK(ticks_client_run_close(first.out) == DUO_USED);
    receive(PAYLOADS_START_PORTS);
    server = got.as.ports.next;
    CHECK(got.as.ports.value.size == 3);
    first.out = ticks_client_run_take(&got.as.ports.value.data[0].value);
    payloads_start_free(&got);
    check_open(first);
    check_closed_for(second.in);
    leave();
}

static void enums_of_everything(void)
{
    begin();
    pair port = make_pair();
    pair many[] = {make_pair(), make_pair()};
    ticks_server_run_t ports[] = {many[0].in, many[1].in};
    carried_t values[] = {
        {.tag = CARRIED_PORT, .as.port.to = port.out},
        {.tag = CARRIED_NOTHING},
        {.tag = CARRIED_MANY, .as.many = {{ports, 2}, DUO_STR("two")}},
        {.tag = CARRIED_HELD, .as.held.handle = handle_new()},
    };
    CHECK(payloads_client_start_send_carried(client, (duo_list_carried_t){values, 4}, &client) ==
          DUO_OK);
    receive(PAYLOADS_START_CARRIED);
    server = got.as.carried.next;
    CHECK(got.as.carried.value.size == 4 && handles_alive() == 1);
    carried_t *second = &got.as.carried.value.data[2];
    CHECK(duo_str_equal(second->as.many.note, DUO_STR("two")) && second->as.many.ports.size == 2);
    many[1].in = ticks_server_run_take(&second->as.many.ports.data[1]);
    payloads_start_free(&got);
    CHECK(handles_alive() == 0);
    check_closed_for(port.in);
    CHECK(ticks_client_run_send_tick(many[0].out, 1, &many[0].out) == DUO_CLOSED);
    check_open(many[1]);
    leave();
}

static void unread(void)
{
    begin();
    pair both = make_pair();
    pair other = make_pair();
    duo_tuple2_ticks_client_run_ticks_server_run_t tuple = {both.out, other.in};
    CHECK(payloads_client_start_send_pair(client, tuple, 1, &client) == DUO_OK);
    carried_t held = {.tag = CARRIED_HELD, .as.held.handle = handle_new()};
    CHECK(payloads_client_start_send_carried(client, (duo_list_carried_t){&held, 1}, &client) ==
          DUO_OK);
    CHECK(payloads_client_start_send_handle(client, handle_new(), &client) == DUO_OK);
    CHECK(handles_alive() == 2);
    CHECK(payloads_server_start_close(server) == DUO_OK);
    CHECK(handles_alive() == 0);
    check_closed_for(both.in);
    CHECK(ticks_client_run_send_tick(other.out, 1, &other.out) == DUO_CLOSED);

    /* What can never be received stays with the sender. */
    both = make_pair();
    other = make_pair();
    tuple.v0 = both.out;
    tuple.v1 = other.in;
    CHECK(payloads_client_start_send_pair(client, tuple, 1, &client) == DUO_CLOSED);
    check_open(both);
    check_open(other);

    begin();
    struct handle *handle = handle_new();
    CHECK(payloads_server_start_close(server) == DUO_OK);
    CHECK(payloads_client_start_send_handle(client, handle, &client) == DUO_CLOSED);
    CHECK(handles_alive() == 1);
    handle_drop(handle);
}

static void taken(void)
{
    begin();
    CHECK(payloads_client_start_send_handle(client, handle_new(), &client) == DUO_OK);
    receive(PAYLOADS_START_HANDLE);
    server = got.as.handle.next;
    struct handle *handle = handle_take(&got.as.handle.handle);
    payloads_start_free(&got);
    CHECK(handles_alive() == 1);
    handle_drop(handle);
    CHECK(payloads_client_start_send_end(client) == DUO_OK);
    receive(PAYLOADS_START_END);
    payloads_start_free(&got);
}

int main(void)
{
    nested_values();
    lists_of_endpoints();
    enums_of_everything();
    unread();
    taken();
    return 0;
}
