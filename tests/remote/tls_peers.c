/* Peers with a valid certificate, or without, that use OpenSSL alone: what they ask for does not hold up others. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "bank_net.h"
#include "meet.h"
#include "raw.h"
#include "tls.h"

/* While this is true, no socket of the library accepts anything, as when a peer does not read. */
static DUO_ATOMIC bool is_full;

/* Takes the place of the function of the C library. */
ssize_t send(int descriptor, const void *bytes, size_t size, int flags)
{
    if (!duo_atomic_load(&is_full, memory_order_acquire)) return sendto(descriptor, bytes, size, flags, NULL, 0);
    errno = EAGAIN;
    return -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *size, const unsigned char *offered,
                           unsigned offered_size, void *unused)
{
    (void)ssl, (void)unused;
    CHECK(offered_size == 11 && memcmp(offered, "\x0a" "duologue/1", 11) == 0);
    *chosen = offered + 1;
    *size = 10;
    return SSL_TLSEXT_ERR_OK;
}

static void expect(SSL *ssl, const char *text)
{
    uint8_t expected[64], found[64];
    int size = (int)raw_bytes(text, expected, sizeof expected);
    for (int there = 0; there < size;) {
        int done = SSL_read(ssl, found + there, size - there);
        CHECK(done > 0);
        there += done;
    }
    CHECK(memcmp(expected, found, (size_t)size) == 0);
}

static void write_hex(SSL *ssl, const char *text)
{
    uint8_t bytes[64];
    int size = (int)raw_bytes(text, bytes, sizeof bytes);
    CHECK(SSL_write(ssl, bytes, size) == size);
}

/* A bank that asks for new keys, and does not read until its customer has the money. */
struct bank {
    int listener;
    pthread_barrier_t withdrawn, paid;
};

