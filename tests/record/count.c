/* A thousand customers on one thread, whose instructions are counted: those of the function `customers`. */
#include <stdio.h>

#include "bank.h"

#ifdef DUO_RECORD
#include "duologue/record.h"
#endif

static int customer(void)
{
    bank_server_login_t door;
    bank_client_login_t client;
    bank_client_login_response_t waiting;
    bank_server_login_response_t answer;
    bank_login_t asked;
    bank_login_response_t told;
    bank_connected_t wish;
    bank_client_connected_t shop;
    bank_client_withdrawal_response_t withdrawn;
    bank_withdrawal_response_t given;
    bank_server_connected_t server;
    if (bank_init(&door, &client) != DUO_OK) return 1;
    if (bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &waiting) != DUO_OK) return 2;
    if (bank_server_login_recv(door, &asked) != DUO_OK) return 3;
    answer = asked.as.login.next;
    bank_login_free(&asked);
    if (bank_server_login_response_send_ok(answer, &server) != DUO_OK) return 4;
    if (bank_client_login_response_recv(waiting, &told) != DUO_OK || told.tag != BANK_LOGIN_RESPONSE_OK) return 5;
    shop = told.as.ok.next;
    for (int times = 0; times < 20; times++) {
        if (bank_client_connected_send_deposit(shop, 2.0, &shop) != DUO_OK) return 6;
        if (bank_client_connected_send_withdrawal(shop, 1.0, &withdrawn) != DUO_OK) return 7;
        if (bank_server_connected_recv(server, &wish) != DUO_OK) return 8;
        if (bank_server_connected_recv(wish.as.deposit.next, &wish) != DUO_OK) return 9;
        if (bank_server_withdrawal_response_send_money(wish.as.withdrawal.next, 1.0, &server) != DUO_OK) return 10;
        if (bank_client_withdrawal_response_recv(withdrawn, &given) != DUO_OK) return 11;
        shop = given.as.money.next;
    }
    if (bank_client_connected_send_quit(shop) != DUO_OK) return 12;
    return bank_server_connected_recv(server, &wish) == DUO_OK ? 0 : 13;
}

int customers(void);

__attribute__((noinline)) int customers(void)
{
    for (int count = 0; count < 1000; count++) {
        int wrong = customer();
        if (wrong != 0) return wrong;
    }
    return 0;
}

int main(void)
{
#ifdef DUO_RECORD
    FILE *log = fopen("/dev/null", "w");
    if (log == NULL || duo_record_to(log, "", UINT64_MAX) != DUO_OK) return 20;
#endif
    int wrong = customers();
    /* The pool is made before the next sessions. */
    if (wrong == 0) wrong = customers();
    return wrong;
}
