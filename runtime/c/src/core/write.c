/* Writing: what a session has sent goes to its stream. remote/lane.c says why numbers are sent without the lock. */
#include "net.h"

#include <errno.h>
#include <string.h>

bool duo_net_settle(duo_net *net)
{
    if (net->sends == NULL) return false;
    size_t count = (size_t)(duo_atomic_load(&net->counted, memory_order_acquire) >> 1);
    size_t added = count - net->settled;
    if (added == 0) return false;
    if (!duo_net_reserve(&net->out, added * DUO_NET_FRAME)) {
        /* Only after the session was cut is less space left than was reserved. */
        net->cannot_write = true;
        return false;
    }
    char *place = net->out.bytes + net->out.end;
    const char tag = (char)(net->sends->index + 1);
    for (size_t i = net->settled; i < count; i++) {
        *place = tag;
        memcpy(place + 1, net->numbers + 8 * i, 8);
        place += DUO_NET_FRAME;
    }
    net->out.end += added * DUO_NET_FRAME;
    net->settled = count;
    return true;
}

void duo_net_end_lane(duo_net *net)
{
    duo_net_settle(net);
    net->sends = NULL;
    net->out.is_reserved = false;
    net->remote.lane.end = 0;
}

bool duo_net_let_sleep(duo_net *net)
{
    if (net->sends == NULL || duo_atomic_load(&net->asleep, memory_order_relaxed) != 0) return true;
    /* Sequentially consistent for the thread sanitizer; otherwise the barrier follows. */
    duo_atomic_exchange(&net->asleep, 1, memory_order_seq_cst);
    duo_barrier();
    size_t count = (size_t)(duo_atomic_load(&net->counted, memory_order_seq_cst) >> 1);
    if (count == net->settled) return true;
    duo_atomic_store(&net->asleep, 0, memory_order_relaxed);
    return false;
}

bool duo_net_write(duo_net *net)
{
    duo_net_settle(net);
    while (duo_net_size(&net->out) > 0 && !net->cannot_write) {
        const char *bytes = net->out.bytes + net->out.from;
        ptrdiff_t done = duo_net_write_some(&net->stream, bytes, duo_net_size(&net->out));
        if (done < 0 && errno == EAGAIN) {
            duo_net_note_written(net, 0);
            return false;
        }
        if (done >= 0) {
            net->has_written = true;
        } else {
            /* While it is the peer's turn, its messages may have arrived before the connection ended: reading finds both. */
            net->cannot_write = !net->receives;
            done = (ptrdiff_t)duo_net_size(&net->out);
        }
        if (net->beat != 0) net->written_at = duo_now();
        if (net->lingers) net->lingers_until = duo_now() + DUO_NET_LINGER;
        duo_net_drop(&net->out, (size_t)done);
        if (net->written_by != 0) duo_net_note_written(net, (size_t)done);
    }
    if (!net->cannot_write) {
        duo_net_begin_time(net);
        return true;
    }
    duo_net_forget(&net->out);
    return false;
}
