/*
 * duologue/nats.h: finds servers with NATS, by its client library `libnats`, version 3.4 or newer.
 *
 * A server listens on a socket, and announces its address under a name. A client asks for the name, gets the address of a server that
 * understands it and has space, and connects to it. The session runs over TCP or TLS, and does not need NATS any longer. This is a separate
 * library: the CMake target Duologue::nats, or duologue-nats for pkg-config. docs/wire.md specifies the subjects.
 *
 *     duo_directory *directory;
 *     duo_problem problem;
 *     if (duo_directory_open("nats.example:4222", NULL, NULL, &directory, &problem) != DUO_OK) return fail(problem.text);
 *
 *     const duo_announce how = {.name = "bank", .protocol = &duo_wire_of_bank, .role = DUO_SERVER, .advertise = "tcp://10.0.0.7:7000"};
 *     duo_status announced = duo_directory_announce(directory, listener, &how, &announcement, &problem);
 *
 *     const duo_net_options options = {.directory = directory, .problem = &problem};
 *     duo_status connected = bank_client_connect("bank", &options, &client);
 */
#ifndef DUOLOGUE_NATS_H
#define DUOLOGUE_NATS_H

#include <nats/nats.h>

#include "duologue/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds to the options of a connection, by functions of the client library: credentials, certificates, further servers. Anything but
 * NATS_OK is reported as the reason why there is no connection.
 */
typedef natsStatus duo_nats_setup(natsOptions *options, void *context);

/*
 * Connects to a NATS server, `host:port`. `setup` may be NULL. If the connection is interrupted, the library connects again. DUO_SYSTEM: the
 * server cannot be reached, or does not accept the connection: `problem`, unless it is NULL, says why. DUO_NO_MEMORY.
 */
DUO_MUST_CHECK duo_status duo_directory_open(const char *server, duo_nats_setup *setup, void *context, duo_directory **directory,
                                             duo_problem *problem);

/* Its announcements must have been withdrawn, and attempts to connect that use it must be over. May be NULL. */
void duo_directory_close(duo_directory *directory);

/* How a listener is announced. */
typedef struct duo_announce {
    /* The name of the service: letters, digits, `-`, `_`, and dots between them; at most 128 characters. */
    const char *name;
    /* The protocol that the listener serves or accepts, `duo_wire_of_P` of the generated code, and its side. */
    const duo_wire_protocol *protocol;
    duo_role role;
    /*
     * The address at which clients reach the listener, `tcp://host:port` or `tls://host:port`; NULL: that of the listener. A listener at
     * `0.0.0.0` or `[::]` needs it.
     */
    const char *advertise;
    /* Older protocols that the listener accepts, in addition to those that the protocol file names with `#[accepts(...)]`. */
    const duo_fingerprint *accepts;
    size_t accepts_count;
} duo_announce;

/* A listener that is announced. */
typedef struct duo_announcement duo_announcement;

/*
 * Announces a listener. One that serves several protocols needs an announcement for each. While it is full or drains, clients get other
 * servers. If the connection to NATS is interrupted, the announcement comes back with it. What `announce` points to is not needed
 * afterwards.
 *
 * DUO_ADDRESS: the name or the address cannot be announced. DUO_SYSTEM: the NATS server cannot be reached, or does not permit it. `problem`, unless
 * it is NULL, says more. DUO_NO_MEMORY.
 */
DUO_MUST_CHECK duo_status duo_directory_announce(duo_directory *directory, duo_listener *listener, const duo_announce *announce,
                                                 duo_announcement **announcement, duo_problem *problem);

/* Ends an announcement, before the listener is closed. May be NULL. */
void duo_announcement_withdraw(duo_announcement *announcement);

#ifdef __cplusplus
}
#endif

#endif
