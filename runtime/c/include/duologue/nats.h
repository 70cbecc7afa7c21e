/*
 * duologue/nats.h: sessions over a NATS server, by its client library `libnats`, version 3.4 or newer.
 *
 * A program that is linked with this library can use addresses `nats://host:port/name` wherever it uses others, and needs nothing of this
 * header. `name` is the name of a group of servers: letters, digits, `-`, `_`, and dots between them. Link with
 * `pkg-config --libs duologue-nats`, or with `Duologue::nats` in CMake: the linker would leave out a library whose functions are not called.
 */
#ifndef DUOLOGUE_NATS_H
#define DUOLOGUE_NATS_H

#include <nats/nats.h>

#include "duologue/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds to the options of a connection, by functions of the client library: credentials, certificates, further servers. `server` is
 * `host:port`. Anything but NATS_OK is reported as the reason why there is no connection. Sessions need their own values of some
 * options, which replace those that are set here: the callbacks for errors and closed connections, the delays between attempts to
 * connect again, the limits of messages that wait, `SendAsap`, and the deadline for writes.
 */
typedef natsStatus duo_nats_setup(natsOptions *options, const char *server, void *context);

/*
 * Has this function called before this process connects to a server, which it does once for each. To be called before the first
 * address is used. Both must stay valid.
 */
void duo_nats_configure(duo_nats_setup *setup, void *context);

/*
 * Sets what the subjects of this process begin with, after `duo.at.`, to be called before the first address is used. With a prefix for each
 * user, a NATS server can deny users each other's messages: `duologue nats-permissions` prints the permissions for users whose
 * programs have their names as prefixes. It has letters, digits, `-`, `_`, and dots between them, and at most 128 characters. DUO_ADDRESS if
 * it is something else.
 */
DUO_MUST_CHECK duo_status duo_nats_prefix(const char *prefix);

#ifdef __cplusplus
}
#endif

#endif
