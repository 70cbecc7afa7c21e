/*
 * A bank over a broker, in a process of its own.
 *
 * nats serve ADDRESS            serves customers, and prints a line for each. When its input ends, it drains, and prints how many sessions ended as
 *                               they should
 * nats accept ADDRESS           serves one customer after the other, and prints a line for each. When its input ends, it drains, and prints what its
 *                               observer was called with for the sessions that ended as they should
 * nats customer ADDRESS TURNS   has a session with this many turns
 * nats hold ADDRESS TURNS       logs in, and prints `held`; after a line of its input, has this many turns and quits
 *
 * Customers print how the session has ended: `ok`, `refused VERDICT`, or the status. NATS_USER and NATS_PASSWORD are the user's, whose name
 * is also the prefix unless NATS_PREFIX is another one. A bank that serves has NATS_SESSIONS at once, if that is set, and with
 * DUOLOGUE_DISCOVERABLE it takes part in service discovery.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bank_net.h"
#include "duologue/nats.h"

#define SECOND UINT64_C(1000000000)

static void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "it does not hold that %s\n", what);
    exit(1);
}

static void count(duo_observed_count *all, const duo_observed_count *more)
{
    all->messages += more->messages;
    all->bytes += more->bytes;
}

/* What the observer of this process was called with. There is one session at a time. */
static struct {
    /* What a customer connects to; NULL in a bank. */
    const char *address;
    bool is_open;
    /* The runs of the latest session, and how it ended. */
    duo_observed_count sent, received;
    duo_status why;
    /* Sessions that ended as they should. */
    unsigned sessions;
    duo_observed_count all_sent, all_received;
    unsigned refusals, verdict;
} seen;

static bool is_address(const char *peer)
{
    /* A bank does not learn where a customer is. */
    return seen.address == NULL ? peer == NULL : peer != NULL && strcmp(peer, seen.address) == 0;
}

static void began(duo_observed_session *session, void *context)
{
    (void)context;
    bool is_bank = seen.address == NULL;
    require(!seen.is_open, "a session begins after the one before has ended");
    require(strcmp(session->protocol, "bank") == 0 && !session->peer_is_older, "the observed protocol is `bank`");
    require(session->accepted == is_bank && session->sends_first == !is_bank, "the observed role is that of the program");
    require(is_address(session->peer), "the observed peer is what was connected to");
    seen.is_open = true;
    seen.sent = seen.received = (duo_observed_count){0, 0};
}

static void turned(duo_observed_session *session, const duo_observed_run *run, void *context)
{
    (void)session, (void)context;
    require(seen.is_open && run->count.messages > 0, "a run belongs to a session, and has messages");
    count(run->sent ? &seen.sent : &seen.received, &run->count);
}

static void ended(duo_observed_session *session, const duo_observed_end *end, void *context)
{
    (void)session, (void)context;
    require(seen.is_open, "a session ends once");
    seen.is_open = false;
    seen.why = end->why;
    if (end->why != DUO_OK) return;
    require(memcmp(&end->sent, &seen.sent, sizeof end->sent) == 0, "all that was sent was in runs");
    require(memcmp(&end->received, &seen.received, sizeof end->received) == 0, "all that was received was in runs");
    seen.sessions += 1;
    count(&seen.all_sent, &end->sent);
    count(&seen.all_received, &end->received);
}

static void refused(const duo_observed_refusal *refusal, void *context)
{
    (void)context;
    if (refusal->accepted) return;
    require(!seen.is_open && is_address(refusal->peer), "a refusal has the address");
    seen.refusals += 1;
    seen.verdict = refusal->verdict;
}

static const duo_observer observer = {began, turned, ended, refused, NULL};

