/* Processes that attached give back what sessions left behind, and nothing is lost in between: for valgrind. */
#include "counted.h"
#include "talk.h"

static void serve_and_give_back(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    CHECK(duo_shutdown() == 1);
    answer_all(server);
    close(region);
    CHECK(duo_shutdown() == 0 && counted.live == 0);
}

/* Asks once, in a session of its own. */
static void meet(void)
{
    int region = region_of(4096);
    pid_t child = start_child(serve_and_give_back, region);
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_OK);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_text(client, DUO_STR("what was said"), &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.tag == TALK_ANSWER_TEXT);
    CHECK(talk_client_ask_close(answer.as.text.next) == DUO_OK);
    talk_answer_free(&answer);
    close(region);
    finish_child(child);
}

TEST(given_back)
{
    use_counted_memory();
    meet();
    /* One side in the pool, for the next session. */
    CHECK(counted.live == 1);
    meet();
    CHECK(duo_shutdown() == 0 && counted.live == 0);
    meet();
    /* What is kept for later is not a leak. */
    CHECK(counted.live == 1);
}
