/*
 * A service of which there are two versions, and its clients: the same as `tests/brokers/src/bin/desk.rs`, which says what it prints.
 *
 * desk serve VERSION ADDRESS
 * desk ask VERSION ADDRESS THREADS
 * desk accept first ADDRESS         has one session as a client of a newer version that accepts servers of the first one
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "first_net.h"
#include "second_net.h"
#include "talkative_net.h"

#define SECOND UINT64_C(1000000000)

enum { MOST_THREADS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned begun, finished, refused;
static bool ends;

static void print(const char *line)
{
    puts(line);
    fflush(stdout);
}

static void count(unsigned *counter)
{
    pthread_mutex_lock(&lock);
    *counter += 1;
    pthread_mutex_unlock(&lock);
}

static bool is_over(void)
{
    pthread_mutex_lock(&lock);
    bool result = ends;
    pthread_mutex_unlock(&lock);
    return result;
}

static void pause_for(long milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Servers call it with the first message of a session: a client that a busy server has not answered in time has begun another one. */
static void begin(void)
{
    count(&begun);
    print("session");
}

static void end(duo_status status)
{
    if (status == DUO_OK) count(&finished);
    else fprintf(stderr, "a session has not finished: %s\n", duo_status_text(status));
}

static duo_status answer_first(first_server_asking_t asking)
{
    bool has_begun = false;
    for (first_asking_t message;;) {
        duo_status status = first_server_asking_recv(asking, &message);
        if (status != DUO_OK) return status;
        if (!has_begun) begin();
        has_begun = true;
        if (message.tag == FIRST_ASKING_LEAVE) return DUO_OK;
        status = first_server_answering_send_answer(message.as.ask.next, message.as.ask.text, &asking);
        first_asking_free(&message);
        if (status != DUO_OK) return status;
    }
}

static duo_status answer_second(second_server_asking_t asking)
{
    bool has_begun = false;
    for (second_asking_t message;;) {
        duo_status status = second_server_asking_recv(asking, &message);
        if (status != DUO_OK) return status;
        if (!has_begun) begin();
        has_begun = true;
        switch (message.tag) {
        case SECOND_ASKING_ASK:
            status = second_server_answering_send_answer(message.as.ask.next, message.as.ask.text, &asking);
            break;
        case SECOND_ASKING_COUNT:
            status = second_server_counting_send_counted(message.as.count.next, (uint32_t)message.as.count.text.size, &asking);
            break;
        case SECOND_ASKING_LEAVE: return DUO_OK;
        }
        second_asking_free(&message);
        if (status != DUO_OK) return status;
    }
}

static duo_status ask_first(first_client_asking_t asking, unsigned turns)
{
    char text[32];
    for (unsigned turn = 0; turn < turns; turn++) {
        first_client_answering_t sent;
        first_answering_t answer;
        snprintf(text, sizeof text, "question %u", turn);
        duo_status status = first_client_asking_send_ask(asking, duo_str_from(text), &sent);
        if (status == DUO_OK) status = first_client_answering_recv(sent, &answer);
        if (status != DUO_OK) return status;
        const duo_str found = answer.as.answer.text;
        if (found.size != strlen(text) || memcmp(found.data, text, found.size) != 0) abort();
        asking = answer.as.answer.next;
        first_answering_free(&answer);
        pause_for(1);
    }
    return first_client_asking_send_leave(asking);
}

static duo_status ask_second(second_client_asking_t asking, unsigned turns)
{
    char text[32];
    for (unsigned turn = 0; turn < turns; turn++) {
        second_client_answering_t sent;
        second_client_counting_t requested;
        second_answering_t answer;
        second_counting_t counted;
        snprintf(text, sizeof text, "question %u", turn);
        duo_status status = second_client_asking_send_ask(asking, duo_str_from(text), &sent);
        if (status == DUO_OK) status = second_client_answering_recv(sent, &answer);
        if (status != DUO_OK) return status;
        asking = answer.as.answer.next;
        second_answering_free(&answer);
        status = second_client_asking_send_count(asking, duo_str_from(text), &requested);
        if (status == DUO_OK) status = second_client_counting_recv(requested, &counted);
        if (status != DUO_OK) return status;
        if (counted.as.counted.value != strlen(text)) abort();
        asking = counted.as.counted.next;
        pause_for(1);
    }
    return second_client_asking_send_leave(asking);
}

static void handle_first(first_server_asking_t asking, const duo_peer *peer, void *context)
{
    (void)peer, (void)context;
    end(answer_first(asking));
}

static void handle_second(second_server_asking_t asking, const duo_peer *peer, void *context)
{
    (void)peer, (void)context;
    end(answer_second(asking));
}

