/*
 * duologue.h: what a program needs to use a protocol that Duologue compiled to C.
 *
 * Compiles as C11 and as C++17. The typed functions are in the generated headers. This header has
 * what they share: the status of an operation, views of text and bytes, and memory allocation.
 */
#ifndef DUOLOGUE_H
#define DUOLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the runtime, which is also the version of the matching compiler. */
#define DUO_VERSION_MAJOR 0
#define DUO_VERSION_MINOR 1
#define DUO_VERSION_PATCH 0

/*
 * Between these two macros, a header is C that also compiles as C++. C++ compilers can be asked to warn about casts
 * and null pointers for which C has no other spelling. Those warnings are meant for the program's own code and are
 * turned off here.
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
#elif defined(DUO_SYMBOLS) && defined(__GNUC__)
/* The functions in headers then have no earlier declaration. */
#define DUO_C_BEGINS _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-prototypes\"")
#define DUO_C_ENDS _Pragma("GCC diagnostic pop")
#else
#define DUO_C_BEGINS
#define DUO_C_ENDS
#endif

/*
 * How headers define the functions that programs call. Programs in other languages look up functions by name. For them,
 * one file of a shared library defines DUO_SYMBOLS before it includes the headers of its protocols; the functions in
 * these headers are then ordinary functions, which the library exports.
 */
#if !defined(DUO_SYMBOLS)
#define DUO_API static inline
#elif defined(__GNUC__)
#define DUO_API __attribute__((visibility("default")))
#else
#define DUO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DUO_MUST_CHECK __attribute__((warn_unused_result))
#define DUO_NO_RETURN __attribute__((noreturn, cold))
#else
#define DUO_MUST_CHECK
#define DUO_NO_RETURN
#endif

/*
 * A local variable that is cleaned up when its scope is left, with gcc and clang. An endpoint, as in
 * `DUO_AUTO(bank_server_login) server = {0};`, is closed unless it was used; a copy of it that was kept elsewhere can then
 * no longer be used. A message, as in `DUO_AUTO_FREE(bank_login) asked = {0};`, is freed. Its next endpoint is not closed.
 */
#if defined(__GNUC__)
#define DUO_AUTO(name) __attribute__((cleanup(name##_cleanup))) name##_t
#define DUO_AUTO_FREE(name) __attribute__((cleanup(name##_free))) name##_t
#endif

/* The result of an operation. Unless it is DUO_OK, nothing was sent, received or moved. */
typedef enum duo_status {
    DUO_OK = 0,
    /*
     * The peer has closed the session, and everything it sent has been read. The endpoint is gone.
     */
    DUO_CLOSED,
    /* The endpoint has already been used (or was never created); this call changed nothing. */
    DUO_USED,
    /*
     * There is no free space, in an unbounded run or in any run between processes, or the wait was canceled. The
     * endpoint can still be used.
     */
    DUO_FULL,
    /* Nothing has arrived yet, or the wait was canceled. The endpoint can still be used. */
    DUO_EMPTY,
    /* Out of memory. The endpoint can still be used. */
    DUO_NO_MEMORY,
    /* Between processes: the peer sent something that violates the protocol. The endpoint is gone. */
    DUO_BROKEN,
    /*
     * Sending: text or bytes are longer than the bound with which they are stored inline, or, between processes, the
     * message is larger or more deeply nested than the peer accepts; the endpoint can still be used. Between processes
     * only: a received message takes more memory than the options allow, or over sockets the peer says so about an
     * earlier one that this side sent, and the endpoint is gone; or the region to be attached is larger than they allow.
     */
    DUO_TOO_LARGE,
    /* Between processes: the side is taken, the peer uses a different protocol, or it refuses. There is no session. */
    DUO_REFUSED,
    /*
     * The system reported an error, and `errno` has the reason; or the operation is not for sessions
     * between processes.
     */
    DUO_SYSTEM,
    /*
     * A value in the message is not valid for its type: text that is not UTF-8, a tag that its enum does not have
     * (such as 0, the tag of a zeroed struct), or an inline value that is larger than its bound. The endpoint can still
     * be used.
     */
    DUO_INVALID,
    /*
     * Between processes: the connection, or the peer's process, ended without notice, for example by a crash. It is not
     * known whether the peer received what was sent last. The endpoint is gone.
     */
    DUO_LOST,
    /* Over sockets: a time limit has passed. The session, or the attempt to begin one, is over. */
    DUO_LATE,
    /* Over sockets: the text is not an address, or is an address of an unknown kind. */
    DUO_ADDRESS,
    /* Over sockets: an address `tls://host:port` requires `duo_net_options.tls`. */
    DUO_CERTIFICATES,
    /* Over sockets: the two sides could not begin TLS, or certificates cannot be used; a `duo_problem` says why. */
    DUO_TLS,
    /* With DUO_RECORD: a monitor did not allow the message. The endpoint is gone. See duologue/record.h. */
    DUO_STOPPED
} duo_status;

