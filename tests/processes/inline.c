/*
 * Inline values between processes: they have the same bytes as views, are accepted if and only if views are, and both
 * kinds of programs talk to each other.
 */
#define _GNU_SOURCE
#include "inline.h"

#include <sys/socket.h>

#include "child.h"

#include "inline/bounded_net.h"
#include "inline/bounded_shm.h"

enum { MESSAGES = 10, MOST = 70000 };

static const duo_str name = {"K\xc3\xb6hler", 7};
static in_bounded_start_t filled[MESSAGES];

static in_name_t name_of(duo_str text)
{
    in_name_t made;
    CHECK(duo_str32_set(&made, text));
    return made;
}

static in_card_t a_card(void)
{
    in_card_t card = {.name = name_of(name), .key = {true, {8, "key"}}, .empties = {.size = 3}};
    card.numbers = (duo_list4_u64_t){4, {1, 2, 3, 4}};
    card.bytes = (duo_list3_u8_t){3, {1, 2, 3}};
    card.flags = (duo_list5_bool_t){5, {true, false, true}};
    card.pairs = (duo_list2_tuple2_u16_str32_t){1, {{9, name_of(name)}}};
    card.tones = (duo_list2_in_tone_t){2, {IN_TONE_HIGH, IN_TONE_LOW}};
    card.rows = (duo_list2_list2_u32_t){1, {{2, {7, 8}}}};
    return card;
}

/* One message of each kind, except the last. */
static void fill(void)
{
    static in_card_t cards[2];
    static uint8_t large[] = "some text";
    static const in_branch_t leaves[] = {{{1, "a"}, {NULL, 0}}, {{1, "b"}, {NULL, 0}}};
    cards[0] = cards[1] = a_card();
    filled[0].as.name.name = name_of(name);
    filled[1].as.card.card = cards[0];
    filled[2].as.names.names = (in_names_t){2, {name_of(name), name_of(DUO_STR(""))}};
    filled[2].as.names.count = 3;
    duo_list3_in_figure_t *figures = &filled[3].as.figures.value;
    *figures = (duo_list3_in_figure_t){3, {{.tag = IN_FIGURE_NOTHING}, {.tag = IN_FIGURE_LINE}, {.tag = IN_FIGURE_TEXT}}};
    figures->data[1].as.line.to = (duo_list2_in_mark_t){1, {{-1, INT64_MIN}}};
    CHECK(duo_str9_set(&figures->data[2].as.text.value, DUO_STR("nine byte")));
    filled[4].as.option.option = (duo_opt_str32_t){true, name_of(name)};
    filled[5].as.tuple.tuple = (duo_tuple2_bytes2_list3_i16_t){{2, {1, 2}}, {3, {-1, 0, 1}}};
    in_mixed_t *mixed = &filled[6].as.mixed.mixed;
    *mixed = (in_mixed_t){.text = DUO_STR("text"), .views = {1, {DUO_STR("view")}}, .cards = {cards, 2}};
    mixed->large = (duo_str){(const char *)large, sizeof large};
    filled[7].as.branch.branch = (in_branch_t){{1, "r"}, {leaves, 2}};
    memset(filled[8].as.long_.value.data, 7, sizeof filled[8].as.long_.value.data);
    filled[8].as.long_.value.size = 500;
}

/* Memory of exactly this size, so that reading past the end is detected. */
static void *exactly(size_t size)
{
    void *made = malloc(size > 0 ? size : 1);
    CHECK(made != NULL);
    return made;
}

/* Writes entries that were read, and compares. */
static void check_written(const duo_wire *wire, const void *entries, const uint8_t *bytes, size_t size)
{
    size_t measured;
    CHECK(duo_wire_measure(wire, entries, &measured) == DUO_OK && measured == size);
    char *written = exactly(size);
    duo_wire_writer writer = {written, written + size, NULL};
    CHECK(duo_wire_encode(wire, entries, &writer) && (size_t)(writer.at - written) == size);
    CHECK(memcmp(written, bytes, size) == 0);
    free(written);
}

