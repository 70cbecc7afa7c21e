/* The safe of a device, which is served by calls that do not wait. */
#ifndef SAFE_H
#define SAFE_H

#include <stdio.h>

#include "teller.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: does not hold: %s\n", __LINE__, #condition);                          \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static teller_session_memory_t memory;

static teller_server_login_t locked;
static teller_server_connected_t open;
static enum { LOCKED, OPEN, OVER } safe;
static uint64_t balance;

static duo_status serve_login(void)
{
    teller_login_t asked;
    duo_status status = teller_server_login_try_recv(locked, &asked);
    if (status != DUO_OK) return status;
    teller_server_login_response_t answer = asked.as.login.next;
    if (asked.as.login.pin != 1234)
        return teller_server_login_response_send_invalid(answer, &locked);
    safe = OPEN;
    return teller_server_login_response_send_ok(answer, &open);
}

static duo_status serve_customer(void)
{
    teller_connected_t asked;
    duo_status status = teller_server_connected_try_recv(open, &asked);
    if (status != DUO_OK) return status;
    switch (asked.tag) {
    case TELLER_CONNECTED_DEPOSIT:
        balance += asked.as.deposit.cents;
        return teller_server_deposited_send_balance(asked.as.deposit.next, balance, &open);
    case TELLER_CONNECTED_WITHDRAWAL:
        if (asked.as.withdrawal.cents > balance)
            return teller_server_withdrawal_response_send_insufficient_funds(
                asked.as.withdrawal.next, &open);
        balance -= asked.as.withdrawal.cents;
        return teller_server_withdrawal_response_send_money(asked.as.withdrawal.next,
                                                            asked.as.withdrawal.cents, &open);
    case TELLER_CONNECTED_QUIT: safe = OVER; return DUO_OK;
    }
    return DUO_OK;
}

/* One step, if there is something to do. */
static duo_status serve_safe(void)
{
    return safe == LOCKED ? serve_login() : safe == OPEN ? serve_customer() : DUO_EMPTY;
}

#endif
