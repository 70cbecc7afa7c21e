/*
 * How the bytes of a connection are read and written. The handshake owns the stream until `duo_net_begin` hands it over
 * to the session. Copies share what is in `state`: the owner ends the stream once, by `duo_net_hang_up`. The functions
 * of a kind never wait.
 */
#ifndef DUOLOGUE_NET_STREAM_H
#define DUOLOGUE_NET_STREAM_H

#include <stddef.h>

#include "duologue/net.h"

typedef struct duo_net_stream duo_net_stream;

typedef struct duo_net_stream_kind {
    /*
     * At most `size` bytes. 0: the peer has ended its direction. -1: see `errno`, with EAGAIN if nothing can be read or
     * written at once, and EPROTO if `explain` knows the reason. After EAGAIN, the next bytes that are given to `write`
     * must be the same, and may be followed by others.
     */
    ptrdiff_t (*read)(const duo_net_stream *stream, void *bytes, size_t size);
    ptrdiff_t (*write)(const duo_net_stream *stream, const void *bytes, size_t size);
    /* Whether there are bytes to read that `poll` does not report. */
    bool (*has_more)(const duo_net_stream *stream);
    /*
     * Continues the handshake. DUO_OK: it is over. DUO_EMPTY: `events` is what to poll before the next call. DUO_TLS:
     * `problem` is set.
     */
    duo_status (*shake_hands)(const duo_net_stream *stream, short *events, duo_problem *problem);
    /* Why reading or writing failed; false if it did not fail, or if `errno` has the reason. */
    bool (*explain)(const duo_net_stream *stream, duo_problem *problem);
    /*
     * After the handshake: the certificate of the peer in DER, to be released by the caller; NULL if there is none. False if
     * memory ran out.
     */
    bool (*copy_certificate)(const duo_net_stream *stream, uint8_t **bytes, size_t *size);
    /* Notifies the peer that nothing more is written. */
    void (*notify_end)(const duo_net_stream *stream);
    void (*free)(const duo_net_stream *stream);
} duo_net_stream_kind;

struct duo_net_stream {
    const duo_net_stream_kind *kind;
    /* What the kind needs. */
    void *state;
    int descriptor;
    bool is_socket;
};

/* The entry point of TLS. It is a pointer, so that programs without TLS need not link a library for it. */
struct duo_tls {
    /*
     * Turns a stream over a socket into one with TLS. `host` is what the address names; NULL for the accepting side.
     * On failure the stream is unchanged.
     */
    duo_status (*begin)(const duo_tls *tls, const char *host, duo_net_stream *stream, duo_problem *problem);
};

/* The entry point of a directory, for the same reason. It connects to a server of the service `name`. */
struct duo_directory {
    duo_status (*connect)(const duo_directory *directory, const char *name, const duo_wire_protocol *protocol, duo_role role,
                          const duo_net_options *options, duo_endpoint *endpoint);
};

/* The problem if the peer speaks TLS and this side does not. */
#define DUO_NET_SPEAKS_TLS \
    "the other side speaks TLS, and this one does not: use a `tls://` address on both sides or on neither"

/* system.c */
/* Reads and writes the descriptor itself. */
ptrdiff_t duo_net_read_plain(const duo_net_stream *stream, void *bytes, size_t size);
ptrdiff_t duo_net_write_plain(const duo_net_stream *stream, const void *bytes, size_t size);
/* Whether `duo_net_read_blocking` can wait for what this stream has to read. */
bool duo_net_can_block(const duo_net_stream *stream);
/* Waits if there is nothing to read. The program may have made its socket non-blocking: EAGAIN. */
ptrdiff_t duo_net_read_blocking(int descriptor, void *bytes, size_t size);
/* A stream without TLS. */
duo_net_stream duo_net_plain(int descriptor, bool is_socket);
/* These two wait until all bytes are read or written: DUO_OK, DUO_LATE, DUO_LOST or DUO_SYSTEM. */
duo_status duo_net_read_all(const duo_net_stream *stream, void *bytes, size_t size, uint64_t until);
duo_status duo_net_write_all(const duo_net_stream *stream, const void *bytes, size_t size, uint64_t until);
/* Ends a connection: notifies the peer, discards what has arrived, closes, and frees. */
void duo_net_hang_up(const duo_net_stream *stream);
/* Sets the text of a problem, formatted as by `printf`. A text that is too long is cut off. */
__attribute__((format(printf, 2, 3))) void duo_net_explain(duo_problem *problem, const char *format, ...);

static inline ptrdiff_t duo_net_read_some(const duo_net_stream *stream, void *bytes, size_t size)
{
    return stream->kind->read(stream, bytes, size);
}

static inline ptrdiff_t duo_net_write_some(const duo_net_stream *stream, const void *bytes, size_t size)
{
    return stream->kind->write(stream, bytes, size);
}

#endif
