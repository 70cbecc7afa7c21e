/*
 * Robots play with each other. `cases.h` has in CASES a line for each protocol of the examples, and in CORPUS one for some others:
 *
 *   CASE(prefix, type of the client's first endpoint, type of the server's, hooks of the client, hooks of the server)
 *
 * Without arguments the program prints the transcripts of all of them, with choices that the programs in the other languages
 * use too. `cover` plays until everything is covered, also in the other protocols, and prints the reports. `reports` prints those
 * of the examples as JSON.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "hooks.h"
#include "cases.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A session of two robots: what they play with, and how it ended for each. */
typedef struct pair {
    duo_choices choices[2];
    duo_play plays[2];
    duo_ending endings[2];
} pair;

static void begin(pair *both, duo_choices client, duo_choices server, duo_coverage *coverage, size_t limit)
{
    both->choices[0] = client;
    both->choices[1] = server;
    for (int side = 0; side < 2; side += 1) {
        duo_play *play = &both->plays[side];
        duo_play_init(play, &both->choices[side]);
        play->coverage = coverage;
        play->limit = limit;
        play->pause = 0;
        play->within = UINT64_C(60000000000);
    }
}

static void end(pair *both)
{
    for (int side = 0; side < 2; side += 1) duo_play_free(&both->plays[side]);
}

/* Both robots write the same transcript. */
static void check(const pair *both)
{
    const duo_play *client = &both->plays[0], *server = &both->plays[1];
    for (int side = 0; side < 2; side += 1) {
        if (both->endings[side] == DUO_ENDING_FAILED || both->endings[side] == DUO_ENDING_LATE) {
            fprintf(stderr, "%s: %s\n%s", duo_ending_text(both->endings[side]), both->plays[side].failure,
                    both->plays[side].transcript);
            exit(1);
        }
    }
    CHECK(strcmp(client->transcript, server->transcript) == 0);
    CHECK(client->transcript_size == strlen(client->transcript));
}

static const char *word(duo_ending ending)
{
    static const char *const words[] = {"finished", "left", "closed", "late", "stuck", "failed"};
    return words[ending];
}

typedef void play_function(pair *both);

/* Sessions that every language plays in the same way. */
static void tell(const char *name, play_function *play, const duo_robot_table *table)
{
    for (uint64_t seed = 1; seed <= 3; seed += 1) {
        pair both;
        begin(&both, duo_choices_seed(seed), duo_choices_seed(seed + 100), NULL, 12);
        play(&both);
        check(&both);
        printf("# %s seed %d: %s, %s\n%s", name, (int)seed, word(both.endings[0]), word(both.endings[1]),
               both.plays[0].transcript);
        end(&both);
    }
    duo_coverage *coverage = duo_coverage_new(table);
    CHECK(coverage != NULL);
    pair both;
    begin(&both, duo_choices_covering(), duo_choices_covering(), coverage, 100);
    play(&both);
    check(&both);
    char text[100];
    CHECK(duo_coverage_text(coverage, text, sizeof text) < sizeof text);
    printf("# %s covering: %s, %s, %s\n%s", name, text, word(both.endings[0]), word(both.endings[1]),
           both.plays[0].transcript);
    end(&both);
    duo_coverage_free(coverage);
}

static void show_json(const duo_coverage *coverage)
{
    size_t size = duo_coverage_json(coverage, NULL, 0) + 1;
    char *json = malloc(size);
    CHECK(json != NULL && duo_coverage_json(coverage, json, size) == size - 1);
    CHECK(strlen(json) == size - 1);
    printf("%s\n", json);
    free(json);
}

/* Two robots with one coverage see everything in at most as many sessions as there are transitions. */
static void cover(const char *name, play_function *play, const duo_robot_table *table, bool is_json)
{
    duo_coverage *coverage = duo_coverage_new(table);
    CHECK(coverage != NULL);
    size_t sessions = 0;
    for (; duo_coverage_seen(coverage) < duo_coverage_all(coverage); sessions += 1) {
        pair both;
        CHECK(sessions < duo_coverage_all(coverage));
        begin(&both, duo_choices_covering(), duo_choices_covering(), coverage, 100);
        play(&both);
        check(&both);
        end(&both);
    }
    char text[100];
    CHECK(duo_coverage_text(coverage, text, sizeof text) < sizeof text);
    if (is_json) show_json(coverage);
    else printf("%s: %s in %zu sessions\n", name, text, sessions);
    duo_coverage_free(coverage);
}

