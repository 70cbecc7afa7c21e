/*
 * duologue.h: what a program needs to speak a protocol that Duologue compiled to C.
 *
 * Compiles as C11 and as C++17. The typed functions are in the generated headers; this one has the
 * words they share: the status of an operation, views of text and bytes, and where memory comes
 * from.
 */
#ifndef DUOLOGUE_H
#define DUOLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the runtime, which is that of the compiler made for it. */
#define DUO_VERSION_MAJOR 0
#define DUO_VERSION_MINOR 1
#define DUO_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DUO_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DUO_MUST_CHECK
#endif

/* How an operation ended. Unless it is DUO_OK nothing was sent, received or moved. */
typedef enum duo_status {
    DUO_OK = 0,
    /* The peer has left, and everything it sent before has been read. The endpoint is gone. */
    DUO_CLOSED,
    /* The endpoint was used before (or never made); this call changed nothing. */
    DUO_USED,
    /* No room in a run without bound, or between processes in any run. The endpoint is still good. */
    DUO_FULL,
    /* Nothing has arrived (yet). The endpoint is still good. */
    DUO_EMPTY,
    /* Memory ran out. The endpoint is still good. */
    DUO_NO_MEMORY,
    /* Between processes: the peer sent what nobody who speaks the protocol sends. The endpoint is gone. */
    DUO_BROKEN,
    /* Between processes: the message is larger or deeper than the peer takes. The endpoint is still good. */
    DUO_TOO_LARGE,
    /* Between processes: the place is taken, or the peer speaks another protocol. There is no session. */
    DUO_REFUSED,
    /* The system refused, and `errno` says why; or the operation is not for sessions between processes. */
    DUO_SYSTEM
} duo_status;

/* The status in words; a string that lives for ever. */
const char *duo_status_text(duo_status status);

/*
 * A view of UTF-8 text: `size` bytes, not ended by a zero. Whoever sends lends it for the call; in
 * a received message it lives until the message is freed.
 */
typedef struct duo_str {
    const char *data;
    size_t size;
} duo_str;

/* A view of bytes, with the life of a `duo_str`. */
typedef struct duo_bytes {
    const uint8_t *data;
    size_t size;
} duo_bytes;

/* A view of a string literal, and of nothing else: a pointer does not compile. */
#ifdef __cplusplus
#define DUO_STR(literal) (duo_str{"" literal "", sizeof(literal) - 1})
#else
#define DUO_STR(literal) ((duo_str){"" literal "", sizeof(literal) - 1})
#endif

/* The two arguments that `%.*s` wants. */
#define DUO_PRINT(text) (int)(text).size, (text).data

/* A view of a string that ends with a zero; NULL gives the empty view. */
duo_str duo_str_from(const char *text);

/* Whether both have the same bytes. */
bool duo_str_equal(duo_str left, duo_str right);

#ifndef DUO_NO_MALLOC
/*
 * Where memory comes from. `release` takes what either of the others gave; both may answer NULL.
 * All three are called from any thread.
 */
typedef struct duo_memory {
    void *(*allocate)(size_t size);
    void *(*allocate_aligned)(size_t alignment, size_t size);
    void (*release)(void *memory);
} duo_memory;

/*
 * Replaces `malloc`, `aligned_alloc` and `free`. To be called before the first session is made, by
 * one thread, or never: memory goes back through the functions that are in force at that time.
 */
void duo_use_memory(duo_memory memory);
#endif

#ifdef DUO_NO_THREADS
/*
 * Where there is no system, only one processor and what it runs in turn (DUO_NO_THREADS), the program
 * defines these two. A call that waits calls `duo_idle` over and over, which lets the other side go on; a
 * call with a limit measures it by `duo_clock`, in nanoseconds from some beginning.
 */
void duo_idle(void);
uint64_t duo_clock(void);
#endif

/* One running exchange; only the runtime looks inside. */
typedef struct duo_session duo_session;

/*
 * What every generated endpoint type wraps. It is a ticket, not a pointer: copying it is harmless,
 * the first use of any copy wins and every later one is DUO_USED, whatever has become of the
 * session. This holds for uses that are ordered; two threads that use copies of one endpoint at
 * the same moment are outside it, unless program and runtime are compiled with DUO_CHECKED. So are handles
 * never initialised: begin with `= {0}`, which is a used endpoint.
 */
typedef struct duo_endpoint {
    duo_session *session;
    uint64_t turn;
} duo_endpoint;

/* By what two processes know that they speak the same protocol: see `duologue fingerprint`. */
typedef struct duo_fingerprint {
    uint8_t bytes[16];
} duo_fingerprint;

#ifdef __cplusplus
}
#endif

#endif
