/*
 * The bytes of tests/wire/streams.txt, read and written: hellos and answers alone, wrong ones to a real listener,
 * sessions that break the format, and whole sessions, in which this program is one side by a raw socket and the library is the other; then again, cut after
 * every byte.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bank_net.h"
#include "core/net.h"
#include "raw.h"
#include "transcript.h"

duo_status bank_case_client(bank_client_login_t login, struct transcript *transcript);
duo_status bank_case_server(bank_server_login_t door, struct transcript *transcript);

enum { MOST = 8192, MOST_STEPS = 64 };

/* The value of `key=` in a line, up to the next space. */
static char *field(const char *line, const char *key)
{
    static char value[MOST];
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(line, wanted);
    CHECK(at != NULL);
    at += strlen(wanted);
    size_t size = strcspn(at, " \n");
    memcpy(value, at, size);
    value[size] = '\0';
    return value;
}

static duo_fingerprint fingerprint_of(const char *hex)
{
    duo_fingerprint found;
    char text[33];
    snprintf(text, sizeof text, "%.32s", hex);
    CHECK(raw_bytes(text, found.bytes, sizeof found.bytes) == sizeof found.bytes);
    return found;
}

static void check_hello(const char *line)
{
    static char hex[MOST];
    uint8_t bytes[MOST], written[MOST];
    CHECK(sscanf(line, "hello %*s %8191s", hex) == 1);
    size_t size = raw_bytes(hex, bytes, sizeof bytes), whole;
    for (size_t cut = 0; cut < size; cut++) CHECK(duo_net_check_head(bytes, cut, &whole) == DUO_NET_MORE);
    CHECK(duo_net_check_head(bytes, size, &whole) == DUO_NET_GOOD && whole == size);
    duo_net_hello hello;
    CHECK(duo_net_read_hello(bytes, size, &hello));
    duo_fingerprint expected = fingerprint_of(field(line, "fingerprint"));
    CHECK(memcmp(&expected, &hello.fingerprint, sizeof expected) == 0);
    CHECK(hello.receives_first == (strcmp(field(line, "first"), "receives") == 0));
    CHECK(hello.largest == strtoul(field(line, "largest"), NULL, 10));
    CHECK(hello.heartbeat == strtoul(field(line, "seconds"), NULL, 10));
    CHECK(duo_str_equal(hello.name, duo_str_from(field(line, "name"))));
    const char *list = field(line, "accepts");
    size_t count = 0;
    for (; list[0] != '-' && list[0] != '\0'; list += list[32] == ',' ? 33 : 32) {
        expected = fingerprint_of(list);
        CHECK(memcmp(&expected, &hello.accepts[count++], sizeof expected) == 0);
    }
    CHECK(count == hello.accepts_count);
    const char *token = field(line, "token");
    /* An empty token is written as none. */
    if (token[0] == '-') {
        CHECK(hello.token.size == 0);
    } else {
        CHECK(hello.has_token);
        CHECK(hello.token.size == raw_bytes(token, written, sizeof written));
        CHECK(hello.token.size == 0 || memcmp(hello.token.data, written, hello.token.size) == 0);
    }
    CHECK(duo_net_write_hello(written, &hello) == size && memcmp(written, bytes, size) == 0);
}

static void check_answer(const char *line)
{
    static char hex[MOST];
    uint8_t bytes[MOST], written[MOST];
    CHECK(sscanf(line, "answer %8191s", hex) == 1);
    size_t size = raw_bytes(hex, bytes, sizeof bytes);
    duo_net_answer answer;
    CHECK(duo_net_read_answer(bytes, DUO_NET_HEAD, &answer));
    CHECK(duo_net_read_answer(bytes, size, &answer));
    CHECK(answer.verdict == strtoul(field(line, "verdict"), NULL, 10));
    if (answer.verdict < DUO_VERDICT_UNKNOWN_PROTOCOL) {
        duo_fingerprint expected = fingerprint_of(field(line, "fingerprint"));
        CHECK(memcmp(&expected, &answer.fingerprint, sizeof expected) == 0);
        CHECK(answer.largest == strtoul(field(line, "largest"), NULL, 10));
        CHECK(answer.heartbeat == strtoul(field(line, "seconds"), NULL, 10));
    } else {
        CHECK(answer.wait == strtoul(field(line, "wait"), NULL, 10));
    }
    CHECK(duo_net_write_answer(written, &answer) == size && memcmp(written, bytes, size) == 0);
}

