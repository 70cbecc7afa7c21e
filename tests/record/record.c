/*
 * Records of sessions within the process, built with DUO_RECORD: whole ones, such that a side leaves or that a monitor
 * stops, and a log that is full. The arguments are the files of the two logs, which the test checks.
 */
#include <stdlib.h>

#include "bank.h"
#include "check.h"
#include "numbers.h"
#include "duologue/record.h"

/* What a monitor has seen, and the message that it does not allow. */
typedef struct report {
    const char *forbidden;
    unsigned asked, happened;
    duo_recorded last;
} report;

static bool allows(const duo_recorded *event, void *context)
{
    report *seen = context;
    seen->asked++;
    CHECK(event->kind == DUO_RECORDED_SEND);
    return seen->forbidden == NULL || strcmp(event->message, seen->forbidden) != 0;
}

static void happened(const duo_recorded *event, void *context)
{
    report *seen = context;
    seen->happened++;
    seen->last = *event;
}

static void log_in(bank_server_connected_t *server, bank_client_connected_t *client)
{
    bank_server_login_t door;
    bank_client_login_t customer;
    bank_client_login_response_t waiting;
    bank_server_login_response_t answer;
    CHECK(bank_init(&door, &customer) == DUO_OK);
    CHECK(bank_client_login_send_login(customer, DUO_STR("holk"), DUO_STR("1234"), &waiting) == DUO_OK);
    bank_login_t asked;
    CHECK(bank_server_login_recv(door, &asked) == DUO_OK);
    answer = asked.as.login.next;
    bank_login_free(&asked);
    CHECK(bank_server_login_response_send_ok(answer, server) == DUO_OK);
    bank_login_response_t told;
    CHECK(bank_client_login_response_recv(waiting, &told) == DUO_OK);
    *client = told.as.ok.next;
}

/* To its end. */
static void whole(void)
{
    bank_server_connected_t server;
    bank_client_connected_t client;
    bank_client_withdrawal_response_t waiting;
    bank_withdrawal_response_t given;
    bank_connected_t wish;
    log_in(&server, &client);
    CHECK(bank_client_connected_send_deposit(client, 2.0, &client) == DUO_OK);
    CHECK(bank_client_connected_send_withdrawal(client, 1.0, &waiting) == DUO_OK);
    CHECK(bank_server_connected_recv(server, &wish) == DUO_OK);
    CHECK(bank_server_connected_recv(wish.as.deposit.next, &wish) == DUO_OK);
    CHECK(bank_server_withdrawal_response_send_money(wish.as.withdrawal.next, 1.0, &server) == DUO_OK);
    CHECK(bank_client_withdrawal_response_recv(waiting, &given) == DUO_OK);
    client = given.as.money.next;
    /* What fails is not recorded. */
    CHECK(bank_client_withdrawal_response_recv(waiting, &given) == DUO_USED);
    CHECK(bank_server_connected_try_recv(server, &wish) == DUO_EMPTY);
    CHECK(bank_client_connected_send_quit(client) == DUO_OK);
    CHECK(bank_server_connected_recv(server, &wish) == DUO_OK);
    CHECK(bank_server_connected_close(server) == DUO_USED);
}

/* The client leaves; then a receiver that has not read everything. */
static void left(void)
{
    bank_server_connected_t server;
    bank_client_connected_t client;
    bank_connected_t wish;
    log_in(&server, &client);
    CHECK(bank_client_connected_close(client) == DUO_OK);
    CHECK(bank_server_connected_recv(server, &wish) == DUO_CLOSED);
    log_in(&server, &client);
    CHECK(bank_client_connected_send_deposit(client, 2.0, &client) == DUO_OK);
    CHECK(bank_server_connected_close(server) == DUO_OK);
    CHECK(bank_client_connected_send_deposit(client, 2.0, &client) == DUO_CLOSED);
}

