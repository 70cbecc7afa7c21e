/* Time limits of states: a peer that does not send in time is late, whatever the side that waits does. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "limited_net.h"
#include "meet.h"
#include "raw.h"
#include "unlimited_net.h"
#include "waits.h"

struct session {
    limited_server_choose_t server;
    unlimited_client_choose_t client;
};

/* A session whose server has time limits. The client has none. */
static struct session begin(void)
{
    meeting client = {.protocol = &duo_wire_of_unlimited, .role = DUO_CLIENT};
    meeting server = {.protocol = &duo_wire_of_limited, .role = DUO_SERVER};
    meet(&client, &server);
    CHECK(client.status == DUO_OK && server.status == DUO_OK);
    return (struct session){{server.endpoint}, {client.endpoint}};
}

struct hurried {
    limited_server_quick_t server;
    unlimited_client_quick_t client;
};

/* A session in which the server waits for a message that has to come quickly. */
static struct hurried hurry(void)
{
    struct session session = begin();
    struct hurried hurried;
    limited_choose_t chosen;
    CHECK(unlimited_client_choose_send_hurry(session.client, &hurried.client) == DUO_OK);
    CHECK(limited_server_choose_recv(session.server, &chosen) == DUO_OK);
    CHECK(chosen.tag == LIMITED_CHOOSE_HURRY);
    hurried.server = chosen.as.hurry.next;
    return hurried;
}

/* What a client finds whose message comes too late. */
static void expect_too_late(unlimited_client_quick_t client)
{
    unlimited_client_choose_t next;
    unlimited_client_quick_answer_t asking;
    unlimited_quick_answer_t answer;
    duo_status status = unlimited_client_quick_send_done(client, &next);
    if (status == DUO_OK) status = unlimited_client_choose_send_ask_quickly(next, &asking);
    if (status == DUO_OK) status = unlimited_client_quick_answer_recv(asking, &answer);
    CHECK(status == DUO_LATE);
}

static void expect_late(limited_server_quick_t server)
{
    limited_quick_t message;
    CHECK(limited_server_quick_recv(server, &message) == DUO_LATE);
}

static void waiting(void)
{
    struct hurried hurried = hurry();
    expect_late(hurried.server);
    expect_too_late(hurried.client);
}

/* Waits that end sooner, again and again. */
static void polling(void)
{
    struct hurried hurried = hurry();
    limited_quick_t message;
    duo_status status;
    do status = limited_server_quick_recv_within(hurried.server, UINT64_C(3000000), &message);
    while (status == DUO_EMPTY);
    CHECK(status == DUO_LATE);
    expect_too_late(hurried.client);
}

/* For several at once. */
static void among_others(way how)
{
    struct hurried hurried = hurry();
    wait_by(how, DUO_READY(hurried.server));
    expect_late(hurried.server);
    expect_too_late(hurried.client);
}

