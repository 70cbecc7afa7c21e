/* How a side is taken, how its end is noticed whatever becomes of its process, and attaching without waiting. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "later_shm.h"
#include "shm/shm.h"
#include "talk.h"

/* Becomes another program: this one, with another case. */
static void become(const char *other)
{
    execl("/proc/self/exe", "driver", other, NULL);
    CHECK(!"another program");
}

TEST(attached_sleeper)
{
    for (;;) pause();
}

TEST(attached_server)
{
    serve(atoi(getenv("REGION")));
}

static void await_the_end(talk_client_ask_t client)
{
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_number(client, 1, &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_LOST);
}

static void attach_and_become(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    become("attached_sleeper");
}

/* The session is over, although there is a process with that number. */
static void becomes_another_program(void)
{
    int region = region_of(4096);
    pid_t child = start_child(attach_and_become, region);
    await_the_end(attach_client(region));
    kill_child(child);
    close(region);
}

static int news[2];

static void attach_and_fork(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        for (;;) pause();
    CHECK(write(news[1], &child, sizeof child) == sizeof child);
    for (;;) pause();
}

/* A child of the peer has everything that the peer had, and lives on. */
static void leaves_a_child(void)
{
    CHECK(pipe(news) == 0);
    int region = region_of(4096);
    pid_t child = start_child(attach_and_fork, region), grandchild;
    talk_client_ask_t client = attach_client(region);
    CHECK(read(news[0], &grandchild, sizeof grandchild) == sizeof grandchild);
    kill_child(child);
    await_the_end(client);
    CHECK(kill(grandchild, SIGKILL) == 0);
    close(news[0]);
    close(news[1]);
    close(region);
}

/* A peer that writes that it is there, but holds no lock. */
static void says_so_only(void)
{
    int region = region_of(4096);
    duo_shm_head *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    CHECK(head != MAP_FAILED);
    head->sides[1].hello.fingerprint = duo_wire_of_talk.fingerprint;
    atomic_store(&head->sides[1].hello.verdict, 1);
    atomic_store(&head->sides[1].hello.state, 1);
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_LOST);
    munmap(head, sizeof *head);
    close(region);
}

/* The lock is what counts: a side whose lock is held is taken. */
static void is_locked(void)
{
    int region = region_of(4096);
    CHECK(duo_shm_lock_bytes(region, DUO_SHM_SIDE_LOCK(0), 1));
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_REFUSED);
    close(region);
}

static void end_at_once(int region)
{
    (void)region;
    _exit(1);
}

/* A child that was to attach and did not. */
static void ends_before_it_attaches(bool at_once, bool is_waited_for)
{
    int region = region_of(4096);
    pid_t child = start_child(end_at_once, region);
    if (is_waited_for) CHECK(waitpid(child, NULL, 0) == child);
    const duo_shm_options options = {.peer = child, .at_once = at_once};
    talk_client_ask_t client;
    duo_status status = talk_client_attach(region, &options, &client);
    if (at_once) {
        CHECK(status == DUO_OK);
        talk_client_answer_t waiting;
        status = talk_client_ask_send_number(client, 1, &waiting);
    }
    CHECK(status == DUO_LOST);
    if (!is_waited_for) CHECK(waitpid(child, NULL, 0) == child);
    close(region);
}

static const duo_shm_options at_once = {.at_once = true};

/* A sender that does not wait for its peer. */
static void sends_early(void)
{
    int region = region_of(4096);
    talk_client_ask_t client;
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_attach(region, &at_once, &client) == DUO_OK);
    CHECK(talk_client_ask_try_send_number(client, 9, &waiting) == DUO_FULL);
    CHECK(talk_client_ask_try_send_more(client, 9, &client) == DUO_FULL);
    CHECK(talk_client_ask_send_page_within(client, 1000000, DUO_STR("page"), &client) == DUO_FULL);
    pid_t child = start_child(serve, region);
    CHECK(talk_client_ask_send_number(client, 9, &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.as.number.value == 9);
    client = answer.as.number.next;
    for (uint64_t i = 0; i < 100; i++) client = ask(client, i, i);
    end_talk(client, child);
    close(region);
}

static void ask_once(int region)
{
    talk_client_ask_t client = ask(attach_client(region), 3, 3);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
}

static void refuse_it(int region)
{
    later_client_ask_t client;
    CHECK(later_client_attach(region, NULL, &client) == DUO_REFUSED);
}

