/* A peer that closes or dies is noticed, and everything it sent before is read first. */
#include "attack.h"
#include "duologue/lane.h"
#include "talk.h"

static void leave_at_once(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    take_a_moment();
    CHECK(talk_server_ask_close(server) == DUO_OK);
}

static talk_client_ask_t say_much(int region)
{
    talk_client_ask_t client = attach_client(region);
    for (uint64_t i = 0; i < 100; i++)
        CHECK(talk_client_ask_send_more(client, i, &client) == DUO_OK);
    return client;
}

static void say_and_leave(int region)
{
    CHECK(talk_client_ask_close(say_much(region)) == DUO_OK);
}

static void say_and_wait(int region)
{
    (void)say_much(region);
    for (;;) pause();
}

/* The client waits for an answer that never comes, or only tries to receive it. */
static void while_waiting(void (*server)(int), bool is_killed, bool tries)
{
    int region = region_of(0);
    pid_t child = start_child(server, region);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_number(attach_client(region), 1, &waiting) == DUO_OK);
    if (is_killed) {
        CHECK(talk_client_answer_try_recv(waiting, &answer) == DUO_EMPTY);
        CHECK(talk_client_answer_recv_within(waiting, 1000000, &answer) == DUO_EMPTY);
        kill_child(child);
    }
    duo_status status = DUO_EMPTY;
    while (tries && status == DUO_EMPTY) status = talk_client_answer_try_recv(waiting, &answer);
    if (!tries) status = talk_client_answer_recv(waiting, &answer);
    CHECK(status == (is_killed ? DUO_LOST : DUO_CLOSED) && answer.tag == 0);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_USED);
    if (!is_killed) finish_child(child);
    close(region);
}

/* The client sends into a ring that nobody empties. */
static void while_sending(void (*server)(int), bool is_killed, bool is_long)
{
    pid_t child;
    talk_client_ask_t client = meet_child(server, 4096, &child);
    char text[1500];
    memset(text, 'x', sizeof text);
    duo_str page = {text, is_long ? sizeof text : 60};
    duo_status status;
    size_t sent = 0;
    while ((status = talk_client_ask_try_send_page(client, page, &client)) == DUO_OK) sent++;
    if (is_killed) {
        CHECK(status == DUO_FULL && sent > 0);
        kill_child(child);
    }
    if (status == DUO_FULL) status = talk_client_ask_send_page(client, page, &client);
    while (status == DUO_OK) status = talk_client_ask_send_page(client, page, &client);
    CHECK(status == (is_killed ? DUO_LOST : DUO_CLOSED) && client.sends.session == NULL);
    if (!is_killed) finish_child(child);
}

/* A sender learns that its peer has been dead for a while long before the ring is full. */
static void before_it_is_full(bool is_text)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_nothing, 0, &child);
    CHECK(talk_client_ask_send_more(client, 1, &client) == DUO_OK);
    kill_child(child);
    nanosleep(&(struct timespec){0, 150000000}, NULL);
    size_t sent = 0;
    duo_status status = DUO_OK;
    for (; status == DUO_OK; sent += status == DUO_OK)
        status = is_text ? talk_client_ask_send_page(client, DUO_STR("page"), &client)
                         : talk_client_ask_send_more(client, sent, &client);
    CHECK(status == DUO_LOST && client.sends.session == NULL);
    CHECK(sent <= DUO_SHM_LINES_UNSEEN * DUO_SHM_CELLS);
}

static void read_to_the_end(void (*client)(int), bool is_killed)
{
    int region = region_of(0);
    pid_t child = start_child(client, region);
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    take_a_moment();
    if (is_killed) kill_child(child);
    talk_ask_t asked;
    for (uint64_t i = 0; i < 100; i++) {
        CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
        CHECK(asked.tag == TALK_ASK_MORE && asked.as.more.value == i);
        server = asked.as.more.next;
    }
    CHECK(talk_server_ask_recv(server, &asked) == (is_killed ? DUO_LOST : DUO_CLOSED));
    if (!is_killed) finish_child(child);
    close(region);
}

/* Dies in the middle of a message, whose parts are then worthless. No memory moves that much in a millisecond. */
static void say_half(int region)
{
    talk_client_ask_t client = attach_client(region);
    static char text[32 << 20];
    memset(text, 'x', sizeof text);
    duo_str page = {text, sizeof text};
    CHECK(talk_client_ask_send_page(client, page, &client) == DUO_CLOSED);
}

