/* What robots need for the types that programs supply. */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdio.h>
#include <stdlib.h>

#include "double_buffer_robots.h"
#include "work_queue_robots.h"

static inline bool make_buffer(void *context, duo_values *values, buffer_t *place)
{
    (void)context;
    duo_bytes bytes = duo_values_bytes(values, 16);
    struct pixels *pixels = (struct pixels *)calloc(1, sizeof *pixels);
    if (pixels == NULL) return false;
    pixels->size = bytes.size;
    pixels->bytes = (unsigned char *)calloc(1, bytes.size + 1);
    if (pixels->bytes != NULL) memcpy(pixels->bytes, bytes.data, bytes.size);
    *place = pixels;
    return pixels->bytes != NULL;
}

static inline void show_buffer(void *context, const buffer_t *value, duo_robot_text *text)
{
    char size[32];
    (void)context;
    snprintf(size, sizeof size, "%zu", (*value)->size);
    duo_robot_text_add(text, duo_str_from(size));
}

static inline bool make_ticket(void *context, duo_values *values, duo_host_ticket *place)
{
    (void)context;
    place->id = duo_values_u32(values);
    return true;
}

static inline void show_ticket(void *context, const duo_host_ticket *value, duo_robot_text *text)
{
    char id[32];
    (void)context;
    snprintf(id, sizeof id, "#%lu", (unsigned long)value->id);
    duo_robot_text_add(text, duo_str_from(id));
}

static const double_buffer_robot_client_hooks_t buffer_client = {
    .make_buffer = make_buffer,
    .show_buffer = show_buffer,
};
static const double_buffer_robot_server_hooks_t buffer_server = {
    .make_buffer = make_buffer,
    .show_buffer = show_buffer,
};
static const work_queue_robot_client_hooks_t queue_client = {.make_ticket = make_ticket, .show_ticket = show_ticket};
static const work_queue_robot_server_hooks_t queue_server = {.make_ticket = make_ticket, .show_ticket = show_ticket};

#endif
