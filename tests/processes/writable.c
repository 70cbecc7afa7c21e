/* One thread that sends to many processes, and waits for free space in whichever region has some first. */
#include <poll.h>

#include "bump.h"
#include "flow_shm.h"
#include "talk.h"
#include "waits.h"

enum { ROOM = 4096, CHILDREN = 5, MESSAGES = 30000 };

/* Reads everything that arrives after SIGCONT, and checks that nothing is missing. */
static void add_up(int region)
{
    flow_server_flow_t server;
    flow_flow_t got;
    CHECK(flow_server_attach(region, NULL, &server) == DUO_OK);
    CHECK(raise(SIGSTOP) == 0);
    for (uint64_t i = 0; flow_server_flow_recv(server, &got) == DUO_OK; i++) {
        CHECK(got.as.number.value == i);
        server = got.as.number.next;
        if (i % 5000 == 0) take_a_moment();
    }
}

typedef struct reader {
    pid_t child;
    int region;
    flow_client_flow_t out;
    uint64_t sent;
} reader;

static reader meet(void)
{
    reader made = {.region = region_of(ROOM)};
    made.child = start_child(add_up, made.region);
    CHECK(flow_client_attach(made.region, NULL, &made.out) == DUO_OK);
    await_stop(made.child);
    return made;
}

/* Sends as much as fits; returns whether that was everything. */
static bool send_some(reader *to)
{
    while (to->sent < MESSAGES) {
        duo_status status = flow_client_flow_try_send_number(to->out, to->sent, &to->out);
        if (status == DUO_FULL) return false;
        CHECK(status == DUO_OK);
        to->sent += 1;
    }
    CHECK(flow_client_flow_close(to->out) == DUO_OK);
    return true;
}

static void part(reader *from)
{
    finish_child(from->child);
    close(from->region);
}

static void by_select(void)
{
    reader readers[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        readers[i] = meet();
        duo_endpoint asked[] = {DUO_WRITABLE(readers[i].out)};
        size_t which;
        CHECK(duo_select(asked, 1, DUO_AT_ONCE, &which) == DUO_OK && which == 0);
        CHECK(!send_some(&readers[i]));
        asked[0] = DUO_WRITABLE(readers[i].out);
        CHECK(duo_select(asked, 1, DUO_AT_ONCE, &which) == DUO_EMPTY);
        CHECK(duo_select(asked, 1, 2000000, &which) == DUO_EMPTY);
    }
    for (int i = 0; i < CHILDREN; i++) CHECK(kill(readers[i].child, SIGCONT) == 0);
    size_t left = CHILDREN;
    while (left > 0) {
        duo_endpoint asked[CHILDREN];
        reader *of[CHILDREN];
        size_t count = 0, which;
        for (int i = 0; i < CHILDREN; i++) {
            if (readers[i].sent == MESSAGES) continue;
            of[count] = &readers[i];
            asked[count++] = DUO_WRITABLE(readers[i].out);
        }
        CHECK(duo_select(asked, count, DUO_FOREVER, &which) == DUO_OK);
        uint64_t before = of[which]->sent;
        left -= send_some(of[which]);
        CHECK(of[which]->sent > before);
    }
    for (int i = 0; i < CHILDREN; i++) part(&readers[i]);
}

/* A set whose endpoints send and receive. */
static void by_set(bool by_descriptor)
{
    reader readers[CHILDREN];
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    int descriptor = by_descriptor ? duo_ports_descriptor(ports) : -1;
    int region = region_of(ROOM);
    pid_t child = start_child(serve, region);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_number(attach_client(region), 0, &waiting) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(waiting), &waiting, NULL) == DUO_OK);
    for (int i = 0; i < CHILDREN; i++) {
        readers[i] = meet();
        CHECK(!send_some(&readers[i]));
        CHECK(duo_ports_add(ports, DUO_WRITABLE(readers[i].out), &readers[i], NULL) == DUO_OK);
        CHECK(duo_ports_add(ports, DUO_WRITABLE(readers[i].out), &readers[i], NULL) == DUO_USED);
    }
    for (int i = 0; i < CHILDREN; i++) CHECK(kill(readers[i].child, SIGCONT) == 0);
    uint64_t asked = 0;
    size_t left = CHILDREN;
    while (left > 0) {
        void *with;
        if (by_descriptor) {
            struct pollfd polled = {descriptor, POLLIN, 0};
            CHECK(poll(&polled, 1, -1) == 1);
            if (duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY) continue;
        } else {
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK);
        }
        if (with == &waiting) {
            CHECK(talk_client_answer_try_recv(waiting, &answer) == DUO_OK);
            CHECK(answer.as.number.value == asked);
            /* So that the others get their turn. */
            if (asked == 50) continue;
            CHECK(talk_client_ask_send_number(answer.as.number.next, ++asked, &waiting) == DUO_OK);
            CHECK(duo_ports_add(ports, DUO_READY(waiting), &waiting, NULL) == DUO_OK);
            continue;
        }
        reader *ready = with;
        if (send_some(ready)) left -= 1;
        else CHECK(duo_ports_add(ports, DUO_WRITABLE(ready->out), ready, NULL) == DUO_OK);
    }
    duo_ports_free(ports);
    for (int i = 0; i < CHILDREN; i++) part(&readers[i]);
    if (asked == 50) CHECK(talk_client_ask_close(answer.as.number.next) == DUO_OK);
    else CHECK(talk_client_answer_close(waiting) == DUO_OK);
    CHECK(waitpid(child, NULL, 0) == child);
    close(region);
}

