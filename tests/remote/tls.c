/* Sessions over TLS: whatever is wrong with a certificate or a peer is reported by both sides, and does not delay other peers. */
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "bank_net.h"
#include "meet.h"
#include "raw.h"
#include "tls.h"

#define NO_ISSUER "TLS did not begin: the certificate of the other side was not issued by an authority that this side trusts"
#define NO_TRUST "TLS did not begin: the other side does not trust the authority that issued the certificate of this side"
#define EXPIRED "TLS did not begin: the certificate of the other side has expired"
#define HAS_EXPIRED "TLS did not begin: the other side reports that the certificate of this side has expired"
#define NO_PROTOCOL                                                                                \
    "TLS did not begin: the other side speaks TLS, but did not negotiate `duologue/1`: check that it is a Duologue program"
#define SPEAKS_TLS "the other side speaks TLS, and this one does not: use a `tls://` address on both sides or on neither"

/* A listener that accepts on a thread of its own until it is stopped, and what it reports. */
struct listening {
    duo_listener *listener;
    duo_tls *tls;
    char address[64];
    pthread_t thread;
    duo_net_options options;
    duo_observer observer;
    size_t refusals;
    pthread_mutex_t lock;
    pthread_cond_t reported;
    duo_problem problem;
    size_t reports;
    size_t sessions;
};

static void note(const duo_problem *problem, void *context)
{
    struct listening *listening = context;
    pthread_mutex_lock(&listening->lock);
    if (listening->reports == 0) listening->problem = *problem;
    listening->reports += 1;
    pthread_cond_signal(&listening->reported);
    pthread_mutex_unlock(&listening->lock);
}

/* An observer is called for the same failures, and others. */
static void note_refusal(const duo_observed_refusal *refusal, void *context)
{
    struct listening *listening = context;
    CHECK(refusal->accepted && strncmp(refusal->peer, "t", 1) == 0);
    if (refusal->status == DUO_TLS) listening->refusals += 1;
}

static void *accept_all(void *context)
{
    struct listening *listening = context;
    for (;;) {
        bank_server_login_t server;
        duo_status status = bank_server_accept(listening->listener, DUO_FOREVER, &server);
        if (status == DUO_CLOSED) return NULL;
        CHECK(status == DUO_OK);
        listening->sessions += 1;
        CHECK(bank_server_login_close(server) == DUO_OK);
    }
}

/* The certificates in these options belong to the listener, which adds what it is called with. */
static void begin_with(struct listening *listening, const char *address, duo_tls *tls, duo_net_options options)
{
    *listening = (struct listening){.tls = tls, .options = options};
    pthread_mutex_init(&listening->lock, NULL);
    pthread_cond_init(&listening->reported, NULL);
    listening->observer = (duo_observer){.refused = note_refusal, .context = listening};
    listening->options.tls = tls;
    listening->options.failed = note;
    listening->options.context = listening;
    listening->options.observer = &listening->observer;
    listening->listener = new_listener(address, &listening->options);
    snprintf(listening->address, sizeof listening->address, "%s", duo_listener_address(listening->listener));
    listening->thread = start(accept_all, listening);
}

static void begin(struct listening *listening, const char *address, duo_tls *tls)
{
    begin_with(listening, address, tls, (duo_net_options){.problem = NULL});
}

static void stop(struct listening *listening)
{
    duo_listener_stop(listening->listener);
    finish(listening->thread);
    CHECK(listening->refusals == listening->reports);
    duo_listener_close(listening->listener);
    duo_tls_free(listening->tls);
    pthread_cond_destroy(&listening->reported);
    pthread_mutex_destroy(&listening->lock);
}

static void check_text(const char *what, const char *found, const char *expected)
{
    if (strcmp(found, expected) != 0) fprintf(stderr, "the %s says:\n%s\nexpected:\n%s\n", what, found, expected);
    CHECK(strcmp(found, expected) == 0);
}

/* Ends the listener, which has reported this. */
static void expect_report(struct listening *listening, const char *expected)
{
    pthread_mutex_lock(&listening->lock);
    while (listening->reports == 0) pthread_cond_wait(&listening->reported, &listening->lock);
    check_text("listener", listening->problem.text, expected);
    pthread_mutex_unlock(&listening->lock);
    stop(listening);
    CHECK(listening->sessions == 0);
}

