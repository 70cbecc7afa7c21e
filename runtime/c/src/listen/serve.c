/* Serving: each session is handled on a thread of its own. */
#include <string.h>

#include "listener.h"

/* How often a draining listener checks whether its sessions are over, in nanoseconds. */
#define DRAIN_PERIOD UINT64_C(100000000)

/* A session and its handler. */
typedef struct task {
    duo_net_arrival arrived;
    duo_net_gate *gate;
    duo_net_handled handled;
    /* The handler may use it when the session is over. */
    duo_net_value *value;
} task;

duo_status duo_net_serve(duo_listener *listener, const duo_wire_protocol *protocol, duo_role role,
                         const duo_net_options *options, duo_call_handler *call, duo_handler *handler, void *context,
                         void (*drain)(void *context))
{
    size_t count = listener->offer_count;
    duo_net_offer *offers = duo_allocate((count + 1) * sizeof *offers);
    if (offers == NULL) return DUO_NO_MEMORY;
    if (count > 0) memcpy(offers, listener->offers, count * sizeof *offers);
    offers[count] = (duo_net_offer){.protocol = protocol,
                                    .role = role,
                                    .options = options != NULL ? *options : listener->options,
                                    .call = call,
                                    .handler = handler,
                                    .context = context,
                                    .drain = drain};
    if (listener->offers != NULL) duo_release(listener->offers);
    listener->offers = offers;
    listener->offer_count = count + 1;
    return DUO_OK;
}

duo_status duo_listener_serve(duo_listener *listener, const duo_wire_protocol *protocol, duo_role role,
                              const duo_net_options *options, duo_call_handler *call, duo_handler *handler,
                              void *context)
{
    return duo_net_serve(listener, protocol, role, options, call, handler, context, NULL);
}

static void notify_of_drain(const duo_listener *listener)
{
    for (size_t i = 0; i < listener->offer_count; i++) {
        const duo_net_offer *offer = &listener->offers[i];
        if (offer->drain != NULL) offer->drain(offer->context);
    }
}

/* Takes the thread that ended last, to join it; false if there is none. Under the gate's lock. */
static bool take_ended(duo_net_gate *gate, pthread_t *thread)
{
    bool has_ended = gate->has_ended;
    if (has_ended) *thread = gate->ended;
    gate->has_ended = false;
    return has_ended;
}

/*
 * Closes the session of a handler that has returned without ending it or handing it over. Then no other thread uses it, so
 * its turn does not change here. A session that is over belongs to no handler any more, and may have begun anew.
 */
static void close_forgotten(const task *here)
{
    duo_net *net = here->arrived.net;
    pthread_mutex_lock(&net->lock);
    bool is_open = !here->handled.is_over;
    if (is_open) net->handled = NULL;
    bool is_forgotten = is_open && !net->remote.is_handed_over;
    duo_endpoint last = here->arrived.endpoint;
    last.turn = duo_atomic_load(&last.session->sides[last.turn & 1].turn, memory_order_relaxed);
    const duo_state *state = net->state;
    pthread_mutex_unlock(&net->lock);
    if (is_forgotten) (void)duo_close(last, state);
}

void duo_net_hand_over(duo_endpoint endpoint)
{
    if (duo_check_handle(endpoint) != NULL) duo_note_handed_over(endpoint);
}

/*
 * Each thread joins the one that ended before it, and `duo_listener_run` the last one. So no thread is left when it returns:
 * libraries that free what they keep per thread when the thread exits, as OpenSSL does, must have done so before the
 * process ends. And at most one thread has ended and still has its stack.
 */
static void *handle(void *context)
{
    task *here = context;
    const duo_net_offer *offer = &here->arrived.offer;
    duo_peer peer = duo_net_peer(here->arrived.greeting, &here->arrived.hello, here->arrived.address);
    peer.value = duo_net_content(here->value);
    offer->call(here->arrived.endpoint, &peer, offer->handler, offer->context);
    close_forgotten(here);
    duo_net_drop_value(here->value);
    duo_net_free_greeting(here->arrived.greeting);
    duo_net_gate *gate = here->gate;
    duo_release(here);
    pthread_t before;
    pthread_mutex_lock(&gate->lock);
    bool has_before = take_ended(gate, &before);
    gate->ended = pthread_self();
    gate->has_ended = true;
    gate->handlers -= 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    duo_net_let_go(gate);
    if (has_before) pthread_join(before, NULL);
    return NULL;
}

/* Starts the handler of a session; ends the session if that is not possible. */
static void start(duo_listener *listener, const duo_net_arrival *arrived)
{
    duo_net_gate *gate = listener->gate;
    task *made = duo_allocate(sizeof *made);
    pthread_t thread;
    if (made != NULL) {
        made->arrived = *arrived;
        made->gate = gate;
        /* No other thread has the endpoint yet, so none ends the session. */
        made->value = duo_net_hold(arrived->net->value);
        made->handled.is_over = false;
        arrived->net->handled = &made->handled;
        pthread_mutex_lock(&gate->lock);
        gate->handlers += 1;
        gate->holders += 1;
        pthread_mutex_unlock(&gate->lock);
        if (duo_start_thread(&thread, handle, made) == 0) return;
        pthread_mutex_lock(&gate->lock);
        gate->handlers -= 1;
        gate->holders -= 1;
        pthread_mutex_unlock(&gate->lock);
        arrived->net->handled = NULL;
        duo_net_drop_value(made->value);
        duo_release(made);
    }
    duo_net_free_greeting(arrived->greeting);
    (void)duo_close(arrived->endpoint, arrived->offer.protocol->states);
}

duo_status duo_listener_run(duo_listener *listener)
{
    duo_net_gate *gate = listener->gate;
    for (;;) {
        duo_net_arrival arrived;
        duo_status status =
            duo_listener_next(listener, listener->offers, listener->offer_count, DUO_FOREVER, &arrived);
        if (status == DUO_OK) start(listener, &arrived);
        else if (status == DUO_CLOSED || duo_is_canceled()) break;
    }
    /* A signal handler may have stopped it, which can notify nobody. */
    notify_of_drain(listener);
    pthread_mutex_lock(&gate->lock);
    while (gate->handlers > 0) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_t last;
    bool has_last = take_ended(gate, &last);
    pthread_mutex_unlock(&gate->lock);
    if (has_last) pthread_join(last, NULL);
    return DUO_OK;
}

void duo_listener_drain(duo_listener *listener, uint64_t nanoseconds)
{
    duo_net_gate *gate = listener->gate;
    uint64_t until = duo_until(nanoseconds);
    duo_atomic_store(&listener->is_draining, true, memory_order_release);
    notify_of_drain(listener);
    pthread_mutex_lock(&gate->lock);
    while (gate->sessions > 0 && !duo_is_past(until)) {
        const struct timespec end = duo_timespec(duo_now() + DRAIN_PERIOD);
        (void)pthread_cond_timedwait(&gate->changed, &gate->lock, &end);
    }
    gate->is_cut = true;
    for (duo_net *net = gate->first; net != NULL; net = net->next_gated) duo_net_cut(net);
    pthread_mutex_unlock(&gate->lock);
    duo_listener_stop(listener);
}
