/* A session over a byte stream as a whole: net.h says which thread may access what. */
#include "net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long what was sent may still be written after a session is over, in nanoseconds. */
#define LINGER UINT64_C(5000000000)

#define MILLISECOND UINT64_C(1000000)

#define LARGEST ((uint32_t)1 << 20)

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static duo_net *pool;
/* How many have been allocated and not freed. */
static size_t existing;

static void lock_pool(void)
{
    pthread_mutex_lock(&pool_lock);
}

static void unlock_pool(void)
{
    pthread_mutex_unlock(&pool_lock);
}

static size_t empty_pool(void)
{
    lock_pool();
    duo_net *gone = pool;
    pool = NULL;
    for (const duo_net *net = gone; net != NULL; net = net->next_free) existing -= 1;
    size_t living = existing;
    unlock_pool();
    while (gone != NULL) {
        duo_net *net = gone;
        gone = net->next_free;
        pthread_mutex_destroy(&net->lock);
        duo_release(net);
    }
    return living;
}

/* As in pool.c: a child process does not have the thread that may have held the lock. */
__attribute__((constructor(DUO_NET_POOL_PRIORITY))) static void guard_pool(void)
{
    duo_empty_too(empty_pool);
    (void)pthread_atfork(lock_pool, unlock_pool, unlock_pool);
}

/* A new session, or one from the pool, whose turns continue where they were; NULL if memory ran out. */
static duo_net *from_pool(void)
{
    lock_pool();
    duo_net *net = pool;
    if (net != NULL) pool = net->next_free;
    unlock_pool();
    if (net != NULL) return net;
    net = duo_allocate_aligned(DUO_LINE, sizeof *net);
    if (net == NULL) return NULL;
    memset(net, 0, sizeof *net);
    if (pthread_mutex_init(&net->lock, NULL) != 0) {
        duo_release(net);
        return NULL;
    }
    lock_pool();
    existing += 1;
    unlock_pool();
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++)
        duo_atomic_init(&net->remote.session.sides[role].turn, DUO_REMOTE + 2 + role);
    net->remote.transport = &duo_net_transport;
    return net;
}

uint32_t duo_net_largest(const duo_net_options *options)
{
    if (options->largest == 0) return LARGEST;
    if (options->largest < DUO_NET_LEAST_LARGEST) return DUO_NET_LEAST_LARGEST;
    return options->largest < UINT32_MAX ? (uint32_t)options->largest : UINT32_MAX;
}

duo_net *duo_net_begin(const duo_net_stream *stream, bool accepted, const duo_wire_protocol *protocol, duo_role role,
                       const duo_net_options *options, const duo_net_terms *terms, duo_endpoint *endpoint)
{
    duo_net_observed *observed = NULL;
    if (options->observer != NULL) {
        observed = duo_net_observe(options->observer, accepted, protocol, role, terms);
        if (observed == NULL) return NULL;
    }
    duo_net *net = from_pool();
    if (net == NULL) {
        if (observed != NULL) duo_release(observed);
        return NULL;
    }
    DUO_RECORD_BEGINS(&net->remote.session);
    net->observed = observed;
    net->value = NULL;
    net->handled = NULL;
    net->remote.is_handed_over = false;
    net->remote.session.allocator = NULL;
    net->protocol = protocol;
    net->state = protocol->states;
    duo_atomic_store(&net->remote.session.sides[role].state, protocol->states, memory_order_relaxed);
    net->stream = *stream;
    net->accepted = accepted;
    net->has_written = net->cannot_write = net->cannot_read = net->is_reading = net->lingers = net->is_over = false;
    net->ended = DUO_OK;
    net->peer_takes = terms->largest;
    net->takes = duo_net_largest(options);
    uint64_t usual = 4 * (uint64_t)net->takes;
    net->memory = options->memory != 0 ? options->memory : usual < SIZE_MAX ? (size_t)usual : SIZE_MAX;
    net->beat = options->heartbeat * DUO_SECOND;
    net->patience = 3 * terms->heartbeat * DUO_SECOND;
    net->receives = role != protocol->first;
    net->late_at = net->written_by = 0;
    net->shrinks_at = 0;
    net->place = NULL;
    net->sends = NULL;
    net->alike = 0;
    net->unread = 0;
    net->is_collected = false;
    net->reads = DUO_NET_LEAST_READ;
    net->remote.lane.end = 0;
    /* The clock does not reach twice as far. */
    net->idle = options->idle < DUO_FOREVER / 2 ? options->idle : DUO_FOREVER / 2;
    net->written_at = net->read_at = net->beat != 0 || net->patience != 0 ? duo_now() : 0;
    endpoint->session = &net->remote.session;
    endpoint->turn = duo_atomic_load(&net->remote.session.sides[role].turn, memory_order_relaxed);
    if (observed != NULL) duo_net_report_begin(net);
    return net;
}

