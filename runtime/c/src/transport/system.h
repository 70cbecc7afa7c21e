/* What sessions over byte streams need from the system: waiting for descriptors, and addresses. */
#ifndef DUOLOGUE_NET_SYSTEM_H
#define DUOLOGUE_NET_SYSTEM_H

#include "../floor/floor.h"
#include "stream.h"

/* system.c */
/* Sleeps until the descriptor, or one of several, has such an event, or until that time; may return early. */
void duo_net_poll(int descriptor, short events, uint64_t until);
struct pollfd;
void duo_net_poll_all(struct pollfd *polled, size_t count, uint64_t until);
/* What a thread polls, in memory that grows. */
typedef struct duo_net_polls {
    struct pollfd *all;
    size_t count;
    size_t capacity;
} duo_net_polls;
/* Adds a descriptor; a negative one is ignored. False if memory ran out. */
bool duo_net_poll_too(duo_net_polls *polls, int descriptor, short events);
/* Makes a descriptor blocking or not, and closes it on exec. False: see `errno`. */
bool duo_net_set_flags(int descriptor, bool blocks);
/*
 * Prepares the descriptor of a connection, and determines whether it is a socket. A socket may block: whatever reads or writes
 * it says whether it waits. False: see `errno`.
 */
bool duo_net_prepare(int descriptor, bool *is_socket);
/* A pipe, both ends of which do not block and are closed on exec. */
bool duo_net_pipe(int ends[2]);
/* Makes it readable, so that a thread that polls it wakes. Keeps `errno`. */
void duo_net_wake(const int ends[2]);
void duo_net_close_pipe(const int ends[2]);

/* address.c */
enum { DUO_NET_ADDRESS = 160, DUO_NET_HOST = 256 };
/*
 * If the address asks for TLS, sets the host, and `tls` to that of the options; otherwise sets `tls` to NULL.
 * DUO_CERTIFICATES if the options have none.
 */
duo_status duo_net_find_tls(const char *address, bool listens, const duo_net_options *options, const duo_tls **tls,
                            char host[DUO_NET_HOST]);
/* A connected descriptor, or a listening one. */
duo_status duo_net_dial(const char *address, uint64_t until, int *descriptor);
duo_status duo_net_bind(const char *address, int *descriptor, char *path, size_t room);
/* Writes the address of this socket, or of its peer, as a text. */
void duo_net_spell(int descriptor, bool of_peer, bool is_tls, char *text, size_t room);

#endif
