/* The cases of the benchmark over NATS. */
#ifndef LINKS_H
#define LINKS_H

#include "bench.h"

/* library.c: the client library alone. It is connected before any thread is pinned to a CPU. */
void library_begin(const char *server);
void library_end(void);
extern const bench_case library_ping_pong, library_request, library_batches, library_numbers;

/* sessions.c */
void sessions_begin(const char *server);
void sessions_end(void);
extern const bench_case nats_ping_pong, nats_stream;

#endif
