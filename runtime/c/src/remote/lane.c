/*
 * Lanes over a byte stream: numbers that follow one another in a run, and that code in the header (duologue/lane.h) sends
 * and receives without a call and without the session's lock. They go through the array `numbers`, which belongs to the
 * owner of the endpoint.
 *
 * (a) As sender. The header stores a number there, and then its count in `counted` (release). A thread that holds the lock may
 *     move what is counted (acquire) into `out`, for which there is space: `duo_net_write` does so first, so everything
 *     that is written after the lane began comes after its numbers. Only the owner, under the lock, begins and ends a lane.
 * (b) The writer visits the session after a few milliseconds, and again as long as it finds numbers. If it finds none, it
 *     sets `asleep`, runs the barrier, and checks once more. The header stores the count and then reads `asleep`, and the
 *     barrier is executed by the thread that runs it, too (barrier.c): if it comes after the store, the writer sees the
 *     number, and if it comes before, the header sees the flag. Then it calls the library, which ends the lane. So no number
 *     remains unwritten. A lane begins only where there is the barrier, and only after some numbers in a row, so that the
 *     writer need not run it for messages that are sent now and then.
 * (c) As receiver. The frames of several numbers are moved from `in` at once. Those that the program has not received yet
 *     are the last `unread` ones, or, while the lane is open, as many as are left to its end.
 * (d) A session with an observer, and a state with a time limit, have no lanes: there every message counts.
 */
#include <assert.h>
#include <string.h>

#include "duologue/lane.h"
#include "../core/net.h"

enum {
    /* The largest index whose tag has one byte. */
    MOST_INDEX = 126,
    /* A lane begins after this many numbers. */
    ENOUGH = 8
};

static_assert(DUO_NET_RESERVED >= (DUO_NET_NUMBERS + 1) * DUO_NET_FRAME, "all numbers of a lane fit");
/* The header sets a bit in the last count. */
static_assert(((2 * DUO_NET_NUMBERS) & DUO_LANE_FULL) != 0, "that bit is set already");

bool duo_net_is_number(const duo_net *net, const duo_message *message)
{
    const duo_wire_message *wire = &net->protocol->wires[message - net->protocol->messages];
    if (message->edge != DUO_STAY || wire->flat != 8 || message->index > MOST_INDEX) return false;
    return message->next->messages + message->index == message && is_little_endian();
}

/* The writer has found out. */
static bool has_barrier(void)
{
#ifdef DUO_THREAD_SANITIZER
    /* There the header uses a read-modify-write, which needs none. */
    return true;
#else
    return duo_is_known_to_have_barrier();
#endif
}

/* Begins a lane of those numbers that begin at this index, the first of which has this turn. */
static void begin(duo_net *net, uint64_t turn, size_t first, size_t count, const duo_message *of)
{
    duo_lane *lane = &net->remote.lane;
    lane->from = turn;
    lane->end = turn + 2 * (uint64_t)count;
    lane->ends = 0;
    lane->ahead = 0;
    lane->place = (uintptr_t)(net->numbers + 8 * first) - (uintptr_t)(4 * turn);
    lane->of = of;
    /* So that a number of this turn makes the count, from the second bit on, 1. */
    lane->word = 2 - turn;
    lane->line = &net->counted;
    lane->peer = &net->asleep;
}

/* Makes the array, once for a session, so that those without such runs do not have it. False if memory ran out. */
static bool make_array(duo_net *net)
{
    if (net->numbers == NULL) net->numbers = duo_allocate(8 * DUO_NET_NUMBERS);
    return net->numbers != NULL;
}

void duo_net_send_numbers(duo_net *net, duo_endpoint next, const duo_message *message)
{
    if (++net->alike < ENOUGH) return;
    if (net->cannot_write || net->ended != DUO_OK || duo_net_size(&net->out) >= DUO_NET_FULL) return;
    if (net->observed != NULL || duo_net_within(net) != 0 || !has_barrier() || !make_array(net)) return;
    /* Without a writer, every message tries to write. */
    if (!duo_net_collect(net) || !duo_net_reserve(&net->out, DUO_NET_RESERVED)) return;
    net->out.is_reserved = true;
    net->sends = message;
    net->settled = 0;
    duo_atomic_store(&net->counted, 0, memory_order_relaxed);
    duo_atomic_store(&net->asleep, 0, memory_order_relaxed);
    begin(net, next.turn, 0, DUO_NET_NUMBERS, message);
}

void duo_net_lane_go_on(duo_endpoint next)
{
    duo_net *net = duo_net_of(next);
    const duo_message *message = net->remote.lane.of;
    pthread_mutex_lock(&net->lock);
    duo_net_end_lane(net);
    if (duo_net_size(&net->out) >= DUO_NET_FULL && !duo_net_write(net) && !net->cannot_write) duo_net_write_later(net, 0);
    duo_net_send_numbers(net, next, message);
    duo_net_shrink_later(net);
    pthread_mutex_unlock(&net->lock);
}

duo_status duo_net_answer_peer(duo_endpoint next, uint32_t flags)
{
    (void)flags;
    duo_net *net = duo_net_of(next);
    pthread_mutex_lock(&net->lock);
    duo_net_end_lane(net);
    net->alike = 1;
    if (net->cannot_write) {
        duo_status status = duo_net_last_word(net);
        return duo_net_end(net, duo_net_leave_of(net, status), status, NULL);
    }
    if (!duo_net_collect(net)) duo_net_write(net);
    pthread_mutex_unlock(&net->lock);
    return DUO_OK;
}

void duo_net_gather(duo_net *net, duo_endpoint next, const duo_message *kind)
{
    if (!duo_net_is_number(net, kind) || net->observed != NULL || duo_net_within(net) != 0) return;
    const char *at = net->in.bytes + net->in.from;
    const char tag = (char)(kind->index + 1);
    size_t most = duo_net_size(&net->in) / DUO_NET_FRAME, count = 0;
    if (most == 0 || *at != tag || !make_array(net)) return;
    if (most > DUO_NET_NUMBERS) most = DUO_NET_NUMBERS;
    for (; count < most && *at == tag; count++) {
        memcpy(net->numbers + 8 * count, at + 1, 8);
        at += DUO_NET_FRAME;
    }
    duo_net_drop(&net->in, count * DUO_NET_FRAME);
    net->arrived = count;
    net->receives_of = kind;
    net->remote.lane.tag = kind->index + 1;
    begin(net, next.turn, 0, count, NULL);
}

void duo_net_keep_unread(duo_net *net, uint64_t turn)
{
    duo_lane *lane = &net->remote.lane;
    if (lane->end == 0 || net->sends != NULL) return;
    net->unread = (size_t)(lane->end - turn) / 2;
    lane->end = 0;
}

const duo_message *duo_net_take_unread(duo_net *net, duo_endpoint next, void *entries)
{
    const size_t first = net->arrived - net->unread, left = net->unread - 1;
    memcpy(entries, net->numbers + 8 * first, 8);
    net->unread = 0;
    if (left > 0) begin(net, next.turn, first + 1, left, NULL);
    return net->receives_of;
}