/* `tls` belongs to the attempt. */
static duo_status attempt_at(const char *address, const char *service, duo_tls *tls, duo_problem *problem)
{
    static const duo_observer silent = {.context = NULL};
    const duo_net_options options = {.tls = tls, .problem = problem, .observer = &silent, .service = service};
    bank_client_login_t client;
    problem->text[0] = '\0';
    duo_status status = bank_client_connect(address, &options, &client);
    duo_tls_free(tls);
    if (status != DUO_OK) return status;
    return bank_client_login_close(client);
}

static duo_status attempt(const char *address, duo_tls *tls, duo_problem *problem)
{
    return attempt_at(address, NULL, tls, problem);
}

static void refused(duo_tls *server, duo_tls *client, const char *client_says, const char *server_says)
{
    struct listening listening;
    duo_problem problem;
    begin(&listening, "tls://127.0.0.1:0", server);
    CHECK(attempt(listening.address, client, &problem) == DUO_TLS);
    check_text("client", problem.text, client_says);
    expect_report(&listening, server_says);
}

static void wrong_certificates(void)
{
    refused(party("ca", "server"), party("ca", "stranger-client"), NO_TRUST, NO_ISSUER);
    refused(party("ca", "stranger-server"), party("ca", "client"), NO_ISSUER, NO_TRUST);
    refused(party("ca", "server"), party("other-ca", "client"), NO_ISSUER, NO_TRUST);
    refused(party("other-ca", "server"), party("ca", "client"), NO_TRUST, NO_ISSUER);
    refused(party("ca", "server"), party("ca", "expired-client"), HAS_EXPIRED, EXPIRED);
    refused(party("ca", "expired-server"), party("ca", "client"), EXPIRED, HAS_EXPIRED);
    refused(party("ca", "elsewhere-server"), party("ca", "client"),
            "TLS did not begin: the certificate of the other side is not for the expected name",
            "TLS did not begin: the other side does not accept the certificate of this side");
    refused(party("ca", "client"), party("ca", "client"),
            "TLS did not begin: the certificate of the other side is not for this purpose",
            "TLS did not begin: the other side does not accept the certificate of this side");
}

/* Hosts are checked by address and by name, and by the name that a client expects instead. */
static void names(void)
{
    struct listening listening;
    duo_problem problem;
    begin(&listening, "tls://127.0.0.1:0", party("ca", "server"));
    char by_name[80];
    snprintf(by_name, sizeof by_name, "tls://localhost%s", strrchr(listening.address, ':'));
    CHECK(attempt(listening.address, party("ca", "client"), &problem) == DUO_OK);
    CHECK(attempt(by_name, party("ca", "client"), &problem) == DUO_OK);
    CHECK(attempt(listening.address, party_named("ca", "client", "elsewhere.example"), &problem) == DUO_TLS);
    stop(&listening);
    CHECK(listening.sessions == 2);
    begin(&listening, "tls://[::1]:0", party("ca", "server"));
    CHECK(strncmp(listening.address, "tls://[::1]:", 12) == 0);
    CHECK(attempt(listening.address, party("ca", "client"), &problem) == DUO_OK);
    stop(&listening);
    begin(&listening, "tls://127.0.0.1:0", party("ca", "elsewhere-server"));
    CHECK(attempt(listening.address, party_named("ca", "client", "elsewhere.example"), &problem) == DUO_OK);
    CHECK(attempt_at(listening.address, "elsewhere.example", party("ca", "client"), &problem) == DUO_OK);
    /* The program that names the address must not choose that there is no TLS. */
    CHECK(attempt_at("tcp://127.0.0.1:1", "elsewhere.example", party("ca", "client"), &problem) == DUO_TLS);
    /* OpenSSL would check nothing for the first, and accept all names below the second. */
    CHECK(attempt(listening.address, party_named("ca", "client", ""), &problem) == DUO_TLS);
    CHECK(attempt(listening.address, party_named("ca", "client", ".example"), &problem) == DUO_TLS);
    stop(&listening);
}

/* A client with a TLS of its own. */
struct own {
    bool has_certificate;
    int version;
    const char *alpn;
};