/* One thread that waits for clients that come late, use another protocol, end before they attach, or never come. */
static void many_at_once(bool by_descriptor)
{
    enum { CLIENTS = 8 };
    static talk_server_ask_t servers[CLIENTS];
    int regions[CLIENTS];
    pid_t children[CLIENTS];
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    int descriptor = by_descriptor ? duo_ports_descriptor(ports) : -1;
    for (int i = 0; i < CLIENTS; i++) {
        regions[i] = region_of(4096);
        void (*const runs[])(int) = {ask_once, refuse_it, end_at_once, NULL};
        bool is_late = i >= CLIENTS / 2;
        children[i] = -1;
        if (runs[i % 4] != NULL && !is_late) children[i] = start_child(runs[i % 4], regions[i]);
        duo_shm_options options = at_once;
        if (i == 2) options.peer = children[i];
        CHECK(talk_server_attach(regions[i], &options, &servers[i]) == DUO_OK);
        CHECK(duo_ports_add(ports, DUO_READY(servers[i]), &servers[i], NULL) == DUO_OK);
        if (is_late && i % 4 < 2) {
            if (i == CLIENTS / 2) take_a_moment();
            children[i] = start_child(runs[i % 4], regions[i]);
        }
    }
    int asked[CLIENTS] = {0}, refused = 0, lost = 0;
    while (refused < 2 || lost < 1 || asked[0] < 2 || asked[CLIENTS / 2] < 2) {
        void *with;
        if (by_descriptor) {
            struct pollfd polled = {descriptor, POLLIN, 0};
            CHECK(poll(&polled, 1, -1) == 1);
            if (duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY) continue;
        } else {
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK);
        }
        talk_server_ask_t *server = with;
        talk_ask_t message;
        duo_status status = talk_server_ask_try_recv(*server, &message);
        refused += status == DUO_REFUSED;
        lost += status == DUO_LOST;
        if (status != DUO_OK) {
            CHECK(status == DUO_REFUSED || status == DUO_LOST);
            CHECK(talk_server_ask_try_recv(*server, &message) == DUO_USED);
            continue;
        }
        asked[server - servers] += 1;
        if (message.tag == TALK_ASK_END) continue;
        CHECK(message.tag == TALK_ASK_NUMBER && message.as.number.value == 3);
        CHECK(talk_server_answer_send_number(message.as.number.next, 3, server) == DUO_OK);
        CHECK(duo_ports_add(ports, DUO_READY(*server), server, NULL) == DUO_OK);
    }
    /* Three still have no peer. */
    CHECK(duo_ports_count(ports) == 3);
    duo_ports_free(ports);
    for (int i = 0; i < CLIENTS; i++) {
        talk_ask_t message;
        if (i % 4 == 3 || i == 6) {
            CHECK(talk_server_ask_try_recv(servers[i], &message) == DUO_EMPTY);
            CHECK(talk_server_ask_recv_within(servers[i], 1000000, &message) == DUO_EMPTY);
            CHECK(talk_server_ask_close(servers[i]) == DUO_OK);
            talk_client_ask_t late;
            CHECK(talk_client_attach(regions[i], NULL, &late) == DUO_CLOSED);
        }
        if (i == 2) CHECK(waitpid(children[i], NULL, 0) == children[i]);
        else if (children[i] > 0) finish_child(children[i]);
        close(regions[i]);
    }
}

static void serve_in_another_program(int region)
{
    CHECK(fcntl(region, F_SETFD, 0) == 0);
    char number[16];
    snprintf(number, sizeof number, "%d", region);
    CHECK(setenv("REGION", number, 1) == 0);
    become("attached_server");
}

/* A child that does attach is a peer like any other, also if it is another program, which gets the region's descriptor by its number. */
static void attaches(void (*run)(int))
{
    int region = region_of(4096);
    pid_t child = start_child(run, region);
    const duo_shm_options options = {.peer = child};
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, &options, &client) == DUO_OK);
    end_talk(ask(client, 8, 8), child);
    close(region);
}

TEST(attach)
{
    becomes_another_program();
    leaves_a_child();
    says_so_only();
    is_locked();
    ends_before_it_attaches(false, false);
    ends_before_it_attaches(false, true);
    ends_before_it_attaches(true, false);
    attaches(serve);
    sends_early();
    many_at_once(false);
    many_at_once(true);
    attaches(serve_in_another_program);
}
