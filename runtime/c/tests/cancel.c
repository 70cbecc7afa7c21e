/* Waits that another thread ends. Nothing is lost by it. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "line.h"
#include "waits.h"

enum { MANY = 3, CANCELS = 20000 };

static duo_canceler *new_canceler(void)
{
    duo_canceler *made = duo_canceler_new();
    CHECK(made != NULL);
    return made;
}

static void end_canceler(duo_canceler *canceler)
{
    duo_canceler_use(NULL);
    duo_canceler_free(canceler);
}

/* Where messages are stored, and where they are swapped. */
static void receives_are_canceled(void)
{
    line one = new_line();
    numbers_stream_t got;
    ping_server_ping_t server;
    ping_client_ping_t client;
    ping_client_pong_t waiting;
    ping_ping_t ping;
    duo_canceler *canceler = new_canceler();
    CHECK(ping_init(&server, &client) == DUO_OK);
    duo_canceler_use(canceler);
    pthread_t thread = start(cancel_late, canceler);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY);
    finish(thread);
    /* Every later wait is canceled, too. A message that is there is received. */
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY);
    CHECK(ping_server_ping_recv(server, &ping) == DUO_EMPTY);
    say(&one, 1);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_OK && got.as.send.value == 1);
    one.in = got.as.send.next;
    duo_canceler_reset(canceler);
    duo_canceler_reset(canceler);
    thread = start(cancel_late, canceler);
    CHECK(ping_server_ping_recv(server, &ping) == DUO_EMPTY);
    finish(thread);
    CHECK(ping_client_ping_send_ping(client, 2, &waiting) == DUO_OK);
    CHECK(ping_server_ping_recv(server, &ping) == DUO_OK && ping.as.ping.value == 2);
    /* A thread that uses none is not canceled. */
    duo_canceler_use(NULL);
    CHECK(numbers_server_stream_recv_within(one.in, UINT64_C(1000000), &got) == DUO_EMPTY);
    CHECK(ping_server_pong_close(ping.as.ping.next) == DUO_OK);
    CHECK(ping_client_pong_close(waiting) == DUO_OK);
    close_line(one);
    end_canceler(canceler);
}

/* A canceled send sends nothing, and the endpoint can send later. */
static void sends_are_canceled(void)
{
    line one = new_line();
    numbers_client_stream_shared_t shared;
    numbers_stream_t got;
    uint64_t sent = 0;
    duo_canceler *canceler = new_canceler();
    duo_canceler_use(canceler);
    pthread_t thread = start(cancel_late, canceler);
    duo_status status;
    while ((status = numbers_client_stream_send_send(one.out, sent, &one.out)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL && sent > 0);
    finish(thread);
    CHECK(numbers_client_stream_share(one.out, &shared) == DUO_OK);
    CHECK(numbers_client_stream_shared_send_send(shared, sent) == DUO_FULL);
    duo_canceler_reset(canceler);
    thread = start(cancel_late, canceler);
    CHECK(numbers_client_stream_shared_send_send(shared, sent) == DUO_FULL);
    finish(thread);
    for (uint64_t n = 0; n < sent; n++) CHECK(hear(&one) == n);
    CHECK(numbers_server_stream_try_recv(one.in, &got) == DUO_EMPTY);
    CHECK(numbers_client_stream_shared_send_send(shared, sent) == DUO_OK);
    CHECK(numbers_server_stream_try_recv(one.in, &got) == DUO_OK && got.as.send.value == sent);
    duo_shared_release(shared.shared);
    CHECK(numbers_server_stream_close(got.as.send.next) == DUO_OK);
    end_canceler(canceler);
}

/* Selects and sets keep what they wait for. */
static void waits_for_many_are_canceled(void)
{
    line one = new_line();
    numbers_stream_t got;
    size_t which;
    void *with = NULL;
    duo_canceler *canceler = new_canceler();
    const duo_endpoint receiver = DUO_READY(one.in);
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    duo_canceler_use(canceler);
    for (int by_set = 0; by_set < 2; by_set++) {
        if (by_set) CHECK(duo_ports_add(ports, receiver, &one.in, NULL) == DUO_OK);
        for (int round = 0; round < 3; round++) {
            pthread_t thread = start(cancel_late, canceler);
            duo_status status =
                by_set ? duo_ports_wait(ports, DUO_FOREVER, &with) : duo_select(&receiver, 1, DUO_FOREVER, &which);
            CHECK(status == DUO_EMPTY);
            finish(thread);
            duo_canceler_reset(canceler);
        }
    }
    CHECK(duo_ports_count(ports) == 1);
    duo_cancel(canceler);
    CHECK(numbers_client_stream_send_send(one.out, 1, &one.out) == DUO_OK);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &one.in);
    CHECK(duo_select(&receiver, 1, DUO_FOREVER, &which) == DUO_OK);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_OK);
    one.in = got.as.send.next;
    duo_ports_free(ports);
    close_line(one);
    end_canceler(canceler);
}

