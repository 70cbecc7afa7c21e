/*
 * The thread that writes what senders have collected, or what the system has not accepted at once, that notifies
 * peers that this side is still there, that checks the time limits of states, and that returns the memory of buffers
 * that have grown. It is started when it is first needed, for all sessions of the process, and does not end.
 *
 * The sessions that have work for it are listed. A sender lists its session; the thread takes it off the list
 * once everything is written, or when the session ends. A session with a heartbeat stays listed until it ends, and one
 * in a state with a time limit until it leaves that state. The thread wakes at the earliest time that is due, but at most
 * once per millisecond, and keeps waking for a while when no session is listed, so that a sender that begins a run now
 * and then need not wake it.
 *
 * The sessions are listed by the millisecond in which they are due, in slots that are used again after SLOTS of them, so
 * that the thread finds those that are due without checking the others: in a slot it skips those of a later round.
 * Sessions whose connection accepts nothing are on a list of their own, and polled.
 */
#include <poll.h>
#include <unistd.h>

#include "net.h"

/* How often the thread checks, in nanoseconds, and how often it does so without work before it sleeps until woken. */
#define TICK UINT64_C(1000000)
#define IDLE_TICKS 50

/* How often it visits a session that goes on sending numbers, in nanoseconds. */
#define VISIT_PERIOD UINT64_C(2000000)

/* How long a message may wait for others of its run, in nanoseconds. */
#define COLLECTED_FOR UINT64_C(2000000)

/* The pauses between checks of a state whose time has passed, and the most reads of one check. */
#define LEAST_PAUSE UINT64_C(50000000)
#define MOST_PAUSE UINT64_C(10000000000)
#define MOST_CHECKS 1024

enum { SLOTS = 1024 };

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static duo_net *slots[SLOTS];
static duo_net *stuck;
static size_t listed;
/* The last millisecond whose slot the thread has gone through. */
static uint64_t last_tick;
/* Whether the thread, and the pipe that wakes it, exist. */
static bool is_running;
static int wakers[2] = {-1, -1};
/* When it wakes; DUO_FOREVER if only the pipe wakes it. */
static uint64_t wakes_at;
/* What it polls: the pipe, and the connections that accept nothing at the moment. */
static duo_net_polls writer_polls;

static void hold_lists(void)
{
    pthread_mutex_lock(&lists_lock);
}

static void release_lists(void)
{
    pthread_mutex_unlock(&lists_lock);
}

static void forget_list(duo_net **list)
{
    for (duo_net *net = *list; net != NULL; net = net->next_listed) {
        net->is_listed = net->is_collected = false;
        /* The next number that this process sends goes through the library. */
        duo_atomic_store(&net->asleep, 1, memory_order_relaxed);
    }
    *list = NULL;
}

/* A child process does not have the thread. Its parent writes what is on the lists. */
static void be_child(void)
{
    for (size_t i = 0; i < SLOTS; i++) forget_list(&slots[i]);
    forget_list(&stuck);
    listed = 0;
    if (is_running) duo_net_close_pipe(wakers);
    is_running = false;
    release_lists();
}

__attribute__((constructor(DUO_NET_WRITER_PRIORITY))) static void guard_writer(void)
{
    (void)pthread_atfork(hold_lists, release_lists, be_child);
}

/* The list of the sessions that are due at this time. */
static duo_net **slot_of(uint64_t time)
{
    uint64_t tick = time / TICK;
    if (tick <= last_tick) tick = last_tick + 1;
    return &slots[tick % SLOTS];
}

/* Moves a listed session to another list. Its lock is not needed for that. */
static void move_net(duo_net *net, duo_net **list)
{
    DUO_LIST_REMOVE(net, next_listed, listed_by);
    DUO_LIST_ADD(list, net, next_listed, listed_by);
}

/* Under the session's lock as well. */
static void unlist(duo_net *net)
{
    DUO_LIST_REMOVE(net, next_listed, listed_by);
    net->is_listed = net->is_collected = false;
    listed -= 1;
}