static void *ask_for_keys(void *context)
{
    struct bank *bank = context;
    SSL_CTX *own = SSL_CTX_new(TLS_server_method());
    CHECK(own != NULL && SSL_CTX_use_certificate_chain_file(own, CERTIFICATES "/server.pem") == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(own, CERTIFICATES "/server.key", SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_set_num_tickets(own, 0) == 1);
    SSL_CTX_set_alpn_select_cb(own, choose_protocol, NULL);
    int raw = accept(bank->listener, NULL, NULL);
    SSL *ssl = SSL_new(own);
    CHECK(raw >= 0 && ssl != NULL && SSL_set_fd(ssl, raw) == 1 && SSL_accept(ssl) == 1);
    expect(ssl, BANK_HELLO);
    write_hex(ssl, BANK_ANSWER);
    expect(ssl, "010a 04 686f6c6b 04 31323334");
    CHECK(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1);
    write_hex(ssl, "01");
    pthread_barrier_wait(&bank->withdrawn);
    write_hex(ssl, "01 000000000000f03f");
    pthread_barrier_wait(&bank->paid);
    /* What the customer has sent since, with its new key. */
    expect(ssl, "02 0000000000000040 03");
    SSL_free(ssl);
    SSL_CTX_free(own);
    close(raw);
    return NULL;
}

static void keys_are_changed_while_nothing_can_be_written(void)
{
    uint16_t port;
    struct bank bank = {.listener = listen_at(&port)};
    pthread_barrier_init(&bank.withdrawn, NULL, 2);
    pthread_barrier_init(&bank.paid, NULL, 2);
    pthread_t thread = start(ask_for_keys, &bank);
    char address[64];
    snprintf(address, sizeof address, "tls://127.0.0.1:%u", port);
    duo_tls *tls = party("ca", "client");
    const duo_net_options options = {.tls = tls};
    bank_client_login_t client;
    bank_client_login_response_t logging_in;
    bank_login_response_t answer;
    bank_client_withdrawal_response_t waiting;
    bank_withdrawal_response_t paid;
    CHECK(bank_client_connect(address, &options, &client) == DUO_OK);
    CHECK(bank_client_login_send_login(client, DUO_STR("holk"), DUO_STR("1234"), &logging_in) == DUO_OK);
    CHECK(bank_client_login_response_recv(logging_in, &answer) == DUO_OK && answer.tag == BANK_LOGIN_RESPONSE_OK);
    duo_atomic_store(&is_full, true, memory_order_release);
    CHECK(bank_client_connected_send_withdrawal(answer.as.ok.next, 2, &waiting) == DUO_OK);
    pthread_barrier_wait(&bank.withdrawn);
    CHECK(bank_client_withdrawal_response_recv(waiting, &paid) == DUO_OK);
    CHECK(paid.tag == BANK_WITHDRAWAL_RESPONSE_MONEY && paid.as.money.money == 1);
    duo_atomic_store(&is_full, false, memory_order_release);
    pthread_barrier_wait(&bank.paid);
    CHECK(bank_client_connected_send_quit(paid.as.money.next) == DUO_OK);
    finish(thread);
    pthread_barrier_destroy(&bank.withdrawn);
    pthread_barrier_destroy(&bank.paid);
    close(bank.listener);
    duo_tls_free(tls);
}

static duo_bytes encoded(X509 *certificate, uint8_t *bytes, size_t room)
{
    uint8_t *place = bytes;
    int size = i2d_X509(certificate, NULL);
    CHECK(size > 0 && (size_t)size <= room && i2d_X509(certificate, &place) == size);
    return (duo_bytes){bytes, (size_t)size};
}

static duo_bytes read_certificate(const char *path, uint8_t *bytes, size_t room)
{
    BIO *file = BIO_new_file(path, "r");
    X509 *certificate = file != NULL ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    CHECK(certificate != NULL);
    duo_bytes found = encoded(certificate, bytes, room);
    X509_free(certificate);
    BIO_free(file);
    return found;
}

static void names_of_certificates(void)
{
    uint8_t bytes[4096];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *made = X509_new();
    CHECK(key != NULL && made != NULL && X509_set_pubkey(made, key) == 1 && X509_set_version(made, 2) == 1);
    CHECK(X509_gmtime_adj(X509_getm_notBefore(made), 0) != NULL && X509_gmtime_adj(X509_getm_notAfter(made), 60) != NULL);
    CHECK(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, (const uint8_t *)"subject.example", -1,
                                     -1, 0) == 1);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(
        NULL, NULL, NID_subject_alt_name,
        "DNS:client.example,DNS:*.wild.example,URI:spiffe://example/client,email:me@example.com,IP:10.0.0.1,IP:fe80::1");
    CHECK(names != NULL && X509_add_ext(made, names, -1) == 1 && X509_sign(made, key, EVP_sha256()) > 0);
    const duo_peer peer = {.certificate = encoded(made, bytes, sizeof bytes)}, plain = {.address = "tcp://[::1]:1"};
    static const char *const good[] = {"client.example", "Client.Example",  "spiffe://example/client", "me@example.com",
                                       "10.0.0.1",       "fe80:0::0001"};
    static const char *const bad[] = {"",         ".example",  "subject.example", "example", "a.wild.example", "spiffe://example/clien",
                                      "10.0.0.2", "fe80::2", "you@example.com", "client.example.", "spiffe://example/client/"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(duo_tls_has_name(&peer, good[i]) && !duo_tls_has_name(&plain, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!duo_tls_has_name(&peer, bad[i]));
    const duo_peer cut = {.certificate = {bytes, peer.certificate.size - 1}};
    CHECK(!duo_tls_has_name(&cut, "client.example"));
    X509_EXTENSION_free(names);
    X509_free(made);
    EVP_PKEY_free(key);
}

/* What the hooks of a listener find, and the certificate that they expect. */
struct hooks {
    duo_bytes expected;
    bool admits;
    DUO_ATOMIC unsigned admitted, handled;
};

static void check_certificate(const struct hooks *hooks, const duo_peer *peer)
{
    CHECK(peer->certificate.size == hooks->expected.size);
    CHECK(memcmp(peer->certificate.data, hooks->expected.data, hooks->expected.size) == 0);
    CHECK(!duo_tls_has_name(peer, "client"));
}

static bool admit(const duo_peer *peer, void *context)
{
    struct hooks *hooks = context;
    check_certificate(hooks, peer);
    duo_atomic_store(&hooks->admitted, hooks->admitted + 1, memory_order_release);
    return hooks->admits;
}

static void handle(bank_server_login_t server, const duo_peer *peer, void *context)
{
    struct hooks *hooks = context;
    CHECK(bank_server_login_close(server) == DUO_OK);
    /* It stays when the session is over. */
    check_certificate(hooks, peer);
    duo_atomic_store(&hooks->handled, hooks->handled + 1, memory_order_release);
}

static void peers_are_admitted_by_their_certificates(bool admits)
{
    uint8_t bytes[4096];
    struct hooks hooks = {.admits = admits};
    hooks.expected = read_certificate(CERTIFICATES "/client.pem", bytes, sizeof bytes);
    duo_tls *for_server = party("ca", "server"), *for_client = party("ca", "client");
    const duo_net_options options = {.tls = for_server, .admit = admit, .context = &hooks};
    duo_listener *listener = new_listener("tls://127.0.0.1:0", &options);
    CHECK(bank_server_serve(listener, NULL, handle, &hooks) == DUO_OK);
    pthread_t thread = start(run_listener, listener);
    duo_refusal refusal = {0, 0};
    const duo_net_options own = {.tls = for_client, .refusal = &refusal};
    bank_client_login_t client;
    duo_status status = bank_client_connect(duo_listener_address(listener), &own, &client);
    CHECK(status == (admits ? DUO_OK : DUO_REFUSED));
    if (admits) CHECK(bank_client_login_close(client) == DUO_OK);
    else CHECK(refusal.verdict == DUO_VERDICT_NOT_ADMITTED);
    end_listener(listener, thread, LONG);
    CHECK(hooks.admitted == 1 && hooks.handled == (admits ? 1 : 0));
    duo_tls_free(for_server);
    duo_tls_free(for_client);
}

static void *accept_one(void *listener)
{
    bank_server_login_t server;
    CHECK(bank_server_accept(listener, DUO_FOREVER, &server) == DUO_OK);
    CHECK(bank_server_login_close(server) == DUO_OK);
    return NULL;
}

/* Many more than may be in the handshake at once, which stay connected. */
static void peers_without_tls_take_no_place_from_others(void)
{
    enum { MANY = 100 };
    int all[MANY];
    duo_tls *for_server = party("ca", "server"), *for_client = party("ca", "client");
    const duo_net_options options = {.tls = for_server, .handshakes = 4}, own = {.tls = for_client};
    duo_listener *listener = new_listener("tls://127.0.0.1:0", &options);
    const char *address = duo_listener_address(listener);
    for (size_t i = 0; i < MANY; i++) {
        all[i] = reach(address);
        raw_send(all[i], "GET / HTTP/1.1\r\n\r\n", 18);
    }
    pthread_t thread = start(accept_one, listener);
    bank_client_login_t client;
    CHECK(bank_client_connect(address, &own, &client) == DUO_OK);
    CHECK(bank_client_login_close(client) == DUO_OK);
    finish(thread);
    for (size_t i = 0; i < MANY; i++) close(all[i]);
    duo_listener_close(listener);
    duo_tls_free(for_server);
    duo_tls_free(for_client);
}

TEST(tls_peers)
{
    peers_without_tls_take_no_place_from_others();
    names_of_certificates();
    peers_are_admitted_by_their_certificates(true);
    peers_are_admitted_by_their_certificates(false);
    keys_are_changed_while_nothing_can_be_written();
    CHECK(duo_shutdown() == 0);
}
