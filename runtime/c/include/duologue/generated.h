/*
 * duologue/generated.h: the floor that generated C stands on. Programs have no use for it.
 *
 * Generated code is tables and a thin typed layer: a table tells the runtime what a payload is made
 * of and where each message leads, so that copying, destroying and closing are written once, here,
 * and not once per protocol.
 */
#ifndef DUOLOGUE_GENERATED_H
#define DUOLOGUE_GENERATED_H

#include <string.h>

#include "duologue.h"
#include "duologue/ready.h"

/*
 * With this a generated header begins: it and the headers of the runtime are made for each other, and have to be of one
 * version, a patch more or less. Headers of any version may find code of any other, so this is for ever.
 */
#ifdef __cplusplus
#define DUO_MADE_BY(major, minor)                                                                  \
    static_assert(DUO_IS_VERSION(major, minor), DUO_OTHER_VERSION(major, minor))
#else
#define DUO_MADE_BY(major, minor)                                                                  \
    _Static_assert(DUO_IS_VERSION(major, minor), DUO_OTHER_VERSION(major, minor))
#endif
#define DUO_IS_VERSION(major, minor)                                                               \
    ((major) == DUO_VERSION_MAJOR && (minor) == DUO_VERSION_MINOR)
#define DUO_OTHER_VERSION(major, minor)                                                            \
    "made by duologue " #major "." #minor ", and the headers of the runtime are of version "       \
    DUO_SPELT(DUO_VERSION_MAJOR) "." DUO_SPELT(DUO_VERSION_MINOR) "." DUO_SPELT(DUO_VERSION_PATCH) \
    ": install one version of both, and generate anew"
#define DUO_SPELT(number) DUO_SPELT_AS_IT_IS(number)
#define DUO_SPELT_AS_IT_IS(text) #text

/*
 * A program and its runtime are built with the same of these, or what one relies on the other does not do: uses that
 * nobody checks, memory that nobody allocates, threads that nobody waits for. So they are part of the names
 * of what every program calls, and a mixture does not link: `duo_send_checked` is missing, for example.
 */
#ifdef DUO_CHECKED
#define DUO_IF_CHECKED _checked
#else
#define DUO_IF_CHECKED
#endif
#ifdef DUO_NO_MALLOC
#define DUO_IF_NO_MALLOC _no_malloc
#else
#define DUO_IF_NO_MALLOC
#endif
#ifdef DUO_NO_THREADS
#define DUO_IF_NO_THREADS _no_threads
#else
#define DUO_IF_NO_THREADS
#endif
#define DUO_BUILT(name) DUO_JOINED(name, DUO_IF_CHECKED, DUO_IF_NO_MALLOC, DUO_IF_NO_THREADS)
#define DUO_JOINED(name, checked, no_malloc, no_threads) DUO_PASTED(name, checked, no_malloc, no_threads)
#define DUO_PASTED(name, checked, no_malloc, no_threads) name##checked##no_malloc##no_threads
#define duo_open DUO_BUILT(duo_open)
#define duo_open_in DUO_BUILT(duo_open_in)
#define duo_send DUO_BUILT(duo_send)
#define duo_recv DUO_BUILT(duo_recv)
#define duo_close DUO_BUILT(duo_close)

DUO_C_BEGINS