static duo_listener *listener;

static void *accept_bank(void *context)
{
    (void)context;
    bank_server_login_t server;
    CHECK(bank_server_accept(listener, DUO_FOREVER, &server) == DUO_CLOSED);
    return NULL;
}

static void check_bad(const char *line)
{
    static char hex[MOST], what[16];
    uint8_t answer[DUO_NET_HEAD + DUO_NET_REFUSAL];
    CHECK(sscanf(line, "bad %8191s %15s", hex, what) == 2);
    int raw = raw_connect(duo_listener_address(listener));
    raw_send_hex(raw, hex);
    size_t size = raw_read(raw, answer, sizeof answer);
    if (strcmp(what, "close") == 0) {
        CHECK(size == 0);
    } else {
        CHECK(size == sizeof answer && memcmp(answer, "duologue", 8) == 0);
        if (answer[9] != strtoul(what, NULL, 10)) fprintf(stderr, "%s: %u\n", line, answer[9]);
        CHECK(answer[9] == strtoul(what, NULL, 10));
        CHECK(raw_expect_end(raw) == 0);
    }
    close(raw);
}

/* Bytes of one direction. */
struct step {
    char from;
    size_t size;
    uint8_t bytes[128];
};

struct session {
    struct step steps[MOST_STEPS];
    size_t count;
};

struct side {
    bool is_client;
    int socket;
    duo_status begun;
    duo_status ended;
};

static void *play(void *context)
{
    struct side *side = context;
    struct transcript *transcript = transcript_new();
    bank_client_login_t client;
    bank_server_login_t server;
    side->ended = DUO_USED;
    if (side->is_client) {
        side->begun = bank_client_connect_over(side->socket, NULL, &client);
        if (side->begun == DUO_OK) side->ended = bank_case_client(client, transcript);
    } else {
        side->begun = bank_server_accept_over(side->socket, NULL, &server);
        if (side->begun == DUO_OK) side->ended = bank_case_server(server, transcript);
    }
    transcript_free(transcript);
    return NULL;
}

/*
 * Plays the other side, up to so many of its bytes; then the connection ends. The library's side must not wait for more.
 */
static struct side run(const struct session *session, bool is_client, size_t most)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct side side = {.is_client = is_client, .socket = ends[0]};
    pthread_t thread = start(play, &side);
    char own = is_client ? '<' : '>';
    for (size_t i = 0; i < session->count; i++) {
        const struct step *step = &session->steps[i];
        uint8_t bytes[sizeof step->bytes];
        if (step->from == own) {
            size_t size = step->size < most ? step->size : most;
            raw_send(ends[1], step->bytes, size);
            most -= size;
            if (size < step->size) break;
            continue;
        }
        CHECK(raw_read(ends[1], bytes, step->size) == step->size);
        CHECK(memcmp(bytes, step->bytes, step->size) == 0);
    }
    CHECK(shutdown(ends[1], SHUT_WR) == 0);
    if (most > 0) CHECK(raw_expect_end(ends[1]) == 0);
    finish(thread);
    close(ends[1]);
    return side;
}

/* What the library finds in a session whose client sends all of its bytes at once, and the first bytes that it writes. */
static size_t hear(const char *hex, struct side *side, uint8_t *written, size_t most)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    *side = (struct side){.is_client = false, .socket = ends[0]};
    pthread_t thread = start(play, side);
    raw_send_hex(ends[1], hex);
    size_t size = raw_read(ends[1], written, most);
    finish(thread);
    close(ends[1]);
    CHECK(side->begun == DUO_OK);
    return size;
}

