/*
 * What any thread may do with a set: wake it, interrupt it, and give it endpoints. A given endpoint is on a list to which any
 * number of threads push and which the set's thread takes as a whole, like those that were notified; ports.c says why
 * it is not missed. It is added by the set's thread, so everything else in the set belongs to that thread.
 */
#include "ports.h"

#ifndef DUO_NO_MALLOC

#include <errno.h>
#include <unistd.h>

void duo_ports_signal(duo_ports *ports)
{
    int descriptor = duo_atomic_load(&ports->descriptor, memory_order_acquire);
    if (descriptor < 0) return;
    if (duo_atomic_exchange(&ports->signalled, true, memory_order_acq_rel)) return;
    uint64_t one = 1;
    /* It cannot be full: it is never written twice before it is read. */
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void duo_ports_wake(duo_ports *ports)
{
    if (duo_atomic_exchange(&ports->asleep, 0, memory_order_acq_rel) != 0)
        duo_wake(&ports->asleep, DUO_LOW_HALF);
    duo_ports_signal(ports);
}

void duo_ports_interrupt(duo_ports *ports)
{
    /* Release: a wait that takes the interrupt sees what this thread did before. */
    duo_atomic_store(&ports->is_interrupted, true, memory_order_release);
    duo_ports_wake(ports);
}

duo_status duo_ports_give(duo_ports *ports, duo_endpoint endpoint, void *with)
{
    duo_given *given = duo_allocate(sizeof *given);
    if (given == NULL) return DUO_NO_MEMORY;
    *given = (duo_given){endpoint, with, duo_atomic_load(&ports->given, memory_order_relaxed)};
    /* Release: the thread that takes it sees it, and what this thread did with the endpoint before. */
    while (!duo_atomic_compare_exchange_weak(&ports->given, &given->next, given, memory_order_release, memory_order_relaxed)) continue;
    duo_ports_wake(ports);
    return DUO_OK;
}

duo_given *duo_ports_take_given(duo_ports *ports)
{
    if (duo_atomic_load(&ports->given, memory_order_relaxed) == NULL) return NULL;
    duo_given *latest = duo_atomic_exchange(&ports->given, NULL, memory_order_acquire), *earliest = NULL;
    while (latest != NULL) {
        duo_given *earlier = latest->next;
        latest->next = earliest;
        earliest = latest;
        latest = earlier;
    }
    return earliest;
}

#endif
