/* The ring of Concurrency Kit holds pointers: here the numbers plus 1, since NULL means no value. */
#ifndef KIT_H
#define KIT_H

#include <ck_ring.h>
#include <stdalign.h>

enum { KIT_SLOTS = 1024 };

typedef struct kit {
    alignas(128) ck_ring_t ring;
    alignas(128) ck_ring_buffer_t slots[KIT_SLOTS];
} kit;

kit *kits_open(unsigned count);

#endif