void duo_net_start_clocks(duo_net *net)
{
    pthread_mutex_lock(&net->lock);
    if (net->beat != 0) duo_net_write_later(net, net->written_at + net->beat / 2);
    duo_net_begin_time(net);
    duo_net_check_time_later(net);
    pthread_mutex_unlock(&net->lock);
}

/* 0 without one. */
static uint64_t limit_of_state(const duo_net *net)
{
    const uint32_t *limits = net->protocol->within;
    return limits == NULL ? 0 : limits[net->state - net->protocol->states] * MILLISECOND;
}

uint64_t duo_net_within(const duo_net *net)
{
    uint64_t limit = limit_of_state(net);
    return limit == 0 && net->receives ? net->idle : limit;
}

void duo_net_enter_state(duo_net *net, const duo_message *message)
{
    net->state = message->next;
    if (message->edge == DUO_TURN) net->receives = !net->receives;
    net->late_at = 0;
    duo_net_begin_time(net);
}

void duo_net_begin_time(duo_net *net)
{
    if (net->late_at != 0 || duo_net_size(&net->out) > 0 || net->ended != DUO_OK || net->is_over) return;
    uint64_t limit = duo_net_within(net);
    if (limit == 0) return;
    net->late_at = duo_now() + limit;
    net->late_reads = 0;
}

void duo_net_check_time_later(duo_net *net)
{
    if (net->late_at != 0) duo_net_write_later(net, net->late_at);
}

void duo_net_note_written(duo_net *net, size_t size)
{
    if (net->written_by != 0) {
        net->to_write -= size < net->to_write ? size : net->to_write;
        if (net->to_write == 0) net->written_by = 0;
    }
    if (size > 0 || net->written_by != 0 || net->ended != DUO_OK) return;
    uint64_t limit = limit_of_state(net);
    if (limit == 0) limit = net->idle;
    if (limit == 0) return;
    net->written_by = duo_now() + limit;
    net->late_reads = 0;
    net->to_write = duo_net_size(&net->out);
}

bool duo_net_is_late(duo_net *net)
{
    static const char late[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, DUO_NET_WAS_LATE};
    if (net->ended != DUO_OK || net->is_over) return false;
    /* As sender, this side is the one that may take too long. */
    uint64_t limit = net->receives ? duo_net_limit(net) : net->written_by != 0 ? net->written_by : DUO_FOREVER;
    if (limit == DUO_FOREVER || duo_now() < limit) return false;
    net->ended = DUO_LATE;
    if (!net->cannot_write && duo_net_reserve(&net->out, sizeof late)) duo_net_append(&net->out, late, sizeof late);
    duo_net_write(net);
    return true;
}

uint64_t duo_net_patient_until(const duo_net *net, uint64_t until)
{
    uint64_t wakes = until;
    if (net->written_by != 0 && wakes > net->written_by) wakes = net->written_by;
    if (net->patience != 0 && wakes >= net->read_at + net->patience) wakes = net->read_at + net->patience + 1;
    uint64_t limit = net->receives ? duo_net_within(net) : 0;
    if (limit == 0) return wakes;
    /* If the time has not begun, it passes no earlier than this, and the writer reads nothing before that. */
    uint64_t late_at = net->late_at != 0 ? net->late_at : duo_now() + limit;
    return wakes < late_at ? wakes : late_at;
}

bool duo_net_enter(duo_net *net, duo_net_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    net->gate = gate;
    net->next_gated = gate->first;
    if (net->next_gated != NULL) net->next_gated->gated_by = &net->next_gated;
    net->gated_by = &gate->first;
    gate->first = net;
    gate->holders += 1;
    bool is_cut = gate->is_cut;
    pthread_mutex_unlock(&gate->lock);
    return is_cut;
}