/* What the robots of a protocol begin with. */
#define CASE(prefix, client_type, server_type, client_hooks, server_hooks)                                             \
    typedef struct prefix##_start {                                                                                    \
        pair *both;                                                                                                    \
        server_type server;                                                                                            \
    } prefix##_start;                                                                                                  \
                                                                                                                       \
    static void *serve_##prefix(void *context)                                                                         \
    {                                                                                                                  \
        prefix##_start *start = (prefix##_start *)context;                                                             \
        start->both->endings[1] = prefix##_robot_server(start->server, &start->both->plays[1], server_hooks);          \
        return NULL;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static void play_##prefix(pair *both)                                                                              \
    {                                                                                                                  \
        prefix##_start start = {both, {{NULL, 0}}};                                                                    \
        client_type client;                                                                                            \
        pthread_t thread;                                                                                              \
        CHECK(prefix##_init(&start.server, &client) == DUO_OK);                                                        \
        CHECK(pthread_create(&thread, NULL, serve_##prefix, &start) == 0);                                             \
        both->endings[0] = prefix##_robot_client(client, &both->plays[0], client_hooks);                               \
        CHECK(pthread_join(thread, NULL) == 0);                                                                        \
    }
CASES
CORPUS
#undef CASE

/* Lists in lists, each of which asks for as many items as there can be: a message has no more, however deep they are. */
static void tell_deep(void)
{
    static const uint8_t list[] = {96, 0}, folder[] = {0, 0, 0, 255, 255, 255, 255};
    uint8_t bytes[1 + 30 * sizeof folder] = {96};
    for (size_t at = 1; at < sizeof bytes; at += sizeof folder) memcpy(bytes + at, folder, sizeof folder);
    pair both;
    begin(&both, duo_choices_bytes(list, sizeof list), duo_choices_bytes(bytes, sizeof bytes), NULL, 12);
    play_file_server(&both);
    check(&both);
    printf("# file_server deep: %s, %s, %zu bytes\n", word(both.endings[0]), word(both.endings[1]),
           both.plays[0].transcript_size);
    end(&both);
}

/* Rejects everyone, for as long as they ask. */
static void *reject(void *context)
{
    bank_server_login_t server = *(bank_server_login_t *)context;
    bank_login_t login;
    while (bank_server_login_recv(server, &login) == DUO_OK) {
        bank_server_login_response_t next = login.as.login.next;
        bank_login_free(&login);
        if (bank_server_login_response_send_invalid(next, &server) != DUO_OK) break;
    }
    return NULL;
}

/* A peer that does not take the way to the end does not hold a robot forever. */
static void leave_an_endless_session(void)
{
    duo_choices choices = duo_choices_bytes(NULL, 0);
    duo_play play;
    duo_play_init(&play, &choices);
    play.limit = 2;
    bank_server_login_t server;
    bank_client_login_t client;
    pthread_t thread;
    CHECK(bank_init(&server, &client) == DUO_OK);
    CHECK(pthread_create(&thread, NULL, reject, &server) == 0);
    CHECK(bank_robot_client(client, &play, NULL) == DUO_ENDING_LEFT);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strcmp(play.transcript, "server <- login(\"\", \"\")\nclient <- invalid\n"
                                  "server <- login(\"\", \"\")\nclient <- invalid\nserver <- closed\n") == 0);
    duo_play_free(&play);
}

/* A coverage of another protocol has no place for the transitions of this one. */
static void refuse_a_coverage_of_another_protocol(void)
{
    duo_coverage *coverage = duo_coverage_new(&double_buffer_robots);
    CHECK(coverage != NULL);
    duo_choices choices = duo_choices_bytes(NULL, 0);
    duo_play play;
    duo_play_init(&play, &choices);
    play.coverage = coverage;
    bank_server_login_t server;
    bank_client_login_t client;
    bank_login_t login;
    CHECK(bank_init(&server, &client) == DUO_OK);
    CHECK(bank_robot_client(client, &play, NULL) == DUO_ENDING_FAILED);
    CHECK(strcmp(play.failure, "the coverage is that of another protocol") == 0);
    CHECK(play.transcript_size == 0 && duo_coverage_seen(coverage) == 0);
    CHECK(bank_server_login_recv(server, &login) == DUO_CLOSED);
    duo_play_free(&play);
    duo_coverage_free(coverage);
}

int main(int count, char **arguments)
{
    const bool covers = count > 1, is_json = covers && strcmp(arguments[1], "reports") == 0;
#define CASE(prefix, client_type, server_type, client_hooks, server_hooks)                                             \
    if (covers) cover(#prefix, play_##prefix, &prefix##_robots, is_json);                                              \
    else tell(#prefix, play_##prefix, &prefix##_robots);
    CASES
#undef CASE
    if (!covers) tell_deep();
#define CASE(prefix, client_type, server_type, client_hooks, server_hooks)                                             \
    if (covers && !is_json) cover(#prefix, play_##prefix, &prefix##_robots, false);
    CORPUS
#undef CASE
    leave_an_endless_session();
    refuse_a_coverage_of_another_protocol();
    CHECK(duo_shutdown() == 0);
    return 0;
}
