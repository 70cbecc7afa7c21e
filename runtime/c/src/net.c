/* Sessions over sockets, as one translation unit. net_health.c has what serves the health protocol. */
#define _GNU_SOURCE

#include "transport/address.c"
#include "transport/system.c"

#include "core/buffer.c"
#include "core/clock.c"
#include "core/observe.c"
#include "core/peers.c"
#include "core/read.c"
#include "core/session.c"
#include "core/value.c"
#include "core/write.c"
#include "core/writer.c"

#include "remote/end.c"
#include "remote/lane.c"
#include "remote/net.c"
#include "remote/recv.c"
#include "remote/send.c"
#include "remote/watch.c"

#include "listen/accept.c"
#include "listen/connect.c"
#include "listen/descriptor.c"
#include "listen/greet.c"
#include "listen/hello.c"
#include "listen/listen.c"
#include "listen/serve.c"
#include "listen/waiting.c"