static SSL *shake_hands(const char *address, const struct own *own, int *socket)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    CHECK(context != NULL && SSL_CTX_set_min_proto_version(context, own->version) == 1);
    CHECK(SSL_CTX_set_max_proto_version(context, own->version) == 1);
    if (own->has_certificate) {
        CHECK(SSL_CTX_use_certificate_chain_file(context, CERTIFICATES "/client.pem") == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(context, CERTIFICATES "/client.key", SSL_FILETYPE_PEM) == 1);
    }
    if (own->alpn[0] != '\0') {
        const unsigned char *alpn = (const unsigned char *)own->alpn;
        CHECK(SSL_CTX_set_alpn_protos(context, alpn, (unsigned)strlen(own->alpn)) == 0);
    }
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    *socket = reach(address);
    CHECK(ssl != NULL && SSL_set_fd(ssl, *socket) == 1);
    (void)SSL_connect(ssl);
    return ssl;
}

static void greet(SSL *ssl)
{
    uint8_t bytes[64];
    int size = (int)raw_bytes(BANK_HELLO, bytes, sizeof bytes);
    (void)SSL_write(ssl, bytes, size);
}

static void hang_up(SSL *ssl, int socket)
{
    SSL_free(ssl);
    ERR_clear_error();
    close(socket);
}

