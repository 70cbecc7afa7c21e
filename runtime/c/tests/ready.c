/* Waiting for one of many: a call for a few endpoints, and sets for any number of them. */
#include <poll.h>
#include <sched.h>

#include "line.h"
#include "waits.h"

enum { MANY = 100000, SENDERS = 4, MESSAGES = 20000 };

static const uint64_t MOMENT = 2000000;

static void select_answers_at_once(void)
{
    size_t which = 7;
    CHECK(duo_select(NULL, 0, DUO_FOREVER, &which) == DUO_EMPTY && which == 7);
    line one = new_line(), other = new_line();
    duo_endpoint both[] = {DUO_READY(one.in), DUO_READY(other.in)};
    CHECK(duo_select(both, 2, DUO_AT_ONCE, &which) == DUO_EMPTY);
    CHECK(duo_select(both, 2, MOMENT, &which) == DUO_EMPTY);
    say(&other, 5);
    CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    /* Nothing was consumed, and the endpoint that was not chosen is still as good as before. */
    CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    CHECK(hear(&other) == 5);
    CHECK(duo_select(both, 2, DUO_AT_ONCE, &which) == DUO_USED && which == 1);
    say(&one, 6);
    CHECK(hear(&one) == 6);
    close_line(one);
    close_line(other);
}

/* Chooses between two endpoints that are always ready, and counts. */
static void choose(line lines[2], size_t chosen[2])
{
    duo_endpoint both[] = {DUO_READY(lines[0].in), DUO_READY(lines[1].in)};
    size_t which;
    CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK);
    chosen[which]++;
    hear(&lines[which]);
    say(&lines[which], 1);
}

/* Each is chosen every second time, give or take one, even where two selects alternate. */
static void select_is_fair(void)
{
    line lines[4] = {new_line(), new_line(), new_line(), new_line()};
    size_t chosen[4] = {0};
    for (int i = 0; i < 4; i++) say(&lines[i], 1);
    for (int i = 0; i < 1000; i++) {
        choose(&lines[0], &chosen[0]);
        choose(&lines[2], &chosen[2]);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(chosen[i] >= 490 && chosen[i] <= 510);
        close_line(lines[i]);
    }
}

static void *say_late(void *context)
{
    line *to = context;
    take_a_moment();
    say(to, 9);
    return NULL;
}

static void *leave_late(void *context)
{
    ping_client_ping_t *client = context;
    take_a_moment();
    CHECK(ping_client_ping_close(*client) == DUO_OK);
    return NULL;
}

/* Endpoints of different protocols; a message wakes, and so does a peer that closes. */
static void select_is_woken(void)
{
    line quiet = new_line();
    ping_server_ping_t server = {0};
    ping_client_ping_t client = {0};
    CHECK(ping_init(&server, &client) == DUO_OK);
    duo_endpoint both[] = {DUO_READY(server), DUO_READY(quiet.in)};
    size_t which;
    pthread_t thread = start(say_late, &quiet);
    CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK && which == 1);
    finish(thread);
    CHECK(hear(&quiet) == 9);
    both[1] = DUO_READY(quiet.in);
    thread = start(leave_late, &client);
    CHECK(duo_select(both, 2, DUO_FOREVER, &which) == DUO_OK && which == 0);
    finish(thread);
    ping_ping_t asked;
    CHECK(ping_server_ping_recv(server, &asked) == DUO_CLOSED);
    close_line(quiet);
}