/* Notifies the peer that this side is still there, if it has been silent for half of the promised time. */
static void beat(duo_net *net, uint64_t now)
{
    static const char alive[] = {0, 1};
    bool is_open = !net->lingers && !net->is_over && net->ended == DUO_OK;
    bool is_due = net->beat != 0 && is_open && now >= net->written_at + net->beat / 2;
    if (!is_due || duo_net_size(&net->out) > 0 || !duo_net_reserve(&net->out, sizeof alive)) return;
    duo_net_append(&net->out, alive, sizeof alive);
}

/*
 * If the time of the state or that for writing has passed, reads what has arrived: the peer is late, or says that this side is. Returns when to check again,
 * or DUO_FOREVER.
 */
static uint64_t check_time(duo_net *net, uint64_t now)
{
    uint64_t limit = duo_net_limit(net);
    if (limit == DUO_FOREVER || net->lingers || net->is_over) return DUO_FOREVER;
    if (net->ended != DUO_OK || net->cannot_read) return DUO_FOREVER;
    if (now < limit) return limit;
    const duo_state *state = net->receives ? net->state : NULL;
    for (unsigned reads = 0; reads < MOST_CHECKS; reads++) {
        duo_net_frame frame;
        size_t needed;
        /* A message that is there is in time, and the program has not received it yet. */
        if (duo_net_front(net, state, &frame, &needed) != DUO_EMPTY) return DUO_FOREVER;
        if (duo_net_read(net, needed) != DUO_OK) break;
    }
    /* The next check takes place after as long as the time has already passed. */
    uint64_t passed = now - limit;
    return now + (passed < LEAST_PAUSE ? LEAST_PAUSE : passed < MOST_PAUSE ? passed : MOST_PAUSE);
}

/*
 * If it is time, returns the memory of buffers that have grown and are empty. Returns when to do so next, or DUO_FOREVER.
 */
