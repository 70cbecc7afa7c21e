/* What the sessions of a listener share with it: a list of them, and how many connections each peer has. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net.h"

/*
 * The connections of each peer, in a hash table with chains. An entry exists as long as the peer has one.
 */

/* What counts as one peer. The system does not know the other end of some sockets: they are UNKNOWN, and one peer. */
typedef enum peer_kind { UNKNOWN, HOST, NETWORK, USER } peer_kind;

struct duo_net_place {
    peer_kind kind;
    uint64_t peer;
    size_t count;
    duo_net_place *next;
};

/* The number of bytes from this place, as a number. */
static uint64_t number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | bytes[i];
    return value;
}

/* The user at the other end of a Unix socket. */
static duo_net_place user_of(int descriptor)
{
#ifdef __linux__
    struct ucred user;
    socklen_t size = sizeof user;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0)
        return (duo_net_place){.kind = USER, .peer = user.uid};
#else
    uid_t user;
    gid_t group;
    if (getpeereid(descriptor, &user, &group) == 0) return (duo_net_place){.kind = USER, .peer = user};
#endif
    return (duo_net_place){.kind = UNKNOWN};
}

bool duo_net_find_user(int descriptor, uint32_t *user)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage largest;
    } at;
    at.any.sa_family = AF_UNSPEC;
    socklen_t size = sizeof at;
    if (getsockname(descriptor, &at.any, &size) != 0 || at.any.sa_family != AF_UNIX) return false;
    const duo_net_place found = user_of(descriptor);
    *user = (uint32_t)found.peer;
    return found.kind == USER;
}

static duo_net_place peer_of(int descriptor)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    } at;
    memset(&at, 0, sizeof at);
    socklen_t size = sizeof at;
    if (getpeername(descriptor, &at.any, &size) != 0) return (duo_net_place){.kind = UNKNOWN};
    if (at.any.sa_family == AF_UNIX) return user_of(descriptor);
    if (at.any.sa_family == AF_INET) return (duo_net_place){.kind = HOST, .peer = ntohl(at.four.sin_addr.s_addr)};
    const uint8_t *bytes = at.six.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&at.six.sin6_addr)) return (duo_net_place){.kind = HOST, .peer = number(bytes + 12, 4)};
    return (duo_net_place){.kind = NETWORK, .peer = number(bytes, 8)};
}

/* The list that has the peer, if it has connections. */
static duo_net_place **list_of(duo_net_gate *gate, const duo_net_place *peer)
{
    uint64_t hash = (peer->peer + (uint64_t)peer->kind) * UINT64_C(0x9e3779b97f4a7c15);
    return &gate->places[(hash >> 32) % DUO_NET_PLACES];
}

static duo_net_place *find_or_make(duo_net_gate *gate, const duo_net_place *peer)
{
    duo_net_place **list = list_of(gate, peer);
    for (duo_net_place *place = *list; place != NULL; place = place->next)
        if (place->kind == peer->kind && place->peer == peer->peer) return place;
    duo_net_place *made = duo_allocate(sizeof *made);
    if (made == NULL) return NULL;
    *made = *peer;
    made->next = *list;
    *list = made;
    return made;
}

duo_net_place *duo_net_take_place(duo_net_gate *gate, int descriptor, size_t most)
{
    const duo_net_place peer = peer_of(descriptor);
    pthread_mutex_lock(&gate->lock);
    duo_net_place *place = find_or_make(gate, &peer);
    bool is_free = place != NULL && place->count < most;
    if (is_free) place->count += 1;
    pthread_mutex_unlock(&gate->lock);
    return is_free ? place : NULL;
}

void duo_net_leave_place(duo_net_gate *gate, duo_net_place *place)
{
    if (place == NULL) return;
    place->count -= 1;
    if (place->count > 0) return;
    duo_net_place **at = list_of(gate, place);
    while (*at != place) at = &(*at)->next;
    *at = place->next;
    duo_release(place);
}

bool duo_net_enter(duo_net *net, duo_net_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    net->gate = gate;
    DUO_LIST_ADD(&gate->first, net, next_gated, gated_by);
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

void duo_net_leave_gate(duo_net *net)
{
    duo_net_gate *gate = net->gate;
    if (gate == NULL) return;
    net->gate = NULL;
    pthread_mutex_lock(&gate->lock);
    DUO_LIST_REMOVE(net, next_gated, gated_by);
    gate->sessions -= 1;
    duo_net_leave_place(gate, net->place);
    net->place = NULL;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    duo_net_let_go(gate);
}