static void expect_status(const char *line, duo_status found, duo_status expected)
{
    if (found != expected) fprintf(stderr, "%s: %s\n", line, duo_status_text(found));
    CHECK(found == expected);
}

enum { ANSWER = DUO_NET_HEAD + DUO_NET_ANSWER };

/* A client that breaks the format: the library says that it has. */
static void check_broken(const char *line)
{
    static char hex[MOST];
    static const uint8_t broke[] = {0, 3, 1};
    uint8_t written[ANSWER + sizeof broke + 1];
    struct side side;
    CHECK(sscanf(line, "broken %*s %8191s", hex) == 1);
    size_t size = hear(hex, &side, written, sizeof written);
    expect_status(line, side.ended, DUO_BROKEN);
    CHECK(size == ANSWER + sizeof broke && memcmp(written + ANSWER, broke, sizeof broke) == 0);
}

/* A client that logs in and ends the session: the library reports why. */
static void check_ended(const char *line)
{
    static char hex[MOST], why[16];
    uint8_t written[ANSWER];
    struct side side;
    CHECK(sscanf(line, "ended %*s %8191s %15s", hex, why) == 2);
    duo_status expected = strcmp(why, "late") == 0 ? DUO_LATE : DUO_CLOSED;
    CHECK(expected == DUO_LATE || strcmp(why, "left") == 0);
    CHECK(hear(hex, &side, written, sizeof written) == ANSWER);
    expect_status(line, side.ended, expected);
}

static void check_session(const struct session *session)
{
    for (int is_client = 0; is_client <= 1; is_client++) {
        size_t all = 0;
        for (size_t i = 0; i < session->count; i++)
            if (session->steps[i].from == (is_client ? '<' : '>')) all += session->steps[i].size;
        struct side side = run(session, is_client, all + 1);
        CHECK(side.begun == DUO_OK && side.ended == DUO_OK);
        for (size_t cut = 0; cut < all; cut++) {
            side = run(session, is_client, cut);
            duo_status status = side.begun == DUO_OK ? side.ended : side.begun;
            if (status != DUO_LOST) fprintf(stderr, "cut after %zu: %s\n", cut, duo_status_text(status));
            CHECK(status == DUO_LOST);
        }
    }
}

static void read_step(struct session *session, const char *line)
{
    CHECK(session->count < MOST_STEPS);
    struct step *step = &session->steps[session->count++];
    char hex[256];
    CHECK(sscanf(line, "%c %255s", &step->from, hex) == 2);
    step->size = raw_bytes(hex, step->bytes, sizeof step->bytes);
}

TEST(streams)
{
    FILE *file = fopen(TESTS "/wire/streams.txt", "r");
    CHECK(file != NULL);
    CHECK(duo_listen("unix:streams.sock", NULL, &listener) == DUO_OK);
    pthread_t thread = start(accept_bank, NULL);
    static char line[MOST];
    static struct session session;
    size_t hellos = 0, bad = 0, broken = 0, ended = 0, answers = 0, sessions = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "hello ", 6) == 0) check_hello(line), hellos++;
        if (strncmp(line, "bad ", 4) == 0) check_bad(line), bad++;
        if (strncmp(line, "broken ", 7) == 0) check_broken(line), broken++;
        if (strncmp(line, "ended ", 6) == 0) check_ended(line), ended++;
        if (strncmp(line, "answer ", 7) == 0) check_answer(line), answers++;
        if (line[0] == '>' || line[0] == '<') read_step(&session, line);
        if (line[0] != '\n' || session.count == 0) continue;
        check_session(&session);
        session.count = 0;
        sessions++;
    }
    if (session.count > 0) check_session(&session), sessions++;
    fclose(file);
    CHECK(hellos > 4 && bad > 20 && broken > 5 && ended > 2 && answers > 5 && sessions > 0);
    duo_listener_stop(listener);
    finish(thread);
    duo_listener_close(listener);
    CHECK(access("streams.sock", F_OK) != 0);
    CHECK(duo_shutdown() == 0);
}
