/*
 * duologue/robots.h: robots, which play one side of a protocol in tests.
 *
 * Generated code (`duologue gen --robots --c`) has two functions for each protocol, such as `bank_robot_client`. Each plays
 * a session by the tables of the protocol. A `duo_choices` decides everything: which messages are sent, with which
 * values, and when the robot disconnects. The same bytes lead to the same session in every language. Compiles as C11 and
 * as C++17; the functions are in the library `duologue_robots`, the files of `runtime/c/robots`.
 */
#ifndef DUOLOGUE_ROBOTS_H
#define DUOLOGUE_ROBOTS_H

#include "duologue.h"
#include "duologue/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a robot's choices come from. A `duo_choices` goes on where it was if several sessions use it one after another. */
typedef struct duo_choices {
    /* 0: bytes, 1: a seed, 2: covering. */
    unsigned char kind;
    const uint8_t *bytes;
    size_t size;
    size_t at;
    uint64_t state;
    uint64_t word;
    unsigned left;
} duo_choices;

/* These bytes, which must exist as long as the choices are used. When they are exhausted, a robot ends its session. */
duo_choices duo_choices_bytes(const uint8_t *bytes, size_t size);
/* Pseudorandom choices without an end; the same seed makes the same ones. */
duo_choices duo_choices_seed(uint64_t seed);
/* Choices without an end with which a robot goes to transitions that it has not seen. */
duo_choices duo_choices_covering(void);

/* How a session of a robot ended. */
typedef enum duo_ending {
    /* The protocol's end was reached. */
    DUO_ENDING_FINISHED,
    /* The robot has disconnected. */
    DUO_ENDING_LEFT,
    /* The peer has disconnected. */
    DUO_ENDING_CLOSED,
    /* A time limit has passed. */
    DUO_ENDING_LATE,
    /* The robot had to send, but can make no message of the state. */
    DUO_ENDING_STUCK,
    /* A hook reported a failure, or the runtime an error: `failure` of the play says which. */
    DUO_ENDING_FAILED
} duo_ending;

/* A description of the ending; the string is static. */
const char *duo_ending_text(duo_ending ending);
/* Whether a robot has found a fault with its peer: it disconnected, was late, or a hook reported a failure. */
bool duo_ending_is_fault(duo_ending ending);

struct duo_robot_table;

/* How often each transition of a protocol was taken. Robots on several threads may share one. */
typedef struct duo_coverage duo_coverage;

/* The coverage of a protocol, from its generated table, such as `&bank_robots`. NULL if memory ran out. */
duo_coverage *duo_coverage_new(const struct duo_robot_table *table);
/* Frees it; NULL is ignored. */
void duo_coverage_free(duo_coverage *coverage);
/* How many transitions were seen among those that robots can take. */
size_t duo_coverage_seen(const duo_coverage *coverage);
/* How many transitions robots can take. */
size_t duo_coverage_all(const duo_coverage *coverage);
/*
 * Writes a line such as `covered 8/8 transitions`, without a line feed, and a zero byte. Returns the number of bytes that
 * all of it takes without the zero byte, as `snprintf` does.
 */
size_t duo_coverage_text(const duo_coverage *coverage, char *place, size_t space);
/* The same for the report that `duologue robots report` reads: one line of JSON, without a line feed. */
size_t duo_coverage_json(const duo_coverage *coverage, char *place, size_t space);

/* Text that grows; see duo_robot_text_add. */
typedef struct duo_robot_text {
    char *data;
    size_t size;
    size_t space;
    /* Memory ran out: some of the text is missing. */
    bool is_cut;
} duo_robot_text;

/* Appends bytes to a text. For hooks that show values. */
void duo_robot_text_add(duo_robot_text *text, duo_str more);

/* What a robot plays with. Begin with duo_play_init, change what you like, and end with duo_play_free. */
typedef struct duo_play {
    duo_choices *choices;
    /* What steers the robot, and counts: of the protocol that is played. NULL: the play has a coverage of its own. */
    duo_coverage *coverage;
    /* After this many messages in a session, the robot goes to the end: 100. After twice as many it disconnects. */
    size_t limit;
    /* How many nanoseconds the robot waits if it is slow, once to four times: 1,000,000. 0: it is never slow. */
    uint64_t pause;
    /* How many nanoseconds the robot waits for its peer at most; 0: as long as it takes. */
    uint64_t within;
    /* Whether the robot may disconnect before the end of the protocol: true. It does so in any case if there is no way to the end. */
    bool leaves;
    /* The last session, one line for each message, zero-terminated; NULL before the first session. */
    const char *transcript;
    size_t transcript_size;
    /* Why the last session failed; NULL if it did not. */
    const char *failure;
    /* For the library. */
    struct duo_play_state *state;
} duo_play;

/* A play with these choices, which must exist as long as the play. */
void duo_play_init(duo_play *play, duo_choices *choices);
/* Frees what the play owns: its transcript, and its own coverage. */
void duo_play_free(duo_play *play);

/* Where values come from: the choices of a robot while it makes a message. For hooks that make values of host types. */
typedef struct duo_values duo_values;

