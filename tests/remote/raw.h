/* A peer without the library: a socket and bytes. Every wait has a limit, after which the test fails. */
#ifndef RAW_H
#define RAW_H

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

enum { RAW_WAIT = 20000 };

/* The bytes of a text of hexadecimal digits; spaces between them are left out. */
static inline size_t raw_bytes(const char *text, uint8_t *bytes, size_t room)
{
    size_t size = 0;
    for (; text[0] != '\0'; text += text[0] == ' ' ? 1 : 2) {
        unsigned byte;
        if (text[0] == ' ') continue;
        CHECK(size < room && sscanf(text, "%2x", &byte) == 1);
        bytes[size++] = (uint8_t)byte;
    }
    return size;
}

/* Connects to the `unix:` address of a listener. */
static inline int raw_connect(const char *address)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    CHECK(strncmp(address, "unix:", 5) == 0 && strlen(address) - 5 < sizeof to.sun_path);
    strcpy(to.sun_path, address + 5);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(made >= 0);
    CHECK(connect(made, (const struct sockaddr *)&to, sizeof to) == 0);
    return made;
}

/* Sends bytes; a peer that has closed the connection is not an error. */
static inline void raw_send(int raw, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = send(raw, at, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return;
        at += done;
        size -= (size_t)done;
    }
}

static inline void raw_send_hex(int raw, const char *text)
{
    uint8_t bytes[8192];
    raw_send(raw, bytes, raw_bytes(text, bytes, sizeof bytes));
}

/* Reads up to that many bytes; fewer only if the connection ends. */
static inline size_t raw_read(int raw, void *bytes, size_t size)
{
    size_t there = 0;
    while (there < size) {
        struct pollfd polled = {raw, POLLIN, 0};
        CHECK(poll(&polled, 1, RAW_WAIT) == 1);
        ssize_t done = recv(raw, (char *)bytes + there, size - there, 0);
        if (done <= 0) break;
        there += (size_t)done;
    }
    return there;
}

/* Reads exactly these bytes. */
static inline void raw_expect(int raw, const char *text)
{
    uint8_t expected[8192], read[8192];
    size_t size = raw_bytes(text, expected, sizeof expected);
    size_t there = raw_read(raw, read, size);
    if (there == size && memcmp(expected, read, size) == 0) return;
    fprintf(stderr, "expected %s\nfound    ", text);
    for (size_t i = 0; i < there; i++) fprintf(stderr, "%02x", read[i]);
    fprintf(stderr, "\n");
    exit(1);
}

/* Reads until the connection ends; returns how many bytes came. */
static inline size_t raw_expect_end(int raw)
{
    uint8_t bytes[4096];
    size_t all = 0;
    for (;;) {
        size_t size = raw_read(raw, bytes, sizeof bytes);
        all += size;
        if (size < sizeof bytes) return all;
    }
}

/* `bank`: a hello of the client, and the answer of a server. */
#define BANK_HELLO                                                                                 \
    "64756f6c6f677565010020006b4021487a63e0618d274211e3ebd7c9000010000000000000000462616e6b00"
#define BANK_ANSWER                                                                                \
    "64756f6c6f67756501001a006b4021487a63e0618d274211e3ebd7c900001000000000000000"

#endif
