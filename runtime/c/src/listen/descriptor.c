/*
 * The descriptor of a listener, for programs that wait in a loop of their own. It is readable when `_accept` has something
 * to do: a connection can be accepted, something has arrived in a handshake, the time of one has passed, or the
 * listener was stopped.
 *
 * On Linux it is an epoll, which holds what `duo_net_await_connections` would poll, and a timer for the earliest time that may
 * pass. After each turn of a thread that accepts, both are brought up to date. Everything is reported as long as it
 * lasts, so nothing is missed by a program that calls `_accept` once and goes back to its loop. What cannot be continued,
 * because no further handshake may begin, is not in the epoll, so it does not keep the loop busy.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/timerfd.h>
#endif

#include "listener.h"

#ifdef __linux__


/* How soon a connection is checked that cannot be registered, in nanoseconds. */
#define SOON UINT64_C(20000000)

static_assert((int)POLLIN == (int)EPOLLIN && (int)POLLOUT == (int)EPOLLOUT, "events");

/* Registers a descriptor for these events, or for none. False if that is not possible. */
static bool watch(const duo_listener *listener, int descriptor, short events, short *watched)
{
    if (events == *watched) return true;
    int how = *watched == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = (uint32_t)events, .data = {.fd = descriptor}};
    if (epoll_ctl(listener->epoll, how, descriptor, &event) != 0) return false;
    *watched = events;
    return true;
}

static void set_timer(duo_listener *listener, uint64_t wakes)
{
    if (wakes == listener->wakes_at && (wakes == DUO_FOREVER || duo_now() < wakes)) return;
    listener->wakes_at = wakes;
    struct itimerspec at = {{0, 0}, {0, 0}};
    if (wakes != DUO_FOREVER) at.it_value = duo_timespec(wakes);
    /* A time of zero would mean never. */
    if (wakes == 0) at.it_value.tv_nsec = 1;
    (void)timerfd_settime(listener->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void duo_net_update_descriptor(duo_listener *listener, bool may_accept, bool is_busy)
{
    if (listener->epoll < 0) return;
    const uint64_t now = duo_now();
    uint64_t wakes = DUO_FOREVER;
    const bool recovers = now < listener->recovers_at;
    short accepts = !recovers && may_accept ? POLLIN : 0;
    bool lacks_some = !watch(listener, listener->descriptor, accepts, &listener->watched);
    for (duo_net_greeting *one = listener->greetings; one != NULL; one = one->next) {
        short events = one->is_silent && is_busy ? 0 : one->events;
        if (one->until < wakes) wakes = one->until;
        if (watch(listener, one->stream.descriptor, events, &one->watched)) continue;
        lacks_some = one->is_ready = true;
    }
    if (recovers && listener->recovers_at < wakes) wakes = listener->recovers_at;
    if (lacks_some && now + SOON < wakes) wakes = now + SOON;
    set_timer(listener, wakes);
}

void duo_net_unwatch_greeting(const duo_listener *listener, duo_net_greeting *greeting)
{
    if (greeting->watched != 0) (void)watch(listener, greeting->stream.descriptor, 0, &greeting->watched);
}

void duo_net_close_descriptor(duo_listener *listener)
{
    if (listener->epoll >= 0) close(listener->epoll);
    if (listener->timer >= 0) close(listener->timer);
    listener->epoll = listener->timer = -1;
}

int duo_net_open_descriptor(duo_listener *listener)
{
    if (listener->epoll >= 0) return listener->epoll;
    listener->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    listener->epoll = epoll_create1(EPOLL_CLOEXEC);
    listener->wakes_at = DUO_FOREVER;
    listener->watched = 0;
    short watched_timer = 0, watched_waker = 0;
    if (listener->timer >= 0 && listener->epoll >= 0 && watch(listener, listener->timer, POLLIN, &watched_timer) &&
        watch(listener, listener->wakers[0], POLLIN, &watched_waker))
        return listener->epoll;
    int reason = errno;
    duo_net_close_descriptor(listener);
    errno = reason;
    return -1;
}

#else

void duo_net_update_descriptor(duo_listener *listener, bool may_accept, bool is_busy)
{
    (void)listener, (void)may_accept, (void)is_busy;
}

void duo_net_unwatch_greeting(const duo_listener *listener, duo_net_greeting *greeting)
{
    (void)listener, (void)greeting;
}

void duo_net_close_descriptor(duo_listener *listener)
{
    (void)listener;
}

/* The socket is readable when there is a connection to be accepted. */
int duo_net_open_descriptor(duo_listener *listener)
{
    return listener->descriptor;
}

#endif