/* Both kinds of code accept the same bytes. Returns whether they do. */
static bool check_bytes(size_t message, const uint8_t *given, size_t size)
{
    const duo_wire *wire = duo_wire_of_in_bounded.wires[message].entries, *views = duo_wire_of_bounded.wires[message].entries;
    size_t taken = 0, space = 0, taken_by_views = 0, space_of_views = 0;
    uint8_t *bytes = exactly(size);
    if (size > 0) memcpy(bytes, given, size);
    bool is_right = duo_wire_check(wire, bytes, size, &taken, &space);
    CHECK(is_right == duo_wire_check(views, bytes, size, &taken_by_views, &space_of_views));
    if (is_right) {
        CHECK(taken == taken_by_views);
        static in_bounded_start_t message_read;
        char *items = exactly(space);
        memset(&message_read, 0x55, sizeof message_read);
        duo_wire_decode(wire, bytes, &message_read.as, items);
        /* An option's or a flag's byte, or a count, could have been written in another way; none is accepted. */
        check_written(wire, &message_read.as, bytes, taken);
        free(items);
    }
    free(bytes);
    return is_right;
}

static uint32_t seed = 1;

static uint32_t random_below(uint32_t most)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % most;
}

/* Bytes of valid messages with a few of them changed. */
static void same_bytes(void)
{
    static char encoded[MOST];
    static uint8_t changed[MOST];
    size_t right = 0, wrong = 0;
    for (size_t i = 0; i + 1 < MESSAGES; i++) {
        size_t size;
        const duo_wire *wire = duo_wire_of_in_bounded.wires[i].entries;
        CHECK(duo_wire_measure(wire, &filled[i].as, &size) == DUO_OK && size <= sizeof encoded);
        duo_wire_writer writer = {encoded, encoded + size, NULL};
        CHECK(duo_wire_encode(wire, &filled[i].as, &writer));
        CHECK(check_bytes(i, (const uint8_t *)encoded, size));
        for (int round = 0; round < 2000; round++) {
            memcpy(changed, encoded, size);
            size_t left = round % 2 == 0 ? size : random_below((uint32_t)size + 1);
            for (uint32_t change = random_below(4); change > 0 && left > 0; change--)
                changed[random_below((uint32_t)left)] = (uint8_t)random_below(round % 3 == 0 ? 256 : 6);
            *(check_bytes(i, changed, left) ? &right : &wrong) += 1;
        }
    }
    CHECK(right > 1000 && wrong > 1000);
}

/* What is larger than its bound is not read, whether or not it is larger than its space. */
static void too_much(void)
{
    static uint8_t bytes[MOST];
    memset(bytes, 'a', sizeof bytes);
    bytes[0] = 32;
    CHECK(check_bytes(0, bytes, 33));
    bytes[0] = 33;
    CHECK(!check_bytes(0, bytes, 34));
    memcpy(bytes, "\xff\xff\x03", 3);
    CHECK(check_bytes(8, bytes, 65535 + 3));
    memcpy(bytes, "\x80\x80\x04", 3);
    CHECK(!check_bytes(8, bytes, 65536 + 3));
    size_t size;
    in_bounded_start_t wrong = filled[1];
    wrong.as.card.card.rows.data[0].size = 3;
    CHECK(duo_wire_measure(duo_wire_of_in_bounded.wires[1].entries, &wrong.as, &size) == DUO_INVALID);
    wrong = filled[0];
    wrong.as.name.name.size = 33;
    CHECK(duo_wire_measure(duo_wire_of_in_bounded.wires[0].entries, &wrong.as, &size) == DUO_INVALID);
}