#ifdef __cplusplus
extern "C" {
#endif

struct duo_state;
struct duo_type;

typedef enum duo_kind {
    /* `{T *data; size_t size;}`: bytes and lists. */
    DUO_LIST,
    /* The same, of UTF-8. */
    DUO_TEXT,
    /* `{bool some; T value;}`; the one field is the value. */
    DUO_OPTION,
    /* Fields one after the other: structs, tuples, the entries of a message. */
    DUO_STRUCT,
    /* `{enum tag; union as;}`, or the tag alone; a field belongs to one variant. */
    DUO_ENUM,
    /* A generated endpoint type. */
    DUO_ENDPOINT,
    /* A value of the host program that has a destructor. */
    DUO_EXTERN
} duo_kind;

/* A part of a value that is more than plain bytes, or has to be looked at. */
typedef struct duo_field {
    const struct duo_type *type;
    size_t offset;
    /* Of an enum: the tag that this field goes with. */
    unsigned variant;
} duo_field;

/* What a value is made of. Where any bytes are a value there is no such table: NULL stands for it. */
typedef struct duo_type {
    duo_kind kind;
    /* Parts of the value live outside it; a message of it needs a block. */
    bool spreads;
    /* The value holds endpoints or host values: sending moves them, an unread one closes them. */
    bool moves;
    /* The value holds text or enums, of which not every byte pattern is one: they are looked at before they are sent. */
    bool checks;
    /* DUO_LIST: the size of one element. DUO_EXTERN: the size of the value. DUO_ENUM: the size of the tag. */
    size_t size;
    /* DUO_LIST: the element, NULL if it has no table. */
    const struct duo_type *element;
    /* DUO_OPTION, DUO_STRUCT, DUO_ENUM: the parts that have tables. */
    const duo_field *fields;
    size_t count;
    /* DUO_ENUM: how many; tags are counted from 1. */
    unsigned variants;
    /* DUO_ENDPOINT: the state it is in. */
    const struct duo_state *state;
    /* DUO_EXTERN: the destructor, given the place of the value. */
    void (*drop)(void *place);
} duo_type;

#define DUO_LIST_TYPE(moves, checks, element_size, element)                                        \
    {DUO_LIST, true, moves, checks, element_size, element, NULL, 0, 0, NULL, NULL}
#define DUO_TYPE_OF(kind, spreads, moves, checks, fields)                                          \
    {kind, spreads, moves, checks, 0, NULL, fields, sizeof(fields) / sizeof *(fields), 0, NULL, NULL}
#define DUO_ENUM_TYPE(spreads, moves, tag_size, variants, fields)                                  \
    {DUO_ENUM, spreads,  moves, true, tag_size, NULL, fields, sizeof(fields) / sizeof *(fields),   \
     variants, NULL,     NULL}
/* An enum of which nothing but the tag has to be known. */
#define DUO_TAG_TYPE(tag_size, variants)                                                           \
    {DUO_ENUM, false, false, true, tag_size, NULL, NULL, 0, variants, NULL, NULL}
#define DUO_ENDPOINT_TYPE(state) {DUO_ENDPOINT, false, true, false, 0, NULL, NULL, 0, 0, state, NULL}
/* A host value travels in a block, so that its destructor sees it aligned as its type asks. */
#define DUO_EXTERN_TYPE(size, drop) {DUO_EXTERN, true, true, false, size, NULL, NULL, 0, 0, NULL, drop}

/* The place of an entry among the entries of its message. */
#define DUO_ENTRY(type, message, entry) (offsetof(type, as.message.entry) - offsetof(type, as))
/* The size of all entries of a message: what is before `next`, or all if the message is the last. */
#define DUO_BEFORE_NEXT(type, message) DUO_ENTRY(type, message, next)
#define DUO_ALL_OF(type, message) sizeof(((type *)0)->as.message)

/* Bytes of the tag of a message type, or of an enum with values: fewer than an `int` has under `-fshort-enums`. */
#define DUO_TAG_SIZE(type) sizeof(((type *)0)->tag)

/* A number whose first `size` bytes in memory are a tag, and whose other bytes are zeros. */
static inline unsigned duo_tag_word(unsigned tag, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return tag << 8 * (sizeof tag - size);
#else
    (void)size;
    return tag;
#endif
}

/* Text, and bytes. */
extern const duo_type duo_text_type;
extern const duo_type duo_bytes_type;

/* Whether an enum of so many variants has this tag. */
static inline bool duo_is_tag(unsigned tag, unsigned variants)
{
    return tag - 1 < variants;
}

/* Who speaks after a message. */
typedef enum duo_edge {
    /* The same side goes on. */
    DUO_STAY,
    /* The direction turns. */
    DUO_TURN,
    /* Nobody: the session is over. */
    DUO_END
} duo_edge;

/* One message of one state. */
typedef struct duo_message {
    /* The entries; NULL if any bytes are values of them. */
    const duo_type *type;
    /* Bytes of the entries, and so the place of `next` behind them. */
    size_t size;
    /* The state that follows; at DUO_END NULL, or one in which nothing is left to do. */
    const struct duo_state *next;
    duo_edge edge;
    /* Its position in the state, from 0; the tag that users see is one more. */
    unsigned index;
} duo_message;

/* Which side of a session; bit 0 of every turn. */
typedef enum duo_role { DUO_CLIENT = 0, DUO_SERVER = 1 } duo_role;

/*
 * One state. Its generated message type begins with `{enum tag; void *block;}` and keeps the
 * entries of each message `entries` bytes from its start.
 */
typedef struct duo_state {
    const duo_message *messages;
    size_t entries;
    duo_role sender;
    /* It has messages that keep the direction. */
    bool stays;
    /* Bytes of the tag of its message type, by DUO_TAG_SIZE. */
    unsigned char tag_size;
} duo_state;

/* How the ring of a session lies in memory. Sizes are in bytes. */
typedef struct duo_shape {
    /* From one line to the next, and from one payload to the next. */
    uint32_t pitch;
    uint32_t stride;
    uint32_t lines;
    /* The first line of the second half of the ring; `lines` if the run has a bound. */
    uint32_t segment;
    /* So many are made ready when a session begins. A sender makes the others so as it goes into the last of these. */
    uint32_t ready;
    uint8_t per_line;
    /* Of a message's index; none if no state has a second message. */
    uint8_t index_bits;
    /* Some run has no bound. */
    bool unbounded;
} duo_shape;

/* What all sessions of a protocol share. */
typedef struct duo_protocol {
    /* How many messages may be under way at once; if `unbounded` there may be more. */
    size_t capacity;
    /* Some run has no bound: senders may have to wait. */
    bool unbounded;
    /* The largest size of entries that travel without a block, at least that of a pointer. */
    size_t payload;
    /* No state has more messages. */
    size_t messages;
    /* The state in which a session begins. */
    const duo_state *first;
    /* Bytes of the ring if `unbounded` and if it is more than `capacity` messages need. */
    size_t ring;
    /* The shape of its sessions, if it was worked out by DUO_SHAPE; else NULL. */
    const duo_shape *shape;
} duo_protocol;

/*
 * Bytes of the ring of a generated protocol whose runs have no bound. The more messages are under way, the less often a
 * side waits for the other; a small machine has no memory for that.
 */
#if UINTPTR_MAX > UINT32_MAX && !defined(DUO_NO_MALLOC)
#define DUO_RING 65536
#else
#define DUO_RING 8192
#endif

/* So much of such a ring is made ready when a session begins. Most runs are short, and never touch the rest. */
#define DUO_RING_READY 8192
/* But never fewer lines. */
#define DUO_LINES_READY 8

/* What allocates says so where it is called, and not only to the linker. */
#if defined(DUO_NO_MALLOC) && defined(__has_attribute)
#if __has_attribute(error)
#define DUO_ALLOCATES                                                                              \
    __attribute__((error("DUO_NO_MALLOC leaves out the allocator: begin the session with `_init_in`")))
#endif
#endif
#ifndef DUO_ALLOCATES
#define DUO_ALLOCATES
#endif

/* Makes a session. On failure (DUO_NO_MEMORY) both places are zeroed. */
DUO_ALLOCATES DUO_MUST_CHECK duo_status duo_open(const duo_protocol *protocol, duo_endpoint *server,
                                   duo_endpoint *client);

/*
 * The same in memory of the caller's, for protocols of bounded capacity and messages that need no
 * block. The memory is aligned to 64 bytes, was filled with zeros before it was used for the
 * first time and never changed by the caller since, and outlives all handles. DUO_USED if a
 * session in it has not ended, DUO_NO_MEMORY if it is too small.
 */
DUO_MUST_CHECK duo_status duo_open_in(const duo_protocol *protocol, void *memory, size_t size,
                                      duo_endpoint *server, duo_endpoint *client);

/* What that takes: the session, and a ring for so many payloads of so many bytes. See layout.c. */
#define DUO_SESSION_HEAD 320
#define DUO_LESS(one, other) ((one) < (other) ? (one) : (other))
#define DUO_MORE(one, other) ((one) > (other) ? (one) : (other))
#define DUO_WORDS(bytes) (((bytes) + 7) / 8 * 8)
#define DUO_IN_LINE(capacity, payload, messages)                                                   \
    DUO_MORE((size_t)1, DUO_LESS(DUO_LESS((size_t)((messages) <= 16 ? 7 : 3),                      \
                                          56 / DUO_WORDS(payload)),                                \
                                 (size_t)(capacity)))
#define DUO_PITCH(payload, per_line) ((8 + (per_line) * DUO_WORDS(payload) + 63) / 64 * 64)
#define DUO_FILLS(capacity, per_line)                                                              \
    DUO_MORE((size_t)1, ((size_t)(capacity) + (per_line) - 1) / (per_line))
#define DUO_SESSION_SIZE(capacity, payload, messages)                                              \
    (DUO_SESSION_HEAD +                                                                            \
     DUO_FILLS(capacity, DUO_IN_LINE(capacity, payload, messages)) *                               \
         DUO_PITCH(payload, DUO_IN_LINE(capacity, payload, messages)))

/*
 * Defines `name_shape`, the shape of all sessions of a protocol: what `duo_open` makes of the same numbers.
 * Known to the compiler it makes constants of what would have to be looked up.
 */
#define DUO_SHAPE(name, capacity, is_unbounded, payload, messages)                                 \
    DUO_SHAPE_OF(name, capacity, is_unbounded, payload, messages, DUO_RING)
/* The same with so many bytes for its ring, or a few more, if it is unbounded. */
#define DUO_SHAPE_OF(name, capacity, is_unbounded, payload, messages, ring)                        \
    enum {                                                                                         \
        name##_per_line = DUO_IN_LINE(capacity, payload, messages),                                \
        name##_pitch = DUO_PITCH(payload, (size_t)name##_per_line),                                \
        name##_fills = DUO_FILLS(capacity, (size_t)name##_per_line),                               \
        name##_lines =                                                                             \
            (is_unbounded) ? (DUO_MORE(name##_fills, (ring) / name##_pitch) + 1) / 2 * 2           \
                           : name##_fills,                                                         \
        name##_ready = (is_unbounded) ? DUO_LESS(name##_lines, DUO_MORE(DUO_LINES_READY,           \
                                                                        DUO_RING_READY /           \
                                                                            name##_pitch))         \
                                      : name##_lines                                               \
    };                                                                                             \
    static const duo_shape name##_shape = {                                                        \
        name##_pitch,                                                                              \
        DUO_WORDS(payload),                                                                        \
        name##_lines,                                                                              \
        (is_unbounded) ? name##_lines / 2 : name##_lines,                                          \
        name##_ready,                                                                              \
        name##_per_line,                                                                           \
        (messages) <= 1 ? 0 : (messages) <= 16 ? 4 : 8,                                            \
        is_unbounded}

#ifdef __cplusplus
#define DUO_IN_LINES alignas(64)
#else
#define DUO_IN_LINES _Alignas(64)
#endif

/*
 * Sends `entries` (borrowed for the call; NULL if the message has none) as `message`. DUO_INVALID if they are
 * no values of their types. Waits while a run without bound is full; DUO_FULL when the time is over. `next`, which may be the place that
 * `from` was copied from, gets the endpoint that follows, zeroed at DUO_END. It may be NULL then.
 */
DUO_MUST_CHECK duo_status duo_send(duo_endpoint from, const duo_message *message,
                                   const void *entries, uint64_t wait, duo_endpoint *next);

/*
 * Receives a message of `state` into `message`, a struct of its generated type. DUO_EMPTY when the
 * time is over. Unless DUO_OK the tag is 0 and there is nothing to free.
 */
DUO_MUST_CHECK duo_status duo_recv(duo_endpoint from, const duo_state *state, uint64_t wait,
                                   void *message);

/*
 * The way of messages of plain bytes: see duologue/pipe.h. In C++, and where small code is asked for,
 * all of them go through the library.
 */
#if defined(__cplusplus) || defined(__OPTIMIZE_SIZE__)
typedef struct duo_way {
    char *place;
} duo_way;
#define duo_may_send(way, from, role, known, edge) ((way)->place = NULL, false)
#define duo_publish(way, from, role, edge, index, begins, stays, next) DUO_USED
#define duo_may_recv(way, from, role, known, edge, wait) ((way)->place = NULL, false)
#define duo_taken(way, from, edge, stays) (from)
#define duo_send_apart duo_send
#else

/*
 * `duo_send` to which the address of the caller's `next` does not go, so that it can be in registers.
 * It may well be uninitialised: then what is copied to and fro is never looked at.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#if __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Wanalyzer-use-of-uninitialized-value"
#endif
#endif
DUO_MUST_CHECK static inline duo_status duo_send_apart(duo_endpoint from, const duo_message *message,
                                                       const void *entries, uint64_t wait,
                                                       duo_endpoint *next)
{
    duo_endpoint after = *next;
    duo_status status = duo_send(from, message, entries, wait, &after);
    *next = after;
    return status;
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

/*
 * Leaves the session. Messages not yet read are destroyed, and endpoints inside them close in turn;
 * the depth of such nesting costs no stack. DUO_USED if the endpoint was used before.
 */
duo_status duo_close(duo_endpoint endpoint, const duo_state *state);

/*
 * Frees what a received message owns and zeroes its tag: the block, and endpoints and host values
 * that were not taken. Does not touch `next`. A message whose tag is 0 owns nothing.
 */
void duo_free(const duo_state *state, void *message);

/* Takes an endpoint out of a received message: what is left in its place is a used one. */
static inline duo_endpoint duo_take(duo_endpoint *place)
{
    duo_endpoint taken = *place;
    place->session = NULL;
    place->turn = 0;
    return taken;
}

#ifdef __cplusplus
}
#elif !defined(__OPTIMIZE_SIZE__)
#include "duologue/pipe.h"
#endif

DUO_C_ENDS

#endif
