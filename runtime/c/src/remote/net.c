/* The operations of sessions over sockets. core/net.h says which thread may access what. */
#include "../core/net.h"

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
