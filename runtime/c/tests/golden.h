/* Endpoints of golden.proto. A test says how large a ring is where that matters. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "bank.h"
#include "ping.h"

#ifndef __cplusplus
/* Only the session knows its shape then, so the generated code does not use that of the protocol. */
#define duo_may_send(cursor, from, role, known, edge) duo_may_send(cursor, from, role, NULL, edge)
#define duo_may_recv(cursor, from, role, known, edge, wait) duo_may_recv(cursor, from, role, NULL, edge, wait)
#include "numbers.h"
#undef duo_may_send
#undef duo_may_recv
#endif
#include "courier.h"

/* The same protocol with a ring for `capacity` messages, in whole lines, at least two. */
static inline duo_protocol with_ring(duo_protocol protocol, size_t capacity)
{
    protocol.capacity = capacity;
    protocol.ring = 0;
    protocol.shape = NULL;
    return protocol;
}

DUO_MUST_CHECK static inline duo_status numbers_init_with(size_t capacity, numbers_server_stream_t *server,
                                                          numbers_client_stream_t *client)
{
    const duo_protocol protocol = with_ring(duo_protocol_of_numbers, capacity);
    return duo_open(&protocol, &server->receives, &client->sends);
}

DUO_MUST_CHECK static inline duo_status courier_init_with(size_t capacity, courier_server_carry_t *server,
                                                          courier_client_carry_t *client)
{
    const duo_protocol protocol = with_ring(duo_protocol_of_courier, capacity);
    return duo_open(&protocol, &server->receives, &client->sends);
}

#endif
