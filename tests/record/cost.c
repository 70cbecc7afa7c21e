/*
 * What a registry costs: nanoseconds for each message of a dialogue on one thread, the least of several runs. Built with DUO_RECORD, the sessions
 * are first in no registry, and then in one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bank.h"
#include "check.h"
#ifdef DUO_RECORD
#include "duologue/record.h"
#endif

enum { DIALOGUES = 1000, RUNS = 1000 };

static void talk(void)
{
    bank_server_login_t server;
    bank_client_login_t client;
    bank_client_login_response_t waiting;
    CHECK(bank_init(&server, &client) == DUO_OK);
    CHECK(bank_client_login_send_login(client, DUO_STR(""), DUO_STR(""), &waiting) == DUO_OK);
    bank_login_t asked;
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    bank_server_connected_t serving;
    CHECK(bank_server_login_response_send_ok(asked.as.login.next, &serving) == DUO_OK);
    bank_login_free(&asked);
    bank_login_response_t answer;
    CHECK(bank_client_login_response_recv(waiting, &answer) == DUO_OK);
    bank_client_connected_t customer = answer.as.ok.next;
    for (int dialogue = 0; dialogue < DIALOGUES; dialogue++) {
        bank_client_withdrawal_response_t money;
        CHECK(bank_client_connected_send_withdrawal(customer, 1.0, &money) == DUO_OK);
        bank_connected_t wish;
        CHECK(bank_server_connected_recv(serving, &wish) == DUO_OK);
        CHECK(bank_server_withdrawal_response_send_money(wish.as.withdrawal.next, 1.0, &serving) == DUO_OK);
        bank_withdrawal_response_t got;
        CHECK(bank_client_withdrawal_response_recv(money, &got) == DUO_OK);
        customer = got.as.money.next;
    }
    CHECK(bank_client_connected_send_quit(customer) == DUO_OK);
    bank_connected_t last;
    CHECK(bank_server_connected_recv(serving, &last) == DUO_OK);
}

static double measure(void)
{
    double least = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct timespec began, ended;
        clock_gettime(CLOCK_MONOTONIC, &began);
        talk();
        clock_gettime(CLOCK_MONOTONIC, &ended);
        double took = (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec);
        if (took < least) least = took;
    }
    return least / (2 * DIALOGUES + 3);
}

int main(void)
{
    printf("no registry: %.1f ns for each message\n", measure());
#ifdef DUO_RECORD
    static duo_registered memory[64];
    CHECK(duo_registry_begin(memory, 64) == DUO_OK);
    printf("registry: %.1f ns for each message\n", measure());
    duo_registry_stop();
#endif
    return 0;
}
