/* What observers are called with, and when. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "meet.h"
#include "net/net.h"
#include "raw.h"
#include "talk_net.h"

#include "flow_net.h"
#include "later_net.h"

static const char address[] = "unix:observe.sock";

/* What one side's observer was called with, a line for each call. */
struct log {
    char text[4096];
    size_t size;
    uint64_t last;
    /* A session that no lock is held of while the observer is called. */
    duo_net *free;
};

__attribute__((format(printf, 2, 3))) static void note(struct log *log, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(log->text + log->size, sizeof log->text - log->size, format, arguments);
    va_end(arguments);
    CHECK(size > 0 && (size_t)size < sizeof log->text - log->size);
    log->size += (size_t)size;
    if (log->free == NULL) return;
    CHECK(pthread_mutex_trylock(&log->free->lock) == 0);
    pthread_mutex_unlock(&log->free->lock);
}

/* Compares what was noted since the last comparison. */
static void expect(struct log *log, const char *expected)
{
    if (strcmp(log->text, expected) != 0) fprintf(stderr, "expected\n%sfound\n%s", expected, log->text);
    CHECK(strcmp(log->text, expected) == 0);
    log->size = 0;
    log->text[0] = '\0';
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "none";
}

static void began(duo_observed_session *session, void *context)
{
    struct log *log = context;
    CHECK(session->id != log->last && session->data == NULL);
    log->last = session->id;
    session->data = log;
    bool is_same = memcmp(&session->fingerprint, &session->peer_fingerprint, sizeof session->fingerprint) == 0;
    note(log, "began %s %s%s %s%s\n", session->protocol, session->accepted ? "accepted" : "connected",
         session->sends_first ? " first" : "", text_of(session->peer),
         session->peer_is_older ? " older" : is_same ? "" : " other");
}

static void turned(duo_observed_session *session, const duo_observed_run *run, void *context)
{
    CHECK(session->data == context);
    note(context, "%s %s %s %u %u\n", run->state, run->sent ? "sent" : "received", run->message,
         (unsigned)run->count.messages, (unsigned)run->count.bytes);
}

static void ended(duo_observed_session *session, const duo_observed_end *end, void *context)
{
    CHECK(session->data == context);
    note(context, "ended %d in %s: sent %u %u, received %u %u\n", (int)end->why, text_of(end->state),
         (unsigned)end->sent.messages, (unsigned)end->sent.bytes, (unsigned)end->received.messages,
         (unsigned)end->received.bytes);
}

static void refused(const duo_observed_refusal *refusal, void *context)
{
    CHECK(refusal->status != DUO_SYSTEM || errno == ENOENT);
    note(context, "refused %s %.*s %s: %s\n", refusal->accepted ? "accepting" : "connecting",
         (int)refusal->protocol.size, refusal->protocol.size > 0 ? refusal->protocol.data : "", text_of(refusal->peer),
         refusal->cause);
}

/* The line of a session in which nothing was sent or received. */
static const char *end_of(duo_status why, const char *state)
{
    static char line[100];
    snprintf(line, sizeof line, "ended %d in %s: sent 0 0, received 0 0\n", (int)why, state);
    return line;
}

static struct log here, there;
static const duo_observer client_observer = {began, turned, ended, refused, &here};
static const duo_observer server_observer = {began, turned, ended, refused, &there};
static const duo_net_options client_options = {.observer = &client_observer};
static const duo_net_options server_options = {.observer = &server_observer};

static void begin(talk_client_ask_t *client, talk_server_ask_t *server)
{
    duo_listener *listener = new_listener(address, &server_options);
    meeting connects = {.protocol = &duo_wire_of_talk, .options = &client_options};
    meet_at(listener, &connects, &duo_wire_of_talk, &server->receives);
    client->sends = connects.endpoint;
    duo_listener_close(listener);
    expect(&here, "began talk connected first unix:observe.sock\n");
    expect(&there, "began talk accepted unix:\n");
    here.free = duo_net_of(client->sends);
    there.free = duo_net_of(server->receives);
}

static void forget(void)
{
    here.free = there.free = NULL;
}

