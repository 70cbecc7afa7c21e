/* How a session over a byte stream ends. */
#include "../core/net.h"

#include <string.h>
#include <sys/socket.h>

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
    net->lingers_until = now + DUO_NET_LINGER;
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
