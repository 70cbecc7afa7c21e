/* Sessions of numbers of which both ends are in one thread. */
#ifndef FLOWS_H
#define FLOWS_H

#include "check.h"
#include "duologue/ready.h"
#include "flow_net.h"
#include "meet.h"

struct flowing {
    flow_client_flow_t client;
    flow_server_flow_t server;
};

static inline struct flowing begin_flow(void)
{
    struct flowing flowing;
    meet_both(&duo_wire_of_flow, &flowing.client.sends, &flowing.server.receives);
    return flowing;
}

static inline void send_some(struct flowing *flowing, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        CHECK(flow_client_flow_send_number(flowing->client, i, &flowing->client) == DUO_OK);
}

static inline void recv_some(struct flowing *flowing, uint64_t from, uint64_t count)
{
    flow_flow_t got;
    for (uint64_t i = from; i < from + count; i++) {
        CHECK(flow_server_flow_recv(flowing->server, &got) == DUO_OK && got.as.number.value == i);
        flowing->server = got.as.number.next;
    }
}

static inline void expect_end(struct flowing flowing)
{
    flow_flow_t got;
    CHECK(flow_server_flow_recv(flowing.server, &got) == DUO_CLOSED);
}

/*
 * A connection that takes nothing: the sender learns it in time, has sent nothing, and goes on later. Nothing is lost. If it does not
 * stay full, what was on its way may still make room.
 */
static inline void check_full(struct flowing flowing, bool stays_full)
{
    uint64_t sent = 0;
    duo_status status;
    while ((status = flow_client_flow_try_send_number(flowing.client, sent, &flowing.client)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL);
    const duo_endpoint waits = DUO_WRITABLE(flowing.client);
    size_t which;
    if (stays_full) {
        CHECK(duo_select(&waits, 1, UINT64_C(1000000), &which) == DUO_EMPTY);
        CHECK(flow_client_flow_send_number_within(flowing.client, UINT64_C(1000000), sent, &flowing.client) == DUO_FULL);
    }
    recv_some(&flowing, 0, sent);
    CHECK(duo_select(&waits, 1, DUO_FOREVER, &which) == DUO_OK);
    CHECK(flow_client_flow_try_send_number(flowing.client, sent, &flowing.client) == DUO_OK);
    /* Closing does not lose what was sent before. */
    CHECK(flow_client_flow_close(flowing.client) == DUO_OK);
    recv_some(&flowing, sent, 1);
    expect_end(flowing);
}

/* A receiver that leaves: the sender finds out, and why, and no signal ends its program. */
static inline void check_left(struct flowing flowing)
{
    CHECK(flow_server_flow_close(flowing.server) == DUO_OK);
    CHECK(flow_server_flow_close(flowing.server) == DUO_USED);
    duo_status status = DUO_OK;
    while (status == DUO_OK) status = flow_client_flow_send_number(flowing.client, 1, &flowing.client);
    CHECK(status == DUO_CLOSED && flowing.client.sends.session == NULL);
}

#endif
