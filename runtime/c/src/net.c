/* Sessions over sockets, as one translation unit. net_health.c has what serves the health protocol. */
#define _GNU_SOURCE

#include "transport/address.c"
#include "transport/system.c"

#include "net/connection.c"
#include "net/gate.c"
#include "net/observe.c"
#include "net/operations.c"
#include "net/session.c"
#include "net/transport.c"
#include "net/writer.c"

#include "listen/accept.c"
#include "listen/connect.c"
#include "listen/descriptor.c"
#include "listen/greet.c"
#include "listen/hello.c"
#include "listen/listen.c"
#include "listen/serve.c"
#include "listen/waiting.c"
