/*
 * A service of two versions, whose servers are found with NATS, and its clients: the same as `tests/nats/src/main.rs`, which says what
 * it reads and prints.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duologue/nats.h"
#include "first_net.h"
#include "second_net.h"

#define SECOND UINT64_C(1000000000)

enum { MOST_SESSIONS = 256 };

static void print(const char *line)
{
    puts(line);
    fflush(stdout);
}

static int fail(duo_status status, const duo_problem *problem)
{
    printf("failed %s: %s\n", duo_status_text(status), problem->text);
    fflush(stdout);
    return 0;
}

/* The next line of the input, without its end; false at the end. */
static bool read_line(char *line, int size)
{
    if (fgets(line, size, stdin) == NULL) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/* Adds `USER:PASSWORD` to the options. */
static natsStatus use_credentials(natsOptions *options, void *context)
{
    char user[64];
    snprintf(user, sizeof user, "%s", (const char *)context);
    char *password = strchr(user, ':');
    if (password == NULL) return NATS_INVALID_ARG;
    *password = '\0';
    return natsOptions_SetUserInfo(options, user, password + 1);
}

static duo_status open_directory(const char *nats, duo_directory **directory, duo_problem *problem)
{
    char user[64];
    const char *server = strchr(nats, '@');
    if (server == NULL) return duo_directory_open(nats, NULL, NULL, directory, problem);
    snprintf(user, sizeof user, "%.*s", (int)(server - nats), nats);
    return duo_directory_open(server + 1, use_credentials, user, directory, problem);
}

static void answer_first(first_server_asking_t asking, const duo_peer *peer, void *tag)
{
    first_asking_t message;
    (void)peer;
    while (first_server_asking_recv(asking, &message) == DUO_OK && message.tag == FIRST_ASKING_ASK) {
        duo_status status = first_server_answering_send_answer(message.as.ask.next, duo_str_from(tag), &asking);
        first_asking_free(&message);
        if (status != DUO_OK) return;
    }
}

static void answer_second(second_server_asking_t asking, const duo_peer *peer, void *tag)
{
    second_asking_t message;
    duo_status status = DUO_OK;
    (void)peer;
    while (status == DUO_OK && second_server_asking_recv(asking, &message) == DUO_OK) {
        switch (message.tag) {
        case SECOND_ASKING_ASK:
            status = second_server_answering_send_answer(message.as.ask.next, duo_str_from(tag), &asking);
            break;
        case SECOND_ASKING_COUNT: status = second_server_counting_send_counted(message.as.count.next, 0, &asking); break;
        case SECOND_ASKING_LEAVE: return;
        }
        second_asking_free(&message);
    }
}

static void *run(void *listener)
{
    return duo_listener_run(listener) == DUO_OK ? NULL : listener;
}

static void *drain(void *listener)
{
    duo_listener_drain(listener, DUO_FOREVER);
    return NULL;
}

static int serve(bool is_first, char **words)
{
    duo_directory *directory;
    duo_listener *listener;
    duo_announcement *announcement;
    duo_problem problem = {""};
    pthread_t running, draining;
    bool drains = false;
    char line[64];
    const duo_net_options options = {.sessions = (size_t)atoi(words[3]), .problem = &problem};
    const duo_announce how = {.name = words[1], .protocol = is_first ? &duo_wire_of_first : &duo_wire_of_second, .role = DUO_SERVER};
    duo_status status = open_directory(words[0], &directory, &problem);
    if (status != DUO_OK) return fail(status, &problem);
    status = duo_listen("tcp://127.0.0.1:0", &options, &listener);
    if (status == DUO_OK && is_first) status = first_server_serve(listener, NULL, answer_first, words[2]);
    if (status == DUO_OK && !is_first) status = second_server_serve(listener, NULL, answer_second, words[2]);
    if (status == DUO_OK) status = duo_directory_announce(directory, listener, &how, &announcement, &problem);
    if (status != DUO_OK) return fail(status, &problem);
    if (pthread_create(&running, NULL, run, listener) != 0) return 1;
    print("ready");
    while (read_line(line, sizeof line)) {
        if (strcmp(line, "drain") == 0) {
            drains = pthread_create(&draining, NULL, drain, listener) == 0;
            /* The thread has begun to drain. */
            while (!duo_listener_load(listener).is_draining) continue;
        } else {
            duo_announcement_withdraw(announcement);
            announcement = NULL;
        }
        print(line);
    }
    duo_announcement_withdraw(announcement);
    if (!drains) duo_listener_drain(listener, DUO_AT_ONCE);
    if (drains) pthread_join(draining, NULL);
    pthread_join(running, NULL);
    duo_listener_close(listener);
    duo_directory_close(directory);
    return 0;
}

/* A session of a client. */
typedef struct session {
    bool is_first;
    first_client_asking_t first;
    second_client_asking_t second;
} session;

/* Asks; the tag of the server. */
#define ASK(version)                                                                               \
    static duo_status ask_##version(version##_client_asking_t *asking, char tag[64])               \
    {                                                                                              \
        version##_client_answering_t sent;                                                         \
        version##_answering_t answer;                                                              \
        duo_status status = version##_client_asking_send_ask(*asking, (duo_str){"", 0}, &sent);    \
        if (status == DUO_OK) status = version##_client_answering_recv(sent, &answer);             \
        if (status != DUO_OK) return status;                                                       \
        snprintf(tag, 64, "%.*s", (int)answer.as.answer.text.size, answer.as.answer.text.data);    \
        *asking = answer.as.answer.next;                                                           \
        version##_answering_free(&answer);                                                         \
        return DUO_OK;                                                                             \
    }
ASK(first)
ASK(second)

static duo_status ask(session *here, char tag[64])
{
    return here->is_first ? ask_first(&here->first, tag) : ask_second(&here->second, tag);
}

/* The server may be gone. */
static duo_status leave(session *here)
{
    return here->is_first ? first_client_asking_send_leave(here->first) : second_client_asking_send_leave(here->second);
}

static bool read_fingerprint(const char *text, duo_fingerprint *read)
{
    for (size_t i = 0; i < sizeof read->bytes; i++)
        if (sscanf(text + 2 * i, "%2hhx", &read->bytes[i]) != 1) return false;
    return true;
}

static int client(bool is_first, int count, char **words)
{
    static session sessions[MOST_SESSIONS];
    size_t open = 0;
    duo_directory *directory;
    duo_problem problem = {""};
    duo_fingerprint older;
    char line[64], tag[64];
    duo_net_options options = {.hello = (uint64_t)atoi(words[2]) * SECOND, .problem = &problem};
    if (count > 3 && read_fingerprint(words[3], &older)) {
        options.accepts = &older;
        options.accepts_count = 1;
    }
    duo_status status = open_directory(words[0], &directory, &problem);
    if (status != DUO_OK) return fail(status, &problem);
    options.directory = directory;
    print("ready");
    while (read_line(line, sizeof line)) {
        if (strcmp(line, "open") == 0) {
            session *made = &sessions[open];
            made->is_first = is_first;
            problem.text[0] = '\0';
            status = is_first ? first_client_connect(words[1], &options, &made->first)
                              : second_client_connect(words[1], &options, &made->second);
            if (status == DUO_OK) status = ask(made, tag);
            if (status != DUO_OK) {
                (void)fail(status, &problem);
                continue;
            }
            open += 1;
            printf("open %s\n", tag);
        } else if (strcmp(line, "ask") == 0) {
            size_t kept = 0;
            for (size_t i = 0; i < open; i++)
                if (ask(&sessions[i], tag) == DUO_OK) sessions[kept++] = sessions[i];
            open = kept;
            printf("asked %zu\n", open);
        } else {
            for (; open > 0; open--) (void)!leave(&sessions[open - 1]);
            print("closed");
        }
        fflush(stdout);
    }
    duo_directory_close(directory);
    return 0;
}

int main(int count, char **words)
{
    bool is_first = count > 2 && strcmp(words[2], "first") == 0;
    if (count == 7 && strcmp(words[1], "serve") == 0) return serve(is_first, words + 3);
    if (count >= 6 && strcmp(words[1], "ask") == 0) return client(is_first, count - 3, words + 3);
    fprintf(stderr, "desk serve VERSION NATS NAME TAG SESSIONS, or desk ask VERSION NATS NAME SECONDS [OLDER]\n");
    return 2;
}
