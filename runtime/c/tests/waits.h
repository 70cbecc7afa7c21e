/* The ways to wait until an endpoint is ready that work for several endpoints, and threads that end a wait. */
#ifndef WAITS_H
#define WAITS_H

#include <poll.h>

#include "check.h"
#include "duologue/ready.h"

typedef enum way { BY_SELECT, BY_SET, BY_DESCRIPTOR, WAYS } way;

static inline void wait_by(way how, duo_endpoint endpoint)
{
    size_t which = 1;
    if (how == BY_SELECT) {
        CHECK(duo_select(&endpoint, 1, DUO_FOREVER, &which) == DUO_OK && which == 0);
        return;
    }
    bool by_descriptor = how == BY_DESCRIPTOR;
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    struct pollfd polled = {by_descriptor ? duo_ports_descriptor(ports) : -1, POLLIN, 0};
    CHECK(duo_ports_add(ports, endpoint, ports, NULL) == DUO_OK);
    void *with = NULL;
    duo_status status;
    do {
        if (by_descriptor) CHECK(poll(&polled, 1, -1) == 1);
        status = duo_ports_wait(ports, by_descriptor ? DUO_AT_ONCE : DUO_FOREVER, &with);
    } while (by_descriptor && status == DUO_EMPTY);
    CHECK(status == DUO_OK && with == ports);
    duo_ports_free(ports);
}

static inline void *interrupt_late(void *ports)
{
    take_a_moment();
    duo_ports_interrupt(ports);
    return NULL;
}

static inline void *cancel_late(void *canceler)
{
    take_a_moment();
    duo_cancel(canceler);
    return NULL;
}

#endif
