/* One thread waits for sessions with other processes: what remote/ready.c does not have, where the peers are threads. */
#include <sys/mman.h>

#include "flow.h"
#include "shm/shm.h"
#include "talk.h"
#include "waits.h"

enum { MANY = 140 };

/* A process that answers, and this process's side of the session. */
typedef struct partner {
    pid_t child;
    int region;
    talk_client_answer_t waiting;
} partner;

static partner meet(void (*run)(int))
{
    partner made = {.region = region_of(4096)};
    made.child = start_child(run, made.region);
    talk_client_ask_t client = attach_client(made.region);
    CHECK(talk_client_ask_send_number(client, 0, &made.waiting) == DUO_OK);
    return made;
}

static void part(partner *from)
{
    close(from->region);
    finish_child(from->child);
}

/* Answers once, but not immediately: a thread that waits for the answer falls asleep. */
static void serve_slowly(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    talk_ask_t asked;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_NUMBER);
    take_a_moment();
    CHECK(talk_server_answer_send_number(asked.as.number.next, 77, &server) == DUO_OK);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_END);
}

static void select_in_time(void)
{
    partner slow = meet(serve_slowly), silent = meet(serve_nothing);
    duo_endpoint set[] = {DUO_READY(silent.waiting), DUO_READY(slow.waiting)};
    size_t which;
    CHECK(duo_select(set, 1, DUO_AT_ONCE, &which) == DUO_EMPTY);
    CHECK(duo_select(set, 1, 5000000, &which) == DUO_EMPTY);
    CHECK(duo_select(set, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    talk_answer_t answer;
    CHECK(talk_client_answer_try_recv(slow.waiting, &answer) == DUO_OK);
    CHECK(answer.as.number.value == 77);
    CHECK(talk_client_ask_send_end(answer.as.number.next) == DUO_OK);
    CHECK(duo_select(set, 2, DUO_AT_ONCE, &which) == DUO_USED && which == 1);
    part(&slow);
    /* A peer that is killed is ready: the session is over. */
    kill_child(silent.child);
    CHECK(duo_select(set, 1, DUO_FOREVER, &which) == DUO_OK && which == 0);
    CHECK(talk_client_answer_try_recv(silent.waiting, &answer) == DUO_LOST);
    close(silent.region);
}

static void *close_later(void *context)
{
    take_a_moment();
    partner *with = context;
    CHECK(talk_client_answer_close(with->waiting) == DUO_OK);
    return NULL;
}

/* Another thread closes a session, whose memory goes away, while the set sleeps on it; and a peer is killed. */
static void behind_its_back(bool has_descriptor)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    if (has_descriptor) CHECK(duo_ports_descriptor(ports) >= 0);
    partner left = meet(serve_nothing), killed = meet(serve_nothing);
    CHECK(duo_ports_add(ports, DUO_READY(left.waiting), &left, NULL) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(killed.waiting), &killed, NULL) == DUO_OK);
    pthread_t thread = start(close_later, &left);
    void *with;
    CHECK(duo_ports_wait(ports, 60000000, &with) == DUO_EMPTY);
    finish(thread);
    kill_child(killed.child);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &killed);
    talk_answer_t answer;
    CHECK(talk_client_answer_try_recv(killed.waiting, &answer) == DUO_LOST);
    duo_ports_free(ports);
    kill_child(left.child);
    close(left.region);
    close(killed.region);
}

/* A long message is reported when it is complete, although its parts have to be fetched before that. */
static void send_long(int region)
{
    talk_server_ask_t server;
    static char text[40000];
    memset(text, 'y', sizeof text);
    duo_str long_text = {text, sizeof text};
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    talk_ask_t asked;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
    CHECK(talk_server_answer_send_text(asked.as.number.next, long_text, &server) == DUO_OK);
    CHECK(talk_server_ask_close(server) == DUO_OK);
}

static void long_message(way how)
{
    partner with = meet(send_long);
    wait_by(how, DUO_READY(with.waiting));
    talk_answer_t answer;
    CHECK(talk_client_answer_try_recv(with.waiting, &answer) == DUO_OK);
    CHECK(answer.tag == TALK_ANSWER_TEXT && answer.as.text.value.size == 40000);
    CHECK(talk_client_ask_close(answer.as.text.next) == DUO_OK);
    talk_answer_free(&answer);
    part(&with);
}