/* A ready endpoint takes a message of half the region's space without waiting, and one that was given up is no obstacle. */
static void long_messages(void)
{
    static char text[ROOM * 4];
    memset(text, 'x', sizeof text);
    const duo_str half = {text, ROOM / 2 - 2}, large = {text, sizeof text};
    pid_t child;
    talk_client_ask_t client = meet_child(serve_when_told, ROOM, &child);
    await_stop(child);
    uint64_t sum = 0;
    CHECK(talk_client_ask_send_page_within(client, 1000000, large, &client) == DUO_FULL);
    CHECK(talk_client_ask_try_send_page(client, half, &client) == DUO_FULL);
    CHECK(kill(child, SIGCONT) == 0);
    for (int i = 0; i < 500; i++) {
        duo_endpoint asked[] = {DUO_WRITABLE(client)};
        size_t which;
        CHECK(duo_select(asked, 1, DUO_FOREVER, &which) == DUO_OK);
        CHECK(talk_client_ask_try_send_page(client, half, &client) == DUO_OK);
        sum += half.size;
    }
    client = ask(client, 1, sum + 1);
    end_talk(client, child);
}

/* Ready, since a send reports that the session is over. */
static void killed(way how)
{
    reader gone = meet();
    CHECK(!send_some(&gone));
    kill_child(gone.child);
    wait_by(how, DUO_WRITABLE(gone.out));
    CHECK(flow_client_flow_try_send_number(gone.out, 1, &gone.out) == DUO_LOST);
    close(gone.region);
}

/* An endpoint that is used while it is in a set is taken out of it, and the message goes where it should. */
static void used_in_a_set(void)
{
    reader to = meet();
    CHECK(!send_some(&to));
    duo_ports *ports = duo_ports_new();
    duo_port place;
    void *with;
    CHECK(ports != NULL && duo_ports_add(ports, DUO_WRITABLE(to.out), &to, &place) == DUO_OK);
    CHECK(duo_ports_descriptor(ports) >= 0);
    CHECK(flow_client_flow_try_send_number(to.out, 0, &to.out) == DUO_FULL);
    CHECK(kill(to.child, SIGCONT) == 0);
    for (; to.sent < MESSAGES; to.sent++)
        CHECK(flow_client_flow_send_number(to.out, to.sent, &to.out) == DUO_OK);
    CHECK(duo_ports_wait(ports, 1000000, &with) == DUO_EMPTY && duo_ports_count(ports) == 1);
    CHECK(duo_ports_remove(ports, place));
    CHECK(flow_client_flow_close(to.out) == DUO_OK);
    duo_ports_free(ports);
    part(&to);
}

static void serve_late(int region)
{
    take_a_moment();
    serve(region);
}

/* There is free space once the peer has attached. */
static void before_the_peer(way how)
{
    int region = region_of(ROOM);
    const duo_shm_options options = {.at_once = true};
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, &options, &client) == DUO_OK);
    duo_endpoint asked[] = {DUO_WRITABLE(client)};
    size_t which;
    CHECK(duo_select(asked, 1, 1000000, &which) == DUO_EMPTY);
    pid_t child = start_child(serve_late, region);
    wait_by(how, asked[0]);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_try_send_number(client, 2, &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.as.number.value == 2);
    end_talk(answer.as.number.next, child);
    close(region);
}

/* Within a process a bounded run always has free slots. */
static void within_a_process(void)
{
    bump_server_ask_t server;
    bump_client_ask_t client;
    bump_client_answer_t waiting;
    CHECK(bump_init(&server, &client) == DUO_OK);
    duo_endpoint asked[] = {DUO_READY(server), DUO_WRITABLE(client)};
    size_t which;
    CHECK(duo_select(asked, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    CHECK(bump_client_ask_send_number(client, 1, &waiting) == DUO_OK);
    CHECK(duo_select(&asked[1], 1, DUO_AT_ONCE, &which) == DUO_USED);
    CHECK(bump_client_answer_close(waiting) == DUO_OK);
    CHECK(bump_server_ask_close(server) == DUO_OK);
}

TEST(writable)
{
    by_select();
    by_set(false);
    by_set(true);
    long_messages();
    for (way how = BY_SELECT; how < WAYS; how++) {
        killed(how);
        before_the_peer(how);
    }
    used_in_a_set();
    within_a_process();
}
