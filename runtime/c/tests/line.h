/* Sessions of numbers, each with both of its endpoints in one thread. */
#ifndef LINE_H
#define LINE_H

#include "check.h"
#include "golden.h"

typedef struct line {
    numbers_server_stream_t in;
    numbers_client_stream_t out;
} line;

static inline line new_line(void)
{
    line made = {{{0}}, {{0}}};
    CHECK(numbers_init(&made.in, &made.out) == DUO_OK);
    return made;
}

static inline void close_line(line gone)
{
    CHECK(numbers_client_stream_close(gone.out) == DUO_OK);
    CHECK(numbers_server_stream_close(gone.in) == DUO_OK);
}

static inline void say(line *to, uint64_t value)
{
    CHECK(numbers_client_stream_send_send(to->out, value, &to->out) == DUO_OK);
}

static inline uint64_t hear(line *from)
{
    numbers_stream_t got;
    CHECK(numbers_server_stream_try_recv(from->in, &got) == DUO_OK);
    from->in = got.as.send.next;
    return got.as.send.value;
}

#endif
