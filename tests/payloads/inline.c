/* Values that are stored inline arrive as they were sent; those that are larger than their space are refused. */
#include <stdlib.h>
#include <string.h>

#include "bounded.h"
#include "check.h"
#include "lent.h"
#include "posts.h"

#define SIZE(array) (sizeof(array) / sizeof *(array))

static bounded_server_start_t server;
static bounded_client_start_t client;
static bounded_start_t got;

static void begin(void)
{
    CHECK(bounded_init(&server, &client) == DUO_OK);
}

static void receive(bounded_start_tag_t expected)
{
    CHECK(bounded_server_start_recv(server, &got) == DUO_OK);
    CHECK(got.tag == expected && got.block == NULL);
}

static void leave(void)
{
    CHECK(bounded_server_start_close(server) == DUO_OK);
    CHECK(bounded_client_start_close(client) == DUO_OK);
}

static name_t name_of(duo_str text)
{
    name_t name;
    CHECK(duo_str32_set(&name, text));
    return name;
}

static bool is_name(const name_t *name, duo_str text)
{
    return duo_str_equal(duo_str32_view(name), text);
}

static card_t a_card(void)
{
    const uint64_t numbers[] = {1, 2, UINT64_MAX};
    const tone_t tones[] = {TONE_HIGH, TONE_LOW};
    const duo_list2_u32_t row = {2, {7, 8}};
    const duo_tuple2_u16_str32_t pair = {9, name_of(DUO_STR("a pair"))};
    card_t card = {.name = name_of(DUO_STR("K\xc3\xb6hler")), .empties = {.size = 3}};
    card.key.some = true;
    CHECK(duo_bytes8_set(&card.key.value, (duo_bytes){(const uint8_t *)"\0\xff", 2}));
    CHECK(duo_list4_u64_set(&card.numbers, numbers, SIZE(numbers)));
    CHECK(duo_list3_u8_set(&card.bytes, (const uint8_t *)"abc", 3));
    CHECK(duo_list5_bool_set(&card.flags, (const bool[]){true, false}, 2));
    CHECK(duo_list2_tuple2_u16_str32_set(&card.pairs, &pair, 1));
    CHECK(duo_list2_tone_set(&card.tones, tones, SIZE(tones)));
    CHECK(duo_list2_list2_u32_set(&card.rows, &row, 1));
    return card;
}

static bool is_that_card(const card_t *card)
{
    const duo_bytes key = duo_bytes8_view(&card->key.value);
    return is_name(&card->name, DUO_STR("K\xc3\xb6hler")) && card->key.some && key.size == 2 && key.data[1] == 255 &&
           card->numbers.size == 3 && card->numbers.data[2] == UINT64_MAX && card->bytes.size == 3 &&
           card->bytes.data[2] == 'c' && card->flags.size == 2 && card->flags.data[0] && !card->flags.data[1] &&
           card->pairs.size == 1 && card->pairs.data[0].v0 == 9 &&
           is_name(&card->pairs.data[0].v1, DUO_STR("a pair")) && card->tones.size == 2 &&
           card->tones.data[0] == TONE_HIGH && card->rows.size == 1 && card->rows.data[0].size == 2 &&
           card->rows.data[0].data[1] == 8 && card->empties.size == 3;
}

