/* Sessions in shared memory, as one translation unit. */
#define _GNU_SOURCE

#include "shm/attach.c"
#include "shm/long.c"
#include "shm/recv.c"
#include "shm/region.c"
#include "shm/send.c"
#include "shm/shm.c"
#include "shm/wait.c"
#include "shm/watch.c"
