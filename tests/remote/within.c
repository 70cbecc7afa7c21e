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

struct hurried {
    limited_server_quick_t server;
    unlimited_client_quick_t client;
};

/* A session in which the server waits for a message that has to come quickly. The client has no time limits. */
static struct hurried hurry(void)
{
    meeting client = {.protocol = &duo_wire_of_unlimited, .role = DUO_CLIENT};
    meeting server = {.protocol = &duo_wire_of_limited, .role = DUO_SERVER};
    meet(&client, &server);
    CHECK(client.status == DUO_OK && server.status == DUO_OK);
    struct hurried hurried;
    limited_choose_t chosen;
    CHECK(unlimited_client_choose_send_hurry((unlimited_client_choose_t){client.endpoint}, &hurried.client) == DUO_OK);
    CHECK(limited_server_choose_recv((limited_server_choose_t){server.endpoint}, &chosen) == DUO_OK);
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

/* Sends that it is there until the connection is closed. */
static void *flood(void *context)
{
    const int *socket = context;
    uint8_t alive[4096];
    for (size_t i = 0; i < sizeof alive; i++) alive[i] = i % 2;
    while (send(*socket, alive, sizeof alive, MSG_NOSIGNAL) > 0) continue;
    return NULL;
}

/* A peer is late although it sends without end. */
static void late_although_it_floods(void)
{
    int ends[2];
    limited_server_quick_t server = hurry_by_hand(ends);
    pthread_t thread = start(flood, &ends[0]);
    expect_late(server);
    finish(thread);
    CHECK(close(ends[0]) == 0);
}

TEST(within)
{
    waiting();
    for (way how = BY_SELECT; how < WAYS; how++) among_others(how);
    late_although_it_floods();
}
