/* Values that outlive their message, and values as expressions. */
#include <string.h>

#include "check.h"
#include "counted.h"
#include "file_server.h"
#include "kept.h"
#include "smtp.h"

/* A list of texts, after the message it came in is gone. */
static void copies(void)
{
    smtp_server_greeting_t server;
    smtp_client_greeting_t client;
    smtp_greeting_t greeting;
    CHECK(smtp_init(&server, &client) == DUO_OK);
    const duo_str lines[] = {DUO_STR("closed today"), DUO_STR(""), DUO_STR("try tomorrow")};
    const reply_t sent = {421, DUO_ITEMS(duo_list_str_t, lines)};
    CHECK(smtp_server_greeting_send_unavailable(server, sent) == DUO_OK);
    CHECK(smtp_client_greeting_recv(client, &greeting) == DUO_OK);
    CHECK(greeting.tag == SMTP_GREETING_UNAVAILABLE);

    reply_t kept;
    void *block;
    counted.left = 0;
    CHECK(reply_copy(greeting.as.unavailable.reply, &kept, &block) == DUO_NO_MEMORY && block == NULL);
    counted.left = LONG_MAX;
    CHECK(reply_copy(greeting.as.unavailable.reply, &kept, &block) == DUO_OK && block != NULL);
    CHECK(kept.lines.data != greeting.as.unavailable.reply.lines.data);
    smtp_greeting_free(&greeting);
    CHECK(kept.code == 421 && kept.lines.size == 3);
    for (size_t i = 0; i < 3; i++) CHECK(duo_str_equal(kept.lines.data[i], lines[i]));

    /* A copy of a copy, and one of an empty list, which does not refer to anything else. */
    reply_t again;
    void *other;
    CHECK(reply_copy(kept, &again, &other) == DUO_OK);
    duo_release_copy(block);
    CHECK(duo_str_equal(again.lines.data[2], lines[2]));
    duo_release_copy(other);
    again.lines.size = 0;
    CHECK(reply_copy(again, &kept, &other) == DUO_OK && kept.lines.data != again.lines.data && kept.lines.size == 0);
    duo_release_copy(other);
    duo_release_copy(NULL);
}

/* A text and bytes without a declared type. */
static void plain_copies(void)
{
    char text[] = "the cat";
    uint8_t array[] = {1, 0, 255};
    duo_str kept;
    duo_bytes held;
    void *block, *other;
    counted.left = 0;
    CHECK(duo_str_duplicate(duo_str_from(text), &kept, &block) == DUO_NO_MEMORY && block == NULL);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 3}, &held, &other) == DUO_NO_MEMORY && other == NULL);
    counted.left = LONG_MAX;
    CHECK(duo_str_duplicate(duo_str_from(text), &kept, &block) == DUO_OK);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 3}, &held, &other) == DUO_OK);
    memset(text, 0, sizeof text);
    memset(array, 0, sizeof array);
    CHECK(duo_str_equal(kept, DUO_STR("the cat")));
    CHECK(held.size == 3 && held.data[0] == 1 && held.data[1] == 0 && held.data[2] == 255);
    duo_release_copy(block);
    duo_release_copy(other);
    CHECK(duo_bytes_duplicate((duo_bytes){array, 0}, &held, &other) == DUO_OK && held.size == 0 && held.data != array);
    duo_release_copy(other);
}

/* Receives the next message of a session. */
static kept_open_t received(kept_server_open_t server)
{
    kept_open_t message;
    CHECK(kept_server_open_recv(server, &message) == DUO_OK);
    return message;
}

/* An option of a list: the copy remains when the message is gone, and an absent one is copied too. */
static void option_copies(kept_server_open_t *server, kept_client_open_t *client)
{
    const duo_str lines[] = {DUO_STR("the cat"), DUO_STR(""), DUO_STR("sat")};
    const duo_opt_list_str_t sent = DUO_SOME(duo_opt_list_str_t, DUO_ITEMS(duo_list_str_t, lines));
    CHECK(kept_client_open_send_lines(*client, sent, client) == DUO_OK);
    kept_open_t message = received(*server);
    *server = message.as.lines.next;

    duo_opt_list_str_t kept;
    duo_list_str_t list;
    void *block, *other;
    counted.left = 0;
    CHECK(duo_opt_list_str_copy(message.as.lines.lines, &kept, &block) == DUO_NO_MEMORY && block == NULL);
    counted.left = LONG_MAX;
    CHECK(duo_opt_list_str_copy(message.as.lines.lines, &kept, &block) == DUO_OK);
    CHECK(duo_list_str_copy(message.as.lines.lines.value, &list, &other) == DUO_OK);
    kept_open_free(&message);
    CHECK(kept.some && kept.value.size == 3 && list.size == 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK(duo_str_equal(kept.value.data[i], lines[i]));
        CHECK(duo_str_equal(list.data[i], lines[i]));
    }
    duo_release_copy(block);
    duo_release_copy(other);
    CHECK(duo_opt_list_str_copy(DUO_NONE(duo_opt_list_str_t), &kept, &block) == DUO_OK && !kept.some);
    duo_release_copy(block);
}

