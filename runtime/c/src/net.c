/* Sessions over sockets, as one translation unit. net_health.c has what serves the health protocol. */
#define _GNU_SOURCE

#include "transport/address.c"
#include "transport/system.c"

#include "core/buffer.c"
#include "core/lane.c"
#include "core/net.c"
#include "core/observe.c"
#include "core/peers.c"
#include "core/recv.c"
#include "core/send.c"
#include "core/value.c"
#include "core/watch.c"
#include "core/writer.c"

#include "listen/accept.c"
#include "listen/connect.c"
#include "listen/descriptor.c"
#include "listen/greet.c"
#include "listen/hello.c"
#include "listen/listen.c"
#include "listen/serve.c"
#include "listen/waiting.c"
