/*
 * duologue/atomic.h: the atomic operations of the runtime, under names of its own, and hints to
 * compilers and processors. Not for programs, and not for C++.
 *
 * With threads they are the operations of C11 under other names.
 *
 * Without threads (DUO_NO_THREADS) they are plain loads and stores, and neither <stdatomic.h> nor a library of atomics
 * is used: 32-bit cores have no atomic operations on 64 bits, and toolchains for devices have no libatomic.
 *
 * - One processor runs all code that accesses a session, one call after the other, and sees its own stores in order. So
 *   a read-modify-write is a load and a store, and a fence does nothing.
 * - What a call waits for is done by code that the call itself runs: `duo_idle`. To the compiler that is a call of a
 *   function that may change any memory it can reach, so everything is read again after it.
 * - An interrupt handler must not find a session in the middle of a call. No choice of accesses could ensure that: a
 *   64-bit store is two stores on a 32-bit core, and a step of a session consists of several stores. A program whose
 *   handler uses a session must mask the interrupt around each of its own calls on that session, with something that
 *   the compiler does not move memory accesses across (such as CMSIS's `__disable_irq` and `__enable_irq`). So nothing
 *   here is volatile: that would cost code size and gain nothing. docs/targets/c-reference.md describes what a handler may do.
 */
#ifndef DUOLOGUE_ATOMIC_H
#define DUOLOGUE_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define DUO_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUO_THREAD_SANITIZER 1
#endif
#endif

#ifndef DUO_NO_THREADS

#include <stdatomic.h>

/*
 * Used as a qualifier: in places where compilers for 32 bits have not always agreed, gcc prints a note, but
 * only for the other notation.
 */
#define DUO_ATOMIC _Atomic
#define duo_atomic_init(place, value) atomic_init(place, value)
#define duo_atomic_load(place, order) atomic_load_explicit(place, order)
#define duo_atomic_store(place, value, order) atomic_store_explicit(place, value, order)
#define duo_atomic_exchange(place, value, order) atomic_exchange_explicit(place, value, order)
#define duo_atomic_compare_exchange_strong(place, expected, value, success, failure)               \
    atomic_compare_exchange_strong_explicit(place, expected, value, success, failure)
#define duo_atomic_compare_exchange_weak(place, expected, value, success, failure)                 \
    atomic_compare_exchange_weak_explicit(place, expected, value, success, failure)
#define duo_atomic_fetch_add(place, value, order) atomic_fetch_add_explicit(place, value, order)
#define duo_atomic_fetch_sub(place, value, order) atomic_fetch_sub_explicit(place, value, order)
#define duo_atomic_fetch_or(place, value, order) atomic_fetch_or_explicit(place, value, order)
#define duo_atomic_fetch_and(place, value, order) atomic_fetch_and_explicit(place, value, order)
#define duo_signal_fence(order) atomic_signal_fence(order)

#else

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The memory orders are dropped, including their names. */
#define DUO_ATOMIC
#define duo_atomic_init(place, value) ((void)(*(place) = (value)))
#define duo_atomic_load(place, order) (*(place))
#define duo_atomic_store(place, value, order) ((void)(*(place) = (value)))
#define duo_atomic_exchange(place, value, order) DUO_PLAIN(place, exchange)(place, value)
#define duo_atomic_compare_exchange_strong(place, expected, value, success, failure)               \
    DUO_PLAIN(place, compare_exchange)(place, expected, value)
#define duo_atomic_compare_exchange_weak(place, expected, value, success, failure)                 \
    DUO_PLAIN(place, compare_exchange)(place, expected, value)
#define duo_atomic_fetch_add(place, value, order) DUO_PLAIN_NUMBER(place, fetch_add)(place, value)
#define duo_atomic_fetch_or(place, value, order) DUO_PLAIN_NUMBER(place, fetch_or)(place, value)
#define duo_atomic_fetch_and(place, value, order) DUO_PLAIN_NUMBER(place, fetch_and)(place, value)
#define duo_signal_fence(order) ((void)0)