typedef struct receiver {
    duo_canceler *canceler;
    line one;
    duo_status status;
} receiver;

static void *receive(void *context)
{
    receiver *own = context;
    numbers_stream_t got;
    duo_canceler_use(own->canceler);
    own->status = numbers_server_stream_recv(own->one.in, &got);
    duo_canceler_use(NULL);
    return NULL;
}

/* A canceler ends the waits of all threads that use it, and of no others. */
static void several_threads(void)
{
    receiver all[MANY + 1];
    pthread_t threads[MANY + 1];
    duo_canceler *canceler = new_canceler();
    for (int i = 0; i <= MANY; i++) {
        all[i].one = new_line();
        all[i].canceler = i < MANY ? canceler : NULL;
        threads[i] = start(receive, &all[i]);
    }
    take_a_moment();
    duo_cancel(canceler);
    duo_cancel(canceler);
    for (int i = 0; i < MANY; i++) {
        finish(threads[i]);
        CHECK(all[i].status == DUO_EMPTY);
        close_line(all[i].one);
    }
    CHECK(numbers_client_stream_close(all[MANY].one.out) == DUO_OK);
    finish(threads[MANY]);
    CHECK(all[MANY].status == DUO_CLOSED);
    duo_canceler_free(canceler);
}

typedef struct often {
    duo_canceler *canceler;
    /* How many cancels have ended a wait. */
    _Atomic int ended;
} often;

static void *cancel_often(void *context)
{
    often *of = context;
    for (int i = 0; i < CANCELS; i++) {
        duo_cancel(of->canceler);
        while (of->ended <= i) sched_yield();
    }
    return NULL;
}

/* Wherever the waiting thread is: the next cancel comes only after the last has ended a wait. */
static void no_cancel_is_missed(void)
{
    line one = new_line();
    numbers_stream_t got;
    often of = {new_canceler(), 0};
    duo_canceler_use(of.canceler);
    pthread_t thread = start(cancel_often, &of);
    for (int i = 0; i < CANCELS; i++) {
        CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY);
        duo_canceler_reset(of.canceler);
        of.ended = i + 1;
    }
    finish(thread);
    close_line(one);
    end_canceler(of.canceler);
}

/* A dialogue of several waits has one limit. */
static void canceled_in_time(void)
{
    const uint64_t moment = UINT64_C(20000000);
    line one = new_line();
    numbers_stream_t got;
    uint64_t sent = 0;
    duo_canceler *canceler = new_canceler();
    duo_canceler_use(canceler);
    duo_time_limit limit = duo_time_limit_in(moment);
    CHECK(duo_cancel_at(canceler, limit) == DUO_OK);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY && duo_time_left(limit) == 0);
    duo_status status;
    while ((status = numbers_client_stream_send_send(one.out, sent, &one.out)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL && sent > 0);
    for (uint64_t n = 0; n < sent; n++) {
        CHECK(numbers_server_stream_recv(one.in, &got) == DUO_OK && got.as.send.value == n);
        one.in = got.as.send.next;
    }
    duo_canceler_reset(canceler);
    /* One that is removed, by either call, and one that is replaced. */
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(moment)) == DUO_OK);
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(DUO_FOREVER)) == DUO_OK);
    limit = duo_time_limit_in(2 * moment);
    CHECK(numbers_server_stream_recv_within(one.in, 2 * moment, &got) == DUO_EMPTY && duo_time_left(limit) == 0);
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(moment)) == DUO_OK);
    duo_canceler_reset(canceler);
    limit = duo_time_limit_in(2 * moment);
    CHECK(numbers_server_stream_recv_within(one.in, 2 * moment, &got) == DUO_EMPTY && duo_time_left(limit) == 0);
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(1000 * moment)) == DUO_OK);
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(moment)) == DUO_OK);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY);
    close_line(one);
    end_canceler(canceler);
}