static void ports_report_in_order(void)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    void *with = NULL;
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY);
    line lines[3];
    for (int i = 0; i < 3; i++) {
        lines[i] = new_line();
        if (i == 2) say(&lines[2], 2);
        CHECK(duo_ports_add(ports, DUO_READY(lines[i].in), &lines[i], NULL) == DUO_OK);
    }
    CHECK(duo_ports_count(ports) == 3);
    say(&lines[1], 1);
    say(&lines[0], 0);
    const int order[] = {2, 1, 0};
    for (int i = 0; i < 3; i++) {
        CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK);
        line *ready = with;
        CHECK(ready == &lines[order[i]]);
        CHECK(hear(ready) == (uint64_t)order[i]);
    }
    CHECK(duo_ports_count(ports) == 0);
    CHECK(duo_ports_add(ports, DUO_READY(lines[0].in), NULL, NULL) == DUO_OK);
    CHECK(duo_ports_wait(ports, MOMENT, &with) == DUO_EMPTY);
    /* A closed session counts as ready too. */
    CHECK(numbers_client_stream_close(lines[0].out) == DUO_OK);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == NULL);
    numbers_stream_t got;
    CHECK(numbers_server_stream_try_recv(lines[0].in, &got) == DUO_CLOSED);
    duo_ports_free(ports);
    close_line(lines[1]);
    close_line(lines[2]);
}

static void ports_forget_what_is_removed(void)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    line quiet = new_line(), ready = new_line();
    duo_port first, second;
    CHECK(duo_ports_add(ports, DUO_READY(quiet.in), &quiet, &first) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(quiet.in), &quiet, NULL) == DUO_USED);
    CHECK(duo_ports_add(ports, DUO_READY(ready.in), &ready, &second) == DUO_OK);
    say(&ready, 1);
    CHECK(duo_ports_remove(ports, first) && !duo_ports_remove(ports, first));
    CHECK(duo_ports_remove(ports, second) && !duo_ports_remove(ports, second));
    void *with;
    CHECK(duo_ports_count(ports) == 0);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY);
    /* Their nodes are reused, and old ports do not reach the new endpoints. */
    CHECK(duo_ports_add(ports, DUO_READY(quiet.in), &quiet, NULL) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(ready.in), &ready, NULL) == DUO_OK);
    CHECK(!duo_ports_remove(ports, first) && !duo_ports_remove(ports, second));
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &ready);
    CHECK(!duo_ports_remove(ports, (duo_port){0}));
    /* An endpoint may be used, closed or sent away while it is in a set, and a set may be freed first. */
    CHECK(numbers_server_stream_close(quiet.in) == DUO_OK);
    CHECK(numbers_client_stream_close(quiet.out) == DUO_OK);
    CHECK(hear(&ready) == 1);
    CHECK(duo_ports_add(ports, DUO_READY(ready.in), &ready, NULL) == DUO_OK);
    duo_ports_free(ports);
    say(&ready, 2);
    CHECK(hear(&ready) == 2);
    close_line(ready);
}

/* A sender that never stops does not keep the others from being received. */
static void ports_are_fair(void)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    line lines[2] = {new_line(), new_line()};
    for (int i = 0; i < 2; i++) {
        say(&lines[i], 0);
        say(&lines[i], 0);
        CHECK(duo_ports_add(ports, DUO_READY(lines[i].in), &lines[i], NULL) == DUO_OK);
    }
    line *before = NULL;
    for (int i = 0; i < 100; i++) {
        void *with;
        CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with != before);
        before = with;
        hear(before);
        say(before, 0);
        CHECK(duo_ports_add(ports, DUO_READY(before->in), before, NULL) == DUO_OK);
    }
    duo_ports_free(ports);
    close_line(lines[0]);
    close_line(lines[1]);
}

/* Each message is sent after the one before. A set keeps the order of each sender, and not that across senders; an end comes last. */
static void ports_order_each_sender(void)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    line a = new_line(), b = new_line();
    CHECK(duo_ports_add(ports, DUO_READY(a.in), &a, NULL) == DUO_OK);
    CHECK(duo_ports_add(ports, DUO_READY(b.in), &b, NULL) == DUO_OK);
    say(&a, 1);
    say(&a, 2);
    CHECK(numbers_client_stream_close(a.out) == DUO_OK);
    say(&b, 3);
    CHECK(numbers_client_stream_close(b.out) == DUO_OK);
    /* 0 is an end. */
    uint64_t of_a[3], of_b[2], last = 0;
    size_t heard_a = 0, heard_b = 0;
    bool is_sorted = true;
    void *with;
    while (duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK) {
        line *ready = with;
        numbers_stream_t got;
        duo_status status = numbers_server_stream_try_recv(ready->in, &got);
        uint64_t number = status == DUO_OK ? got.as.send.value : 0;
        if (ready == &a) of_a[heard_a++] = number;
        else of_b[heard_b++] = number;
        if (status == DUO_CLOSED) continue;
        is_sorted = is_sorted && number > last;
        last = number;
        ready->in = got.as.send.next;
        CHECK(duo_ports_add(ports, DUO_READY(ready->in), ready, NULL) == DUO_OK);
    }
    CHECK(heard_a == 3 && of_a[0] == 1 && of_a[1] == 2 && of_a[2] == 0);
    CHECK(heard_b == 2 && of_b[0] == 3 && of_b[1] == 0);
    CHECK(!is_sorted);
    duo_ports_free(ports);
}