static void in_the_middle(void)
{
    int region = region_of(4096);
    pid_t child = start_child(say_half, region);
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    talk_ask_t asked;
    CHECK(talk_server_ask_recv_within(server, 1000000, &asked) == DUO_EMPTY);
    CHECK(talk_server_ask_try_recv(server, &asked) == DUO_EMPTY);
    kill_child(child);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_LOST);
    close(region);

    /* And the reader dies in the middle of one. */
    region = region_of(4096);
    child = start_child(say_half, region);
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    CHECK(talk_server_ask_recv_within(server, 1000000, &asked) == DUO_EMPTY);
    CHECK(talk_server_ask_close(server) == DUO_OK);
    finish_child(child);
    close(region);
}

/* What the peer answers: a number, and then it leaves; or the last message of the protocol. */
static void write_answer(attack *peer, bool is_last)
{
    duo_shm_line *first = (duo_shm_line *)(void *)(peer->head + 1);
    const uint64_t tag = (is_last ? TALK_ANSWER_END : TALK_ANSWER_NUMBER) - 1, one = 1 << DUO_SHM_COUNT_SHIFT;
    memcpy(first->cells, "\x07\0\0\0\0\0\0", 8);
    /* The second use of the line. */
    atomic_store(&first->word, DUO_SHM_FULL | one | tag << DUO_SHM_TAG_SHIFT);
    atomic_fetch_or(&peer->head->sides[1].flags, is_last ? DUO_SHM_DONE : DUO_SHM_LEFT);
}

static void read_answer(talk_client_answer_t waiting, bool is_last)
{
    talk_answer_t answer;
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.tag == (is_last ? TALK_ANSWER_END : TALK_ANSWER_NUMBER));
    if (is_last) return;
    CHECK(answer.as.number.value == 7);
    CHECK(talk_client_ask_send_number(answer.as.number.next, 1, &waiting) == DUO_CLOSED);
}

/* In a line, and in one part of its own. */
enum { SHORT = 9, LONGER = 1000 };

/*
 * A peer that reads a message may answer and leave before the sender of the message sees its flags. Here it does so before it
 * has read the message, into a line that it has read.
 */
static void with_an_answer(size_t size, bool has_barrier, bool answers, bool is_last)
{
    attack peer = make_attack_at(1, &duo_wire_of_talk.fingerprint);
    peer.head->sides[1].hello.has_barrier = has_barrier;
    talk_client_ask_t client = attach_client(peer.region);
    for (uint64_t i = 0; i <= DUO_SHM_CELLS; i++) CHECK(talk_client_ask_send_more(client, i, &client) == DUO_OK);
    if (answers) write_answer(&peer, is_last);
    else atomic_fetch_or(&peer.head->sides[1].flags, DUO_SHM_LEFT);
    static char text[LONGER];
    talk_client_answer_t waiting;
    duo_status status = size == 0 ? talk_client_ask_send_number(client, 1, &waiting)
                                  : talk_client_ask_send_text(client, (duo_str){text, size}, &waiting);
    CHECK(status == (answers ? DUO_OK : DUO_CLOSED));
    if (answers) read_answer(waiting, is_last);
    end_attack(&peer);
}

/* The same after a message that is the only one of its run: the sender has read the flags late. */
static void with_an_answer_to_a_turn(bool answers, bool is_last)
{
    attack peer = make_attack_at(1, &duo_wire_of_talk.fingerprint);
    peer.head->sides[1].hello.has_barrier = true;
    talk_client_answer_t waiting;
    CHECK(talk_client_ask_send_number(attach_client(peer.region), 1, &waiting) == DUO_OK);
    if (answers) write_answer(&peer, is_last);
    CHECK(duo_answer_peer(waiting.receives, DUO_SHM_DONE) == (answers ? DUO_OK : DUO_CLOSED));
    if (answers) read_answer(waiting, is_last);
    end_attack(&peer);
}

static void while_answered(void)
{
    const size_t sizes[] = {0, SHORT, LONGER};
    for (unsigned which = 0; which < 3; which++) {
        for (unsigned how = 0; how < 8; how++) with_an_answer(sizes[which], how & 1, how & 2, how & 4);
    }
    for (unsigned how = 0; how < 4; how++) with_an_answer_to_a_turn(how & 1, how & 2);
}

TEST(leave)
{
    for (int either = 0; either < 2; either++) {
        while_waiting(leave_at_once, false, either);
        while_waiting(serve_nothing, true, either);
        while_sending(leave_at_once, false, either);
        while_sending(serve_nothing, true, either);
        before_it_is_full(either);
    }
    read_to_the_end(say_and_leave, false);
    read_to_the_end(say_and_wait, true);
    in_the_middle();
    while_answered();
}
