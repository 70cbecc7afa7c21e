/*
 * Messages of numbers over a socket allocate nothing, on either side and in no thread, once the session has warmed up. One with
 * text or a list allocates one block, where it is received.
 */
#include <stdio.h>

#include "counted.h"
#include "meet.h"
#include "talk_net.h"

enum { WARM = 10, ROUNDS = 1000, TRIES = 10 };

struct pair {
    talk_client_ask_t client;
    talk_server_ask_t server;
};

/* How many blocks were allocated when this many more numbers have gone back and forth. */
static long after_numbers(struct pair *pair, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        talk_client_answer_t waiting;
        talk_server_answer_t asked_from;
        talk_ask_t asked;
        talk_answer_t answer;
        CHECK(talk_client_ask_send_more(pair->client, 1, &pair->client) == DUO_OK);
        CHECK(talk_client_ask_send_number(pair->client, 2, &waiting) == DUO_OK);
        CHECK(talk_server_ask_recv(pair->server, &asked) == DUO_OK && asked.tag == TALK_ASK_MORE);
        CHECK(talk_server_ask_recv(asked.as.more.next, &asked) == DUO_OK && asked.tag == TALK_ASK_NUMBER);
        asked_from = asked.as.number.next;
        CHECK(talk_server_answer_send_number(asked_from, 3, &pair->server) == DUO_OK);
        CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.tag == TALK_ANSWER_NUMBER);
        pair->client = answer.as.number.next;
    }
    return counted.made;
}

/* The same for a text, a list of texts and a text in return: three messages. */
static long after_texts(struct pair *pair, int rounds)
{
    duo_str lines[] = {DUO_STR("one"), DUO_STR(""), DUO_STR("a longer line than the others")};
    for (int i = 0; i < rounds; i++) {
        talk_client_answer_t waiting;
        talk_ask_t page, list;
        talk_answer_t answer;
        const duo_list_str_t all = DUO_ITEMS(duo_list_str_t, lines);
        const duo_opt_tuple2_u8_f64_t none = DUO_NONE(duo_opt_tuple2_u8_f64_t);
        CHECK(talk_client_ask_send_page(pair->client, DUO_STR("a page"), &pair->client) == DUO_OK);
        CHECK(talk_client_ask_send_lines(pair->client, all, none, &waiting) == DUO_OK);
        CHECK(talk_server_ask_recv(pair->server, &page) == DUO_OK && page.tag == TALK_ASK_PAGE);
        CHECK(talk_server_ask_recv(page.as.page.next, &list) == DUO_OK && list.tag == TALK_ASK_LINES);
        CHECK(duo_str_equal(page.as.page.value, DUO_STR("a page")));
        CHECK(list.as.lines.value.size == 3 && duo_str_equal(list.as.lines.value.data[2], lines[2]));
        CHECK(talk_server_answer_send_text(list.as.lines.next, DUO_STR("thanks"), &pair->server) == DUO_OK);
        CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.tag == TALK_ANSWER_TEXT);
        CHECK(duo_str_equal(answer.as.text.value, DUO_STR("thanks")));
        pair->client = answer.as.text.next;
        talk_ask_free(&page);
        talk_ask_free(&list);
        talk_answer_free(&answer);
    }
    return counted.made;
}

/*
 * Whether that many messages allocate exactly this. The thread that writes what was collected for a while has memory of its own, which it
 * allocates when it first needs it: on a slow machine that may be late, and only then is there another try.
 */
static bool is_exact(struct pair *pair, long (*after)(struct pair *pair, int rounds), long expected)
{
    for (int i = 0; i < TRIES; i++) {
        long before = after(pair, WARM);
        long found = after(pair, ROUNDS) - before;
        if (found == expected) return true;
        fprintf(stderr, "%ld instead of %ld\n", found, expected);
        CHECK(found > expected && found < expected + WARM);
    }
    return false;
}

TEST(allocations)
{
    use_counted_memory();
    struct pair pair;
    meet_both(&duo_wire_of_talk, &pair.client.sends, &pair.server.receives);
    CHECK(is_exact(&pair, after_numbers, 0));
    CHECK(is_exact(&pair, after_texts, 3 * ROUNDS));
    talk_ask_t asked;
    CHECK(talk_client_ask_close(pair.client) == DUO_OK);
    CHECK(talk_server_ask_recv(pair.server, &asked) == DUO_CLOSED);
    CHECK(duo_shutdown() == 0);
}