static void *drain(void *listener)
{
    while (getchar() != EOF) continue;
    duo_listener_drain(listener, 5 * SECOND);
    return NULL;
}

static int fail(const char *what, duo_status status, const duo_problem *problem)
{
    fprintf(stderr, "cannot %s: %s (%s) %s\n", what, duo_status_text(status), strerror(errno), problem->text);
    return 1;
}

static int serve(bool is_first, const char *address)
{
    duo_listener *listener;
    duo_problem problem = {""};
    const duo_net_options options = {.problem = &problem};
    duo_status status = duo_listen(address, &options, &listener);
    if (status != DUO_OK) return fail("listen", status, &problem);
    status = is_first ? first_server_serve(listener, NULL, handle_first, NULL) : second_server_serve(listener, NULL, handle_second, NULL);
    pthread_t thread;
    if (status != DUO_OK || pthread_create(&thread, NULL, drain, listener) != 0) return fail("serve", status, &problem);
    status = duo_listener_run(listener);
    if (status != DUO_OK) return fail("run", status, &problem);
    pthread_join(thread, NULL);
    printf("begun %u finished %u\n", begun, finished);
    duo_listener_close(listener);
    return 0;
}

struct client {
    bool is_first;
    const char *address;
};

static void *ask(void *context)
{
    const struct client *client = context;
    for (unsigned session = 1; !is_over(); session++) {
        first_client_asking_t first;
        second_client_asking_t second;
        duo_problem problem = {""};
        duo_refusal refusal = {0, 0};
        const duo_net_options options = {.hello = 30 * SECOND, .problem = &problem, .refusal = &refusal};
        unsigned turns = session * 7 % 20;
        duo_status status = client->is_first ? first_client_connect(client->address, &options, &first)
                                             : second_client_connect(client->address, &options, &second);
        if (status == DUO_OK) {
            begin();
            end(client->is_first ? ask_first(first, turns) : ask_second(second, turns));
        } else if (status == DUO_REFUSED && refusal.verdict == DUO_VERDICT_UNKNOWN_PROTOCOL) {
            count(&refused);
            print("refused");
            pause_for(20);
        } else {
            fprintf(stderr, "verdict %u\n", refusal.verdict);
            exit(fail("connect", status, &problem));
        }
    }
    return NULL;
}

static int ask_all(bool is_first, const char *address, unsigned threads)
{
    pthread_t all[MOST_THREADS];
    struct client client = {is_first, address};
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, ask, &client) != 0) return 1;
    while (getchar() != EOF) continue;
    pthread_mutex_lock(&lock);
    ends = true;
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < threads; i++) pthread_join(all[i], NULL);
    printf("begun %u finished %u refused %u\n", begun, finished, refused);
    return 0;
}

static duo_status ask_older(talkative_client_asking_t asking)
{
    const duo_str text = DUO_STR("question");
    talkative_client_answering_t sent;
    talkative_answering_t answer;
    duo_status status = talkative_client_asking_send_ask(asking, text, &sent);
    if (status == DUO_OK) status = talkative_client_answering_recv(sent, &answer);
    if (status != DUO_OK) return status;
    /* A server of the first version says nothing else. */
    if (answer.tag != TALKATIVE_ANSWERING_ANSWER) abort();
    const duo_str found = answer.as.answer.text;
    if (found.size != text.size || memcmp(found.data, text.data, text.size) != 0) abort();
    asking = answer.as.answer.next;
    talkative_answering_free(&answer);
    return talkative_client_asking_send_leave(asking);
}

static int accept_older(const char *address)
{
    talkative_client_asking_t asking;
    duo_problem problem = {""};
    const duo_net_options options = {.hello = 30 * SECOND, .problem = &problem};
    duo_status status = talkative_client_connect(address, &options, &asking);
    if (status != DUO_OK) return fail("connect", status, &problem);
    begin();
    end(ask_older(asking));
    printf("begun %u finished %u refused %u\n", begun, finished, refused);
    return 0;
}

int main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments >= 4) {
        bool is_first = strcmp(arguments[2], "first") == 0;
        if (count_of_arguments == 4 && strcmp(arguments[1], "serve") == 0) return serve(is_first, arguments[3]);
        if (count_of_arguments == 4 && strcmp(arguments[1], "accept") == 0) return accept_older(arguments[3]);
        if (count_of_arguments == 5 && strcmp(arguments[1], "ask") == 0) return ask_all(is_first, arguments[3], (unsigned)atoi(arguments[4]));
    }
    fprintf(stderr, "desk serve first|second ADDRESS, desk ask first|second ADDRESS THREADS, or desk accept first ADDRESS\n");
    return 2;
}
