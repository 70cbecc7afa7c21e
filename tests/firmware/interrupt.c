/*
 * The safe of main.c in a timer's interrupt handler, and the card in the main program. The program masks interrupts
 * around its calls; `duo_idle`, in which its calls wait, lets them through.
 */
#include <stdint.h>

#include "safe.h"

/* The compiler does not move memory accesses across these. */
static inline void mask(void)
{
    __asm__ __volatile__("cpsid i" ::: "memory");
}

static inline void unmask(void)
{
    __asm__ __volatile__("cpsie i\n\tisb" ::: "memory");
}

/* One call of this program, during which the handler does not run. */
#define MASKED(call) (mask(), status = (call), unmask(), status)

/* Used only by the handler, as the safe is. */
static duo_status failure;

/* Used by both, with interrupts masked. */
static uint64_t ticks;

void tick(void);

/* Nothing that is called here waits. */
void tick(void)
{
    ticks += 1;
    duo_status status = serve_safe();
    if (status != DUO_OK && status != DUO_EMPTY) failure = status;
}

/* Interrupts are masked here. A pending one ends the sleep, and is served when they are unmasked. */
void duo_idle(void)
{
    __asm__ __volatile__("wfi" ::: "memory");
    unmask();
    mask();
}

uint64_t duo_clock(void)
{
    return ticks * 1000000;
}

/* SysTick, which has the same address in every Cortex-M. */
static void start_timer(void)
{
    volatile uint32_t *const control = (volatile uint32_t *)0xe000e010;
    control[1] = 10000;
    control[2] = 0;
    control[0] = 7;
}

static int deposit(void)
{
    duo_status status;
    teller_client_login_t card;
    teller_client_login_response_t waiting;
    teller_login_response_t answer;
    REQUIRE(MASKED(teller_init_in(&memory, &locked, &card)) == DUO_OK);
    start_timer();
    REQUIRE(MASKED(teller_client_login_send_login(card, 77, 1234, &waiting)) == DUO_OK);
    REQUIRE(MASKED(teller_client_login_response_recv(waiting, &answer)) == DUO_OK);
    REQUIRE(answer.tag == TELLER_LOGIN_RESPONSE_OK);
    teller_client_connected_t at = answer.as.ok.next;
    for (int round = 0; round < 3; round++) {
        teller_client_deposited_t deposited;
        teller_deposited_t told;
        REQUIRE(MASKED(teller_client_connected_send_deposit(at, 500, &deposited)) == DUO_OK);
        if (round == 1) {
            /* The same without waiting in the call. */
            do REQUIRE(MASKED(teller_client_deposited_try_recv(deposited, &told)) != DUO_CLOSED);
            while (status == DUO_EMPTY);
        } else {
            const duo_endpoint awaited[] = {DUO_READY(deposited)};
            size_t which = 1;
            if (round == 2) REQUIRE(MASKED(duo_select(awaited, 1, DUO_FOREVER, &which)) == DUO_OK && which == 0);
            REQUIRE(MASKED(teller_client_deposited_recv(deposited, &told)) == DUO_OK);
        }
        printf("%u cents\n", (unsigned)told.as.balance.cents);
        at = told.as.balance.next;
    }
    REQUIRE(MASKED(teller_client_connected_send_quit(at)) == DUO_OK);
    return 0;
}

int main(void)
{
    int failed = deposit();
    mask();
    REQUIRE(failure == DUO_OK);
    return failed;
}
