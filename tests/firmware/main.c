/*
 * A device: one processor, no threads, no allocator, and the memory of a session known at build
 * time. The safe is served whenever the customer waits.
 */
#include "safe.h"

static uint64_t now;

void duo_idle(void)
{
    now += 1000;
    duo_status status = serve_safe();
    if (status != DUO_OK && status != DUO_EMPTY) printf("%s\n", duo_status_text(status));
}

uint64_t duo_clock(void)
{
    return now;
}

int main(void)
{
    teller_client_login_t card;
    teller_client_login_response_t waiting;
    teller_login_response_t answer;
    for (int round = 0; round < 3; round++) {
        safe = LOCKED;
        REQUIRE(teller_init_in(&memory, &locked, &card) == DUO_OK);
        teller_server_login_t second;
        teller_client_login_t stale = card, other;
        /* One session at a time. */
        REQUIRE(teller_init_in(&memory, &second, &other) == DUO_USED);
        REQUIRE(teller_client_login_send_login(card, 77, 1, &waiting) == DUO_OK);
        REQUIRE(teller_client_login_response_recv(waiting, &answer) == DUO_OK);
        REQUIRE(answer.tag == TELLER_LOGIN_RESPONSE_INVALID);
        REQUIRE(teller_client_login_send_login(answer.as.invalid.next, 77, 1234, &waiting) == DUO_OK);
        REQUIRE(teller_client_login_response_recv(waiting, &answer) == DUO_OK);
        REQUIRE(answer.tag == TELLER_LOGIN_RESPONSE_OK);
        teller_client_connected_t at = answer.as.ok.next;
        teller_client_deposited_t deposited;
        teller_deposited_t told;
        REQUIRE(teller_client_connected_send_deposit(at, 500, &deposited) == DUO_OK);
        REQUIRE(teller_client_deposited_recv(deposited, &told) == DUO_OK);
        printf("%u cents\n", (unsigned)told.as.balance.cents);
        teller_client_withdrawal_response_t asking;
        teller_withdrawal_response_t given;
        REQUIRE(teller_client_connected_send_withdrawal(told.as.balance.next, 10000, &asking) ==
                DUO_OK);
        REQUIRE(teller_client_withdrawal_response_recv(asking, &given) == DUO_OK);
        REQUIRE(given.tag == TELLER_WITHDRAWAL_RESPONSE_INSUFFICIENT_FUNDS);
        at = given.as.insufficient_funds.next;
        if (round == 1) {
            /* The card is pulled out. */
            REQUIRE(teller_client_connected_close(at) == DUO_OK);
            teller_connected_t nothing;
            REQUIRE(teller_server_connected_recv(open, &nothing) == DUO_CLOSED);
        } else {
            REQUIRE(teller_client_connected_send_quit(at) == DUO_OK);
            while (safe != OVER) duo_idle();
        }
        /* Old handles stay used, even when the memory holds another session. */
        REQUIRE(teller_client_login_close(stale) == DUO_USED);
    }
    /* Nobody answers: the wait ends when the clock says so. */
    safe = OVER;
    REQUIRE(teller_init_in(&memory, &locked, &card) == DUO_OK);
    REQUIRE(teller_client_login_send_login(card, 1, 1, &waiting) == DUO_OK);
    REQUIRE(teller_client_login_response_recv_within(waiting, 50000, &answer) == DUO_EMPTY);
    REQUIRE(teller_client_login_response_close(waiting) == DUO_OK);
    REQUIRE(teller_server_login_close(locked) == DUO_OK);
    REQUIRE(teller_init_in(&memory, &locked, &card) == DUO_OK);
    return 0;
}