/* A whole session: runs in both directions, and its end. */
static void whole(void)
{
    talk_client_ask_t client;
    talk_server_ask_t server;
    talk_client_answer_t waiting;
    talk_ask_t asked;
    talk_answer_t answer;
    begin(&client, &server);
    CHECK(talk_client_ask_send_more(client, 1, &client) == DUO_OK);
    CHECK(talk_client_ask_send_page(client, DUO_STR("abc"), &client) == DUO_OK);
    expect(&here, "");
    CHECK(talk_client_ask_send_text(client, DUO_STR("\xff"), &waiting) == DUO_INVALID);
    CHECK(talk_client_ask_send_number(client, 2, &waiting) == DUO_OK);
    expect(&here, "talk.ask sent number 3 24\n");
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_MORE);
    CHECK(talk_server_ask_recv(asked.as.more.next, &asked) == DUO_OK && asked.tag == TALK_ASK_PAGE);
    server = asked.as.page.next;
    talk_ask_free(&asked);
    expect(&there, "");
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_NUMBER);
    CHECK(talk_server_answer_send_number(asked.as.number.next, 3, &server) == DUO_OK);
    expect(&there, "talk.ask received number 3 24\ntalk.answer sent number 1 9\n");
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
    expect(&here, "talk.answer received number 1 9\n");
    CHECK(talk_client_ask_send_end(answer.as.number.next) == DUO_OK);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK && asked.tag == TALK_ASK_END);
    char expected[200];
    snprintf(expected, sizeof expected, "talk.ask sent end 1 1\nended %d in none: sent 4 25, received 1 9\n", (int)DUO_OK);
    expect(&here, expected);
    snprintf(expected, sizeof expected, "talk.ask received end 1 1\nended %d in none: sent 1 9, received 4 25\n", DUO_OK);
    expect(&there, expected);
    forget();
}

/* The client closes a session early. What was sent before belongs to no run that was reported. */
static void left(void)
{
    talk_client_ask_t client;
    talk_server_ask_t server;
    talk_ask_t asked;
    char expected[200];
    begin(&client, &server);
    CHECK(talk_client_ask_send_more(client, 1, &client) == DUO_OK);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    snprintf(expected, sizeof expected, "ended %d in talk.ask: sent 1 9, received 0 0\n", DUO_CLOSED);
    expect(&here, expected);
    CHECK(talk_server_ask_recv(server, &asked) == DUO_OK);
    CHECK(talk_server_ask_recv(asked.as.more.next, &asked) == DUO_CLOSED);
    snprintf(expected, sizeof expected, "ended %d in talk.ask: sent 0 0, received 1 9\n", DUO_CLOSED);
    expect(&there, expected);
    forget();
}

/* A connection that the program provides, and that breaks. */
static void lost(void)
{
    int ends[2];
    char expected[200];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    int cut = dup(ends[0]);
    CHECK(cut >= 0);
    meeting connects = {.protocol = &duo_wire_of_talk, .role = DUO_CLIENT, .options = &client_options};
    meeting accepts = {.protocol = &duo_wire_of_talk, .role = DUO_SERVER, .options = &server_options};
    meet_over(ends, &connects, &accepts);
    CHECK(connects.status == DUO_OK && accepts.status == DUO_OK);
    talk_client_answer_t waiting;
    CHECK(talk_client_ask_send_number((talk_client_ask_t){connects.endpoint}, 1, &waiting) == DUO_OK);
    CHECK(shutdown(cut, SHUT_RDWR) == 0 && close(cut) == 0);
    talk_answer_t answer;
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_LOST);
    snprintf(expected, sizeof expected,
             "began talk connected first none\ntalk.ask sent number 1 9\n"
             "ended %d in talk.answer: sent 1 9, received 0 0\n",
             DUO_LOST);
    expect(&here, expected);
    /* The other side has not read what it could have. Its program gives up first. */
    CHECK(talk_server_ask_close((talk_server_ask_t){accepts.endpoint}) == DUO_OK);
    snprintf(expected, sizeof expected, "began talk accepted unix:\nended %d in talk.ask: sent 0 0, received 0 0\n",
             DUO_CLOSED);
    expect(&there, expected);
}

