/*
 * A sender does not wait longer than its time limit, and a message that it gave up was not sent, even in the middle
 * of the message.
 */
#include "bump.h"
#include "talk.h"

enum { ROOM = 4096, LARGE = 20 * ROOM };

static const uint64_t short_time = 3000000;
static char text[LARGE];

static duo_str page_of(size_t size, char first)
{
    for (size_t i = 0; i < size; i++) text[i] = (char)('a' + (first + (int)(i % 23)) % 26);
    return (duo_str){text, size};
}

/* A message larger than the region's space, in a state in which every run is bounded. */
static void larger_than_the_region(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_when_told, ROOM, &child);
    await_stop(child);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    duo_str large = page_of(LARGE, 1);
    CHECK(talk_client_ask_try_send_text(client, large, &waiting) == DUO_FULL);
    for (int i = 0; i < 3; i++)
        CHECK(talk_client_ask_send_text_within(client, short_time, large, &waiting) == DUO_FULL);
    CHECK(talk_client_ask_send_text_within(client, DUO_AT_ONCE, large, &waiting) == DUO_FULL);
    CHECK(kill(child, SIGCONT) == 0);
    /* A message other than the one that was given up. */
    client = ask(client, 5, 5);
    CHECK(talk_client_ask_send_text_within(client, DUO_FOREVER, large, &waiting) == DUO_OK);
    CHECK(talk_client_ask_send_text_within(client, short_time, large, &waiting) == DUO_USED);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.tag == TALK_ANSWER_TEXT);
    CHECK(duo_str_equal(answer.as.text.value, large));
    client = answer.as.text.next;
    talk_answer_free(&answer);
    CHECK(talk_client_ask_try_send_end(client) == DUO_OK);
    finish_child(child);
}

/* The ring is full of short messages, and then of what remains of a long one that was given up. */
static void full(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_when_told, ROOM, &child);
    await_stop(child);
    uint64_t sum = 0;
    duo_str large = page_of(LARGE, 2);
    for (int i = 0; i < 5; i++) {
        CHECK(talk_client_ask_send_more_within(client, short_time, 3, &client) == DUO_OK);
        sum += 3;
    }
    CHECK(talk_client_ask_send_page_within(client, short_time, large, &client) == DUO_FULL);
    duo_status status;
    while ((status = talk_client_ask_try_send_more(client, 7, &client)) == DUO_OK) sum += 7;
    CHECK(status == DUO_FULL);
    CHECK(talk_client_ask_send_more_within(client, short_time, 7, &client) == DUO_FULL);
    CHECK(talk_client_ask_send_page_within(client, short_time, large, &client) == DUO_FULL);
    CHECK(talk_client_ask_try_send_page(client, page_of(8, 1), &client) == DUO_FULL);
    CHECK(kill(child, SIGCONT) == 0);
    client = ask(client, 1, sum + 1);
    end_talk(client, child);
}

/* Reads a message, and expects the session to be over. */
static void read_one(int region)
{
    talk_server_ask_t server;
    talk_ask_t asked;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    CHECK(raise(SIGSTOP) == 0);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_MORE);
    CHECK(talk_server_ask_recv(asked.as.more.next, &asked) == DUO_CLOSED);
}

/* Gives up, and closes. */
static void then_closed(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(read_one, ROOM, &child);
    await_stop(child);
    CHECK(talk_client_ask_send_more(client, 1, &client) == DUO_OK);
    CHECK(talk_client_ask_send_page_within(client, short_time, page_of(LARGE, 3), &client) == DUO_FULL);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    CHECK(kill(child, SIGCONT) == 0);
    finish_child(child);
}

/* The peer is killed in the middle of a message that is given up after that, or was given up before. */
static void then_killed(bool is_before)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_when_told, ROOM, &child);
    await_stop(child);
    duo_str large = page_of(LARGE, 3);
    if (is_before) CHECK(talk_client_ask_send_page_within(client, short_time, large, &client) == DUO_FULL);
    kill_child(child);
    duo_status status = DUO_OK;
    while (status == DUO_OK || status == DUO_FULL)
        status = talk_client_ask_send_page_within(client, short_time, large, &client);
    CHECK(status == DUO_LOST && client.sends.session == NULL);
}

static uint64_t mix(uint64_t hash, duo_str page)
{
    for (size_t i = 0; i < page.size; i++) hash = hash * 31 + (unsigned char)page.data[i];
    return hash * 31 + page.size;
}

/* Reads slowly, and answers with what it has read. */
static void digest(int region)
{
    talk_server_ask_t server;
    talk_ask_t asked;
    uint64_t hash = 0;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    for (;;) {
        CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
        if (asked.tag == TALK_ASK_NUMBER) break;
        if (asked.tag == TALK_ASK_PAGE) {
            hash = mix(hash, asked.as.page.value);
            server = asked.as.page.next;
            if (asked.as.page.value.size % 8 == 0) nanosleep(&(struct timespec){0, 100000}, NULL);
        } else {
            CHECK(asked.tag == TALK_ASK_MORE);
            hash = hash * 31 + asked.as.more.value;
            server = asked.as.more.next;
        }
        talk_ask_free(&asked);
    }
    CHECK(talk_server_answer_send_number(asked.as.number.next, hash, &server) == DUO_OK);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_END);
}

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
    return draw(&seed);
}

/* Messages of all sizes with all limits: exactly those arrive that were sent. */
static void at_random(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(digest, ROOM, &child);
    uint64_t hash = 0, sent = 0, given_up = 0;
    for (int i = 0; i < 20000; i++) {
        duo_status status;
        uint64_t limit = any() % 4 == 0 ? DUO_AT_ONCE : any() % 200000;
        if (any() % 3 == 0) {
            uint64_t number = any();
            status = talk_client_ask_send_more_within(client, limit, number, &client);
            if (status == DUO_OK) hash = hash * 31 + number;
        } else {
            duo_str page = page_of((size_t)(any() % (any() % 4 == 0 ? 3 * ROOM : 100)), (char)(any() % 26));
            status = talk_client_ask_send_page_within(client, limit, page, &client);
            if (status == DUO_OK) hash = mix(hash, page);
        }
        CHECK(status == DUO_OK || status == DUO_FULL);
        sent += status == DUO_OK;
        given_up += status == DUO_FULL;
    }
    CHECK(sent > 100 && given_up > 100);
    client = ask(client, 0, hash);
    end_talk(client, child);
}

/* Within a process the ring has enough slots for all of a bounded run. */
static void within_a_process(void)
{
    bump_server_ask_t server;
    bump_client_ask_t client;
    bump_client_answer_t waiting;
    bump_ask_t asked;
    CHECK(bump_init(&server, &client) == DUO_OK);
    CHECK(bump_client_ask_send_number_within(client, DUO_AT_ONCE, 4, &waiting) == DUO_OK);
    CHECK(bump_client_ask_send_number_within(client, DUO_AT_ONCE, 4, &waiting) == DUO_USED);
    CHECK(bump_server_ask_recv(server, &asked) == DUO_OK && asked.as.number.value == 4);
    bump_server_answer_t answering = asked.as.number.next;
    CHECK(bump_server_answer_try_send_number(answering, 5, &server) == DUO_OK);
    CHECK(bump_client_answer_close(waiting) == DUO_OK);
    CHECK(bump_server_ask_recv(server, &asked) == DUO_CLOSED);
}

TEST(limits)
{
    larger_than_the_region();
    full();
    then_closed();
    then_killed(false);
    then_killed(true);
    at_random();
    within_a_process();
}