void duo_net_let_go(duo_net_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->holders -= 1;
    bool is_last = gate->holders == 0;
    pthread_mutex_unlock(&gate->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
    duo_release(gate);
}

static void leave_gate(duo_net *net)
{
    duo_net_gate *gate = net->gate;
    if (gate == NULL) return;
    net->gate = NULL;
    pthread_mutex_lock(&gate->lock);
    *net->gated_by = net->next_gated;
    if (net->next_gated != NULL) net->next_gated->gated_by = net->gated_by;
    gate->sessions -= 1;
    duo_net_leave_place(gate, net->place);
    net->place = NULL;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    duo_net_let_go(gate);
}

void duo_net_finish(duo_net *net)
{
    leave_gate(net);
    duo_net_hang_up(&net->stream);
    net->stream.descriptor = -1;
    duo_net_forget(&net->in);
    duo_net_forget(&net->out);
    if (net->numbers != NULL) duo_release(net->numbers);
    net->numbers = NULL;
    lock_pool();
    net->next_free = pool;
    pool = net;
    unlock_pool();
}

duo_status duo_net_end(duo_net *net, duo_net_leave leave, duo_status status, duo_endpoint *next)
{
    if (next != NULL) memset(next, 0, sizeof *next);
    const char frame[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, (char)leave};
    duo_net_value *value = net->value;
    net->value = NULL;
    if (net->handled != NULL) net->handled->is_over = true;
    net->handled = NULL;
    duo_net_end_lane(net);
    if (leave != DUO_NET_SILENT && !net->cannot_write && duo_net_reserve(&net->out, sizeof frame))
        duo_net_append(&net->out, frame, sizeof frame);
    bool is_done = duo_net_write(net) || net->cannot_write;
    if (net->observed != NULL) {
        /* Before the connection is closed, so that a listener that has been drained has reported all ends. */
        duo_status why = status != DUO_OK ? status : net->ended != DUO_OK ? net->ended : DUO_CLOSED;
        bool is_unwritten = net->cannot_write;
        net->is_over = true;
        pthread_mutex_unlock(&net->lock);
        duo_net_report_end(net, why, is_unwritten);
        pthread_mutex_lock(&net->lock);
        is_done = duo_net_write(net) || net->cannot_write;
    }
    if (is_done) {
        duo_net_not_later(net);
        pthread_mutex_unlock(&net->lock);
        /* Like the report above: a listener that has been drained has released all values. */
        duo_net_drop_value(value);
        duo_net_finish(net);
        return status;
    }
    uint64_t now = duo_now();
    net->lingers_until = now + LINGER;
    net->lingers = true;
    bool is_left = duo_net_write_later(net, now);
    pthread_mutex_unlock(&net->lock);
    duo_net_drop_value(value);
    if (!is_left) duo_net_finish(net);
    return status;
}

duo_net_leave duo_net_leave_of(const duo_net *net, duo_status status)
{
    if (net->ended != DUO_OK || status == DUO_LOST) return DUO_NET_SILENT;
    switch (status) {
    case DUO_BROKEN: return DUO_NET_BROKE;
    case DUO_LATE: return DUO_NET_WAS_LATE;
    case DUO_TOO_LARGE: return DUO_NET_WAS_TOO_LARGE;
    default: return DUO_NET_LEFT;
    }
}

void duo_net_cut(duo_net *net)
{
    static const char leave[] = {DUO_NET_CONTROL, DUO_NET_LEAVE, DUO_NET_LEFT};
    if (pthread_mutex_trylock(&net->lock) == 0) {
        duo_net_settle(net);
        if (!net->is_over && !net->cannot_write && duo_net_reserve(&net->out, sizeof leave)) {
            duo_net_append(&net->out, leave, sizeof leave);
            (void)duo_net_write(net);
        }
        net->stream.kind->notify_end(&net->stream);
        net->cannot_write = true;
        if (net->ended == DUO_OK) net->ended = DUO_LOST;
        pthread_mutex_unlock(&net->lock);
    }
    if (net->stream.is_socket) shutdown(net->stream.descriptor, SHUT_RDWR);
}

static duo_status close_net(duo_endpoint endpoint, const duo_state *state)
{
    (void)state;
    if (duo_claim(endpoint) == NULL) return DUO_USED;
    duo_net *net = duo_net_of(endpoint);
    pthread_mutex_lock(&net->lock);
    return duo_net_end(net, duo_net_leave_of(net, DUO_CLOSED), DUO_OK, NULL);
}

const duo_transport duo_net_transport = {
    .send = duo_net_send,
    .recv = duo_net_recv,
    .close = close_net,
    .lane_go_on = duo_net_lane_go_on,
    .answer_peer = duo_net_answer_peer,
    .is_ready = duo_net_is_ready,
    .sleep = duo_net_sleep,
    .watch = duo_net_watch,
    .unwatch = duo_net_unwatch,
    .poll_watch = duo_net_poll_watch,
    .sleep_watch = duo_net_sleep_watch,
    .start_thread = duo_net_start_watch_thread,
    .free_watch = duo_net_free_watch,
};
