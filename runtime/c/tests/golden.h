/*
 * Endpoints for the tests of the runtime alone: generated ones, of golden.proto, and some that are written by hand in the
 * shape of generated ones, so that a test says how large a ring is:
 *
 *   proto! numbers { stream:send { send(u64) -> stream } }
 *   proto! courier { carry:send { parcel(note: str, inner: numbers::server::stream) -> carry,
 *                                 again(inner: courier::server::carry) -> !,
 *                                 pair(left: numbers::client::stream, right: ...) -> carry,
 *                                 done -> ! } }
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "bank.h"
#include "duologue/shared.h"
#include "ping.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An endpoint that sends or receives, and the function that closes it. */
#define ENDPOINT(name, member)                                                                     \
    typedef struct name { duo_endpoint member; } name##_t;                                         \
    duo_status name##_close(name##_t self);
#define RECEIVER(endpoint, how, message)                                                           \
    DUO_MUST_CHECK duo_status endpoint##_##how(endpoint##_t self, message##_t *got);

ENDPOINT(numbers_client_stream, sends)
ENDPOINT(numbers_server_stream, receives)
typedef enum numbers_stream_tag { NUMBERS_STREAM_SEND = 1 } numbers_stream_tag_t;
typedef struct numbers_stream {
    numbers_stream_tag_t tag;
    void *block;
    union {
        struct { uint64_t value; numbers_server_stream_t next; } send;
    } as;
} numbers_stream_t;

/* A ring for `capacity` messages, in whole lines, at least two; 0 stands for the ring of generated code. */
DUO_MUST_CHECK duo_status numbers_init_with(size_t capacity, numbers_server_stream_t *server,
                                            numbers_client_stream_t *client);
DUO_MUST_CHECK duo_status numbers_init(numbers_server_stream_t *server,
                                       numbers_client_stream_t *client);
DUO_MUST_CHECK duo_status numbers_client_stream_send_send(numbers_client_stream_t self,
                                                          uint64_t value,
                                                          numbers_client_stream_t *next);
DUO_MUST_CHECK duo_status numbers_client_stream_try_send_send(numbers_client_stream_t self,
                                                              uint64_t value,
                                                              numbers_client_stream_t *next);
RECEIVER(numbers_server_stream, recv, numbers_stream)
RECEIVER(numbers_server_stream, try_recv, numbers_stream)
DUO_MUST_CHECK duo_status numbers_server_stream_recv_within(numbers_server_stream_t self,
                                                            uint64_t nanoseconds,
                                                            numbers_stream_t *message);
numbers_server_stream_t numbers_server_stream_take(numbers_server_stream_t *place);

typedef struct numbers_client_stream_shared { duo_shared *shared; } numbers_client_stream_shared_t;
DUO_MUST_CHECK duo_status numbers_client_stream_share(numbers_client_stream_t self,
                                                      numbers_client_stream_shared_t *shared);
DUO_MUST_CHECK duo_status numbers_client_stream_shared_send_send(numbers_client_stream_shared_t self,
                                                                 uint64_t value);
DUO_MUST_CHECK duo_status
numbers_client_stream_shared_try_send_send(numbers_client_stream_shared_t self, uint64_t value);

ENDPOINT(courier_client_carry, sends)
ENDPOINT(courier_server_carry, receives)
typedef enum courier_carry_tag {
    COURIER_CARRY_PARCEL = 1,
    COURIER_CARRY_AGAIN,
    COURIER_CARRY_PAIR,
    COURIER_CARRY_DONE
} courier_carry_tag_t;
typedef struct courier_carry {
    courier_carry_tag_t tag;
    void *block;
    union {
        struct { duo_str note; numbers_server_stream_t inner; courier_server_carry_t next; } parcel;
        struct { courier_server_carry_t inner; } again;
        struct {
            numbers_client_stream_t left;
            numbers_client_stream_t right;
            courier_server_carry_t next;
        } pair;
        struct { char unused; } done;
    } as;
} courier_carry_t;

DUO_MUST_CHECK duo_status courier_init_with(size_t capacity, courier_server_carry_t *server,
                                            courier_client_carry_t *client);
DUO_MUST_CHECK duo_status courier_init(courier_server_carry_t *server,
                                       courier_client_carry_t *client);
DUO_MUST_CHECK duo_status courier_client_carry_send_parcel(courier_client_carry_t self,
                                                           duo_str note,
                                                           numbers_server_stream_t inner,
                                                           courier_client_carry_t *next);
DUO_MUST_CHECK duo_status courier_client_carry_send_again(courier_client_carry_t self,
                                                          courier_server_carry_t inner);
DUO_MUST_CHECK duo_status courier_client_carry_send_pair(courier_client_carry_t self,
                                                         numbers_client_stream_t left,
                                                         numbers_client_stream_t right,
                                                         courier_client_carry_t *next);
DUO_MUST_CHECK duo_status courier_client_carry_send_done(courier_client_carry_t self);
RECEIVER(courier_server_carry, recv, courier_carry)
void courier_carry_free(courier_carry_t *message);

#ifdef __cplusplus
}
#endif

#endif