static void every_kind(void)
{
    begin();
    char text[] = "a name";
    CHECK(bounded_client_start_send_name(client, (duo_str){text, 6}, &client) == DUO_OK);
    memset(text, 'x', 6);
    CHECK(bounded_client_start_send_card(client, a_card(), &client) == DUO_OK);
    const name_t both[] = {name_of(DUO_STR("one")), name_of(DUO_STR(""))};
    names_t names;
    CHECK(duo_list3_str32_set(&names, both, 2));
    CHECK(bounded_client_start_send_names(client, names, 200, &client) == DUO_OK);
    duo_list3_figure_t figures = {2, {{.tag = FIGURE_NOTHING}, {.tag = FIGURE_LINE}}};
    CHECK(duo_str5_set(&figures.data[1].as.line.from, DUO_STR("zero!")));
    figures.data[1].as.line.to = (duo_list2_mark_t){1, {{-1, INT64_MIN}}};
    CHECK(bounded_client_start_send_figures(client, figures, &client) == DUO_OK);
    const duo_opt_str32_t some = {true, both[0]}, none = {.some = false};
    CHECK(bounded_client_start_send_option(client, some, &client) == DUO_OK);
    CHECK(bounded_client_start_send_option(client, none, &client) == DUO_OK);
    const duo_tuple2_bytes2_list3_i16_t tuple = {{2, {1, 2}}, {3, {-1, 0, 1}}};
    CHECK(bounded_client_start_send_tuple(client, tuple, &client) == DUO_OK);

    receive(BOUNDED_START_NAME);
    CHECK(is_name(&got.as.name.name, DUO_STR("a name")));
    server = got.as.name.next;
    receive(BOUNDED_START_CARD);
    CHECK(is_that_card(&got.as.card.card));
    server = got.as.card.next;
    /* There is nothing to free, and freeing it does no harm. */
    bounded_start_free(&got);
    receive(BOUNDED_START_NAMES);
    CHECK(got.as.names.names.size == 2 && got.as.names.count == 200);
    CHECK(is_name(&got.as.names.names.data[0], DUO_STR("one")) && got.as.names.names.data[1].size == 0);
    server = got.as.names.next;
    receive(BOUNDED_START_FIGURES);
    const figure_t *line = &got.as.figures.value.data[1];
    CHECK(got.as.figures.value.size == 2 && line->tag == FIGURE_LINE);
    CHECK(duo_str_equal(duo_str5_view(&line->as.line.from), DUO_STR("zero!")));
    CHECK(line->as.line.to.size == 1 && line->as.line.to.data[0].y == INT64_MIN);
    server = got.as.figures.next;
    receive(BOUNDED_START_OPTION);
    CHECK(got.as.option.option.some && is_name(&got.as.option.option.value, DUO_STR("one")));
    server = got.as.option.next;
    receive(BOUNDED_START_OPTION);
    CHECK(!got.as.option.option.some);
    server = got.as.option.next;
    receive(BOUNDED_START_TUPLE);
    CHECK(got.as.tuple.tuple.v0.data[1] == 2 && got.as.tuple.tuple.v1.data[0] == -1);
    server = got.as.tuple.next;
    leave();
}

/* Functions that fill a value refuse what does not fit, and leave it as it was. */
static void too_much_is_refused(void)
{
    const duo_str most = DUO_STR("abcdefghijklmnopqrstuvwxyz012345"), more = DUO_STR("abcdefghijklmnopqrstuvwxyz0123456");
    CHECK(most.size == 32 && more.size == 33);
    name_t name = name_of(DUO_STR("before"));
    CHECK(!duo_str32_set(&name, more) && is_name(&name, DUO_STR("before")));
    CHECK(duo_str32_set(&name, most) && is_name(&name, most));
    /* A view of itself. */
    CHECK(duo_str32_set(&name, (duo_str){name.data + 1, 3}) && is_name(&name, DUO_STR("bcd")));
    CHECK(duo_str32_set(&name, (duo_str){NULL, 0}) && name.size == 0);
    duo_bytes8_t key = {1, {5}};
    CHECK(!duo_bytes8_set(&key, (duo_bytes){(const uint8_t *)"123456789", 9}) && key.size == 1 && key.data[0] == 5);
    duo_list4_u64_t numbers = {1, {5}};
    CHECK(!duo_list4_u64_set(&numbers, (const uint64_t[5]){0}, 5) && numbers.size == 1 && numbers.data[0] == 5);
    CHECK(!duo_list4_u64_set(&numbers, NULL, SIZE_MAX) && duo_list4_u64_set(&numbers, NULL, 0) && numbers.size == 0);

    begin();
    CHECK(bounded_client_start_send_name(client, more, &client) == DUO_TOO_LARGE);
    CHECK(bounded_client_start_send_name(client, (duo_str){most.data, SIZE_MAX}, &client) == DUO_TOO_LARGE);
    CHECK(bounded_client_start_send_name(client, DUO_STR("\xff"), &client) == DUO_INVALID);
    CHECK(bounded_client_start_send_name(client, most, &client) == DUO_OK);
    receive(BOUNDED_START_NAME);
    CHECK(is_name(&got.as.name.name, most));
    server = got.as.name.next;
    leave();
}

static void refuse_card(card_t card)
{
    CHECK(bounded_client_start_send_card(client, card, &client) == DUO_INVALID);
}

