/* The bytes of tests/wire/streams.txt, read and written: hellos and answers alone, and wrong ones to a real listener. */
#include <stdlib.h>

#include "bank_net.h"
#include "net/net.h"
#include "raw.h"

enum { MOST = 8192 };

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

TEST(streams)
{
    FILE *file = fopen(TESTS "/wire/streams.txt", "r");
    CHECK(file != NULL);
    CHECK(duo_listen("unix:streams.sock", NULL, &listener) == DUO_OK);
    pthread_t thread = start(accept_bank, NULL);
    static char line[MOST];
    size_t hellos = 0, bad = 0, answers = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "hello ", 6) == 0) check_hello(line), hellos++;
        if (strncmp(line, "bad ", 4) == 0) check_bad(line), bad++;
        if (strncmp(line, "answer ", 7) == 0) check_answer(line), answers++;
    }
    fclose(file);
    CHECK(hellos > 4 && bad > 20 && answers > 5);
    duo_listener_stop(listener);
    finish(thread);
    duo_listener_close(listener);
    CHECK(access("streams.sock", F_OK) != 0);
    CHECK(duo_shutdown() == 0);
}
