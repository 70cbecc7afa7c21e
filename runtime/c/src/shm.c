/*
 * Sessions in shared memory, as one translation unit. On other systems than Linux, and without threads or an allocator, there
 * are none.
 */
#define _GNU_SOURCE
#include "shm/lines.h"

#if defined(__linux__) && !defined(DUO_NO_THREADS) && !defined(DUO_NO_MALLOC)

#include "shm/attach.c"
#include "shm/long.c"
#include "shm/recv.c"
#include "shm/region.c"
#include "shm/run.c"
#include "shm/send.c"
#include "shm/side.c"
#include "shm/transport.c"
#include "shm/wait.c"

#else

#include <errno.h>

static duo_status unsupported(void)
{
    errno = ENOSYS;
    return DUO_SYSTEM;
}

static duo_status no_region(int *region)
{
    *region = -1;
    return unsupported();
}

duo_status duo_shm_create(size_t space, int *region)
{
    (void)space;
    return no_region(region);
}

duo_status duo_shm_open(const char *name, size_t space, int *region)
{
    (void)name, (void)space;
    return no_region(region);
}

duo_status duo_shm_unlink(const char *name)
{
    (void)name;
    return unsupported();
}

duo_status duo_shm_send(int socket, int region)
{
    (void)socket, (void)region;
    return unsupported();
}

duo_status duo_shm_receive(int socket, int *region)
{
    (void)socket;
    return no_region(region);
}

duo_status duo_shm_receive_within(int socket, uint64_t nanoseconds, int *region)
{
    (void)socket, (void)nanoseconds;
    return no_region(region);
}

duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol, duo_role role, const duo_shm_options *options,
                          duo_endpoint *endpoint)
{
    (void)region, (void)protocol, (void)role, (void)options;
    *endpoint = (duo_endpoint){NULL, 0};
    return unsupported();
}

/* Only sessions in shared memory call it. */
uint64_t duo_single_line_spin(duo_endpoint from, uint64_t expected)
{
    (void)from, (void)expected;
    return 0;
}

#endif
