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

/*
 * Between these a header is C that C++ takes too. Compilers of C++ can be asked to warn of casts and null pointers for
 * which C has no other words; that is for the code of a program, and is off here.
 */
#if defined(__cplusplus) && defined(__clang__)
#define DUO_C_BEGINS                                                                               \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wold-style-cast\"")      \
        _Pragma("clang diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#define DUO_C_ENDS _Pragma("clang diagnostic pop")
#elif defined(__cplusplus) && defined(__GNUC__)
#define DUO_C_BEGINS                                                                               \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")          \
        _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")                                       \
            _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#define DUO_C_ENDS _Pragma("GCC diagnostic pop")
#else
#define DUO_C_BEGINS
#define DUO_C_ENDS
#endif

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
    /*
     * Between processes. Sending: the message is larger or deeper than the peer takes; the endpoint is still good.
     * Receiving: it takes more memory than `duo_shm_options` allow; the endpoint is gone. Attaching: so is the region.
     */
    DUO_TOO_LARGE,
    /* Between processes: the place is taken, or the peer speaks another protocol. There is no session. */
    DUO_REFUSED,
    /* The system refused, and `errno` says why; or the operation is not for sessions between processes. */
    DUO_SYSTEM,
    /* A value in the message is none of its type: text that is not UTF-8, or a tag that its enum does not have
     * (such as 0, that of a zeroed struct). The endpoint is still good. */
    DUO_INVALID
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

/*
 * The two arguments that `%.*s` wants. What is longer than an `int` says is cut off. `printf` ends at a zero, which
 * text may contain, and lets control characters through, with which a peer can move the cursor and forge lines: what
 * comes from others is better shown by `duo_str_escape`.
 */
#define DUO_PRINT(text) duo_print_size((text).size), (text).data

/* A size as `%.*s` takes it. */
static inline int duo_print_size(size_t size)
{
    const unsigned most = ~0u / 2;
#ifdef __cplusplus
    return static_cast<int>(size < most ? size : most);
#else
    return (int)(size < most ? size : most);
#endif
}

/*
 * Writes text so that it can be shown on one line and read back, and a zero behind it: backslashes, quotation marks,
 * control characters (those from U+0080 to U+009F too) and zeros become `\\`, `\"`, `\n`, `\r`, `\t` or `\xNN`, byte by
 * byte; so do bytes that are not UTF-8. Of what does not fit into `room` bytes with its zero nothing is written
 * in part. Gives the number of bytes that all of it takes, without the zero, as `snprintf` does.
 */
size_t duo_str_escape(char *place, size_t room, duo_str text);

/* A view of a string that ends with a zero; NULL gives the empty view. */
duo_str duo_str_from(const char *text);

/* Whether both have the same bytes. */
bool duo_str_equal(duo_str left, duo_str right);

/*
 * Does without the system call `membarrier`: sessions that begin from here on publish every message by a swap, as on
 * systems that lack the call. For programs that will forbid themselves the call; to be called before the first session is
 * made. The environment variable DUOLOGUE_NO_MEMBARRIER=1 does the same.
 */
void duo_without_membarrier(void);

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

/*
 * Gives back the memory that sessions which are over have left for later ones. For programs that unload the
 * runtime (`dlclose`) or look for leaks; others have no use for it.
 *
 * Says how many sessions are not over yet. They go on, are used as ever, and leave their memory behind for
 * another call. Of a session that is over no handle may be used afterwards: what it points to is gone. So
 * this is called when no thread can have one, best when nothing is left and the answer is 0. The library may
 * be used again. Sets, shared senders and received messages are freed by the functions for that.
 */
size_t duo_shutdown(void);
#endif

#ifdef DUO_NO_THREADS
/*
 * Where there is no system, only one processor and what it runs in turn (DUO_NO_THREADS), the program
 * defines these two. A call that waits calls `duo_idle` over and over, which lets the other side go on; a
 * call with a limit measures it by `duo_clock`, in nanoseconds from some beginning. Interrupt handlers use a session
 * only as docs/targets/c.md says.
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
 * the same moment are outside it, unless program and runtime are compiled with DUO_CHECKED (where only one of
 * them is, nothing links). So are handles
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