/* As many endpoints as memory holds: the ones that send are found among those that do not. */
static void a_hundred_thousand(void)
{
    duo_ports *ports = duo_ports_new();
    ping_server_ping_t *servers = calloc(MANY, sizeof *servers);
    ping_client_ping_t *clients = calloc(MANY, sizeof *clients);
    CHECK(ports != NULL && servers != NULL && clients != NULL);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(ping_init(&servers[i], &clients[i]) == DUO_OK);
        CHECK(duo_ports_add(ports, DUO_READY(servers[i]), &servers[i], NULL) == DUO_OK);
    }
    for (size_t i = 0; i < MANY; i += 1000) {
        ping_client_pong_t waiting;
        CHECK(ping_client_ping_send_ping(clients[i], i, &waiting) == DUO_OK);
        void *with;
        CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &servers[i]);
        ping_ping_t asked;
        CHECK(ping_server_ping_recv(servers[i], &asked) == DUO_OK && asked.as.ping.value == i);
        CHECK(ping_server_pong_send_enough(asked.as.ping.next) == DUO_OK);
        ping_pong_t answer;
        CHECK(ping_client_pong_recv(waiting, &answer) == DUO_OK);
    }
    CHECK(duo_ports_count(ports) == MANY - MANY / 1000);
    for (size_t i = 0; i < MANY; i++) {
        if (i % 1000 == 0) continue;
        CHECK(ping_client_ping_close(clients[i]) == DUO_OK);
        CHECK(ping_server_ping_close(servers[i]) == DUO_OK);
    }
    duo_ports_free(ports);
    free(servers);
    free(clients);
}

static void a_descriptor(void)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    line lines[2] = {new_line(), new_line()};
    for (int i = 0; i < 2; i++)
        CHECK(duo_ports_add(ports, DUO_READY(lines[i].in), &lines[i], NULL) == DUO_OK);
    struct pollfd watched = {duo_ports_descriptor(ports), POLLIN, 0};
#ifdef __linux__
    CHECK(watched.fd >= 0 && duo_ports_descriptor(ports) == watched.fd);
    void *with;
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY);
    CHECK(poll(&watched, 1, 0) == 0);
    pthread_t thread = start(say_late, &lines[0]);
    CHECK(poll(&watched, 1, -1) == 1);
    finish(thread);
    say(&lines[1], 3);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK && with == &lines[0]);
    /* Readable as long as an endpoint is left to report. */
    CHECK(poll(&watched, 1, 0) == 1);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_OK && with == &lines[1]);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY);
    CHECK(poll(&watched, 1, 0) == 0);
    CHECK(hear(&lines[0]) == 9 && hear(&lines[1]) == 3);
    /* Endpoints that are ready when they are added count, too. */
    say(&lines[0], 4);
    CHECK(duo_ports_add(ports, DUO_READY(lines[0].in), &lines[0], NULL) == DUO_OK);
    CHECK(poll(&watched, 1, 0) == 1);
#endif
    duo_ports_free(ports);
    close_line(lines[0]);
    close_line(lines[1]);
}

static void *flood(void *context)
{
    line *to = context;
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        if (i % 4000 == 0) take_a_moment();
        say(to, i);
    }
    CHECK(numbers_client_stream_close(to->out) == DUO_OK);
    return NULL;
}

