/*
 * The registry of sessions, built with DUO_RECORD: two threads that wait for each other in two sessions. The arguments are the files to which
 * the registry is written, while they wait and when they have ended.
 */
#include <string.h>

#include "bank.h"
#include "check.h"
#include "numbers.h"
#include "duologue/record.h"

static bank_server_login_t first_server, second_server;
static bank_client_login_t first_client, second_client;
/* What the second thread does not answer. */
static bank_server_login_response_t kept;

static bank_server_login_response_t take(bank_server_login_t server)
{
    bank_login_t asked;
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    bank_server_login_response_t next = asked.as.login.next;
    bank_login_free(&asked);
    return next;
}

static bank_client_login_response_t log_in(bank_client_login_t client)
{
    bank_client_login_response_t waiting;
    CHECK(bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &waiting) == DUO_OK);
    return waiting;
}

static void *first(void *unused)
{
    (void)unused;
    CHECK(duo_registry_name("first") == DUO_OK);
    bank_server_login_t again;
    CHECK(bank_server_login_response_send_invalid(take(second_server), &again) == DUO_OK);
    bank_login_response_t answer;
    CHECK(bank_client_login_response_recv(log_in(first_client), &answer) == DUO_CLOSED);
    CHECK(bank_server_login_close(again) == DUO_OK);
    return NULL;
}

static void *second(void *unused)
{
    (void)unused;
    CHECK(duo_registry_name("second") == DUO_OK);
    CHECK(duo_registry_name("with \"quotes\"") == DUO_INVALID);
    bank_login_response_t answer;
    CHECK(bank_client_login_response_recv(log_in(second_client), &answer) == DUO_OK);
    CHECK(answer.tag == BANK_LOGIN_RESPONSE_INVALID);
    bank_client_login_t again = answer.as.invalid.next;
    kept = take(first_server);
    CHECK(bank_client_login_response_recv(log_in(again), &answer) == DUO_CLOSED);
    return NULL;
}

/* What the registry writes. */
static char *text_of(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    CHECK(file != NULL);
    CHECK(duo_registry_write(file) == DUO_OK);
    CHECK(fclose(file) == 0);
    return text;
}

static unsigned count(const char *text, const char *part)
{
    unsigned found = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) found++;
    return found;
}

static void write_to(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(duo_registry_write(file) == DUO_OK);
    CHECK(fclose(file) == 0);
}

/* Until both threads wait, for 30 s at most. */
static void wait_for_deadlock(void)
{
    for (int step = 0; step < 15000; step++) {
        char *text = text_of();
        bool has_taken = count(text, "{\"side\":\"server\",\"state\":\"bank.login_response\",\"owner\":\"thread second #") == 1;
        unsigned waiting = count(text, "\"for\":\"message\"");
        free(text);
        if (has_taken && waiting == 2) return;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    CHECK(!"both threads wait");
}

static void *fill(void *sender)
{
    numbers_client_stream_t *next = sender;
    CHECK(duo_registry_name("sender") == DUO_OK);
    duo_status status = DUO_OK;
    while (status == DUO_OK) status = numbers_client_stream_send_send(*next, 1, next);
    CHECK(status == DUO_CLOSED);
    return NULL;
}

/* A sender that waits for space is in the state in which it sends. */
static void blocked(void)
{
    numbers_server_stream_t server;
    numbers_client_stream_t client;
    CHECK(numbers_init(&server, &client) == DUO_OK);
    pthread_t sender = start(fill, &client);
    bool waits = false;
    for (int step = 0; step < 15000 && !waits; step++) {
        char *text = text_of();
        waits = count(text, "\"for\":\"space\"") == 1;
        if (waits) {
            CHECK(count(text, "{\"side\":\"client\",\"state\":\"numbers.Stream\",\"owner\":\"thread sender #") == 1);
            CHECK(count(text, "\"state\":\"numbers.Stream\",\"turn\":\"client\"") == 1);
            const char *messages = strstr(text, "\"messages\":"), *in_flight = strrchr(text, '{');
            CHECK(messages != NULL && in_flight != NULL && (in_flight = strstr(in_flight, "\"in_flight\":")) != NULL);
            unsigned long sent = strtoul(messages + strlen("\"messages\":"), NULL, 10);
            CHECK(sent > 1 && sent == strtoul(in_flight + strlen("\"in_flight\":"), NULL, 10));
        }
        free(text);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    CHECK(waits);
    /* It goes on, and then waits again. */
    numbers_stream_t got;
    CHECK(numbers_server_stream_recv(server, &got) == DUO_OK);
    numbers_server_stream_t next = got.as.send.next;
    CHECK(numbers_server_stream_close(next) == DUO_OK);
    finish(sender);
    char *text = text_of();
    CHECK(count(text, "\"session\":") == 0);
    free(text);
}

/* More sessions than there are places: the others work, and are counted. */
static void too_many(void)
{
    bank_server_login_t servers[40];
    bank_client_login_response_t clients[40];
    for (int at = 0; at < 40; at++) {
        bank_client_login_t client;
        CHECK(bank_init(&servers[at], &client) == DUO_OK);
        clients[at] = log_in(client);
    }
    char *text = text_of();
    CHECK(count(text, "\"session\":") == 32);
    CHECK(count(text, "\"missing\":8,") == 1);
    free(text);
    for (int at = 0; at < 40; at++) {
        CHECK(bank_server_login_close(servers[at]) == DUO_OK);
        bank_login_response_t answer;
        CHECK(bank_client_login_response_recv(clients[at], &answer) == DUO_CLOSED);
    }
    text = text_of();
    CHECK(count(text, "\"session\":") == 0);
    free(text);
}

int main(int count_of_arguments, char **arguments)
{
    static duo_registered memory[64];
    CHECK(count_of_arguments == 3);
    CHECK(duo_registry_begin(memory, 1) == DUO_INVALID);
    CHECK(duo_registry_begin(memory, 64) == DUO_OK);
    CHECK(bank_init(&first_server, &first_client) == DUO_OK);
    CHECK(bank_init(&second_server, &second_client) == DUO_OK);
    pthread_t threads[2] = {start(first, NULL), start(second, NULL)};
    wait_for_deadlock();
    write_to(arguments[1]);
    CHECK(bank_server_login_response_close(kept) == DUO_OK);
    for (int at = 0; at < 2; at++) finish(threads[at]);
    write_to(arguments[2]);
    blocked();
    too_many();
    duo_registry_stop();
    write_to(arguments[2]);
    return 0;
}
