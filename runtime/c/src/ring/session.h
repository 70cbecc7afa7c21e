/* Where sessions come from. */
#ifndef DUOLOGUE_SESSION_H
#define DUOLOGUE_SESSION_H

#include "../floor/floor.h"

/* pool.c */
/* Releases a session. Both sides are done; only the caller may still access it. */
void duo_session_release(duo_session *session);

#define DUO_POOL_PRIORITY 201
/* The sessions of a transport. */
typedef struct duo_remote_pool {
    const struct duo_transport *transport;
    size_t size;
    /* Called for the memory of a session once, and before it is freed; NULL if nothing is to be done. */
    bool (*prepare)(duo_remote *made);
    void (*forget)(duo_remote *gone);
    /* Those that can be reused, and how many have been allocated and not freed. */
    duo_session *unused;
    size_t existing;
    struct duo_remote_pool *next;
} duo_remote_pool;
/* A new session, zeroed, or one from the pool, whose turns continue where they were; NULL if memory ran out. */
duo_remote *duo_remote_from_pool(duo_remote_pool *pool);
void duo_remote_to_pool(duo_remote_pool *pool, duo_remote *gone);

/* layout.c */
/* Computes the shape that a protocol requires; returns the size of its ring, or 0 if that is too large. */
size_t duo_lay_out(duo_shape *shape, const duo_protocol *protocol);
/*
 * Puts a session at its beginning; its ring already exists. `was_used`: the ring has been used by a session
 * with the shape that `session` still has.
 */
void duo_begin(duo_session *session, const duo_protocol *protocol, const duo_shape *shape, bool was_used,
               duo_endpoint *server, duo_endpoint *client);
bool duo_is_shape(const duo_shape *one, const duo_shape *other);

#endif
