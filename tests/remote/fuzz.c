/*
 * libFuzzer against sockets: after a choice in the first byte, the input is what a peer sends. It is a hello or an answer with
 * frames after it, or frames of a session that has begun. Whatever it is, the session ends, and with it the messages.
 *
 *   clang -g -fsanitize=fuzzer,address,undefined ... fuzz.c && ./a.out corpus
 */
#define _GNU_SOURCE
#include "attack.h"
#include "payloads_net.h"
#include "raw.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(int raw, const void *bytes, size_t size)
{
    CHECK(write(raw, bytes, size) == (ssize_t)size);
}

/* How a session begins, as docs/wire.md has it: the hello of the connecting side, or the answer of the accepting side. */
static void greet(int raw, bool is_hello)
{
    const char version[2] = {1, 0}, length[2] = {is_hello ? 28 : 26, 0}, rest[8] = {0};
    const char largest[4] = {0, 0, 1, 0};
    put(raw, "duologue", 8);
    put(raw, version, sizeof version);
    put(raw, length, sizeof length);
    put(raw, &duo_wire_of_payloads.fingerprint, 16);
    put(raw, largest, sizeof largest);
    put(raw, rest, is_hello ? 8 : 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    payloads_server_all_t server;
    payloads_all_t message;
    if (size == 0) return 0;
    bool accepts = (data[0] & 1) == 0, greets = (data[0] & 2) == 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (greets) greet(ends[1], accepts);
    /* What does not fit into the connection's buffer is not sent. */
    size_t most = size - 1 < 65536 ? size - 1 : 65536;
    put(ends[1], data + 1, most);
    CHECK(shutdown(ends[1], SHUT_WR) == 0);
    duo_status status = accepts ? payloads_server_accept_over(ends[0], NULL, &server)
                                : payloads_server_connect_over(ends[0], NULL, &server);
    CHECK(status == DUO_OK || !greets);
    bool is_open = status == DUO_OK;
    while (is_open) {
        status = payloads_server_all_recv(server, &message);
        if (status == DUO_NO_MEMORY) payloads_server_all_close(server);
        CHECK(status == DUO_OK || status == DUO_BROKEN || status == DUO_CLOSED || status == DUO_LOST ||
              status == DUO_LATE || status == DUO_NO_MEMORY || status == DUO_TOO_LARGE);
        is_open = status == DUO_OK && go_on(&message, &server);
    }
    close(ends[1]);
    return 0;
}
