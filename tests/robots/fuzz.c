/*
 * libFuzzer against a server of the bank: the input is what a robot of the client plays. With FAULT, the server lets customers
 * have a little more than they own.
 *
 *   clang -g -fsanitize=fuzzer,address,undefined ... fuzz.c && ./a.out corpus
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bank_robots.h"

#ifdef FAULT
static const double too_much = 10;
#else
static const double too_much = 0;
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void serve_account(bank_server_connected_t connected)
{
    double balance = 0;
    bank_connected_t message;
    while (bank_server_connected_recv(connected, &message) == DUO_OK) {
        duo_status status = DUO_OK;
        switch (message.tag) {
        case BANK_CONNECTED_DEPOSIT:
            if (message.as.deposit.money > 0) balance += message.as.deposit.money;
            connected = message.as.deposit.next;
            break;
        case BANK_CONNECTED_WITHDRAWAL:
            if (message.as.withdrawal.amount >= 0 && message.as.withdrawal.amount <= balance + too_much) {
                balance -= message.as.withdrawal.amount;
                status = bank_server_withdrawal_response_send_money(message.as.withdrawal.next, balance, &connected);
            } else {
                status = bank_server_withdrawal_response_send_insufficient_funds(message.as.withdrawal.next, &connected);
            }
            break;
        case BANK_CONNECTED_QUIT: return;
        }
        if (status != DUO_OK) return;
    }
}

static void *serve(void *context)
{
    bank_server_login_t *server = (bank_server_login_t *)context;
    bank_login_t login;
    bank_server_connected_t connected;
    if (bank_server_login_recv(*server, &login) != DUO_OK) return NULL;
    bank_server_login_response_t next = login.as.login.next;
    bank_login_free(&login);
    if (bank_server_login_response_send_ok(next, &connected) == DUO_OK) serve_account(connected);
    return NULL;
}

/* The property of the server. */
static const char *check_money(void *context, const bank_withdrawal_response_t *message)
{
    (void)context;
    bool is_negative = message->tag == BANK_WITHDRAWAL_RESPONSE_MONEY && message->as.money.money < 0;
    return is_negative ? "the balance is negative" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bank_robot_client_hooks_t hooks = {.on_withdrawal_response = check_money};
    duo_choices choices = duo_choices_bytes(data, size);
    bank_server_login_t server;
    bank_client_login_t client;
    pthread_t thread;
    duo_play play;
    duo_play_init(&play, &choices);
    play.pause = 0;
    if (bank_init(&server, &client) != DUO_OK || pthread_create(&thread, NULL, serve, &server) != 0) abort();
    if (duo_ending_is_fault(bank_robot_client(client, &play, &hooks))) {
        fprintf(stderr, "%s\n%s", play.failure == NULL ? "the server has disconnected" : play.failure, play.transcript);
        abort();
    }
    if (pthread_join(thread, NULL) != 0) abort();
    duo_play_free(&play);
    return 0;
}
