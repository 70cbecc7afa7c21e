/* Waiting for one of a few endpoints: one notifier for all of them, installed for the duration of the call. */
#include "../floor/backoff.h"
#include "../link/link.h"
#include "../ring/ring.h"
#include "../link/transport.h"

typedef struct select_notifier {
    duo_notifier notifier;
    alignas(8) DUO_ATOMIC uint64_t notified;
} select_notifier;

static void notify_select(duo_notifier *notifier)
{
    select_notifier *waiting = (select_notifier *)(void *)notifier;
    duo_atomic_store(&waiting->notified, 1, memory_order_release);
    duo_wake(&waiting->notified, DUO_LOW_HALF);
}

/* Checks all endpoints once, beginning at `first`: DUO_OK, DUO_EMPTY or DUO_USED. */
static duo_status check_once(const duo_endpoint *endpoints, size_t count, size_t first, size_t *which)
{
    for (size_t i = 0; i < count; i++) {
        *which = (first + i) % count;
        duo_side *side = duo_check_handle(duo_asked(endpoints[*which]));
        if (side == NULL) return DUO_USED;
        if (duo_has_news(endpoints[*which], side)) return DUO_OK;
    }
    return DUO_EMPTY;
}

/*
 * Installs the notifier where the peer is in this process, up to the first endpoint that is ready or was used in
 * the meantime; returns how many endpoints it went through. If an endpoint is given twice, the notifier is
 * installed there once.
 */
static size_t arm_all(const duo_endpoint *endpoints, size_t count, select_notifier *notifier, bool *is_unseen)
{
    size_t at = 0;
    for (; at < count; at++) {
        if (duo_is_remote(endpoints[at])) continue;
        duo_side *side = duo_check_handle(duo_asked(endpoints[at]));
        bool for_credit = duo_asks_writable(endpoints[at]);
        duo_arming how = side == NULL ? DUO_NOT_ARMED : duo_arm(side, &notifier->notifier, for_credit);
        if (how == DUO_NOT_ARMED) break;
        *is_unseen |= how == DUO_ARMED_UNSEEN;
    }
    return at;
}

/* Whether one of the endpoints where the notifier was installed is ready, or has lost the notifier. */
static bool is_there(const duo_endpoint *endpoints, size_t count, const select_notifier *notifier)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        if (duo_is_remote(endpoints[i])) continue;
        duo_side *side = duo_lock_armed(duo_asked(endpoints[i]), &notifier->notifier);
        found = side == NULL || duo_has_news(endpoints[i], side);
        if (side != NULL) duo_unlock_armed(side);
    }
    return found;
}

/*
 * The transport that sleeps for all endpoints, NULL if the thread sleeps on the notifier's word. Some combinations have
 * none that notices everything (`sees_all`): then the endpoints are checked again soon.
 */
static const duo_transport *find_sleeper(const duo_endpoint *endpoints, size_t count, bool *sees_all)
{
    const duo_transport *sleeper = NULL;
    bool has_near = false;
    *sees_all = true;
    for (size_t i = 0; i < count; i++) {
        if (!duo_is_remote(endpoints[i])) {
            has_near = true;
            continue;
        }
        const duo_transport *transport = duo_remote_of(endpoints[i])->transport;
        if (sleeper != NULL && transport != sleeper) *sees_all = false;
        if (sleeper == NULL || transport->wakes_on_words) sleeper = transport;
    }
    if (sleeper == NULL || sleeper->wakes_on_words || !has_near) return sleeper;
    *sees_all = false;
    return NULL;
}

/* Sleeps until the notifier is called for one of the endpoints; false if the time ran out first. */
static bool sleep_until_notified(const duo_endpoint *endpoints, size_t count, uint64_t deadline)
{
    select_notifier notifier = {{notify_select}, 0};
    bool is_unseen = false, in_time = true;
    size_t armed = arm_all(endpoints, count, &notifier, &is_unseen);
    uint64_t until = deadline;
    /* One barrier for all: a sender sees the notifier, or the message is seen here. */
    if (armed == count && is_unseen) duo_barrier();
    if (armed == count && (!is_unseen || !is_there(endpoints, count, &notifier))) {
        bool sees_all;
        const duo_transport *transport = find_sleeper(endpoints, count, &sees_all);
        if (!sees_all) until = duo_soon(deadline);
        if (transport != NULL) in_time = transport->sleep(endpoints, count, &notifier.notified, until);
        while (transport == NULL && in_time &&
               duo_atomic_load(&notifier.notified, memory_order_acquire) == 0)
            in_time = duo_wait(&notifier.notified, DUO_LOW_HALF, 0, until);
    }
    if (!in_time && until != deadline) in_time = !duo_gives_up(deadline);
    for (size_t i = 0; i < armed; i++)
        if (!duo_is_remote(endpoints[i])) duo_disarm_endpoint(duo_asked(endpoints[i]), &notifier.notifier);
    return in_time;
}

/*
 * An index below `count` to begin at: the fractional part of the number of calls times the golden
 * ratio. Multiples of an irrational number spread evenly over the indexes, and so do every second
 * of them, every third, and so on. A plain counter would not do: if two calls alternate, each
 * between two endpoints, each would always begin with the same endpoint.
 */
static size_t index_to_begin(size_t count)
{
    static DUO_EACH_THREAD uint32_t phase;
    phase += UINT32_C(0x9E3779B9);
    return (size_t)((uint64_t)phase * count >> 32);
}

duo_status duo_select(const duo_endpoint *endpoints, size_t count, uint64_t wait, size_t *which)
{
    if (count == 0) return DUO_EMPTY;
    size_t first = index_to_begin(count);
    duo_status status = check_once(endpoints, count, first, which);
    if (wait == DUO_AT_ONCE) return status;
    duo_backoff backoff = duo_backoff_begin(true);
    while (status == DUO_EMPTY && duo_backoff_pass(&backoff, count))
        status = check_once(endpoints, count, first, which);
    const uint64_t deadline = duo_until(wait);
    bool in_time = true;
    while (status == DUO_EMPTY && in_time) {
        in_time = sleep_until_notified(endpoints, count, deadline);
        status = check_once(endpoints, count, first, which);
    }
    return status;
}