static uint64_t shrink(duo_net *net, uint64_t now)
{
    if (net->shrinks_at == 0) return DUO_FOREVER;
    if (now < net->shrinks_at) return net->shrinks_at;
    bool is_large = duo_net_shrink(&net->out);
    /* A thread that waits in a read uses the other buffer. Once it has received something, this is tried again. */
    if (!net->is_reading) is_large = duo_net_shrink(&net->in) || is_large;
    net->shrinks_at = is_large ? now + DUO_NET_SHRINKS_AFTER : 0;
    return is_large ? net->shrinks_at : DUO_FOREVER;
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Does what is due for one session. `next`, the time at which the thread should check again, becomes earlier if needed. */
static void visit(duo_net *net, uint64_t now, uint64_t *next)
{
    /* The thread that holds it may be about to write, so this one checks again later. */
    if (pthread_mutex_trylock(&net->lock) != 0) {
        move_net(net, slot_of(now + TICK));
        return;
    }
    bool is_news = duo_net_settle(net);
    beat(net, now);
    (void)duo_net_write(net);
    uint64_t checks = check_time(net, now), shrinks = shrink(net, now);
    bool is_done = duo_net_write(net) || net->cannot_write;
    bool is_over = net->lingers && (is_done || now >= net->lingers_until);
    bool beats = net->beat != 0 && !net->cannot_write && !net->lingers && net->ended == DUO_OK;
    /* Numbers that were sent since the last visit: more may follow. */
    net->is_collected = is_done && !is_over && (is_news || !duo_net_let_sleep(net));
    if (!net->is_collected) net->alike = 0;
    uint64_t due = earlier(checks, shrinks);
    if (net->is_collected) due = earlier(due, now + VISIT_PERIOD);
    if (beats) due = earlier(due, net->written_at + net->beat / 2);
    if (is_over || (is_done && due == DUO_FOREVER)) {
        unlist(net);
    } else if (is_done) {
        net->due = due;
        move_net(net, slot_of(due));
    } else {
        move_net(net, &stuck);
        /* Without memory the connection is checked again after a tick. */
        if (!duo_net_poll_too(&writer_polls, net->stream.descriptor, POLLOUT)) *next = now + TICK;
        if (net->lingers) *next = earlier(*next, net->lingers_until);
        *next = earlier(*next, checks);
    }
    pthread_mutex_unlock(&net->lock);
    /* The session is over, so no other thread uses it. */
    if (is_over) duo_net_finish(net);
}

/* Does what is due, under the lists' lock; returns the time at which the thread should check again. */
static uint64_t write_due(uint64_t now)
{
    uint64_t next = DUO_FOREVER, tick = now / TICK, from = last_tick + 1;
    if (tick >= SLOTS && from <= tick - SLOTS) from = tick - SLOTS + 1;
    last_tick = tick > last_tick ? tick : last_tick;
    duo_net *after;
    for (duo_net *net = stuck; net != NULL; net = after) {
        after = net->next_listed;
        visit(net, now, &next);
    }
    for (; from <= tick; from++) {
        for (duo_net *net = slots[from % SLOTS]; net != NULL; net = after) {
            after = net->next_listed;
            if (net->due / TICK <= tick) visit(net, now, &next);
        }
    }
    for (size_t i = 1; i <= SLOTS && listed > 0; i++)
        if (slots[(last_tick + i) % SLOTS] != NULL) return earlier(next, (last_tick + i) * TICK);
    return next;
}

static void *write_all(void *context)
{
    (void)context;
    unsigned idle = 0;
    /* For lanes: see operations.c. */
    (void)duo_has_barrier();
    hold_lists();
    for (;;) {
        writer_polls.count = 0;
        bool has_pipe = duo_net_poll_too(&writer_polls, wakers[0], POLLIN);
        uint64_t now = duo_now(), next = write_due(now);
        idle = listed == 0 ? idle + 1 : 0;
        if (!has_pipe || (next == DUO_FOREVER && listed == 0 && idle < IDLE_TICKS)) next = now + TICK;
        if (next < now + TICK) next = now + TICK;
        wakes_at = next;
        release_lists();
        duo_net_poll_all(writer_polls.all, writer_polls.count, next);
        char bytes[64];
        while (read(wakers[0], bytes, sizeof bytes) > 0) continue;
        hold_lists();
    }
    return NULL;
}

/* Starts the thread; without it, what was collected is written by the next operation on the session. */
static void start_writer(void)
{
    if (!duo_net_pipe(wakers)) return;
    wakes_at = 0;
    is_running = duo_start_thread(NULL, write_all, NULL) == 0;
    if (!is_running) duo_net_close_pipe(wakers);
}

bool duo_net_write_later(duo_net *net, uint64_t due)
{
    /* The thread has to learn the time limit of a session that has ended. */
    if (net->is_listed && net->due <= due && !net->lingers) return true;
    hold_lists();
    if (!is_running) start_writer();
    if (!is_running) {
        release_lists();
        return false;
    }
    if (net->is_listed) DUO_LIST_REMOVE(net, next_listed, listed_by);
    else listed += 1;
    duo_net **slot = slot_of(due);
    DUO_LIST_ADD(slot, net, next_listed, listed_by);
    net->is_listed = true;
    net->due = due;
    bool is_late = wakes_at > due + TICK;
    if (is_late) wakes_at = due;
    if (is_late) duo_net_wake(wakers);
    release_lists();
    return true;
}

void duo_net_not_later(duo_net *net)
{
    if (!net->is_listed) return;
    hold_lists();
    unlist(net);
    release_lists();
}

void duo_net_start_clocks(duo_net *net)
{
    pthread_mutex_lock(&net->lock);
    if (net->beat != 0) duo_net_write_later(net, net->written_at + net->beat / 2);
    duo_net_begin_time(net);
    if (net->late_at != 0) duo_net_write_later(net, net->late_at);
    pthread_mutex_unlock(&net->lock);
}

bool duo_net_collect(duo_net *net)
{
    if (!net->is_collected) net->is_collected = duo_net_write_later(net, duo_now() + COLLECTED_FOR);
    return net->is_collected;
}