static void peers_that_do_something_else(void)
{
    static const struct {
        struct own own;
        int alert;
        const char *says;
    } all[] = {
        {{false, TLS1_3_VERSION, "\x0a" "duologue/1"}, SSL_AD_CERTIFICATE_REQUIRED,
         "TLS did not begin: the other side presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key"},
        {{true, TLS1_2_VERSION, "\x0a" "duologue/1"}, SSL_AD_PROTOCOL_VERSION,
         "TLS did not begin: the other side does not support TLS 1.3"},
        {{true, TLS1_3_VERSION, "\x02h2"}, SSL_AD_NO_APPLICATION_PROTOCOL, NO_PROTOCOL},
        {{true, TLS1_3_VERSION, ""}, SSL_AD_NO_APPLICATION_PROTOCOL, NO_PROTOCOL},
        {{true, TLS1_2_VERSION, ""}, SSL_AD_PROTOCOL_VERSION,
         "TLS did not begin: the other side does not support TLS 1.3"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct listening listening;
        begin(&listening, "tls://127.0.0.1:0", party("ca", "server"));
        int raw;
        uint8_t byte;
        SSL *ssl = shake_hands(listening.address, &all[i].own, &raw);
        if (SSL_is_init_finished(ssl)) {
            greet(ssl);
            CHECK(SSL_read(ssl, &byte, 1) <= 0);
        }
        CHECK(ERR_GET_REASON(ERR_peek_error()) == SSL_AD_REASON_OFFSET + all[i].alert);
        hang_up(ssl, raw);
        expect_report(&listening, all[i].says);
    }
}

/* Bytes that a listener without the library sends, for a client with TLS. */
struct sending {
    int listener;
    const void *bytes;
    size_t size;
};

static void *send_bytes(void *context)
{
    const struct sending *sending = context;
    int raw = accept(sending->listener, NULL, NULL);
    CHECK(raw >= 0);
    raw_send(raw, sending->bytes, sending->size);
    shutdown(raw, SHUT_WR);
    raw_expect_end(raw);
    close(raw);
    return NULL;
}

static void answered(const void *bytes, size_t size, const char *says)
{
    uint16_t port;
    struct sending sending = {listen_at(&port), bytes, size};
    pthread_t thread = start(send_bytes, &sending);
    char address[64];
    snprintf(address, sizeof address, "tls://127.0.0.1:%u", port);
    duo_problem problem;
    CHECK(attempt(address, party("ca", "client"), &problem) == DUO_TLS);
    check_text("client", problem.text, says);
    finish(thread);
    close(sending.listener);
}

static void listeners_that_do_something_else(void)
{
    /* The alert of a listener of TLS 1.2, as far as a client sees it. */
    answered("\x15\x03\x03\x00\x02\x02\x46", 7, "TLS did not begin: the other side does not support TLS 1.3");
    answered("HTTP/1.0 400 no\r\n\r\n", 19,
             "TLS did not begin: the other side does not speak TLS: use a `tls://` address on both sides or on neither");
    answered("", 0,
             "TLS did not begin: the other side closed the connection during the handshake (end of stream): check that it "
             "listens at a `tls://` address");
}

static void plain_and_encrypted(void)
{
    struct listening listening;
    duo_problem problem;
    char address[64];
    begin(&listening, "tls://127.0.0.1:0", party("ca", "server"));
    with_scheme(address, sizeof address, listening.address, "tcp");
    CHECK(attempt(address, NULL, &problem) == DUO_TLS);
    check_text("client", problem.text, SPEAKS_TLS);
    expect_report(&listening,
                  "TLS did not begin: the other side does not speak TLS: use a `tls://` address on both sides or on neither");
    begin(&listening, "tcp://127.0.0.1:0", NULL);
    with_scheme(address, sizeof address, listening.address, "tls");
    CHECK(attempt(address, party("ca", "client"), &problem) == DUO_TLS);
    CHECK(strstr(problem.text, "check that it listens at a `tls://` address") != NULL);
    expect_report(&listening, SPEAKS_TLS);
}

static duo_bytes read_file(const char *name, char *bytes, size_t room)
{
    char path[512];
    snprintf(path, sizeof path, CERTIFICATES "/%s", name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, room, file);
    CHECK(size > 0 && size < room && fclose(file) == 0);
    return (duo_bytes){(const uint8_t *)bytes, size};
}

/* Addresses without certificates, and certificates that are none. */
static void options_that_are_wrong(void)
{
    duo_problem problem;
    duo_listener *listener;
    const duo_net_options none = {.problem = &problem};
    const char *missing = "`tls://127.0.0.1:0` requires certificates: set `duo_net_options.tls`";
    CHECK(duo_listen("tls://127.0.0.1:0", &none, &listener) == DUO_CERTIFICATES && listener == NULL);
    check_text("listener", problem.text, missing);
    CHECK(attempt("tls://127.0.0.1:0", NULL, &problem) == DUO_CERTIFICATES);
    check_text("client", problem.text, missing);
    CHECK(duo_listen("tls://127.0.0.1", &none, &listener) == DUO_ADDRESS);

    char texts[4][4096];
    duo_bytes ca = read_file("ca.pem", texts[0], sizeof texts[0]), chain = read_file("client.pem", texts[1], sizeof texts[1]);
    duo_bytes key = read_file("client.key", texts[2], sizeof texts[2]);
    duo_bytes other = read_file("server.key", texts[3], sizeof texts[3]);
    const duo_bytes empty = {(const uint8_t *)"", 0};
    const struct {
        duo_tls_options options;
        const char *says;
    } all[] = {
        {{.authorities = empty, .chain = chain, .key = key}, "the text of the authorities for TLS: there is no certificate in it"},
        {{.authorities = ca, .chain = key, .key = key}, "the text of the certificate for TLS: there is no certificate in it"},
        {{.authorities = chain, .chain = chain, .key = key}, "the text of the authorities for TLS: a certificate in it is not that of an authority"},
        {{.authorities = ca, .chain = chain, .key = chain}, "the text of the key for TLS: there is no unencrypted private key in it"},
        {{.authorities = ca, .chain = chain, .key = other}, "the text of the key for TLS: "},
        {{.authorities = ca, .chain = chain}, "the key for TLS: set the name of its file, or its text, in `duo_tls_options`"},
    };
    duo_tls *tls;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char expected[256];
        CHECK(duo_tls_new(&all[i].options, &tls, &problem) == DUO_TLS && tls == NULL);
        int size = snprintf(expected, sizeof expected, "cannot use %s", all[i].says);
        problem.text[size] = '\0';
        check_text("library", problem.text, expected);
    }
    const duo_tls_options texts_only = {.authorities = ca, .chain = chain, .key = key};
    CHECK(duo_tls_new(&texts_only, &tls, NULL) == DUO_OK);
    duo_tls_free(tls);
    const duo_tls_options absent = {.authorities_file = "none.pem", .chain = chain, .key = key};
    CHECK(duo_tls_new(&absent, &tls, &problem) == DUO_SYSTEM && errno == ENOENT);
    check_text("library", problem.text, "cannot read `none.pem`: No such file or directory");
    /* What has been read before leaves no reason behind. */
    char below[512];
    snprintf(below, sizeof below, "%s/ca.pem/below", CERTIFICATES);
    const duo_tls_options beneath = {.authorities = ca, .chain = chain, .key_file = below};
    CHECK(duo_tls_new(&beneath, &tls, &problem) == DUO_SYSTEM && errno == ENOTDIR);
}

/* Peers that stall in the handshake, or send a byte now and then, take no more than their time, and hold up nobody. */
static void *drip(void *context)
{
    int raw = *(int *)context;
    /* The beginning of a record of a handshake with many bytes. */
    static const uint8_t head[] = {0x16, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc};
    for (size_t i = 0;; i++) {
        uint8_t byte = i < sizeof head ? head[i] : 0;
        if (send(raw, &byte, 1, MSG_NOSIGNAL) != 1) return NULL;
        take_a_moment();
    }
}

