/* What the files of the robots share. */
#ifndef DUOLOGUE_ROBOTS_INTERNAL_H
#define DUOLOGUE_ROBOTS_INTERNAL_H

#include "duologue/robots.h"

/* The next byte; false if the choices are exhausted. */
bool duo_choices_next(duo_choices *choices, uint8_t *byte);

/* Memory of the values of one message. */
typedef struct duo_robot_block {
    struct duo_robot_block *next;
    /* So that what follows is aligned for every type. */
    max_align_t aligned[];
} duo_robot_block;

/* What a play keeps for the library. */
typedef struct duo_play_state {
    duo_coverage *own;
    duo_robot_text transcript;
    duo_robot_text failure;
    duo_robot_block *blocks;
    /* For the search of a way: the nodes to look at, and for each node the first edge that leads there, counted from 1. */
    size_t *queue;
    size_t *first;
    size_t space;
    /* A message of the largest type. */
    void *message;
    size_t message_size;
} duo_play_state;

/* A session in which a robot plays. */
typedef struct duo_robot {
    const duo_robot_table *table;
    duo_play *play;
    duo_coverage *coverage;
    const void *hooks;
    const duo_robot_hooks *calls;
    duo_role side;
    size_t messages;
    duo_ending ending;
} duo_robot;

/* A message being made. */
struct duo_values {
    duo_choices *choices;
    const duo_robot *robot;
    duo_play_state *state;
    size_t depth;
    size_t spent;
    /* How many items, characters and bytes were promised. */
    size_t reserved;
    /* Whether the value being made has to be as small as its type allows, and whether it had better be small. */
    bool is_minimal;
    bool is_tired;
    bool is_failed;
};

/* Zeroed memory until the values are released; NULL if there is none. */
void *duo_values_memory(duo_values *values, size_t count, size_t size);
void duo_values_release(duo_play_state *state);

/* Makes a value, and whatever it consists of. If that fails, `is_failed` is set, and the value can be destroyed. */
void duo_values_make(duo_values *values, const duo_robot_type *type, void *place);
/* Why making a value has failed. */
void duo_values_fail(duo_values *values, const char *why, const char *name);

/* The number of a value of this size, with its sign if it has one. */
uint64_t duo_robot_number(const void *place, size_t size, bool is_signed);
/* Appends a string. */
void duo_robot_text_put(duo_robot_text *text, const char *more);
/* Appends a value as transcripts have it. */
void duo_robot_text_value(duo_robot_text *text, const duo_robot *robot, const duo_robot_type *type, const void *place);

/* What the bytes of a view of text, bytes or a list mean. */
typedef struct duo_robot_view {
    const void *data;
    size_t size;
} duo_robot_view;

/* How often an edge was taken, and whether going there again shows anything new. */
uint64_t duo_coverage_count(const duo_coverage *coverage, size_t edge);
bool duo_coverage_is_goal(const duo_coverage *coverage, const duo_robot_node *node, size_t edge);
void duo_coverage_begin(duo_coverage *coverage, duo_role side);
void duo_coverage_add(duo_coverage *coverage, size_t edge, bool is_sent);
const duo_robot_table *duo_coverage_table(const duo_coverage *coverage);

#endif