/* The server's endpoint of a session in which it waits for a message that has to come quickly, over these sockets. */
static limited_server_quick_t hurry_by_hand(int ends[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    static const duo_fingerprint fingerprint = LIMITED_FINGERPRINT;
    uint8_t hello[] = {'d', 'u', 'o', 'l', 'o', 'g', 'u', 'e', 1, 0, 28, 0, [29] = 0x10, [39] = 0};
    memcpy(hello + 12, &fingerprint, sizeof fingerprint);
    raw_send(ends[0], hello, sizeof hello);
    limited_server_choose_t choose;
    CHECK(limited_server_accept_over(ends[1], NULL, &choose) == DUO_OK);
    uint8_t answer[38];
    CHECK(raw_read(ends[0], answer, sizeof answer) == sizeof answer);
    raw_send_hex(ends[0], "01");
    limited_choose_t chosen;
    CHECK(limited_server_choose_recv(choose, &chosen) == DUO_OK);
    return chosen.as.hurry.next;
}

/* Nobody waits: the peer learns that it is late all the same. */
static void idle(void)
{
    int ends[2];
    limited_server_quick_t server = hurry_by_hand(ends);
    raw_expect(ends[0], "00 03 02");
    expect_late(server);
    CHECK(close(ends[0]) == 0);
}

/* Sends that it is there until the connection is closed. */
static void *flood(void *context)
{
    const int *socket = context;
    uint8_t alive[4096];
    for (size_t i = 0; i < sizeof alive; i++) alive[i] = i % 2;
    while (send(*socket, alive, sizeof alive, MSG_NOSIGNAL) > 0) continue;
    return NULL;
}

/* Sends the beginning of a message of a mebibyte, and a byte of it now and then, until the connection is closed. */
static void *drip(void *context)
{
    const int *socket = context;
    raw_send_hex(*socket, "02 808040 fdff3f");
    while (send(*socket, "", 1, MSG_NOSIGNAL) > 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    return NULL;
}

/* A peer is late although it does this. */
static void late_although(void *(*act)(void *))
{
    int ends[2];
    limited_server_quick_t server = hurry_by_hand(ends);
    pthread_t thread = start(act, &ends[0]);
    expect_late(server);
    finish(thread);
    CHECK(close(ends[0]) == 0);
}

/* Each message begins the time again, and a server may be late, too. */
static void answering(void)
{
    meeting client = {.protocol = &duo_wire_of_limited, .role = DUO_CLIENT};
    meeting server = {.protocol = &duo_wire_of_unlimited, .role = DUO_SERVER};
    unlimited_choose_t chosen;
    unlimited_server_quick_answer_t rest;
    limited_client_quick_answer_t asking;
    limited_quick_answer_t answer;
    meet(&client, &server);
    CHECK(client.status == DUO_OK && server.status == DUO_OK);
    CHECK(limited_client_choose_send_ask_quickly((limited_client_choose_t){client.endpoint}, &asking) == DUO_OK);
    CHECK(unlimited_server_choose_recv((unlimited_server_choose_t){server.endpoint}, &chosen) == DUO_OK);
    CHECK(unlimited_server_quick_answer_send_hold(chosen.as.ask_quickly.next, &rest) == DUO_OK);
    duo_status status = limited_client_quick_answer_recv(asking, &answer);
    if (status == DUO_OK) status = limited_client_quick_answer_recv(answer.as.hold.next, &answer);
    CHECK(status == DUO_LATE);
    CHECK(unlimited_server_quick_answer_close(rest) == DUO_OK);
}

/* States without a limit, and with a long one, wait on. */
static void patient(void)
{
    struct session resting = begin(), thinking = begin();
    unlimited_client_idle_t rests;
    unlimited_client_slow_t thinks;
    limited_choose_t rest, think;
    limited_idle_t rested;
    limited_slow_t thought;
    CHECK(unlimited_client_choose_send_rest(resting.client, &rests) == DUO_OK);
    CHECK(limited_server_choose_recv(resting.server, &rest) == DUO_OK);
    CHECK(unlimited_client_choose_send_think(thinking.client, &thinks) == DUO_OK);
    CHECK(limited_server_choose_recv(thinking.server, &think) == DUO_OK);
    struct hurried clock = hurry();
    expect_late(clock.server);
    expect_too_late(clock.client);
    /* The others have waited longer. */
    CHECK(unlimited_client_idle_send_done(rests, &resting.client) == DUO_OK);
    CHECK(unlimited_client_choose_send_bye(resting.client) == DUO_OK);
    CHECK(limited_server_idle_recv(rest.as.rest.next, &rested) == DUO_OK);
    CHECK(limited_server_choose_recv(rested.as.done.next, &rest) == DUO_OK && rest.tag == LIMITED_CHOOSE_BYE);
    CHECK(unlimited_client_slow_send_done(thinks, &thinking.client) == DUO_OK);
    CHECK(unlimited_client_choose_send_bye(thinking.client) == DUO_OK);
    CHECK(limited_server_slow_recv(think.as.think.next, &thought) == DUO_OK);
    CHECK(limited_server_choose_recv(thought.as.done.next, &think) == DUO_OK && think.tag == LIMITED_CHOOSE_BYE);
}

/* Messages that have arrived in time are received, however late the program receives them. */
static void unread(void)
{
    enum { WORDS = 5000 };
    struct session session = begin(), clock = begin();
    unlimited_client_talking_t talking;
    limited_choose_t chosen;
    limited_talking_t word;
    CHECK(unlimited_client_choose_send_talk(session.client, &talking) == DUO_OK);
    for (int i = 0; i < WORDS; i++) CHECK(unlimited_client_talking_send_word(talking, &talking) == DUO_OK);
    CHECK(unlimited_client_talking_send_done(talking, &session.client) == DUO_OK);
    CHECK(unlimited_client_choose_send_bye(session.client) == DUO_OK);
    CHECK(limited_server_choose_recv(session.server, &chosen) == DUO_OK);
    /* A session in the same state, whose time begins later and passes. */
    unlimited_client_talking_t silent;
    limited_choose_t other;
    CHECK(unlimited_client_choose_send_talk(clock.client, &silent) == DUO_OK);
    CHECK(limited_server_choose_recv(clock.server, &other) == DUO_OK);
    CHECK(limited_server_talking_recv(other.as.talk.next, &word) == DUO_LATE);
    CHECK(unlimited_client_talking_close(silent) == DUO_OK);
    limited_server_talking_t listening = chosen.as.talk.next;
    for (int i = 0; i < WORDS; i++) {
        CHECK(limited_server_talking_recv(listening, &word) == DUO_OK && word.tag == LIMITED_TALKING_WORD);
        listening = word.as.word.next;
    }
    CHECK(limited_server_talking_recv(listening, &word) == DUO_OK && word.tag == LIMITED_TALKING_DONE);
    CHECK(limited_server_choose_recv(word.as.done.next, &chosen) == DUO_OK && chosen.tag == LIMITED_CHOOSE_BYE);
}

TEST(within)
{
    waiting();
    polling();
    for (way how = BY_SELECT; how < WAYS; how++) among_others(how);
    idle();
    late_although(flood);
    late_although(drip);
    answering();
    patient();
    unread();
}