/* A peer that writes what no correct peer writes is ready, and broken. */
static void scribble(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    size_t size = sizeof(duo_shm_head) + sizeof(duo_shm_line);
    duo_shm_head *head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    CHECK(head != MAP_FAILED);
    talk_ask_t asked;
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
    duo_shm_line *line = (duo_shm_line *)(void *)(head + 1);
    memset(line->cells, 0xff, sizeof line->cells);
    /* A flag that the peer may not set, then an invalid part of a long message. */
    atomic_fetch_or(&head->sides[0].flags, 0xf0u);
    take_a_moment();
    uint64_t parity = (atomic_load(&line->word) ^ 1) & 1;
    atomic_store(&line->word, parity | DUO_SHM_LONG | DUO_SHM_FULL | 1 << DUO_SHM_COUNT_SHIFT);
    atomic_fetch_and(&head->sides[0].flags, ~DUO_SHM_ASLEEP);
    for (;;) pause();
}

static void garbage(way how)
{
    partner with = meet(scribble);
    wait_by(how, DUO_READY(with.waiting));
    talk_answer_t answer;
    CHECK(talk_client_answer_try_recv(with.waiting, &answer) == DUO_BROKEN);
    kill_child(with.child);
    close(with.region);
}

/* A child that has many sessions and answers in each when it is released, from the last to the first. */
static int regions[MANY];

static void serve_many(int unused)
{
    (void)unused;
    static talk_server_answer_t answering[MANY];
    for (size_t i = 0; i < MANY; i++) {
        talk_server_ask_t server;
        talk_ask_t asked;
        CHECK(talk_server_attach(regions[i], NULL, &server) == DUO_OK);
        CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
        answering[i] = asked.as.number.next;
    }
    for (size_t i = MANY; i-- > 0;) {
        talk_server_ask_t server;
        if (i % 8 == 0) take_a_moment();
        CHECK(talk_server_answer_send_number(answering[i], i, &server) == DUO_OK);
        talk_ask_t asked;
        CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_END);
    }
}

/* More than the kernel waits for in one call. */
static void more_than_a_call_takes(bool in_set)
{
    static partner partners[MANY];
    for (size_t i = 0; i < MANY; i++) regions[i] = region_of(4096);
    pid_t child = start_child(serve_many, -1);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    for (size_t i = 0; i < MANY; i++) {
        talk_client_ask_t client = attach_client(regions[i]);
        CHECK(talk_client_ask_send_number(client, 0, &partners[i].waiting) == DUO_OK);
        if (in_set)
            CHECK(duo_ports_add(ports, DUO_READY(partners[i].waiting), &partners[i], NULL) == DUO_OK);
    }
    for (size_t i = MANY; i-- > 0;) {
        size_t which = MANY;
        if (in_set) {
            void *with;
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK);
            which = (size_t)((partner *)with - partners);
        } else {
            duo_endpoint set[MANY];
            for (size_t at = 0; at <= i; at++) set[at] = DUO_READY(partners[at].waiting);
            CHECK(duo_select(set, i + 1, DUO_FOREVER, &which) == DUO_OK);
        }
        CHECK(which == i);
        talk_answer_t answer;
        CHECK(talk_client_answer_try_recv(partners[i].waiting, &answer) == DUO_OK);
        CHECK(answer.as.number.value == i);
        CHECK(talk_client_ask_send_end(answer.as.number.next) == DUO_OK);
        close(regions[i]);
    }
    duo_ports_free(ports);
    finish_child(child);
}

/* A node of a set that had an endpoint of this process is reused for one whose peer is in another process. */
static void places_used_again(bool is_removed)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    partner silent = meet(serve_nothing);
    flow_server_flow_t server;
    flow_client_flow_t client;
    CHECK(flow_init(&server, &client) == DUO_OK);
    duo_port place;
    CHECK(duo_ports_add(ports, DUO_READY(server), &server, &place) == DUO_OK);
    if (is_removed) {
        CHECK(duo_ports_remove(ports, place));
    } else {
        void *with;
        CHECK(flow_client_flow_send_number(client, 1, &client) == DUO_OK);
        CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &server);
    }
    CHECK(duo_ports_add(ports, DUO_READY(silent.waiting), &silent, NULL) == DUO_OK);
    void *with;
    CHECK(duo_ports_wait(ports, 1000000, &with) == DUO_EMPTY);
    duo_ports_free(ports);
    CHECK(flow_server_flow_close(server) == DUO_OK);
    flow_client_flow_close(client);
    CHECK(talk_client_answer_close(silent.waiting) == DUO_OK);
    kill_child(silent.child);
    close(silent.region);
}

TEST(ready)
{
    select_in_time();
    for (int either = 0; either < 2; either++) {
        places_used_again(either);
        behind_its_back(either);
        more_than_a_call_takes(either);
    }
    for (way how = BY_SELECT; how < WAYS; how++) {
        long_message(how);
        garbage(how);
    }
}
