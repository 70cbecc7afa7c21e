/* Messages of every length, through regions that are smaller. */
#include "talk.h"

static char *made(size_t size)
{
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    for (size_t i = 0; i < size; i++) text[i] = (char)('a' + (i * 7 + i / 251) % 26);
    return text;
}

static void texts(size_t space)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve, space, &child);
    const size_t sizes[] = {0, 1, 54, 55, 56, 57, 64, 1023, 1024, 1025, 4096, 65536, 10000000};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = made(sizes[i]);
        duo_str page = {text, sizes[i]};
        CHECK(talk_client_ask_send_page(client, page, &client) == DUO_OK);
        CHECK(talk_client_ask_send_more(client, i, &client) == DUO_OK);
        CHECK(talk_client_ask_send_page(client, page, &client) == DUO_OK);
        sum += 2 * sizes[i] + i;
        talk_client_answer_t waiting;
        talk_answer_t answer;
        CHECK(talk_client_ask_send_text(client, page, &waiting) == DUO_OK);
        CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
        CHECK(answer.tag == TALK_ANSWER_TEXT && duo_str_equal(answer.as.text.value, page));
        client = answer.as.text.next;
        talk_answer_free(&answer);
        client = ask(client, 0, sum);
        free(text);
    }
    end_talk(client, child);
}

static void other_shapes(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve, 4096, &child);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    uint64_t sum = 0;
    for (size_t count = 0; count < 3000; count = count * 3 + 1) {
        duo_str lines[3000];
        uint32_t numbers[3000];
        for (size_t i = 0; i < count; i++) {
            lines[i] = i % 2 == 0 ? DUO_STR("even") : DUO_STR("an odd line");
            numbers[i] = (uint32_t)i;
            sum += lines[i].size + i;
        }
        duo_list_str_t list = {lines, count};
        duo_opt_tuple2_u8_f64_t at = {true, {3, 0.5}};
        sum += 3;
        CHECK(talk_client_ask_send_lines(client, list, at, &waiting) == DUO_OK);
        CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
        duo_list_u32_t table = {numbers, count};
        CHECK(talk_client_ask_send_table(answer.as.number.next, table, &waiting) == DUO_OK);
        CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
        CHECK(answer.tag == TALK_ANSWER_NUMBER && answer.as.number.value == sum);
        client = answer.as.number.next;
    }
    /* Larger than a line, of fixed size, and without a block. */
    CHECK(talk_client_ask_send_block(client, 1, 2, 3, 4, 5, 6, 7, 8, 9, &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.as.number.value == sum + 10);
    CHECK(talk_client_ask_send_end(answer.as.number.next) == DUO_OK);
    finish_child(child);
}

/* Streams that go round the ring many times, with turns at every position in it. */
static void many(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve, 4096, &child);
    uint64_t sum = 0;
    for (uint64_t run = 0; run < 400; run++) {
        uint64_t length = run % 50 == 49 ? 20000 : run * 7;
        for (uint64_t i = 0; i < length; i++) {
            if (i % 97 == 96)
                CHECK(talk_client_ask_send_page(client, DUO_STR("0123456789"), &client) == DUO_OK);
            else CHECK(talk_client_ask_send_more(client, i, &client) == DUO_OK);
            sum += i % 97 == 96 ? 10 : i;
        }
        client = ask(client, run, sum + run);
    }
    end_talk(client, child);
}

static void serve_modest(int region)
{
    const duo_shm_options options = {.largest = 1000};
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, &options, &server) == DUO_OK);
    answer_all(server);
}

static void too_large(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_modest, 0, &child);
    talk_client_ask_t same = client;
    char *text = made(1000);
    duo_str page = {text, 1000};
    CHECK(talk_client_ask_send_page(client, page, &client) == DUO_TOO_LARGE);
    CHECK(client.sends.turn == same.sends.turn);
    page.size = 998;
    CHECK(talk_client_ask_send_page(client, page, &client) == DUO_OK);
    client = ask(client, 1, 999);
    end_talk(client, child);
    free(text);
}

TEST(long)
{
    texts(4096);
    texts(0);
    other_shapes();
    many();
    too_large();
}
