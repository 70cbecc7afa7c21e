/*
 * duologue/health.h: whether a server can be used. A listener serves this next to the protocols of the program, at the same
 * address. Part of the library for sockets: see duologue/net.h.
 *
 * The protocol is runtime/health.proto, so the other side may be written in another language.
 */
#ifndef DUOLOGUE_HEALTH_H
#define DUOLOGUE_HEALTH_H

#include "duologue/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a service, or the whole server, can be used. */
typedef enum duo_health_status {
    /* There is no service with this name. */
    DUO_HEALTH_UNKNOWN = 1,
    DUO_HEALTH_SERVING,
    DUO_HEALTH_NOT_SERVING
} duo_health_status;

/* The name of a status, for logs: `unknown`, `serving`, `not_serving`; the string is static. */
const char *duo_health_text(duo_health_status status);

/* Which services of a server can be used. */
typedef struct duo_health duo_health;

/* The server can be used, and has no services with a name. */
DUO_MUST_CHECK duo_status duo_health_new(duo_health **health);

/* Call this after `duo_listener_close` for all listeners that serve it. NULL is allowed. */
void duo_health_free(duo_health *health);

/*
 * Sets the status of a service, or with an empty name of the whole server, and notifies all clients that watch it.
 * DUO_HEALTH_UNKNOWN removes a service. The name is copied. May be called by any thread. DUO_NO_MEMORY: nothing changed.
 */
DUO_MUST_CHECK duo_status duo_health_set(duo_health *health, duo_str service, duo_health_status status);
duo_health_status duo_health_get(duo_health *health, duo_str service);

/*
 * Lets clients ask this listener, as `duo_listener_serve` does for other protocols; `options` as there. From
 * `duo_listener_drain` on, the listener says that it drains. These sessions count toward its limits, and each has a
 * thread. Only `duo_listener_run` serves them: a listener that only accepts sessions refuses them.
 */
DUO_MUST_CHECK duo_status duo_health_serve(duo_listener *listener, duo_health *health,
                                           const duo_net_options *options);

/*
 * Asks the server at this address for the status of a service, or with an empty name of the whole server. A server that
 * drains is DUO_HEALTH_NOT_SERVING. The name has at most 256 bytes; with a longer one the result is DUO_TOO_LARGE. The
 * other results are those of connecting and receiving.
 */
DUO_MUST_CHECK duo_status duo_health_check(const char *address, const duo_net_options *options,
                                           duo_str service, duo_health_status *status);

/*
 * The same, and calls `changed` with this status and with each that follows, until it returns false. If the server drains,
 * the last one is DUO_HEALTH_NOT_SERVING. DUO_OK: `changed` has returned false, or the server drains. Otherwise why the
 * session is over; DUO_LATE if the server has said nothing for a minute, or `changed` has taken that long.
 */
DUO_MUST_CHECK duo_status duo_health_watch(const char *address, const duo_net_options *options, duo_str service,
                                           bool (*changed)(duo_health_status status, void *context), void *context);

#ifdef __cplusplus
}
#endif

#endif