static const duo_fingerprint talks = TALK_FINGERPRINT;

/* A peer with an older version. */
static void versions(void)
{
    const duo_net_options options = {.accepts = &talks, .accepts_count = 1, .observer = &server_observer};
    meeting connects = {.protocol = &duo_wire_of_talk, .role = DUO_CLIENT, .options = &client_options};
    meeting accepts = {.protocol = &duo_wire_of_later, .role = DUO_SERVER, .options = &options};
    meet(&connects, &accepts);
    CHECK(connects.status == DUO_OK && accepts.status == DUO_OK);
    expect(&here, "began talk connected first none other\n");
    expect(&there, "began later accepted unix: older\n");
    CHECK(talk_client_ask_close((talk_client_ask_t){connects.endpoint}) == DUO_OK);
    CHECK(later_server_ask_close((later_server_ask_t){accepts.endpoint}) == DUO_OK);
    expect(&here, end_of(DUO_CLOSED, "talk.ask"));
    expect(&there, end_of(DUO_CLOSED, "later.ask"));
}

static bool reject(const duo_peer *peer, void *context)
{
    (void)peer, (void)context;
    return false;
}

/* Sessions that do not begin, on both sides; and connections without a hello. */
static void refusals(void)
{
    talk_client_ask_t client;
    flow_client_flow_t flowing;
    duo_refusal refusal = {0, 0};
    const duo_net_options options = {.observer = &client_observer, .refusal = &refusal};
    CHECK(talk_client_connect(address, &client_options, &client) == DUO_SYSTEM && errno == ENOENT);
    expect(&here, "refused connecting talk unix:observe.sock: a system call failed: see errno\n");
    CHECK(talk_client_connect("http://host", &client_options, &client) == DUO_ADDRESS);
    expect(&here, "refused connecting talk http://host: not an address: expected unix:PATH, tcp://HOST:PORT or tls://HOST:PORT\n");
    const duo_net_options strict = {.observer = &server_observer, .admit = reject, .hello = UINT64_C(2000000000)};
    duo_listener *listener = new_listener(address, &strict);
    CHECK(talk_server_serve(listener, &strict, NULL, NULL) == DUO_OK);
    pthread_t thread = start(run_listener, listener);
    CHECK(talk_client_connect(address, &options, &client) == DUO_REFUSED);
    CHECK(refusal.verdict == DUO_VERDICT_NOT_ADMITTED);
    expect(&here, "refused connecting talk unix:observe.sock: not admitted\n");
    CHECK(flow_client_connect(address, &client_options, &flowing) == DUO_REFUSED);
    expect(&here, "refused connecting flow unix:observe.sock: the protocol is not served there\n");
    /* Each of these is answered, or closed, after it was reported. */
    static const struct {
        const char *says;
        size_t size;
        bool is_answered, ends;
    } peers[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18, false, false},
        {"duologue\2\0\1\0", 12, true, false},
        {"duologue", 8, false, true},
        {"\x16\3\1", 3, false, false},
        /* This one is too slow. */
        {"", 0, false, false},
    };
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        int raw = raw_connect(address);
        raw_send(raw, peers[i].says, peers[i].size);
        if (peers[i].ends) CHECK(shutdown(raw, SHUT_WR) == 0);
        CHECK((raw_expect_end(raw) > 0) == peers[i].is_answered);
        close(raw);
    }
    end_listener(listener, thread, DUO_AT_ONCE);
    expect(&there,
           "refused accepting talk unix:: not admitted\n"
           "refused accepting flow unix:: the protocol is not served there\n"
           "refused accepting  unix:: the peer violated the protocol\n"
           "refused accepting  unix:: that side has another version of the format\n"
           "refused accepting  unix:: the connection to the peer was lost\n"
           "refused accepting  unix:: the other side speaks TLS, and this one does not: use a `tls://` address on both "
           "sides or on neither\n"
           "refused accepting  unix:: a time limit has passed\n");
}

TEST(observe)
{
    whole();
    left();
    lost();
    versions();
    refusals();
    CHECK(duo_shutdown() == 0);
}
