/* What all modules of the runtime share, in addition to the layout of a session in duologue/pipe.h. */
#ifndef DUOLOGUE_FLOOR_H
#define DUOLOGUE_FLOOR_H

#ifndef DUO_NO_THREADS
#include <pthread.h>
#endif
#include <time.h>

#include "duologue/tables.h"
#include "duologue/pipe.h"

#ifdef DUO_NO_THREADS
#define DUO_EACH_THREAD
#else
#define DUO_EACH_THREAD _Thread_local
#endif

/*
 * With DUO_RECORD, what programs call is in recorded.c, which calls the functions without a record. Otherwise both are the
 * same, and nothing of this is compiled.
 */
#ifdef DUO_RECORD
#define DUO_UNRECORDED(name) name##_unrecorded
duo_status duo_send_unrecorded(duo_endpoint from, const duo_message *message, const void *entries, uint64_t wait,
                               duo_endpoint *next);
duo_status duo_recv_unrecorded(duo_endpoint from, const duo_state *state, uint64_t wait, void *message);
duo_status duo_close_unrecorded(duo_endpoint endpoint, const duo_state *state);
#define DUO_RECORD_BEGINS(session) duo_record_begin(session)
/* record.c: gives a session a number if sessions are recorded. */
void duo_record_begin(duo_session *session);
#else
#define DUO_UNRECORDED(name) name
#define DUO_RECORD_BEGINS(session)
#endif

#ifdef DUO_DEBUG
/* What freed payloads are filled with: as a pointer it leads nowhere, and as text it is not UTF-8. */
enum { DUO_POISON = 0xDD };
#endif

/*
 * Lists from which each member can be removed: `next` is the member after it, and `by` is the pointer that points to it, or NULL
 * while it is in no list.
 */
#define DUO_LIST_ADD(list, added, next, by)                                                        \
    do {                                                                                           \
        (added)->next = *(list);                                                                   \
        if ((added)->next != NULL) (added)->next->by = &(added)->next;                             \
        (added)->by = (list);                                                                      \
        *(list) = (added);                                                                         \
    } while (0)
#define DUO_LIST_REMOVE(gone, next, by)                                                            \
    do {                                                                                           \
        *(gone)->by = (gone)->next;                                                                \
        if ((gone)->next != NULL) (gone)->next->by = (gone)->by;                                   \
        (gone)->by = NULL;                                                                         \
    } while (0)

/* system.c */
#ifndef DUO_NO_MALLOC
void *duo_allocate(size_t size);
/* `size` is a multiple of `alignment`. */
void *duo_allocate_aligned(size_t alignment, size_t size);
void duo_release(void *memory);
/*
 * The block of a message, from the allocator of its session, or NULL. If it has an allocator of its own, the block comes
 * after a pointer to it, which the lowest bit says; so the thread that frees the message need not know the session.
 */
void *duo_allocate_block(const duo_allocator *allocator, size_t size);
void duo_release_block(void *block);
#else
/* An allocator that is always out of memory. */
static inline void *duo_allocate(size_t size)
{
    (void)size;
    return NULL;
}

static inline void *duo_allocate_aligned(size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    return NULL;
}

static inline void duo_release(void *memory)
{
    (void)memory;
}

static inline void *duo_allocate_block(const duo_allocator *allocator, size_t size)
{
    (void)allocator, (void)size;
    return NULL;
}

static inline void duo_release_block(void *block)
{
    (void)block;
}
#endif

/* What is in a block of a message. */
static inline void *duo_in_block(void *block)
{
#ifndef DUO_NO_MALLOC
    return (char *)block - ((uintptr_t)block & 1);
#else
    return block;
#endif
}

/* A time is in nanoseconds since an arbitrary start. */
#define DUO_SECOND UINT64_C(1000000000)
uint64_t duo_now(void);
/* The time at which a wait of that duration is over; DUO_AT_ONCE and DUO_FOREVER stay what they are. */
uint64_t duo_until(uint64_t wait);
/* How much of it is left. */
uint64_t duo_left(uint64_t until);
bool duo_is_past(uint64_t until);
/* The same for a thread that waits: also true if it is canceled. */
bool duo_gives_up(uint64_t until);
/* The earlier one of `until` and the end of a millisecond, for a sleeper that has to check again soon. */
uint64_t duo_soon(uint64_t until);
#ifndef DUO_NO_THREADS
/* A time or a duration for the system; the last one that it can represent. */
struct timespec duo_timespec(uint64_t nanoseconds);

/* Starts a thread that receives no signals, and detaches it if `thread` is NULL. Returns an error number, or 0. */
int duo_start_thread(pthread_t *thread, void *(*body)(void *), void *context);
/* A condition variable whose time limits use the clock of `duo_now`. */
void duo_make_condition(pthread_cond_t *made);
#endif

/* The half of a word that the kernel compares: see position.h. */
typedef enum duo_half { DUO_LOW_HALF, DUO_HIGH_HALF } duo_half;
static inline uint32_t *duo_half_of(DUO_ATOMIC uint64_t *word, duo_half half)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint32_t *)(void *)word + (half == DUO_LOW_HALF);
#else
    return (uint32_t *)(void *)word + (half == DUO_HIGH_HALF);
#endif
}
/*
 * Sleeps while that half of `word` is equal to that of `expected`; may return spuriously. False
 * once the time `until` has passed, or the thread is canceled.
 */
bool duo_wait(DUO_ATOMIC uint64_t *word, duo_half half, uint64_t expected, uint64_t until);
/* What other threads need to end the waits of a thread: see cancel.c. */
typedef struct duo_sleeper {
    /* The word that the thread sleeps on, or is about to; otherwise NULL. */
    DUO_ATOMIC uint64_t *DUO_ATOMIC word;
    /* Waits end as if their time had passed. */
    DUO_ATOMIC bool is_canceled;
    /* Readable while the thread is canceled. */
    int descriptor;
} duo_sleeper;
#if !defined(DUO_NO_MALLOC) && !defined(DUO_NO_THREADS)
/* The sleeper of this thread; NULL if its waits cannot be canceled. */
duo_sleeper *duo_own_sleeper(void);
void duo_set_sleeper(duo_sleeper *sleeper);
/* Whether the waits of this thread are canceled. */
bool duo_is_canceled(void);
#else
static inline bool duo_is_canceled(void)
{
    return false;
}
#endif
/* Wakes the threads that sleep on that half of `word`, which is only used as an address: the memory may be gone. */
void duo_wake(DUO_ATOMIC uint64_t *word, duo_half half);
/* Lets other threads run. */
void duo_yield(void);
/* Called for every new session: finds out how a thread can read its processor number. */
void duo_find_processor(void);

/* barrier.c */
/* Whether sessions that begin now use the barrier. */
bool duo_has_barrier(void);
#ifndef DUO_NO_THREADS
/* The same, but false if that is not known yet: finding out takes milliseconds in a process that has threads. */
bool duo_is_known_to_have_barrier(void);
#endif
/*
 * The receiver's half of the barrier, between its write and its read. A system call. Aborts the process if the kernel
 * refuses it.
 */
void duo_barrier(void);
/* Whether the program has opted out of it. */
bool duo_barrier_is_unwanted(void);

#endif
