/*
 * Endpoints written by hand in the shape of generated ones, for the tests of the runtime alone:
 *
 *   proto! bank { ... }                          of DESIGN, whose runs are unbounded
 *   proto! numbers { stream:send { send(u64) -> stream } }
 *   proto! courier { carry:send { parcel(note: str, inner: numbers::server::stream) -> carry,
 *                                 again(inner: courier::server::carry) -> !,
 *                                 pair(left: numbers::client::stream, right: ...) -> carry,
 *                                 done -> ! } }
 *   proto! ping { ping:send { ping(u64) -> pong } pong:recv { pong(u64) -> ping, enough -> ! } }
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "duologue/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bank_client_login { duo_endpoint sends; } bank_client_login_t;
typedef struct bank_server_login { duo_endpoint receives; } bank_server_login_t;
typedef struct bank_client_login_response { duo_endpoint receives; } bank_client_login_response_t;
typedef struct bank_server_login_response { duo_endpoint sends; } bank_server_login_response_t;
typedef struct bank_client_connected { duo_endpoint sends; } bank_client_connected_t;
typedef struct bank_server_connected { duo_endpoint receives; } bank_server_connected_t;

typedef enum bank_login_tag { BANK_LOGIN_LOGIN = 1 } bank_login_tag_t;
typedef struct bank_login {
    bank_login_tag_t tag;
    void *block;
    union {
        struct { duo_str username; duo_str password; bank_server_login_response_t next; } login;
    } as;
} bank_login_t;

typedef enum bank_login_response_tag {
    BANK_LOGIN_RESPONSE_OK = 1,
    BANK_LOGIN_RESPONSE_INVALID
} bank_login_response_tag_t;
typedef struct bank_login_response {
    bank_login_response_tag_t tag;
    void *block;
    union {
        struct { bank_client_connected_t next; } ok;
        struct { bank_client_login_t next; } invalid;
    } as;
} bank_login_response_t;

typedef enum bank_connected_tag { BANK_CONNECTED_DEPOSIT = 1, BANK_CONNECTED_QUIT } bank_connected_tag_t;
typedef struct bank_connected {
    bank_connected_tag_t tag;
    void *block;
    union {
        struct { double money; bank_server_connected_t next; } deposit;
        struct { char unused; } quit;
    } as;
} bank_connected_t;

DUO_MUST_CHECK duo_status bank_init(bank_server_login_t *server, bank_client_login_t *client);
DUO_MUST_CHECK duo_status bank_client_login_send_login(bank_client_login_t self, duo_str username,
                                                       duo_str password,
                                                       bank_client_login_response_t *next);
DUO_MUST_CHECK duo_status bank_server_login_recv(bank_server_login_t self, bank_login_t *message);
DUO_MUST_CHECK duo_status bank_server_login_response_send_ok(bank_server_login_response_t self,
                                                             bank_server_connected_t *next);
DUO_MUST_CHECK duo_status bank_server_login_response_send_invalid(bank_server_login_response_t self,
                                                                  bank_server_login_t *next);
DUO_MUST_CHECK duo_status bank_client_login_response_recv(bank_client_login_response_t self,
                                                          bank_login_response_t *message);
DUO_MUST_CHECK duo_status bank_client_connected_send_deposit(bank_client_connected_t self,
                                                             double money,
                                                             bank_client_connected_t *next);
DUO_MUST_CHECK duo_status bank_client_connected_send_quit(bank_client_connected_t self);
DUO_MUST_CHECK duo_status bank_server_connected_recv(bank_server_connected_t self,
                                                     bank_connected_t *message);
duo_status bank_client_login_close(bank_client_login_t self);
duo_status bank_server_login_close(bank_server_login_t self);
duo_status bank_client_login_response_close(bank_client_login_response_t self);
duo_status bank_server_login_response_close(bank_server_login_response_t self);
duo_status bank_client_connected_close(bank_client_connected_t self);
duo_status bank_server_connected_close(bank_server_connected_t self);
void bank_login_free(bank_login_t *message);

typedef struct numbers_client_stream { duo_endpoint sends; } numbers_client_stream_t;
typedef struct numbers_server_stream { duo_endpoint receives; } numbers_server_stream_t;
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
DUO_MUST_CHECK duo_status numbers_server_stream_recv(numbers_server_stream_t self,
                                                     numbers_stream_t *message);
DUO_MUST_CHECK duo_status numbers_server_stream_try_recv(numbers_server_stream_t self,
                                                         numbers_stream_t *message);
DUO_MUST_CHECK duo_status numbers_server_stream_recv_within(numbers_server_stream_t self,
                                                            uint64_t nanoseconds,
                                                            numbers_stream_t *message);
duo_status numbers_client_stream_close(numbers_client_stream_t self);
duo_status numbers_server_stream_close(numbers_server_stream_t self);
numbers_server_stream_t numbers_server_stream_take(numbers_server_stream_t *place);

typedef struct numbers_client_stream_shared { duo_shared *shared; } numbers_client_stream_shared_t;
DUO_MUST_CHECK duo_status numbers_client_stream_share(numbers_client_stream_t self,
                                                      numbers_client_stream_shared_t *shared);
DUO_MUST_CHECK duo_status numbers_client_stream_shared_send_send(numbers_client_stream_shared_t self,
                                                                 uint64_t value);
DUO_MUST_CHECK duo_status
numbers_client_stream_shared_try_send_send(numbers_client_stream_shared_t self, uint64_t value);

typedef struct courier_client_carry { duo_endpoint sends; } courier_client_carry_t;
typedef struct courier_server_carry { duo_endpoint receives; } courier_server_carry_t;
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
DUO_MUST_CHECK duo_status courier_server_carry_recv(courier_server_carry_t self,
                                                    courier_carry_t *message);
duo_status courier_client_carry_close(courier_client_carry_t self);
duo_status courier_server_carry_close(courier_server_carry_t self);
void courier_carry_free(courier_carry_t *message);

typedef struct ping_client_ping { duo_endpoint sends; } ping_client_ping_t;
typedef struct ping_server_ping { duo_endpoint receives; } ping_server_ping_t;
typedef struct ping_client_pong { duo_endpoint receives; } ping_client_pong_t;
typedef struct ping_server_pong { duo_endpoint sends; } ping_server_pong_t;
typedef enum ping_ping_tag { PING_PING_PING = 1 } ping_ping_tag_t;
typedef struct ping_ping {
    ping_ping_tag_t tag;
    void *block;
    union {
        struct { uint64_t value; ping_server_pong_t next; } ping;
    } as;
} ping_ping_t;
typedef enum ping_pong_tag { PING_PONG_PONG = 1, PING_PONG_ENOUGH } ping_pong_tag_t;
typedef struct ping_pong {
    ping_pong_tag_t tag;
    void *block;
    union {
        struct { uint64_t value; ping_client_ping_t next; } pong;
        struct { char unused; } enough;
    } as;
} ping_pong_t;

DUO_MUST_CHECK duo_status ping_init(ping_server_ping_t *server, ping_client_ping_t *client);
DUO_MUST_CHECK duo_status ping_client_ping_send_ping(ping_client_ping_t self, uint64_t value,
                                                     ping_client_pong_t *next);
DUO_MUST_CHECK duo_status ping_server_ping_recv(ping_server_ping_t self, ping_ping_t *message);
DUO_MUST_CHECK duo_status ping_server_pong_send_pong(ping_server_pong_t self, uint64_t value,
                                                     ping_server_ping_t *next);
DUO_MUST_CHECK duo_status ping_server_pong_send_enough(ping_server_pong_t self);
DUO_MUST_CHECK duo_status ping_client_pong_recv(ping_client_pong_t self, ping_pong_t *message);
DUO_MUST_CHECK duo_status ping_client_pong_try_recv(ping_client_pong_t self, ping_pong_t *message);
DUO_MUST_CHECK duo_status ping_client_pong_recv_within(ping_client_pong_t self,
                                                       uint64_t nanoseconds, ping_pong_t *message);
duo_status ping_client_ping_close(ping_client_ping_t self);
duo_status ping_server_ping_close(ping_server_ping_t self);
duo_status ping_client_pong_close(ping_client_pong_t self);
duo_status ping_server_pong_close(ping_server_pong_t self);

#ifdef __cplusplus
}
#endif

#endif