/* A description of the status; the string is static. */
const char *duo_status_text(duo_status status);

/*
 * A view of UTF-8 text: `size` bytes, not zero-terminated. When sending, the runtime borrows the
 * text for the duration of the call. In a received message it is valid until the message is freed.
 */
typedef struct duo_str {
    const char *data;
    size_t size;
} duo_str;

/* A view of bytes, valid for as long as a `duo_str` would be. */
typedef struct duo_bytes {
    const uint8_t *data;
    size_t size;
} duo_bytes;

/* A view of a string literal. Anything else, such as a pointer, does not compile: `duo_str_from` takes that. */
#ifdef __cplusplus
#define DUO_STR(literal) (duo_str{"" literal "", sizeof(literal) - 1})
#else
#define DUO_STR(literal) ((duo_str){"" literal "", sizeof(literal) - 1})
#endif

/*
 * The two arguments that `%.*s` expects. Text longer than INT_MAX bytes is truncated. `printf` stops at a zero byte,
 * which text may contain, and passes control characters through, with which a peer could move the cursor and forge
 * lines. Prefer `duo_str_escape` to show text from others.
 */
#define DUO_PRINT(text) duo_print_size((text).size), (text).data

/* A size as an argument of `%.*s`. */
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
 * Writes text in a form that can be shown on one line and read back, followed by a zero byte. Backslashes, quotation
 * marks, control characters (including U+0080 to U+009F) and zeros become `\\`, `\"`, `\n`, `\r`, `\t` or `\xNN`, byte
 * by byte; bytes that are not UTF-8 become `\xNN` too. Output that would not fit into `space` bytes, including the zero
 * byte, is cut off, but never in the middle of a character or an escape. Returns the number of bytes that the complete
 * output takes without the zero byte, as `snprintf` does.
 */
size_t duo_str_escape(char *place, size_t space, duo_str text);

/* A view of a zero-terminated string; NULL gives the empty view. */
duo_str duo_str_from(const char *text);

/*
 * Copies text and a zero byte to `space` bytes of memory, for functions that expect a string of C. What does not fit is
 * cut off, but never in the middle of a character. Returns the number of bytes that all of it takes without the zero
 * byte, as `snprintf` does. A zero byte in the text ends the string for those functions.
 */
size_t duo_str_copy(char *place, size_t space, duo_str text);

/* Whether both have the same bytes. */
bool duo_str_equal(duo_str left, duo_str right);

/*
 * Disables the system call `membarrier`: sessions that begin after this call publish every message with a swap, as on
 * systems without `membarrier`. For programs that will install a filter against the system call: the process aborts if
 * the call is refused to a session that relies on it. Call this before the first session is created. The environment
 * variable DUOLOGUE_NO_MEMBARRIER=1 has the same effect.
 */
void duo_without_membarrier(void);

#ifndef DUO_NO_MALLOC
/*
 * Memory allocation functions. `release` receives what either of the other two returned; both may
 * return NULL. All three may be called from any thread.
 */
typedef struct duo_memory {
    void *(*allocate)(size_t size);
    void *(*allocate_aligned)(size_t alignment, size_t size);
    void (*release)(void *memory);
} duo_memory;

/*
 * Replaces `malloc`, `aligned_alloc` and `free`. Call it from one thread before the first session
 * is created, or not at all: memory is released with the functions installed at that time.
 */
void duo_use_memory(duo_memory memory);

