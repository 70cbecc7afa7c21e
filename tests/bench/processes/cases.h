/* The cases of the benchmark between processes, in addition to those of tests/bench/c. */
#ifndef CASES_H
#define CASES_H

#include "bench.h"

/* Bytes of a text, and numbers per write of 4096 bytes. */
enum { SHORT = 64, LONG = 65536, BATCH = 512 };

/* ours.c */
extern const bench_case shm_ping_pong, shm_stream, shm_short_texts, shm_long_texts;
/* texts.c */
extern const bench_case pipe_batches, pipe_short_texts, pipe_long_texts, unix_short_texts,
    unix_long_texts;
/* waking.c */
extern const bench_case futex_ping_pong, signal_ping_pong;
/* sockets.c */
extern const bench_case by_hand_ping_pong, by_hand_stream, net_ping_pong, net_stream;

#endif
