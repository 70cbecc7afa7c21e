/*
 * A session from its creation to its end, both sides in one thread: the customer logs in, makes a deposit and
 * a withdrawal, and quits. For comparison, the least that this would cost, and the same with a channel in
 * each direction.
 */
#include <stdlib.h>
#include <unistd.h>

#include "bank.h"
#include "bench.h"

static void *open_nothing(void)
{
    static char nothing;
    return &nothing;
}

static void close_nothing(void *channel)
{
    (void)channel;
}

/* The second thread has nothing to do. */
static uint64_t idle(void *channel, uint64_t count)
{
    (void)channel, (void)count;
    return 0;
}

#define ALONE(name, run) {name, open_nothing, {run, idle}, close_nothing, false, {0}}

/* The memory of a session, and six calls that the compiler cannot inline: one for each message. */
__attribute__((noinline)) static uint64_t call(uint64_t number)
{
    __asm__ __volatile__("" : "+r"(number));
    return number;
}

static uint64_t calls(void *channel, uint64_t count)
{
    (void)channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        void *memory = malloc(192);
        __asm__ __volatile__("" : "+r"(memory));
        BENCH_NEEDS(memory != NULL);
        uint64_t number = i;
        for (int message = 0; message < 6; message++) number = call(number);
        free(memory);
        sum += number;
    }
    return sum;
}

static uint64_t session(uint64_t number)
{
    bank_server_login_t server;
    bank_client_login_t client;
    bank_client_login_response_t hoping;
    BENCH_NEEDS(bank_init(&server, &client) == DUO_OK);
    BENCH_NEEDS(bank_client_login_send_login(client, number, number, &hoping) == DUO_OK);
    bank_login_t login;
    BENCH_NEEDS(bank_server_login_recv(server, &login) == DUO_OK);
    bank_server_connected_t serving;
    BENCH_NEEDS(bank_server_login_response_send_ok(login.as.login.next, &serving) == DUO_OK);
    bank_login_response_t response;
    BENCH_NEEDS(bank_client_login_response_recv(hoping, &response) == DUO_OK);
    BENCH_NEEDS(response.tag == BANK_LOGIN_RESPONSE_OK);
    bank_client_connected_t shopping = response.as.ok.next;
    uint64_t deposit = login.as.login.username & login.as.login.password;
    BENCH_NEEDS(bank_client_connected_send_deposit(shopping, deposit, &shopping) == DUO_OK);
    bank_connected_t asked;
    BENCH_NEEDS(bank_server_connected_recv(serving, &asked) == DUO_OK && asked.tag == BANK_CONNECTED_DEPOSIT);
    serving = asked.as.deposit.next;
    bank_client_withdrawal_response_t waiting;
    deposit = asked.as.deposit.value;
    BENCH_NEEDS(bank_client_connected_send_withdrawal(shopping, deposit, &waiting) == DUO_OK);
    BENCH_NEEDS(bank_server_connected_recv(serving, &asked) == DUO_OK);
    BENCH_NEEDS(asked.tag == BANK_CONNECTED_WITHDRAWAL);
    bank_server_withdrawal_response_t paying = asked.as.withdrawal.next;
    BENCH_NEEDS(bank_server_withdrawal_response_send_money(paying, asked.as.withdrawal.value, &serving) ==
                DUO_OK);
    bank_withdrawal_response_t paid;
    BENCH_NEEDS(bank_client_withdrawal_response_recv(waiting, &paid) == DUO_OK);
    BENCH_NEEDS(paid.tag == BANK_WITHDRAWAL_RESPONSE_MONEY);
    BENCH_NEEDS(bank_client_connected_send_quit(paid.as.money.next) == DUO_OK);
    BENCH_NEEDS(bank_server_connected_recv(serving, &asked) == DUO_OK && asked.tag == BANK_CONNECTED_QUIT);
    return paid.as.money.value;
}

static uint64_t ours(void *channel, uint64_t count)
{
    (void)channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += session(i);
    return sum;
}

/* The messages of an untyped channel. */
typedef enum word { LOGIN, OK, DEPOSIT, WITHDRAWAL, MONEY, QUIT } word;

typedef struct letter {
    uint64_t word;
    uint64_t numbers[2];
} letter;

typedef struct tube {
    int ends[2];
} tube;

static void put(const tube *to, word said, uint64_t first, uint64_t second)
{
    letter sent = {said, {first, second}};
    bench_write(to->ends[1], &sent, sizeof sent);
}

static letter get(const tube *from, word awaited)
{
    letter got;
    bench_read(from->ends[0], &got, sizeof got);
    BENCH_NEEDS(got.word == awaited);
    return got;
}

/* The same dialogue; channel 0 leads to the server. */
static uint64_t over_pipes(const tube *ways, uint64_t number)
{
    put(&ways[0], LOGIN, number, number);
    letter got = get(&ways[0], LOGIN);
    put(&ways[1], OK, 0, 0);
    get(&ways[1], OK);
    put(&ways[0], DEPOSIT, got.numbers[0] & got.numbers[1], 0);
    got = get(&ways[0], DEPOSIT);
    put(&ways[0], WITHDRAWAL, got.numbers[0], 0);
    got = get(&ways[0], WITHDRAWAL);
    put(&ways[1], MONEY, got.numbers[0], 0);
    letter paid = get(&ways[1], MONEY);
    put(&ways[0], QUIT, 0, 0);
    get(&ways[0], QUIT);
    return paid.numbers[0];
}

static uint64_t pipes(void *channel, uint64_t count)
{
    (void)channel;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        tube made[2];
        for (int way = 0; way < 2; way++) BENCH_NEEDS(pipe(made[way].ends) == 0);
        sum += over_pipes(made, i);
        for (int way = 0; way < 2; way++) BENCH_NEEDS(close(made[way].ends[0]) == 0 && close(made[way].ends[1]) == 0);
    }
    return sum;
}

const bench_case calls_session = ALONE("six calls, malloc and free", calls);
const bench_case ours_session = ALONE("duologue", ours);
const bench_case pipe_session = ALONE("two of pipe(2)", pipes);
