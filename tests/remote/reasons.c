/*
 * Why a session ended, as both sides find it: each reason over each transport. The other side is a child process. With OVER_TLS
 * the transport is TLS alone.
 */
#include "child.h"
#include "duologue/net.h"
#include "loose_net.h"
#include "loose_shm.h"
#include "other_shm.h"
#include "strict_net.h"
#include "strict_shm.h"
#ifdef OVER_TLS
#include "tls.h"
#endif

/* Those of docs/wire.md. */
typedef enum reason { LEFT, LOST, BROKEN, LATE, TOO_LARGE, REFUSED, REASONS } reason;

/* What the side that has ended the session finds, and its peer, over a byte stream and in shared memory, which knows fewer reasons. */
static const struct {
    duo_status own, peer, peer_in_memory;
} expected[REASONS] = {
    [LEFT] = {DUO_OK, DUO_CLOSED, DUO_CLOSED},
    [LOST] = {DUO_OK, DUO_LOST, DUO_LOST},
    [BROKEN] = {DUO_BROKEN, DUO_BROKEN, DUO_CLOSED},
    [LATE] = {DUO_LATE, DUO_LATE, DUO_OK},
    [TOO_LARGE] = {DUO_TOO_LARGE, DUO_TOO_LARGE, DUO_CLOSED},
    [REFUSED] = {DUO_REFUSED, DUO_REFUSED, DUO_REFUSED},
};

/* One session: why it ends, whether the child sends one message after another or waits for an answer, and where. */
static struct {
    reason why;
    bool is_run;
    const char *address;
    duo_listener *listener;
    const duo_tls *own_tls, *child_tls;
    /* The parent has seen the end of the session. */
    int seen[2];
} now;

static void await_parent(void)
{
    char byte;
    CHECK(read(now.seen[0], &byte, 1) == 1);
}

/* The child: what it finds once the parent has ended the session. */
static duo_status find_end(loose_client_ask_t client)
{
    /* 65 bytes, 41 bytes, and as many as are allowed in any case. */
    static const char text[] = "0123456789012345678901234567890123456789012345678901234567890123";
    const size_t size = now.why == BROKEN ? 64 : now.why == TOO_LARGE ? 40 : 5;
    loose_client_answer_t waiting;
    loose_answer_t answer;
    duo_status status = DUO_OK;
    if (now.why == LATE) await_parent();
    while (now.is_run && status == DUO_OK) status = loose_client_ask_send_more(client, (duo_str){text, size}, &client);
    if (!now.is_run) status = loose_client_ask_send_text(client, (duo_str){text, size}, &waiting);
    if (status == DUO_OK) status = loose_client_answer_recv(waiting, &answer);
    return status;
}

static void play_child(int region)
{
    loose_client_ask_t client;
    other_client_ask_t other;
    duo_status status;
    if (region >= 0) {
        status = now.why == REFUSED ? other_client_attach(region, NULL, &other) : loose_client_attach(region, NULL, &client);
    } else {
        duo_refusal refusal = {0, 0};
        const duo_net_options options = {.tls = now.child_tls, .refusal = &refusal};
        status = loose_client_connect(now.address, &options, &client);
        CHECK(status == DUO_OK || refusal.verdict == DUO_VERDICT_NOT_ADMITTED);
    }
    if (status == DUO_OK) status = find_end(client);
    CHECK(status == (region >= 0 ? expected[now.why].peer_in_memory : expected[now.why].peer));
    /* Leaks are looked for in the parent, whose threads a checker does not find here. */
    _exit(0);
}

/* The parent: ends the session for this reason, and returns what it finds. */
static duo_status end(strict_server_ask_t server, pid_t child)
{
    strict_ask_t asked;
    duo_status status = strict_server_ask_recv(server, &asked);
    if (now.why != LEFT && now.why != LOST) return status;
    CHECK(status == DUO_OK);
    strict_server_answer_t answer = asked.as.text.next;
    strict_server_ask_t next = asked.as.more.next;
    bool is_more = asked.tag == STRICT_ASK_MORE;
    strict_ask_free(&asked);
    if (now.why == LEFT) return is_more ? strict_server_ask_close(next) : strict_server_answer_close(answer);
    /* Here the child ends the session, by its own end. */
    kill_child(child);
    while (!is_more && (status = strict_server_answer_send_text(answer, DUO_STR(""), &next)) != DUO_OK) break;
    if (status == DUO_OK) status = strict_server_ask_recv(next, &asked);
    while (status == DUO_OK) {
        CHECK(asked.tag == STRICT_ASK_MORE);
        next = asked.as.more.next;
        strict_ask_free(&asked);
        status = strict_server_ask_recv(next, &asked);
    }
    CHECK(status == expected[LOST].peer);
    return DUO_OK;
}

static DUO_ATOMIC int asked_for;

static bool admit(const duo_peer *peer, void *context)
{
    (void)peer, (void)context;
    duo_atomic_fetch_add(&asked_for, 1, memory_order_relaxed);
    return false;
}

static duo_net_options options_of(reason why)
{
    duo_net_options options = {.tls = now.own_tls};
    if (why == LATE) options.idle = UINT64_C(50000000);
    if (why == TOO_LARGE) options.memory = 32;
    if (why == REFUSED) options.admit = admit;
    return options;
}

static void check(reason why, bool is_run, const char *address)
{
    const bool is_memory = address == NULL;
    if (is_memory && why == LATE) return;
    now.why = why;
    now.is_run = is_run;
    CHECK(pipe(now.seen) == 0);
    int region = -1;
    const duo_net_options options = options_of(why);
    const duo_shm_options memory = {.memory = options.memory};
    if (is_memory) {
        region = region_of(4096);
    } else {
        CHECK(duo_listen(address, &options, &now.listener) == DUO_OK);
        now.address = duo_listener_address(now.listener);
    }
    pid_t child = start_child(play_child, region);
    strict_server_ask_t server;
    duo_status status;
    int before = duo_atomic_load(&asked_for, memory_order_relaxed);
    if (is_memory) {
        status = strict_server_attach(region, &memory, &server);
    } else if (why == REFUSED) {
        /* No session begins. */
        while (duo_atomic_load(&asked_for, memory_order_relaxed) == before)
            CHECK(strict_server_accept(now.listener, UINT64_C(1000000), &server) == DUO_EMPTY);
        status = DUO_REFUSED;
    } else {
        status = strict_server_accept(now.listener, DUO_FOREVER, &server);
    }
    if (status == DUO_OK) status = end(server, child);
    CHECK(status == expected[why].own);
    CHECK(write(now.seen[1], "", 1) == 1);
    if (why != LOST) finish_child(child);
    close(now.seen[0]);
    close(now.seen[1]);
    if (is_memory) close(region);
    else duo_listener_close(now.listener);
}

TEST(reasons)
{
#ifdef OVER_TLS
    duo_tls *server = party("ca", "server"), *client = party("ca", "client");
    now.own_tls = server;
    now.child_tls = client;
    static const char *const addresses[] = {"tls://127.0.0.1:0"};
#else
    static const char *const addresses[] = {"unix:reasons.sock", "tcp://127.0.0.1:0", NULL};
#endif
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        for (reason why = LEFT; why < REASONS; why++)
            for (int is_run = 0; is_run < 2; is_run++) check(why, is_run != 0, addresses[i]);
#ifdef OVER_TLS
    duo_tls_free(server);
    duo_tls_free(client);
#endif
    CHECK(duo_shutdown() == 0);
}