/* Receives what the clients of `views.c` send. */
static void receive_all(in_bounded_server_start_t server)
{
    static in_bounded_start_t got;
    CHECK(in_bounded_server_start_recv(server, &got) == DUO_OK && got.tag == IN_BOUNDED_START_NAME);
    CHECK(duo_str_equal(duo_str32_view(&got.as.name.name), name) && got.block == NULL);
    CHECK(in_bounded_server_start_recv(got.as.name.next, &got) == DUO_OK && got.tag == IN_BOUNDED_START_CARD);
    const in_card_t *card = &got.as.card.card;
    CHECK(duo_str_equal(duo_str32_view(&card->name), name) && card->key.value.size == 2 && card->bytes.data[2] == 3);
    CHECK(card->numbers.size == 3 && card->numbers.data[2] == UINT64_MAX && card->rows.data[0].data[1] == 8);
    CHECK(card->flags.size == 0 && card->pairs.size == 1 && card->pairs.data[0].v0 == 9 && got.block == NULL);
    CHECK(in_bounded_server_start_recv(got.as.card.next, &got) == DUO_OK && got.tag == IN_BOUNDED_START_FIGURES);
    const in_figure_t *figure = &got.as.figures.value.data[0];
    CHECK(got.as.figures.value.size == 1 && figure->as.line.from.size == 5);
    CHECK(figure->as.line.to.size == 1 && figure->as.line.to.data[0].y == INT64_MIN);
    CHECK(in_bounded_server_start_recv(got.as.figures.next, &got) == DUO_OK && got.tag == IN_BOUNDED_START_MIXED);
    CHECK(got.as.mixed.mixed.title.size == 7 && got.as.mixed.mixed.cards.data[0].numbers.size == 3);
    in_bounded_server_start_t next = got.as.mixed.next;
    in_bounded_start_free(&got);
    CHECK(in_bounded_server_start_recv(next, &got) == DUO_OK && got.tag == IN_BOUNDED_START_LONG);
    CHECK(got.as.long_.value.size == 65535 && got.as.long_.value.data[65534] == 0);
    CHECK(in_bounded_server_start_recv(got.as.long_.next, &got) == DUO_OK && got.tag == IN_BOUNDED_START_END);
}

static void in_shared_memory(void)
{
    int region = region_of(4096);
    pid_t child = start_child(send_in_shared_memory, region);
    in_bounded_server_start_t server;
    CHECK(in_bounded_server_attach(region, NULL, &server) == DUO_OK);
    receive_all(server);
    finish_child(child);
    close(region);
}

/* Starts a child at the other end of a connection. */
static pid_t connected_child(void (*run)(int), int *own)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = start_child(run, ends[1]);
    close(ends[1]);
    *own = ends[0];
    return child;
}

static void over_a_socket(void)
{
    int descriptor;
    pid_t child = connected_child(send_over_a_socket, &descriptor);
    in_bounded_server_start_t server;
    CHECK(in_bounded_server_accept_over(descriptor, NULL, &server) == DUO_OK);
    receive_all(server);
    finish_child(child);

    child = connected_child(receive_over_a_socket, &descriptor);
    in_bounded_client_start_t client;
    CHECK(in_bounded_client_connect_over(descriptor, NULL, &client) == DUO_OK);
    const duo_str more = DUO_STR("a name of more than thirty-two bytes");
    CHECK(in_bounded_client_start_send_name(client, more, &client) == DUO_TOO_LARGE);
    CHECK(in_bounded_client_start_send_name(client, DUO_STR("\xff"), &client) == DUO_INVALID);
    in_card_t card = a_card();
    card.empties.size = 4;
    CHECK(in_bounded_client_start_send_card(client, card, &client) == DUO_INVALID);
    CHECK(in_bounded_client_start_send_name(client, name, &client) == DUO_OK);
    CHECK(in_bounded_client_start_send_card(client, a_card(), &client) == DUO_OK);
    CHECK(in_bounded_client_start_send_end(client) == DUO_OK);
    finish_child(child);
}

int main(void)
{
    fill();
    same_bytes();
    too_much();
    in_shared_memory();
    over_a_socket();
    return 0;
}