/* Whatever a program writes into a value, the receiver never gets more than there is space for. */
static void wrong_values_are_refused(void)
{
    begin();
    const card_t card = a_card();
    card_t wrong = card;
    wrong.name.size = 33, refuse_card(wrong), wrong = card;
    wrong.name.size = UINT16_MAX, refuse_card(wrong), wrong = card;
    wrong.name.data[0] = '\xff', refuse_card(wrong), wrong = card;
    wrong.key.value.size = 9, refuse_card(wrong), wrong = card;
    wrong.numbers.size = 5, refuse_card(wrong), wrong = card;
    wrong.bytes.size = 4, refuse_card(wrong), wrong = card;
    wrong.flags.size = 6, refuse_card(wrong), wrong = card;
    wrong.pairs.size = 3, refuse_card(wrong), wrong = card;
    wrong.pairs.data[0].v1.size = 33, refuse_card(wrong), wrong = card;
    wrong.tones.data[1] = (tone_t)3, refuse_card(wrong), wrong = card;
    wrong.rows.data[0].size = 3, refuse_card(wrong), wrong = card;
    wrong.empties.size = 4, refuse_card(wrong), wrong = card;
    /* What is not used does not matter. */
    wrong.key.some = false, wrong.key.value.size = 9;
    wrong.pairs.size = 0, wrong.pairs.data[0].v1.size = 33;
    wrong.tones.size = 1, wrong.tones.data[1] = (tone_t)3;
    CHECK(bounded_client_start_send_card(client, wrong, &client) == DUO_OK);
    duo_list3_figure_t figures = {1, {{.tag = FIGURE_TEXT, .as.text.value = {10, ""}}}};
    CHECK(bounded_client_start_send_figures(client, figures, &client) == DUO_INVALID);
    figures.data[0].tag = (figure_tag_t)4;
    CHECK(bounded_client_start_send_figures(client, figures, &client) == DUO_INVALID);
    leave();
}

/* A message may have inline values and views: the views are copied into one block, with inline values in lists there. */
static void inline_values_and_views(void)
{
    begin();
    char text[] = "a view";
    card_t cards[] = {a_card(), a_card()};
    mixed_t mixed = {.text = {text, 6}, .views = {2, {{text, 1}, {text + 2, 4}}}, .cards = {cards, 2}};
    CHECK(duo_str10_set(&mixed.title, DUO_STR("title")));
    mixed.large = (duo_str){text, 6};
    CHECK(bounded_client_start_send_mixed(client, mixed, &client) == DUO_OK);
    memset(text, 'x', 6);
    memset(cards, 0, sizeof cards);
    const branch_t leaf = {{1, "l"}, {NULL, 0}}, tree = {{1, "t"}, {&leaf, 1}};
    CHECK(bounded_client_start_send_branch(client, tree, &client) == DUO_OK);

    CHECK(bounded_server_start_recv(server, &got) == DUO_OK && got.tag == BOUNDED_START_MIXED);
    const mixed_t *read = &got.as.mixed.mixed;
    CHECK(duo_str_equal(duo_str10_view(&read->title), DUO_STR("title")));
    CHECK(duo_str_equal(read->text, DUO_STR("a view")) && duo_str_equal(read->large, DUO_STR("a view")));
    CHECK(read->views.size == 2 && duo_str_equal(read->views.data[1], DUO_STR("view")));
    CHECK(read->cards.size == 2 && is_that_card(&read->cards.data[1]));
    server = got.as.mixed.next;
    bounded_start_free(&got);
    CHECK(bounded_server_start_recv(server, &got) == DUO_OK && got.tag == BOUNDED_START_BRANCH);
    CHECK(got.as.branch.branch.branches.data[0].name.data[0] == 'l');
    server = got.as.branch.next;
    bounded_start_free(&got);
    mixed.cards.data = cards;
    cards[1].numbers.size = 5;
    CHECK(bounded_client_start_send_mixed(client, mixed, &client) == DUO_INVALID);
    leave();
}

static void the_largest(void)
{
    begin();
    uint8_t *bytes = malloc(65536);
    CHECK(bytes != NULL);
    memset(bytes, 7, 65536);
    CHECK(bounded_client_start_send_long(client, (duo_bytes){bytes, 65536}, &client) == DUO_TOO_LARGE);
    CHECK(bounded_client_start_send_long(client, (duo_bytes){bytes, 65535}, &client) == DUO_OK);
    receive(BOUNDED_START_LONG);
    CHECK(got.as.long_.value.size == 65535 && memcmp(got.as.long_.value.data, bytes, 65535) == 0);
    server = got.as.long_.next;
    free(bytes);
    leave();
}