static void *wait_until_canceled(void *context)
{
    line one = new_line();
    numbers_stream_t got;
    uint64_t *moment = context;
    duo_canceler *canceler = new_canceler();
    duo_canceler_use(canceler);
    for (int round = 0; round < 50; round++) {
        duo_time_limit limit = duo_time_limit_in(*moment * (uint64_t)(round % 3));
        CHECK(duo_cancel_at(canceler, limit) == DUO_OK);
        CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY && duo_time_left(limit) == 0);
        duo_canceler_reset(canceler);
    }
    /* A canceler may be freed before its time. */
    CHECK(duo_cancel_at(canceler, duo_time_limit_in(*moment)) == DUO_OK);
    close_line(one);
    end_canceler(canceler);
    return NULL;
}

/* Each canceler has its own limit, and no wait is missed. */
static void many_limits(void)
{
    uint64_t moments[MANY] = {200000, 300000, 1000000};
    pthread_t threads[MANY];
    for (int i = 0; i < MANY; i++) threads[i] = start(wait_until_canceled, &moments[i]);
    for (int i = 0; i < MANY; i++) finish(threads[i]);
}

/* The thread sanitizer has a thread of its own, and does not allow a forked process of several threads to start others. */
#ifndef __SANITIZE_THREAD__
static void wait_in_a_child(uint64_t moment)
{
    line one = new_line();
    numbers_stream_t got;
    duo_canceler *canceler = new_canceler();
    alarm(300);
    duo_canceler_use(canceler);
    duo_time_limit limit = duo_time_limit_in(moment);
    CHECK(duo_cancel_at(canceler, limit) == DUO_OK);
    CHECK(numbers_server_stream_recv(one.in, &got) == DUO_EMPTY && duo_time_left(limit) == 0);
    /* At another end, checkers would report what threads of the parent own. */
    kill(getpid(), SIGKILL);
}

/* Whether all other threads of this process sleep; true where the system does not say. */
static bool others_sleep(void)
{
    bool asleep = true;
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) return true;
    for (const struct dirent *one; (one = readdir(folder)) != NULL;) {
        char path[300], state;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", one->d_name);
        FILE *file = one->d_name[0] == '.' || atol(one->d_name) == (long)getpid() ? NULL : fopen(path, "r");
        if (file == NULL) continue;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'S') asleep = false;
        fclose(file);
    }
    closedir(folder);
    return asleep;
}

/*
 * The address sanitizer of GCC 12 does not release its locks in a forked process: one that a thread holds while it starts
 * or ends would stop the child's first allocation. A thread that sleeps holds none, unless another that holds one runs.
 */
static void let_others_sleep(void)
{
    int rounds = 0;
    for (; rounds < 500 && !others_sleep(); rounds++) take_a_moment();
    CHECK(rounds < 500);
}

/* The limit of a thread that only the parent has does not hold up the child's. */
static void limits_end_with_a_fork(void)
{
    const uint64_t moment = UINT64_C(300000000);
    receiver of = {.canceler = new_canceler()};
    int status;
    of.one = new_line();
    pthread_t thread = start(receive, &of);
    CHECK(duo_cancel_at(of.canceler, duo_time_limit_in(moment)) == DUO_OK);
    let_others_sleep();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) wait_in_a_child(2 * moment);
    finish(thread);
    CHECK(of.status == DUO_EMPTY);
    close_line(of.one);
    duo_canceler_free(of.canceler);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* How many threads this process has; 0 where the system does not say. */
static int count_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) return 0;
    for (const struct dirent *one; (one = readdir(folder)) != NULL;) count += one->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void let_the_timer_end(int threads)
{
    /* The runtime's thread ends by itself, soon after its last limit. Before, valgrind would report its memory as a leak. */
    for (int i = 0; i < 500 && count_threads() > threads; i++) take_a_moment();
}
#endif

TEST(cancel)
{
#ifndef __SANITIZE_THREAD__
    int threads = count_threads();
#endif
    receives_are_canceled();
    sends_are_canceled();
    waits_for_many_are_canceled();
    several_threads();
    no_cancel_is_missed();
    canceled_in_time();
    many_limits();
#ifndef __SANITIZE_THREAD__
    limits_end_with_a_fork();
    let_the_timer_end(threads);
#endif
}
