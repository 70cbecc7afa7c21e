/* The host type of these programs: a handle that detects a second drop. Included once in a program. */
#ifndef HANDLES_H
#define HANDLES_H

#include <stdlib.h>

#include "check.h"
#include "payloads.h"

static int alive;

struct handle {
    int is_whole;
};

struct handle *handle_new(void)
{
    struct handle *handle = malloc(sizeof *handle);
    CHECK(handle != NULL);
    handle->is_whole = 1;
    alive++;
    return handle;
}

void handle_drop(struct handle *handle)
{
    CHECK(handle->is_whole);
    alive--;
    free(handle);
}

int handles_alive(void)
{
    return alive;
}

#endif
