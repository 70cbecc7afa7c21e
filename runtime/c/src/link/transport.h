/*
 * Sessions whose peer is in another process. Their endpoints are the same `duo_endpoint`, distinguished by the
 * second highest bit of the turn, which the turns of sessions within the process never reach. Such a session
 * begins with a `duo_session`, of which only the turns and the notifiers are used, so that handles of both kinds are
 * claimed and moved in the same way. Everything else is done by a transport.
 */
#ifndef DUOLOGUE_TRANSPORT_H
#define DUOLOGUE_TRANSPORT_H

#include "link.h"

/* Rare paths are function calls, so that the common ones keep everything in registers. */
#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline))
#else
#define NOT_INLINE
#endif

/* Sides that a set of endpoints watches. */
typedef struct duo_watch duo_watch;

typedef struct duo_transport {
    /* The operations of tables.h. The handle has not been claimed yet. */
    duo_status (*send)(duo_endpoint from, const duo_message *message, const void *entries,
                       uint64_t wait, duo_endpoint *next);
    duo_status (*recv)(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);
    duo_status (*close)(duo_endpoint endpoint, const duo_state *state);
    /* The functions of lane.h. A transport whose lanes have no lines needs no `lane_line_ends`. */
    void (*lane_go_on)(duo_endpoint next);
    void (*lane_line_ends)(duo_endpoint next);
    duo_status (*answer_peer)(duo_endpoint next, uint32_t flags);

    /* From here on endpoints are in the form of ready.h: with a mark if they wait for free space. */
    /* Whether the next `_try_recv` returns something other than DUO_EMPTY, or `_try_send_M` other than DUO_FULL. */
    bool (*is_ready)(duo_endpoint endpoint);
    /*
     * Sleeps while `word` is 0 and none of the remote ones among the endpoints is ready; may return
     * spuriously. False once the time `until` has passed.
     */
    bool (*sleep)(const duo_endpoint *endpoints, size_t count, DUO_ATOMIC uint64_t *word,
                 uint64_t until);

    /*
     * Watches a side for a set: `notifier` is called once when the side is ready, by `poll_watch`, by
     * `sleep_watch`, or by a thread that `start_thread` starts. `*watch` is created if it is NULL. Not for a side
     * that is already watched.
     */
    duo_status (*watch)(duo_watch **watch, duo_endpoint endpoint, duo_notifier *notifier);
    /*
     * Undoes `watch`: the notifier is not called afterwards. Does nothing if another notifier, or none, watches the
     * session.
     */
    void (*unwatch)(duo_session *session, const duo_notifier *notifier);
    /* Calls the notifiers of all sides that are ready. */
    void (*poll_watch)(duo_watch *watch);
    /* Calls the notifiers of the sides that are ready, or sleeps like `sleep` while `word` is `expected`. */
    bool (*sleep_watch)(duo_watch *watch, DUO_ATOMIC uint64_t *word, uint64_t expected,
                  uint64_t until);
    /* From here on a thread also calls the notifiers as soon as the sides are ready. */
    duo_status (*start_thread)(duo_watch *watch);
    /* Ends all watching and frees the watch. */
    void (*free_watch)(duo_watch *watch);
    /* `sleep` and `sleep_watch` also return when the word has changed and was woken. Otherwise they ignore it. */
    bool wakes_on_words;
} duo_transport;

/* The endpoint gets another owner than the handler of its session, if there is one. */
static inline void duo_note_handed_over(duo_endpoint endpoint)
{
    if (duo_is_remote(endpoint)) duo_remote_of(endpoint)->is_handed_over = true;
}

/* Whether an endpoint waits for free space, in the form of ready.h. */
static inline bool duo_asks_writable(duo_endpoint asked)
{
    return (asked.turn & DUO_TURN_WRITABLE) != 0;
}

/* The endpoint without the mark. */
static inline duo_endpoint duo_asked(duo_endpoint asked)
{
    asked.turn &= ~DUO_TURN_WRITABLE;
    return asked;
}

/* Whether an endpoint, whose side this is, has what it waits for, or its peer has disconnected. */
static inline bool duo_has_news(duo_endpoint asked, const duo_side *side)
{
    if (duo_is_remote(asked)) return duo_remote_of(asked)->transport->is_ready(asked);
    return duo_asks_writable(asked) ? duo_has_credit(asked.session, side) : duo_is_ready(side);
}

#endif