static void check_open(beats_server_run_t in, beats_client_run_t out)
{
    beats_run_t beat;
    CHECK(beats_client_run_send_beat(out, 3, &out) == DUO_OK);
    CHECK(beats_server_run_try_recv(in, &beat) == DUO_OK && beat.as.beat.value == 3);
    CHECK(beats_server_run_close(beat.as.beat.next) == DUO_OK);
    CHECK(beats_client_run_close(out) == DUO_OK);
}

static void check_closed(beats_server_run_t in)
{
    beats_run_t beat;
    CHECK(beats_server_run_try_recv(in, &beat) == DUO_CLOSED);
}

/* Endpoints move out of an inline list, and those that nobody takes are closed, read or not. */
static void endpoints(void)
{
    lent_server_start_t to;
    lent_client_start_t from;
    beats_server_run_t in[6];
    beats_client_run_t out[6];
    CHECK(lent_init(&to, &from) == DUO_OK);
    for (size_t i = 0; i < SIZE(in); i++) CHECK(beats_init(&in[i], &out[i]) == DUO_OK);
    duo_list3_beats_client_run_t ports;
    CHECK(duo_list3_beats_client_run_set(&ports, out, 2));
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR("5 is too much"), &from) == DUO_TOO_LARGE);
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR("two"), &from) == DUO_OK);
    CHECK(beats_client_run_close(out[0]) == DUO_USED);
    /* One of them was used, so nothing is moved. */
    const beats_client_run_t some[] = {out[2], out[0]};
    CHECK(duo_list3_beats_client_run_set(&ports, some, 2));
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR(""), &from) == DUO_USED);
    ports.size = 4;
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR(""), &from) == DUO_INVALID);
    const duo_list2_opt_beats_client_run_t options = {2, {{false, {{0}}}, {true, out[2]}}};
    CHECK(lent_client_start_send_options(from, options, &from) == DUO_OK);
    ports = (duo_list3_beats_client_run_t){1, {out[3]}};
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR("last"), &from) == DUO_OK);

    lent_start_t lent;
    CHECK(lent_server_start_recv(to, &lent) == DUO_OK && lent.tag == LENT_START_PORTS && lent.block == NULL);
    CHECK(lent.as.ports.ports.size == 2 && duo_str_equal(duo_str4_view(&lent.as.ports.note), DUO_STR("two")));
    check_open(in[0], beats_client_run_take(&lent.as.ports.ports.data[0]));
    to = lent.as.ports.next;
    lent_start_free(&lent);
    check_closed(in[1]);
    CHECK(lent_server_start_close(to) == DUO_OK);
    check_closed(in[2]);
    check_closed(in[3]);
    /* Nobody receives any more, so what was sent is the sender's again. */
    ports = (duo_list3_beats_client_run_t){2, {out[4], out[5]}};
    CHECK(lent_client_start_send_ports(from, ports, DUO_STR(""), &from) == DUO_CLOSED);
    check_open(in[4], out[4]);
    check_open(in[5], out[5]);
}

static void shared_senders(void)
{
    posts_server_open_t to;
    posts_client_open_t from;
    posts_client_open_shared_t shared;
    posts_open_t post;
    CHECK(posts_init(&to, &from) == DUO_OK && posts_client_open_share(from, &shared) == DUO_OK);
    const duo_str text = DUO_STR("at most twenty bytes"), more = DUO_STR("more than twenty bytes");
    CHECK(posts_client_open_shared_send_post(shared, more, 1) == DUO_TOO_LARGE);
    CHECK(posts_client_open_shared_try_send_post(shared, DUO_STR("\xc0"), 1) == DUO_INVALID);
    for (uint32_t stamp = 0; stamp < 10; stamp++)
        CHECK(posts_client_open_shared_send_post(shared, text, stamp) == DUO_OK);
    posts_client_open_shared_release(shared);
    for (uint32_t stamp = 0; stamp < 10; stamp++) {
        CHECK(posts_server_open_recv(to, &post) == DUO_OK && post.as.post.stamp == stamp);
        CHECK(duo_str_equal(duo_str20_view(&post.as.post.value), text));
        to = post.as.post.next;
    }
    CHECK(posts_server_open_recv(to, &post) == DUO_CLOSED);
}

int main(void)
{
    every_kind();
    too_much_is_refused();
    wrong_values_are_refused();
    inline_values_and_views();
    the_largest();
    endpoints();
    shared_senders();
    CHECK(duo_shutdown() == 0);
    return 0;
}
