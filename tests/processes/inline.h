/* One protocol generated twice: with `--c-inline-bounds` and the prefix `in_`, and without. Its peers cannot tell which. */
#ifndef INLINE_H
#define INLINE_H

#include "wire/wire.h"

/* How the code without `--c-inline-bounds` describes its messages. */
extern const duo_wire_protocol duo_wire_of_bounded;

/* Clients of that code: they send one message of each kind and close. The first attaches to a region, the second uses a connection. */
void send_in_shared_memory(int region);
void send_over_a_socket(int descriptor);

/* A server of that code, which checks what `inline.c` sends. */
void receive_over_a_socket(int descriptor);

#endif