static duo_status teller(bank_server_login_t login)
{
    bank_login_t hello;
    bank_server_connected_t connected;
    for (;;) {
        duo_status status = bank_server_login_recv(login, &hello);
        if (status != DUO_OK) return status;
        bool is_right = hello.as.login.password.size == 4 && memcmp(hello.as.login.password.data, "1234", 4) == 0;
        bank_server_login_response_t answer = hello.as.login.next;
        bank_login_free(&hello);
        if (is_right) {
            status = bank_server_login_response_send_ok(answer, &connected);
            if (status != DUO_OK) return status;
            break;
        }
        status = bank_server_login_response_send_invalid(answer, &login);
        if (status != DUO_OK) return status;
    }
    for (double balance = 0;;) {
        bank_connected_t message;
        duo_status status = bank_server_connected_recv(connected, &message);
        if (status != DUO_OK) return status;
        switch (message.tag) {
        case BANK_CONNECTED_DEPOSIT:
            balance += message.as.deposit.money;
            connected = message.as.deposit.next;
            break;
        case BANK_CONNECTED_WITHDRAWAL:
            if (message.as.withdrawal.amount <= balance) {
                balance -= message.as.withdrawal.amount;
                status = bank_server_withdrawal_response_send_money(message.as.withdrawal.next, message.as.withdrawal.amount, &connected);
            } else {
                status = bank_server_withdrawal_response_send_insufficient_funds(message.as.withdrawal.next, &connected);
            }
            if (status != DUO_OK) return status;
            break;
        case BANK_CONNECTED_QUIT: return DUO_OK;
        }
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned done;

static void handle(bank_server_login_t login, const duo_peer *peer, void *context)
{
    (void)context;
    /* The socket of the session is one of this process, and does not say who the peer is. */
    if (peer->has_user || peer->address[0] != '\0') {
        fprintf(stderr, "the peer has a user, or an address: %s\n", peer->address);
        exit(1);
    }
    puts("session");
    fflush(stdout);
    bool is_over = teller(login) == DUO_OK;
    pthread_mutex_lock(&lock);
    done += is_over ? 1 : 0;
    pthread_mutex_unlock(&lock);
}

static void *drain(void *listener)
{
    while (getchar() != EOF) continue;
    duo_listener_drain(listener, 60 * SECOND);
    return NULL;
}

static int fail(const char *what, duo_status status, const duo_problem *problem)
{
    fprintf(stderr, "cannot %s: %s (%s) %s\n", what, duo_status_text(status), strerror(errno), problem->text);
    return 1;
}

static int serve(const char *address)
{
    duo_listener *listener;
    duo_problem problem = {""};
    const char *sessions = getenv("NATS_SESSIONS");
    const duo_net_options options = {.problem = &problem, .sessions = sessions != NULL ? (size_t)atoi(sessions) : 0,
                                     .discoverable = getenv("DUOLOGUE_DISCOVERABLE") != NULL};
    duo_status status = duo_listen(address, &options, &listener);
    if (status != DUO_OK) return fail("listen", status, &problem);
    pthread_t thread;
    status = bank_server_serve(listener, NULL, handle, NULL);
    if (status != DUO_OK || pthread_create(&thread, NULL, drain, listener) != 0) return fail("serve", status, &problem);
    status = duo_listener_run(listener);
    if (status != DUO_OK) return fail("run", status, &problem);
    pthread_join(thread, NULL);
    printf("%u\n", done);
    duo_listener_close(listener);
    return 0;
}

static int accept_each(const char *address)
{
    duo_listener *listener;
    duo_problem problem = {""};
    const duo_net_options options = {.problem = &problem, .observer = &observer};
    duo_status status = duo_listen(address, &options, &listener);
    if (status != DUO_OK) return fail("listen", status, &problem);
    pthread_t thread;
    if (pthread_create(&thread, NULL, drain, listener) != 0) return fail("start a thread", DUO_SYSTEM, &problem);
    for (;;) {
        bank_server_login_t login;
        /* Without a customer it returns after this time, and goes on where it was. */
        status = bank_server_accept(listener, SECOND / 20, &login);
        if (status == DUO_EMPTY) continue;
        if (status != DUO_OK) break;
        require(seen.is_open, "a session that was accepted has begun");
        puts("session");
        fflush(stdout);
        status = teller(login);
        require(!seen.is_open && seen.why == status, "the observer and the program learn the same end");
        require(status == DUO_OK || status == DUO_CLOSED, "customers quit or leave");
    }
    if (status != DUO_CLOSED) return fail("accept", status, &problem);
    pthread_join(thread, NULL);
    printf("%u sessions, %u messages sent, %u received\n", seen.sessions, (unsigned)seen.all_sent.messages, (unsigned)seen.all_received.messages);
    duo_listener_close(listener);
    return 0;
}

static duo_status log_in(bank_client_login_t login, bank_client_connected_t *connected)
{
    for (unsigned attempt = 0;; attempt++) {
        bank_client_login_response_t sent;
        bank_login_response_t answer;
        duo_status status = bank_client_login_send_login(login, duo_str_from("holk"), duo_str_from(attempt == 0 ? "wrong" : "1234"), &sent);
        if (status == DUO_OK) status = bank_client_login_response_recv(sent, &answer);
        if (status != DUO_OK) return status;
        bool is_ok = answer.tag == BANK_LOGIN_RESPONSE_OK;
        if (is_ok != (attempt == 1)) abort();
        if (is_ok) {
            *connected = answer.as.ok.next;
            return DUO_OK;
        }
        login = answer.as.invalid.next;
    }
}

/* Withdraws; the bank has this much of it. */
static duo_status withdraw(bank_client_connected_t connected, double amount, bool has_money, bank_client_connected_t *next)
{
    bank_client_withdrawal_response_t asked;
    bank_withdrawal_response_t answer;
    duo_status status = bank_client_connected_send_withdrawal(connected, amount, &asked);
    if (status == DUO_OK) status = bank_client_withdrawal_response_recv(asked, &answer);
    if (status != DUO_OK) return status;
    /* What was deposited once is there once. */
    if ((answer.tag == BANK_WITHDRAWAL_RESPONSE_MONEY) != has_money) abort();
    *next = has_money ? answer.as.money.next : answer.as.insufficient_funds.next;
    return DUO_OK;
}

static duo_status bank(bank_client_connected_t connected, unsigned turns)
{
    for (unsigned turn = 1; turn <= turns; turn++) {
        duo_status status = bank_client_connected_send_deposit(connected, turn, &connected);
        if (status == DUO_OK) status = withdraw(connected, turn, true, &connected);
        if (status != DUO_OK) return status;
    }
    duo_status status = withdraw(connected, 1, false, &connected);
    return status == DUO_OK ? bank_client_connected_send_quit(connected) : status;
}

static int be_customer(const char *address, unsigned turns, bool holds)
{
    bank_client_login_t login;
    bank_client_connected_t connected;
    duo_problem problem = {""};
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.problem = &problem, .refusal = &refusal, .observer = &observer};
    seen.address = address;
    duo_status status = bank_client_connect(address, &options, &login);
    require(seen.refusals == (status == DUO_OK ? 0 : 1) && seen.verdict == refusal.verdict, "a refusal is observed once");
    if (status == DUO_REFUSED) {
        printf("refused %u\n", refusal.verdict);
        return 0;
    }
    if (status != DUO_OK) return fail("connect", status, &problem);
    status = log_in(login, &connected);
    if (status == DUO_OK && holds) {
        puts("held");
        fflush(stdout);
        (void)getchar();
    }
    if (status == DUO_OK) status = bank(connected, turns);
    require(!seen.is_open, "the session has ended");
    if (!holds && status == DUO_OK) {
        require(seen.why == DUO_OK && seen.sent.messages == 4 + 2 * (uint64_t)turns, "all that a customer says was observed");
        require(seen.received.messages == 3 + (uint64_t)turns, "all that a customer gets was observed");
    }
    puts(status == DUO_OK ? "ok" : duo_status_text(status));
    return 0;
}

static natsStatus set_user(natsOptions *options, const char *server, void *user)
{
    const char *password = getenv("NATS_PASSWORD");
    (void)server;
    return natsOptions_SetUserInfo(options, user, password != NULL ? password : "");
}

int main(int count, char **arguments)
{
    char *user = getenv("NATS_USER"), *prefix = getenv("NATS_PREFIX");
    if (user != NULL) duo_nats_configure(set_user, user);
    if (user != NULL && duo_nats_prefix(prefix != NULL ? prefix : user) != DUO_OK) return 2;
    if (count == 3 && strcmp(arguments[1], "serve") == 0) return serve(arguments[2]);
    if (count == 3 && strcmp(arguments[1], "accept") == 0) return accept_each(arguments[2]);
    if (count == 4) return be_customer(arguments[2], (unsigned)atoi(arguments[3]), strcmp(arguments[1], "hold") == 0);
    fprintf(stderr, "nats serve ADDRESS | accept ADDRESS | customer ADDRESS TURNS | hold ADDRESS TURNS\n");
    return 2;
}
