/* A ticket, as the programs of this case use it. */
#ifndef WORK_QUEUE_HOST_H
#define WORK_QUEUE_HOST_H

#include <stdint.h>

typedef struct ticket {
    uint32_t id;
} ticket;

#endif
