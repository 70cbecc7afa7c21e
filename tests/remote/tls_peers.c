/* Peers with a valid certificate, or without, that use OpenSSL alone: what they ask for does not hold up others. */
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "bank_net.h"
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

int main(void)
{
    alarm(300);
    keys_are_changed_while_nothing_can_be_written();
    CHECK(duo_shutdown() == 0);
    return 0;
}
