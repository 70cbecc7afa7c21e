/* The side of `inline.c` in which values with a bound are views. */
#include "inline.h"

#include <string.h>

#include "check.h"

#include "views/bounded_net.h"
#include "views/bounded_shm.h"

static const duo_str name = {"K\xc3\xb6hler", 7};

static void send_all(bounded_client_start_t client)
{
    const uint64_t numbers[] = {1, 2, UINT64_MAX};
    const duo_tuple2_u16_str_t pair = {9, name};
    const uint32_t row[] = {7, 8};
    const duo_list_u32_t rows[] = {{row, 2}};
    const uint8_t bytes[] = {1, 2, 3};
    card_t card = {.name = name, .key = {true, {bytes, 2}}, .numbers = {numbers, 3}, .bytes = {bytes, 3}};
    card.pairs = (duo_list_tuple2_u16_str_t){&pair, 1};
    card.rows = (duo_list_list_u32_t){rows, 1};
    CHECK(bounded_client_start_send_name(client, name, &client) == DUO_OK);
    CHECK(bounded_client_start_send_card(client, card, &client) == DUO_OK);
    /* Bounds are limits here. */
    const duo_str more = DUO_STR("a name of more than thirty-two bytes");
    CHECK(bounded_client_start_send_name(client, more, &client) == DUO_TOO_LARGE);
    const mark_t marks[] = {{-1, INT64_MIN}};
    const figure_t figures[] = {{.tag = FIGURE_LINE, .as.line = {DUO_STR("zero!"), {marks, 1}}}};
    CHECK(bounded_client_start_send_figures(client, (duo_list_figure_t){figures, 1}, &client) == DUO_OK);
    CHECK(bounded_client_start_send_mixed(client, (mixed_t){.title = name, .cards = {&card, 1}}, &client) == DUO_OK);
    static uint8_t many[65535];
    CHECK(bounded_client_start_send_long(client, (duo_bytes){many, sizeof many}, &client) == DUO_OK);
    CHECK(bounded_client_start_send_end(client) == DUO_OK);
}

void send_in_shared_memory(int region)
{
    bounded_client_start_t client;
    CHECK(bounded_client_attach(region, NULL, &client) == DUO_OK);
    send_all(client);
}

void send_over_a_socket(int descriptor)
{
    bounded_client_start_t client;
    CHECK(bounded_client_connect_over(descriptor, NULL, &client) == DUO_OK);
    send_all(client);
}

void receive_over_a_socket(int descriptor)
{
    bounded_server_start_t server;
    bounded_start_t got;
    CHECK(bounded_server_accept_over(descriptor, NULL, &server) == DUO_OK);
    CHECK(bounded_server_start_recv(server, &got) == DUO_OK && got.tag == BOUNDED_START_NAME);
    CHECK(duo_str_equal(got.as.name.name, name));
    server = got.as.name.next;
    bounded_start_free(&got);
    CHECK(bounded_server_start_recv(server, &got) == DUO_OK && got.tag == BOUNDED_START_CARD);
    const card_t *card = &got.as.card.card;
    CHECK(duo_str_equal(card->name, name) && card->key.some && card->key.value.size == 8);
    CHECK(card->numbers.size == 4 && card->numbers.data[3] == 4 && card->flags.data[0] && card->empties.size == 3);
    CHECK(card->pairs.size == 1 && duo_str_equal(card->pairs.data[0].v1, name) && card->rows.data[0].data[1] == 8);
    server = got.as.card.next;
    bounded_start_free(&got);
    CHECK(bounded_server_start_recv(server, &got) == DUO_OK && got.tag == BOUNDED_START_END);
}