/* Four threads send, one receives from all of them; nothing is lost, duplicated or out of order. */
static void many_senders(bool by_select)
{
    line lines[SENDERS];
    uint64_t heard[SENDERS] = {0};
    duo_endpoint set[SENDERS];
    size_t names[SENDERS], open = SENDERS;
    pthread_t threads[SENDERS];
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    for (size_t i = 0; i < SENDERS; i++) {
        lines[i] = new_line();
        names[i] = i;
        set[i] = DUO_READY(lines[i].in);
        if (!by_select) CHECK(duo_ports_add(ports, set[i], &names[i], NULL) == DUO_OK);
        threads[i] = start(flood, &lines[i]);
    }
    numbers_server_stream_t in[SENDERS];
    for (size_t i = 0; i < SENDERS; i++) in[i].receives = set[i];
    while (open > 0) {
        size_t which = 0;
        if (by_select) {
            CHECK(duo_select(set, open, DUO_FOREVER, &which) == DUO_OK);
        } else {
            void *with;
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK);
            which = *(size_t *)with;
        }
        size_t name = by_select ? names[which] : which;
        numbers_stream_t got;
        duo_status status = numbers_server_stream_try_recv(in[name], &got);
        if (status == DUO_CLOSED) {
            open--;
            if (by_select) {
                names[which] = names[open];
                set[which] = set[open];
            }
            continue;
        }
        CHECK(status == DUO_OK && got.as.send.value == ++heard[name]);
        in[name] = got.as.send.next;
        if (by_select) set[which] = DUO_READY(in[name]);
        else CHECK(duo_ports_add(ports, DUO_READY(in[name]), &names[name], NULL) == DUO_OK);
    }
    for (size_t i = 0; i < SENDERS; i++) {
        finish(threads[i]);
        CHECK(heard[i] == MESSAGES);
    }
    duo_ports_free(ports);
}

/* A port is valid only for its own set, even when that set is gone and another one has its memory. */
static void ports_of_another_set(void)
{
    line one = new_line(), other = new_line();
    duo_ports *own = duo_ports_new(), *foreign = duo_ports_new();
    CHECK(own != NULL && foreign != NULL);
    duo_port port, unused = {0};
    void *with = NULL;
    CHECK(duo_ports_add(own, DUO_READY(one.in), &one, &port) == DUO_OK);
    CHECK(!duo_ports_remove(foreign, port) && !duo_ports_remove(foreign, unused));
    CHECK(!duo_ports_remove(own, unused));
    CHECK(duo_ports_count(foreign) == 0 && duo_ports_count(own) == 1);
    /* The set that was given the wrong port goes on with nodes of its own. */
    CHECK(duo_ports_add(foreign, DUO_READY(other.in), &other, NULL) == DUO_OK);
    say(&one, 1);
    CHECK(duo_ports_wait(own, DUO_FOREVER, &with) == DUO_OK && with == &one && hear(&one) == 1);
    say(&other, 2);
    CHECK(duo_ports_wait(foreign, DUO_FOREVER, &with) == DUO_OK && with == &other && hear(&other) == 2);
    CHECK(duo_ports_count(foreign) == 0 && duo_ports_count(own) == 0);
    /* A set that is freed takes its ports with it, and the next one may have the same address. */
    CHECK(duo_ports_add(own, DUO_READY(one.in), &one, &port) == DUO_OK);
    duo_ports_free(own);
    CHECK(!duo_ports_remove(foreign, port));
    own = duo_ports_new();
    CHECK(own != NULL && duo_ports_add(own, DUO_READY(one.in), &one, NULL) == DUO_OK);
    CHECK(!duo_ports_remove(own, port) && duo_ports_count(own) == 1);
    duo_ports_free(foreign);
    duo_ports_free(own);
    close_line(one);
    close_line(other);
}

