/*
 * A bank on a device without an allocator: text and lists with bounds are stored in their messages, and messages in the
 * memory of the session. The bank is served whenever the customer waits. With SILENT nothing is printed, and nothing that
 * allocates is linked.
 */
#include "bank.h"

#ifdef SILENT
#define PRINT(...) ((void)0)
#else
#include <stdio.h>
#define PRINT(...) printf(__VA_ARGS__)
#endif

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            PRINT("line %d: does not hold: %s\n", __LINE__, #condition);                           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static bank_session_memory_t memory;

static enum { LOCKED, OPEN, OVER } bank;
static bank_server_login_t locked;
static bank_server_connected_t open;
static duo_str32_t owner;
static duo_list4_booking_t bookings;
static cents_t balance;
static uint64_t now;

/* Keeps the last bookings. */
static void book(direction_t direction, cents_t cents, duo_opt_str16_t note)
{
    const size_t most = sizeof bookings.data / sizeof *bookings.data;
    if (bookings.size == most) {
        bookings.size--;
        for (size_t i = 0; i < bookings.size; i++) bookings.data[i] = bookings.data[i + 1];
    }
    bookings.data[bookings.size++] = (booking_t){direction, cents, note};
}

static duo_status serve_login(void)
{
    bank_login_t asked;
    duo_status status = bank_server_login_try_recv(locked, &asked);
    if (status != DUO_OK) return status;
    const duo_str password = duo_str16_view(&asked.as.login.password);
    if (!duo_str_equal(password, DUO_STR("1234")))
        return bank_server_login_response_send_invalid(asked.as.login.next, &locked);
    bank = OPEN;
    owner = asked.as.login.username;
    return bank_server_login_response_send_ok(asked.as.login.next, &open);
}

static duo_status serve_customer(void)
{
    bank_connected_t asked;
    duo_status status = bank_server_connected_try_recv(open, &asked);
    if (status != DUO_OK) return status;
    const duo_opt_str16_t nothing = {.some = false};
    switch (asked.tag) {
    case BANK_CONNECTED_DEPOSIT:
        balance += asked.as.deposit.cents;
        book(DIRECTION_PAID_IN, asked.as.deposit.cents, asked.as.deposit.note);
        return bank_server_deposited_send_balance(asked.as.deposit.next, balance, &open);
    case BANK_CONNECTED_WITHDRAWAL:
        if (asked.as.withdrawal.cents > balance)
            return bank_server_withdrawal_response_send_insufficient_funds(asked.as.withdrawal.next, &open);
        balance -= asked.as.withdrawal.cents;
        book(DIRECTION_PAID_OUT, asked.as.withdrawal.cents, nothing);
        return bank_server_withdrawal_response_send_money(asked.as.withdrawal.next,
                                                          asked.as.withdrawal.cents, &open);
    case BANK_CONNECTED_STATEMENT:
        return bank_server_statement_send_statement(asked.as.statement.next, duo_str32_view(&owner),
                                                    bookings, &open);
    case BANK_CONNECTED_QUIT: bank = OVER; return DUO_OK;
    }
    return DUO_OK;
}

void duo_idle(void)
{
    now += 1000;
    duo_status status = bank == LOCKED ? serve_login() : bank == OPEN ? serve_customer() : DUO_EMPTY;
    if (status != DUO_OK && status != DUO_EMPTY) PRINT("%s\n", duo_status_text(status));
}

uint64_t duo_clock(void)
{
    return now;
}

static int deposit(bank_client_connected_t *customer, cents_t cents, duo_str text)
{
    duo_opt_str16_t note = {.some = text.size > 0};
    bank_client_deposited_t waiting;
    bank_deposited_t answer;
    /* A text that is too long is refused here, not cut off. */
    REQUIRE(!duo_str16_set(&note.value, DUO_STR("more than 16 bytes")));
    REQUIRE(duo_str16_set(&note.value, text));
    REQUIRE(bank_client_connected_send_deposit(*customer, cents, note, &waiting) == DUO_OK);
    REQUIRE(bank_client_deposited_recv(waiting, &answer) == DUO_OK);
    *customer = answer.as.balance.next;
    return 0;
}

/* What a program did wrong is refused, and the endpoint can still be used. */
static int mistakes(bank_client_login_t card, bank_client_connected_t *customer)
{
    bank_client_login_response_t waiting;
    bank_client_deposited_t deposited;
    const duo_str most = DUO_STR("a name of exactly thirty-two byt"), more = DUO_STR("a name of more than thirty-two bytes");
    bank_login_response_t answer;
#ifdef WRONG
    /* For the test of the test. */
    REQUIRE(most.size == 33);
#endif
    REQUIRE(most.size == 32);
    REQUIRE(bank_client_login_send_login(card, more, DUO_STR("1234"), &waiting) == DUO_TOO_LARGE);
    REQUIRE(bank_client_login_send_login(card, DUO_STR("\xff"), DUO_STR("1234"), &waiting) == DUO_INVALID);
    REQUIRE(bank_client_login_send_login(card, most, DUO_STR("4321"), &waiting) == DUO_OK);
    REQUIRE(bank_client_login_response_recv(waiting, &answer) == DUO_OK);
    REQUIRE(answer.tag == BANK_LOGIN_RESPONSE_INVALID);
    REQUIRE(bank_client_login_send_login(answer.as.invalid.next, DUO_STR("holk"), DUO_STR("1234"), &waiting) ==
            DUO_OK);
    REQUIRE(bank_client_login_response_recv(waiting, &answer) == DUO_OK);
    REQUIRE(answer.tag == BANK_LOGIN_RESPONSE_OK);
    *customer = answer.as.ok.next;
    duo_opt_str16_t note = {.some = true, .value = {.size = 17}};
    REQUIRE(bank_client_connected_send_deposit(*customer, 1, note, &deposited) == DUO_INVALID);
    return 0;
}

int main(void)
{
    bank_client_login_t card;
    bank_client_connected_t customer;
    REQUIRE(bank_init_in(&memory, &locked, &card) == DUO_OK);
    REQUIRE(mistakes(card, &customer) == 0);
    for (cents_t cents = 100; cents < 500; cents += 100)
        REQUIRE(deposit(&customer, cents, cents == 300 ? DUO_STR("the third") : DUO_STR("")) == 0);

    bank_client_withdrawal_response_t asking;
    bank_withdrawal_response_t given;
    REQUIRE(bank_client_connected_send_withdrawal(customer, 250, &asking) == DUO_OK);
    REQUIRE(bank_client_withdrawal_response_recv(asking, &given) == DUO_OK);
    REQUIRE(given.tag == BANK_WITHDRAWAL_RESPONSE_MONEY && given.as.money.cents == 250);

    bank_client_statement_t reading;
    bank_statement_t read;
    REQUIRE(bank_client_connected_send_statement(given.as.money.next, &reading) == DUO_OK);
    REQUIRE(bank_client_statement_recv(reading, &read) == DUO_OK);
    PRINT("%.*s:", DUO_PRINT(read.as.statement.owner));
    for (size_t i = 0; i < read.as.statement.bookings.size; i++) {
        const booking_t *booking = &read.as.statement.bookings.data[i];
        PRINT(" %c%u", booking->direction == DIRECTION_PAID_IN ? '+' : '-', (unsigned)booking->cents);
        if (booking->note.some) PRINT(" (%.*s)", DUO_PRINT(booking->note.value));
    }
    PRINT("\n");
    customer = read.as.statement.next;
    /* The message owns nothing, so freeing it is not necessary. */
    bank_statement_free(&read);
    REQUIRE(bank_client_connected_send_quit(customer) == DUO_OK);
    while (bank != OVER) duo_idle();
    return 0;
}