/* Selects the function by the type of the object: anything that is not a number or a flag is a pointer. */
#define DUO_PLAIN(place, what)                                                                     \
    _Generic((place), bool *: duo_plain_##what##_bool, uint32_t *: duo_plain_##what##_32,          \
             uint64_t *: duo_plain_##what##_64, default: duo_plain_##what##_pointer)
#define DUO_PLAIN_NUMBER(place, what)                                                              \
    _Generic((place), uint32_t *: duo_plain_##what##_32, uint64_t *: duo_plain_##what##_64)

#define DUO_PLAIN_EXCHANGES(type, name)                                                            \
    static inline type duo_plain_exchange_##name(type *place, type value)                          \
    {                                                                                              \
        type before = *place;                                                                      \
        *place = value;                                                                            \
        return before;                                                                             \
    }                                                                                              \
    static inline bool duo_plain_compare_exchange_##name(type *place, type *expected, type value)  \
    {                                                                                              \
        type before = *place;                                                                      \
        bool is_equal = before == *expected;                                                       \
        if (is_equal) *place = value;                                                              \
        else *expected = before;                                                                   \
        return is_equal;                                                                           \
    }

#define DUO_PLAIN_FETCHES(type, name)                                                              \
    static inline type duo_plain_fetch_add_##name(type *place, type value)                         \
    {                                                                                              \
        return duo_plain_exchange_##name(place, *place + value);                                   \
    }                                                                                              \
    static inline type duo_plain_fetch_or_##name(type *place, type value)                          \
    {                                                                                              \
        return duo_plain_exchange_##name(place, *place | value);                                   \
    }                                                                                              \
    static inline type duo_plain_fetch_and_##name(type *place, type value)                         \
    {                                                                                              \
        return duo_plain_exchange_##name(place, *place & value);                                   \
    }

DUO_PLAIN_EXCHANGES(bool, bool)
DUO_PLAIN_EXCHANGES(uint32_t, 32)
DUO_PLAIN_EXCHANGES(uint64_t, 64)
DUO_PLAIN_FETCHES(uint32_t, 32)
DUO_PLAIN_FETCHES(uint64_t, 64)

#undef DUO_PLAIN_EXCHANGES
#undef DUO_PLAIN_FETCHES

/*
 * Pointers to structs all have the same representation. The types of the objects that hold them
 * differ, so they are copied.
 */
static inline void *duo_plain_exchange_pointer(void *place, void *value)
{
    void *before;
    memcpy(&before, place, sizeof before);
    memcpy(place, &value, sizeof value);
    return before;
}

static inline bool duo_plain_compare_exchange_pointer(void *place, void *expected, void *value)
{
    bool is_equal = memcmp(place, expected, sizeof value) == 0;
    if (is_equal) memcpy(place, &value, sizeof value);
    else memcpy(expected, place, sizeof value);
    return is_equal;
}

#endif

/* How many times a thread checks what it waits for while it spins: see backoff.h in the runtime. */
enum { DUO_SPINS = 100 };

#if defined(__GNUC__)
#define DUO_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define DUO_INLINE static inline __attribute__((always_inline))
#define DUO_COLD __attribute__((cold))
#else
#define DUO_LIKELY(condition) (condition)
#define DUO_INLINE static inline
#define DUO_COLD
#endif

/*
 * Prefetches a line that this side is going to write, some bytes after one that it has written, so that stores do
 * not wait for one line after the other. Only a hint, even where there is no line. What compilers generate from
 * their builtin for generic x86-64 also leaves the line with the other side; a processor without this instruction
 * ignores it.
 */
DUO_INLINE void duo_prefetch_write(const void *line, size_t bytes)
{
    const char *place = (const char *)((uintptr_t)line + bytes);
#if defined(__GNUC__) && defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*place));
#elif defined(__GNUC__)
    __builtin_prefetch(place, 1);
#else
    (void)place;
#endif
}

#endif