static void stalled(void)
{
    struct listening listening;
    const duo_net_options options = {.hello = UINT64_C(1000000000), .handshakes = 4};
    begin_with(&listening, "tls://127.0.0.1:0", party("ca", "server"), options);
    const char *address = listening.address;
    int silent = reach(address), slow = reach(address);
    pthread_t thread = start(drip, &slow);
    duo_problem problem;
    CHECK(attempt(address, party("ca", "client"), &problem) == DUO_OK);
    finish(thread);
    CHECK(raw_expect_end(silent) == 0);
    close(silent);
    close(slow);
    stop(&listening);
    CHECK(listening.sessions == 1 && listening.reports == 2);
    check_text("listener", listening.problem.text, "TLS did not begin in time");
}

/* A listener that accepts the connection and says nothing. */
static void connecting_has_a_limit(void)
{
    uint16_t port;
    int raw = listen_at(&port);
    char address[64];
    snprintf(address, sizeof address, "tls://127.0.0.1:%u", port);
    duo_tls *tls = party("ca", "client");
    const duo_net_options options = {.tls = tls, .hello = UINT64_C(100000000)};
    bank_client_login_t client;
    CHECK(bank_client_connect(address, &options, &client) == DUO_LATE);
    duo_tls_free(tls);
    close(raw);
}

/* A client that logs in, and whose connection then ends. */
struct ending {
    const char *address;
    bool says_so;
};

static void *end_early(void *context)
{
    static const struct own right = {true, TLS1_3_VERSION, "\x0a" "duologue/1"};
    const struct ending *ending = context;
    int raw;
    uint8_t answer[38];
    SSL *ssl = shake_hands(ending->address, &right, &raw);
    greet(ssl);
    for (size_t there = 0; there < sizeof answer; there++) CHECK(SSL_read(ssl, answer + there, 1) == 1);
    /* A login, and a deposit that is there before its answer. */
    CHECK(SSL_write(ssl, "\x01\x03\x01n\x00", 5) == 5);
    CHECK(SSL_write(ssl, "\x01\0\0\0\0\0\0\0\0", 9) == 9);
    if (ending->says_so) CHECK(SSL_shutdown(ssl) == 0);
    hang_up(ssl, raw);
    return NULL;
}

/*
 * The end of the stream without *leave* is no end of a session, with `close_notify` or without. What arrived before is received, although
 * nothing can be written.
 */
static void ended(bool says_so, bool beats)
{
    duo_tls *tls = party("ca", "server");
    const duo_net_options options = {.tls = tls, .heartbeat = beats};
    duo_listener *listener = new_listener("tls://127.0.0.1:0", &options);
    struct ending ending = {duo_listener_address(listener), says_so};
    pthread_t thread = start(end_early, &ending);
    bank_server_login_t server;
    CHECK(bank_server_accept(listener, DUO_FOREVER, &server) == DUO_OK);
    finish(thread);
    /* So long that several heartbeats cannot be written. */
    if (beats) nanosleep(&(struct timespec){1, 800000000}, NULL);
    bank_login_t asked;
    CHECK(bank_server_login_recv(server, &asked) == DUO_OK);
    CHECK(asked.tag == BANK_LOGIN_LOGIN && duo_str_equal(asked.as.login.username, DUO_STR("n")));
    /* This cannot be written either, and is shorter than a heartbeat. */
    bank_server_connected_t serving;
    bank_connected_t said;
    CHECK(bank_server_login_response_send_ok(asked.as.login.next, &serving) == DUO_OK);
    bank_login_free(&asked);
    CHECK(bank_server_connected_recv(serving, &said) == DUO_OK && said.tag == BANK_CONNECTED_DEPOSIT);
    CHECK(bank_server_connected_recv(said.as.deposit.next, &said) == DUO_LOST);
    duo_listener_close(listener);
    duo_tls_free(tls);
}

TEST(tls)
{
    options_that_are_wrong();
    wrong_certificates();
    names();
    peers_that_do_something_else();
    listeners_that_do_something_else();
    plain_and_encrypted();
    stalled();
    connecting_has_a_limit();
    ended(true, false);
    ended(false, false);
    ended(true, true);
    CHECK(duo_shutdown() == 0);
}
