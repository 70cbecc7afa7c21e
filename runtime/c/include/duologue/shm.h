/*
 * duologue/shm.h: sessions between two processes of one machine, in memory that both map.
 *
 * One region holds one session. Each process attaches one side with a generated function,
 * `P_client_attach` or `P_server_attach`, and then uses the same endpoint types and functions as
 * within a process. `duologue gen --c DIR --c-shm` generates them, beside the rest, into `P_shm.h` and
 * `P_shm.c`. Linux 5.3 or newer; elsewhere every function here answers DUO_SYSTEM with ENOSYS.
 */
#ifndef DUOLOGUE_SHM_H
#define DUOLOGUE_SHM_H

#include "duologue.h"
#include "duologue/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What may be chosen; all zero is the default. */
typedef struct duo_shm_options {
    /* How long to wait for the peer to attach, in nanoseconds; 0 is for ever. */
    uint64_t wait;
    /* Fingerprints of older versions that this side may accept, as `duologue fingerprint --against` says. */
    const duo_fingerprint *accepts;
    size_t accepts_count;
    /* The largest message to receive, in encoded bytes; 0 is 64 MiB. */
    size_t largest;
    /*
     * The most memory for a received message, in bytes; 0 is four times `largest`. One byte may become many: an
     * absent option takes the room of a present one, and so does a small variant of an enum that has a large one.
     */
    size_t memory;
    /* The largest region to attach to, in bytes; 0 is 1 GiB. It is mapped whole, and the peer can fill it. */
    size_t region;
} duo_shm_options;

/*
 * Makes a region without a name, for a child process or to be sent over a socket. `room` is the
 * number of bytes for long messages, rounded up to a power of two from 4 KiB on; 0 is 256 KiB. A
 * longer message travels in parts. `region` gets a descriptor, closed on exec, that the caller
 * closes when both sides are attached or whenever it likes. DUO_SYSTEM: see `errno`.
 */
DUO_MUST_CHECK duo_status duo_shm_create(size_t room, int *region);

/*
 * Opens the region of this name (as `shm_open` takes it: "/name"), and makes it if there is none;
 * `room` counts for who makes it. Only processes of the same user can open it. The name stays until
 * `duo_shm_unlink`: who leaves it behind finds the used region again, in which no side is free.
 */
DUO_MUST_CHECK duo_status duo_shm_open(const char *name, size_t room, int *region);

/* Removes the name; processes that have opened the region are not disturbed. */
DUO_MUST_CHECK duo_status duo_shm_unlink(const char *name);

/* Sends a region over a connected Unix socket. */
DUO_MUST_CHECK duo_status duo_shm_send(int socket, int region);

/*
 * Receives a region over a connected Unix socket; waits for it. DUO_CLOSED if the peer hung up,
 * DUO_BROKEN if something else came than a region that cannot shrink under its readers.
 */
DUO_MUST_CHECK duo_status duo_shm_receive(int socket, int *region);

/*
 * What generated `_attach` functions call. Takes one side of the session in `region`, which may be
 * closed afterwards, and waits for the other side. On DUO_OK `endpoint` is the first endpoint, else it is
 * zeroed.
 *
 * DUO_REFUSED: the side is taken, or the peer speaks another protocol. DUO_EMPTY: the peer did not
 * come in time; the region is used up. DUO_CLOSED: the peer came and left. DUO_BROKEN: this is no region.
 * DUO_TOO_LARGE: the region is larger than the options allow; nothing was done with it.
 * DUO_SYSTEM: see `errno`.
 */
DUO_MUST_CHECK duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol,
                                         duo_role role, const duo_shm_options *options,
                                         duo_endpoint *endpoint);

#ifdef __cplusplus
}
#endif

#endif