/*
 * Releases the memory that is kept from finished sessions for later ones. For programs that unload the
 * runtime (`dlclose`) or check for leaks; others do not need it.
 *
 * Returns how many sessions are not over yet. They continue to work as usual, and a later call frees their
 * memory. After this call no handle of a finished session may be used, since what it points to has been
 * freed. So call it when no thread can still have such a handle, ideally when no session is left and the
 * result is 0. The library may be used again afterwards. Sets, shared senders and received messages are
 * freed by their own functions.
 */
size_t duo_shutdown(void);
#endif

/*
 * Values of generated types as expressions: an option with a value, one without, and a list that is a view of an array (not of
 * a pointer, about which compilers warn). So `DUO_SOME(duo_opt_u64_t, 7)`, `DUO_NONE(duo_opt_u64_t)` and
 * `DUO_ITEMS(duo_list_str_t, lines)`.
 */
#ifdef __cplusplus
#define DUO_SOME(type, item) (type{true, item})
#define DUO_NONE(type) (type{})
#define DUO_ITEMS(type, array) (type{array, sizeof(array) / sizeof *(array)})
#else
#define DUO_SOME(type, item) ((type){true, item})
#define DUO_NONE(type) ((type){0})
#define DUO_ITEMS(type, array) ((type){array, sizeof(array) / sizeof *(array)})
#endif

#ifndef DUO_NO_MALLOC
/*
 * Copies the text or the bytes of a message, so that they outlive it, to a block of their own, as the generated `_copy` functions
 * do for declared types. DUO_NO_MEMORY: `*block` is NULL, and `*to` must not be used.
 */
DUO_MUST_CHECK duo_status duo_str_duplicate(duo_str from, duo_str *to, void **block);
DUO_MUST_CHECK duo_status duo_bytes_duplicate(duo_bytes from, duo_bytes *to, void **block);

/* Frees the block of a copy that one of these or a generated `_copy` function has made; NULL is ignored. */
void duo_release_copy(void *block);
#endif

#ifdef DUO_NO_THREADS
/*
 * Without an operating system (DUO_NO_THREADS), one processor runs everything in turn, and the program defines these
 * two functions. A call that waits calls `duo_idle` repeatedly, which lets the other side run. A call with a time
 * limit measures it with `duo_clock`, in nanoseconds since an arbitrary start. Interrupt handlers may use a session
 * only as docs/targets/c-reference.md describes.
 */
void duo_idle(void);
uint64_t duo_clock(void);
#endif

/* A session; only the runtime accesses its fields. */
typedef struct duo_session duo_session;

/*
 * What every generated endpoint type wraps. It is a ticket, not a pointer, so copying it is harmless: the first use of
 * any copy succeeds, and every later use returns DUO_USED, whatever has happened to the session. This guarantee covers
 * uses that are ordered. It does not cover two threads that use copies of one endpoint at the same moment, unless
 * program and runtime are both compiled with DUO_CHECKED (if only one of them is, they do not link). Nor does it cover
 * handles that were never initialized: initialize them with `= {0}`, which is a used endpoint.
 */
typedef struct duo_endpoint {
    duo_session *session;
    uint64_t turn;
} duo_endpoint;

/*
 * Allocates the memory of messages. `release` receives what `allocate` returned, which may be NULL, and which is aligned as
 * by `malloc`. Both get `context`, and may be called from any thread that sends, receives or frees a message, or closes
 * an endpoint.
 */
typedef struct duo_allocator {
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory);
    void *context;
} duo_allocator;

#ifndef DUO_NO_MALLOC
/*
 * From now on, the text, bytes, lists and host values in messages of this session are in memory of this allocator, or
 * of `duo_memory` if it is NULL. Call it before an endpoint of the session is used or given to another thread. The
 * allocator must exist until all messages of the session are freed. Over sockets and in shared memory, it is used for the
 * messages that this side receives.
 *
 * `endpoint` is either of the two in the form `endpoint.sends` or `endpoint.receives`. DUO_USED: it was used before.
 */
DUO_MUST_CHECK duo_status duo_use_allocator(duo_endpoint endpoint, const duo_allocator *allocator);
#endif

/* Shows two processes whether they use the same protocol: see `duologue fingerprint`. */
typedef struct duo_fingerprint {
    uint8_t bytes[16];
} duo_fingerprint;

#ifdef __cplusplus
}
#endif

#endif