/* Lists of lists, tuples, and values that contain others of their type. */
static void inner_copies(kept_server_open_t *server, kept_client_open_t *client)
{
    uint8_t bytes[] = {1, 0, 255};
    const duo_tuple2_str_bytes_t pair = {DUO_STR("left"), {bytes, 3}};
    CHECK(kept_client_open_send_pair(*client, pair, client) == DUO_OK);
    kept_open_t message = received(*server);
    *server = message.as.pair.next;
    duo_tuple2_str_bytes_t kept_pair;
    void *pair_block;
    CHECK(duo_tuple2_str_bytes_copy(message.as.pair.pair, &kept_pair, &pair_block) == DUO_OK);
    kept_open_free(&message);

    const duo_str words[] = {DUO_STR("a"), DUO_STR("b")};
    const duo_list_str_t lists[] = {DUO_ITEMS(duo_list_str_t, words), {NULL, 0}};
    const duo_list_list_str_t rows = DUO_ITEMS(duo_list_list_str_t, lists);
    CHECK(kept_client_open_send_rows(*client, rows, client) == DUO_OK);
    message = received(*server);
    *server = message.as.rows.next;
    duo_list_list_str_t kept_rows;
    void *rows_block;
    CHECK(duo_list_list_str_copy(message.as.rows.rows, &kept_rows, &rows_block) == DUO_OK);
    kept_open_free(&message);

    const leaf_t twigs[] = {{DUO_STR("twig"), {NULL, 0}}};
    const leaf_t leaves[] = {{DUO_STR("branch"), DUO_ITEMS(duo_list_leaf_t, twigs)}, {DUO_STR("bud"), {NULL, 0}}};
    const duo_list_leaf_t list = DUO_ITEMS(duo_list_leaf_t, leaves);
    const duo_tuple2_opt_list_leaf_u8_t tree = {DUO_SOME(duo_opt_list_leaf_t, list), 7};
    CHECK(kept_client_open_send_tree(*client, tree, client) == DUO_OK);
    message = received(*server);
    *server = message.as.tree.next;
    duo_tuple2_opt_list_leaf_u8_t kept_tree;
    void *tree_block;
    CHECK(duo_tuple2_opt_list_leaf_u8_copy(message.as.tree.tree, &kept_tree, &tree_block) == DUO_OK);
    kept_open_free(&message);

    CHECK(duo_str_equal(kept_pair.v0, DUO_STR("left")));
    CHECK(kept_pair.v1.size == 3 && memcmp(kept_pair.v1.data, bytes, 3) == 0);
    CHECK(kept_rows.size == 2 && kept_rows.data[0].size == 2 && kept_rows.data[1].size == 0);
    CHECK(duo_str_equal(kept_rows.data[0].data[1], DUO_STR("b")));
    const duo_list_leaf_t kept = kept_tree.v0.value;
    CHECK(kept_tree.v0.some && kept_tree.v1 == 7 && kept.size == 2 && kept.data[1].leaves.size == 0);
    CHECK(duo_str_equal(kept.data[0].leaves.data[0].label, DUO_STR("twig")));
    duo_release_copy(pair_block);
    duo_release_copy(rows_block);
    duo_release_copy(tree_block);
}

static void constructors(void)
{
    const duo_opt_u32_t some = DUO_SOME(duo_opt_u32_t, 7), none = DUO_NONE(duo_opt_u32_t);
    CHECK(some.some && some.value == 7 && !none.some);
}

int main(void)
{
    use_counted_memory();
    constructors();
    kept_server_open_t server;
    kept_client_open_t client;
    CHECK(kept_init(&server, &client) == DUO_OK);
    /* The memory of a session is used again for another one, so it remains. */
    copies();
    const long before = counted.live;
    copies();
    plain_copies();
    option_copies(&server, &client);
    inner_copies(&server, &client);
    CHECK(counted.live == before);
    CHECK(kept_client_open_close(client) == DUO_OK && kept_server_open_close(server) == DUO_OK);
    return 0;
}