uint8_t duo_values_byte(duo_values *values);
bool duo_values_bool(duo_values *values);
uint8_t duo_values_u8(duo_values *values);
uint16_t duo_values_u16(duo_values *values);
uint32_t duo_values_u32(duo_values *values);
uint64_t duo_values_u64(duo_values *values);
int8_t duo_values_i8(duo_values *values);
int16_t duo_values_i16(duo_values *values);
int32_t duo_values_i32(duo_values *values);
int64_t duo_values_i64(duo_values *values);
float duo_values_f32(duo_values *values);
double duo_values_f64(duo_values *values);
/* A number of items, at most this many. */
size_t duo_values_count(duo_values *values, size_t most);
/* Text and bytes of at most this many bytes, valid until the message is sent. */
duo_str duo_values_text(duo_values *values, size_t most);
duo_bytes duo_values_bytes(duo_values *values, size_t most);

/*
 * What follows is for generated code.
 */

typedef enum duo_robot_kind {
    DUO_ROBOT_BOOL,
    DUO_ROBOT_UNSIGNED,
    DUO_ROBOT_SIGNED,
    DUO_ROBOT_REAL,
    DUO_ROBOT_TEXT,
    DUO_ROBOT_BYTES,
    DUO_ROBOT_INLINE_TEXT,
    DUO_ROBOT_INLINE_BYTES,
    DUO_ROBOT_LIST,
    DUO_ROBOT_INLINE_LIST,
    DUO_ROBOT_OPTION,
    DUO_ROBOT_TUPLE,
    DUO_ROBOT_STRUCT,
    DUO_ROBOT_ENUM,
    DUO_ROBOT_ENDPOINT,
    DUO_ROBOT_HOST
} duo_robot_kind;

struct duo_robot_type;

/* A part of a value: an item, a field, or an entry of a variant. */
typedef struct duo_robot_part {
    const struct duo_robot_type *type;
    size_t offset;
    /* The name of a field; NULL for others. */
    const char *name;
} duo_robot_part;

/* A variant of an enum. */
typedef struct duo_robot_variant {
    const char *name;
    const duo_robot_part *parts;
    size_t count;
    bool is_makeable;
} duo_robot_variant;

/* How values of a type are made and shown. */
typedef struct duo_robot_type {
    duo_robot_kind kind;
    /* Whether values can be made. */
    bool is_makeable;
    size_t size;
    /* Of text and bytes the most bytes, of lists the most items; SIZE_MAX without a bound. */
    size_t most;
    const duo_robot_part *parts;
    size_t count;
    const duo_robot_variant *variants;
    size_t variant_count;
    /* The bytes of an enum's tag, and the variant with the smallest values. */
    unsigned char tag_size;
    size_t shallow;
    /* How an endpoint is written, and the name of a host type. */
    const char *name;
    /* An endpoint is made by opening a session of this protocol, of which it is this side; NULL: its session is over. */
    const duo_protocol *protocol;
    const duo_state *state;
    duo_role side;
    /* The number of a host type for the hooks. */
    size_t host;
} duo_robot_type;

/* A message of a node. */
typedef struct duo_robot_edge {
    const char *name;
    /* The next node, or -1 at the end. */
    int next;
    bool is_makeable;
    bool is_coverable;
    const duo_robot_part *parts;
    size_t count;
} duo_robot_edge;

/* A state with its type arguments. */
typedef struct duo_robot_node {
    const char *name;
    duo_role sender;
    /* How many edges the nodes before it have, and its own. */
    size_t first;
    const duo_robot_edge *edges;
    size_t count;
    const duo_state *state;
    /* The size of its message type. */
    size_t size;
} duo_robot_node;

/*
 * The functions by which a robot plays. Generated code passes them on, because those that it calls depend on how it is
 * compiled.
 */
typedef struct duo_robot_calls {
    duo_status (*open)(const duo_protocol *protocol, duo_endpoint *server, duo_endpoint *client);
    duo_status (*send)(duo_endpoint from, const duo_message *message, const void *entries, uint64_t wait,
                       duo_endpoint *next);
    duo_status (*recv)(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);
    duo_status (*close)(duo_endpoint endpoint, const duo_state *state);
} duo_robot_calls;

/* An array, and how many elements it has. */
#define DUO_ROBOT_ARRAY(array) array, sizeof(array) / sizeof *(array)

#define DUO_ROBOT_CALLS {duo_open, duo_send, duo_recv, duo_close}

/* What robots know about a protocol. */
typedef struct duo_robot_table {
    const char *name;
    const char *fingerprint;
    const duo_robot_node *nodes;
    size_t node_count;
    duo_robot_calls calls;
} duo_robot_table;

/* What calls the hooks of one side, which have the types of the program. */
typedef struct duo_robot_hooks {
    /* Makes a value of the host type with this number; false if there is no hook, or if it has failed. */
    bool (*make)(const void *hooks, size_t host, duo_values *values, void *place);
    /* Appends how it is written; false if there is no hook. */
    bool (*show)(const void *hooks, size_t host, const void *place, duo_robot_text *text);
    /* Looks at a message that was received in this node: what is wrong with it, or NULL. */
    const char *(*look)(const void *hooks, size_t node, const void *message);
} duo_robot_hooks;

/* Plays a session, of which `start` is this side's first endpoint. `hooks` may be NULL. */
duo_ending duo_robot_play(const duo_robot_table *table, duo_play *play, duo_role side, duo_endpoint start,
                          const void *hooks, const duo_robot_hooks *calls);

#ifdef __cplusplus
}
#endif

#endif