/* Several senders share an endpoint. */
static void shared(void)
{
    numbers_server_stream_t server;
    numbers_client_stream_t client;
    numbers_client_stream_shared_t many;
    numbers_stream_t got;
    CHECK(numbers_init(&server, &client) == DUO_OK);
    CHECK(numbers_client_stream_share(client, &many) == DUO_OK);
    for (uint64_t number = 0; number < 3; number++) CHECK(numbers_client_stream_shared_send_send(many, number) == DUO_OK);
    numbers_client_stream_shared_release(many);
    for (unsigned number = 0; number < 3; number++) {
        CHECK(numbers_server_stream_recv(server, &got) == DUO_OK);
        server = got.as.send.next;
    }
    CHECK(numbers_server_stream_recv(server, &got) == DUO_CLOSED);
}

/* A monitor stops a session before a message. */
static void stopped(void)
{
    report seen = {.forbidden = "withdrawal"};
    const duo_monitor monitor = {allows, happened, &seen};
    bank_server_connected_t server, other_server;
    bank_client_connected_t client, other;
    bank_client_withdrawal_response_t waiting;
    bank_connected_t wish;
    log_in(&other_server, &other);
    duo_monitor_with(&monitor);
    log_in(&server, &client);
    CHECK(seen.asked == 2 && seen.happened == 4);
    CHECK(bank_client_connected_send_withdrawal(client, 2.0, &waiting) == DUO_STOPPED);
    CHECK(seen.asked == 3 && seen.happened == 5);
    CHECK(seen.last.kind == DUO_RECORDED_LEFT && seen.last.status == DUO_STOPPED && !seen.last.is_server);
    CHECK(strcmp(seen.last.state, "bank.connected") == 0);
    CHECK(bank_client_connected_send_withdrawal(client, 2.0, &waiting) == DUO_USED);
    CHECK(bank_server_connected_recv(server, &wish) == DUO_CLOSED);
    CHECK(seen.last.kind == DUO_RECORDED_PEER_LEFT && seen.last.is_server);

    /* Not one that began before. */
    unsigned asked = seen.asked, reported = seen.happened;
    CHECK(bank_client_connected_send_withdrawal(other, 2.0, &waiting) == DUO_OK);
    CHECK(bank_server_connected_close(other_server) == DUO_OK);
    CHECK(bank_client_withdrawal_response_close(waiting) == DUO_OK);
    CHECK(seen.asked == asked && seen.happened == reported);

    /* A shared endpoint is gone for all its holders, for the same reason. */
    numbers_server_stream_t numbers;
    numbers_client_stream_t sender;
    numbers_client_stream_shared_t many;
    numbers_stream_t got;
    seen.forbidden = "send";
    CHECK(numbers_init(&numbers, &sender) == DUO_OK);
    CHECK(numbers_client_stream_share(sender, &many) == DUO_OK);
    CHECK(numbers_client_stream_shared_send_send(many, 1) == DUO_STOPPED);
    CHECK(numbers_client_stream_shared_send_send(many, 1) == DUO_STOPPED);
    numbers_client_stream_shared_release(many);
    CHECK(numbers_server_stream_recv(numbers, &got) == DUO_CLOSED);
    duo_monitor_with(NULL);
}

int main(int count, char **files)
{
    CHECK(count == 3);
    FILE *log = fopen(files[1], "w");
    CHECK(log != NULL);
    CHECK(duo_record_to(log, "a \"quote\"", 1 << 20) == DUO_INVALID);
    CHECK(duo_record_to(log, "c-", 1 << 20) == DUO_OK);
    whole();
    left();
    shared();
    stopped();
    CHECK(duo_record_stop() == 0);
    whole();
    CHECK(fclose(log) == 0);

    /* As much as fits, and only sessions that begin meanwhile. */
    log = fopen(files[2], "w");
    CHECK(log != NULL);
    bank_server_connected_t server;
    bank_client_connected_t client;
    log_in(&server, &client);
    CHECK(duo_record_to(log, "full-", 900) == DUO_OK);
    CHECK(bank_client_connected_send_quit(client) == DUO_OK);
    CHECK(bank_server_connected_close(server) == DUO_OK);
    whole();
    whole();
    CHECK(duo_record_stop() > 10);
    CHECK(fclose(log) == 0);

    /* A file that cannot be written. */
    log = fopen(files[2], "r");
    CHECK(log != NULL);
    CHECK(duo_record_to(log, "", 900) == DUO_OK);
    whole();
    CHECK(duo_record_stop() > 10);
    CHECK(fclose(log) == 0);
    duo_shutdown();
    return 0;
}
