/*
 * duologue/shm.h: sessions between two processes on one machine, in memory that both map.
 *
 * One region holds one session. Each process attaches one side with a generated function,
 * `P_client_attach` or `P_server_attach`, and then uses the same endpoint types and functions as
 * within a process. `duologue gen --c DIR --c-shm` generates these functions into `P_shm.h`,
 * in addition to the other files. Requires Linux 5.3 or newer; elsewhere every function
 * here returns DUO_SYSTEM with ENOSYS.
 */
#ifndef DUOLOGUE_SHM_H
#define DUOLOGUE_SHM_H

#include <sys/types.h>

#include "duologue.h"
#include "duologue/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options; all zero gives the defaults. */
typedef struct duo_shm_options {
    /* How long to wait for the peer to attach, in nanoseconds; 0 means indefinitely. */
    uint64_t wait;
    /*
     * Fingerprints of older versions that this side may accept, in addition to those that the protocol file names with
     * `#[accepts(...)]`: see `duologue breaking --against`.
     */
    const duo_fingerprint *accepts;
    size_t accepts_count;
    /* The largest message to receive, in encoded bytes; 0 means 64 MiB. */
    size_t largest;
    /*
     * The process that will take the other side, such as a forked child that has not been waited for yet; 0 if it
     * is not known. If it ends without having attached, the result is DUO_LOST.
     */
    pid_t peer;
    /*
     * Returns the endpoint immediately, without waiting for the peer; `wait` has no effect. Until the peer has
     * attached, the endpoint has nothing to receive (DUO_EMPTY) and no free space to send (DUO_FULL). It can be waited
     * for like any other, including in a set with a descriptor. If the peer uses a different protocol, the first
     * operation returns DUO_REFUSED.
     */
    bool at_once;
    /*
     * The most memory that a received message may take, in bytes; 0 means four times `largest`. One encoded byte
     * may become many in memory: an absent option takes as much memory as a present one, and so does a small
     * variant of an enum that has a large one.
     */
    size_t memory;
    /*
     * The largest region to attach to, in bytes; 0 means 1 GiB. The region is mapped as a whole, and the peer
     * can fill it.
     */
    size_t region;
} duo_shm_options;

/*
 * Creates an unnamed region, for a child process or to be sent over a socket. `space` is the number of bytes for long
 * messages, rounded up to a power of two of at least 4 KiB; 0 means 256 KiB. A longer message is sent in parts. All of
 * the memory is reserved immediately. `region` receives a descriptor that is closed on exec; the caller closes it once
 * both sides are attached, or at any other time. DUO_SYSTEM: see `errno`, which is ENOSPC if there is not enough
 * memory.
 */
DUO_MUST_CHECK duo_status duo_shm_create(size_t space, int *region);

/*
 * Opens the region with this name (in the form that `shm_open` expects: "/name"), and creates it if it does not
 * exist; `space` matters only for the process that creates it. Only processes of the same user can open it. A name
 * that another user has taken, or that others may open, results in DUO_SYSTEM with EACCES. The name remains until
 * `duo_shm_unlink`. If its session is over, because both sides have closed it or their processes have ended, the
 * next call with this name creates the region again. As long as a process has a side, the region belongs to that
 * process's session. DUO_EMPTY: another process is creating the region, and the wait for it was canceled
 * (`duo_cancel`).
 */
DUO_MUST_CHECK duo_status duo_shm_open(const char *name, size_t space, int *region);

/* Removes the name; processes that have opened the region are not affected. */
DUO_MUST_CHECK duo_status duo_shm_unlink(const char *name);

/*
 * Sends a region over a connected Unix socket. If the socket is nonblocking and full, or its own time limit
 * (SO_SNDTIMEO) has expired, the result is DUO_SYSTEM with EAGAIN. DUO_FULL: the wait was canceled (`duo_cancel`), and
 * nothing was sent.
 */
DUO_MUST_CHECK duo_status duo_shm_send(int socket, int region);

/*
 * Receives a region over a connected Unix socket and waits for it, indefinitely if the peer sends nothing. DUO_CLOSED
 * if the peer has closed the socket. DUO_BROKEN if it sent anything other than a region that is sealed against
 * shrinking. DUO_EMPTY if nothing has arrived and the socket is nonblocking, its own time limit (SO_RCVTIMEO) has
 * expired, or the wait was canceled (`duo_cancel`).
 */
DUO_MUST_CHECK duo_status duo_shm_receive(int socket, int *region);

/*
 * The same, but waits for at most that many nanoseconds, or not at all with DUO_AT_ONCE, whether the socket is
 * blocking or not. DUO_EMPTY if nothing has arrived by then, or if the wait was canceled.
 */
DUO_MUST_CHECK duo_status duo_shm_receive_within(int socket, uint64_t nanoseconds, int *region);

/*
 * Called by the generated `_attach` functions. Takes one side of the session in `region`, which may be closed
 * afterwards, and waits for the other side. On DUO_OK `endpoint` is the first endpoint, otherwise it is zeroed.
 * Requires /proc, through which it opens the region a second time; without it the result is DUO_SYSTEM with ENOENT.
 *
 * DUO_REFUSED: the side is or was taken, or the peer uses a different protocol. DUO_EMPTY: the peer did not attach in
 * time, or the wait was canceled (`duo_cancel`); the region cannot be used again. DUO_CLOSED: the peer attached and
 * closed the session. DUO_LOST: its process has ended. DUO_SYSTEM: see `errno`. DUO_BROKEN: this is not a region, or its memory could be taken away:
 * wherever the descriptor comes from, the file must be in tmpfs, and must either be sealed against shrinking (as
 * `duo_shm_create` does) or be accessible to this user alone (as `duo_shm_open` creates it). DUO_TOO_LARGE: the region
 * is larger than the options allow; it was not touched.
 */
DUO_MUST_CHECK duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol,
                                         duo_role role, const duo_shm_options *options,
                                         duo_endpoint *endpoint);

#ifdef __cplusplus
}
#endif

#endif