/* Another thread ends a wait, asleep or not yet begun, and the set goes on. */
static void ports_are_interrupted(void)
{
    line one = new_line();
    void *with = NULL;
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL && duo_ports_add(ports, DUO_READY(one.in), &one, NULL) == DUO_OK);
    pthread_t thread = start(interrupt_late, ports);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY && duo_ports_count(ports) == 1);
    finish(thread);
    duo_ports_interrupt(ports);
    duo_ports_interrupt(ports);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY);
    /* What is ready comes first. */
    duo_ports_interrupt(ports);
    say(&one, 1);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &one && hear(&one) == 1);
    CHECK(duo_ports_add(ports, DUO_READY(one.in), &one, NULL) == DUO_OK);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY);
    CHECK(duo_ports_wait(ports, MOMENT, &with) == DUO_EMPTY);
    say(&one, 2);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && hear(&one) == 2);
#ifdef __linux__
    CHECK(duo_ports_add(ports, DUO_READY(one.in), &one, NULL) == DUO_OK);
    struct pollfd polled = {duo_ports_descriptor(ports), POLLIN, 0};
    CHECK(polled.fd >= 0);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY && poll(&polled, 1, 0) == 0);
    thread = start(interrupt_late, ports);
    CHECK(poll(&polled, 1, -1) == 1);
    CHECK(duo_ports_wait(ports, DUO_AT_ONCE, &with) == DUO_EMPTY && poll(&polled, 1, 0) == 0);
    finish(thread);
#endif
    duo_ports_free(ports);
    close_line(one);
}

typedef struct interrupted {
    duo_ports *ports;
    /* How many interrupts have ended a wait. */
    _Atomic int ended;
} interrupted;

static void *interrupt_often(void *context)
{
    interrupted *of = context;
    for (int i = 0; i < MESSAGES; i++) {
        duo_ports_interrupt(of->ports);
        while (of->ended <= i) sched_yield();
    }
    return NULL;
}

/* No interrupt is missed, wherever the waiting thread is: the next one comes only after the last has ended a wait. */
static void no_interrupt_is_missed(void)
{
    line one = new_line();
    interrupted of = {duo_ports_new(), 0};
    void *with = NULL;
    CHECK(of.ports != NULL && duo_ports_add(of.ports, DUO_READY(one.in), &one, NULL) == DUO_OK);
    pthread_t thread = start(interrupt_often, &of);
    for (int i = 0; i < MESSAGES; i++) {
        CHECK(duo_ports_wait(of.ports, DUO_FOREVER, &with) == DUO_EMPTY);
        of.ended = i + 1;
    }
    finish(thread);
    duo_ports_free(of.ports);
    close_line(one);
}

/* One time limit for several waits. */
static void one_limit_for_all(void)
{
    line one = new_line();
    const duo_endpoint in = DUO_READY(one.in);
    size_t which;
    const uint64_t budget = UINT64_C(30000000);
    duo_time_limit limit = duo_time_limit_in(budget);
    const uint64_t left = duo_time_left(limit);
    CHECK(left <= budget);
    take_a_moment();
    CHECK(left == 0 || duo_time_left(limit) < left);
    /* Each of these waits for what the last one has left, and the last for nothing. */
    for (int i = 0; i < 3; i++) CHECK(duo_select(&in, 1, duo_time_left(limit), &which) == DUO_EMPTY);
    CHECK(duo_time_left(limit) == DUO_AT_ONCE);
    /* What is ready is received nevertheless. */
    say(&one, 1);
    CHECK(duo_select(&in, 1, duo_time_left(limit), &which) == DUO_OK && hear(&one) == 1);
    CHECK(duo_time_left(duo_time_limit_in(DUO_FOREVER)) == DUO_FOREVER);
    CHECK(duo_time_left(duo_time_limit_in(DUO_AT_ONCE)) == DUO_AT_ONCE);
    close_line(one);
}

TEST(ready)
{
    one_limit_for_all();
    ports_are_interrupted();
    no_interrupt_is_missed();
    select_answers_at_once();
    select_is_fair();
    select_is_woken();
    ports_report_in_order();
    ports_forget_what_is_removed();
    ports_are_fair();
    ports_order_each_sender();
    a_hundred_thousand();
    a_descriptor();
    many_senders(true);
    many_senders(false);
    ports_of_another_set();
}
