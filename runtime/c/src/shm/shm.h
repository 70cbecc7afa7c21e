/*
 * Sessions in memory that two processes share. runtime/shared-memory.md describes the region; this comment explains why the way it
 * is used is correct. Nothing in the region is trusted: data is read once, into memory of this process, and then
 * checked; positions are counted here and never read from the region.
 *
 * (a) Payload. The sender writes the cells of a message, and bytes of the second part of the region, then stores the
 *     line's word (release). The receiver reads the word (acquire) and finds the parity of this use of the line and a
 *     higher count of messages, so it sees them. Both sides count the uses of each line in the same way, so a word from
 *     an earlier use has the other parity: between two uses of a line in one direction the sender has read `taken`
 *     (acquire), released after the receiver had read the line; after a turn a message came back.
 * (b) Sleeping. A side that is about to sleep sets ASLEEP in its own flags, then checks once more for what it waits
 *     for, then sleeps. The side that provides it stores it, then reads the other's flags. Each has a store before a
 *     load, and a barrier between them: the sleeper has `membarrier`, which executes a full barrier on every processor
 *     that runs the peer, and the provider has only a compiler barrier. If the provider's barrier falls after
 *     its store, the sleeper sees what was stored; if it falls before, the provider's load comes after the sleeper's
 *     store and finds ASLEEP. Where one of the two processes has no such barrier (`heavy`), the provider reads the
 *     flags by a read-modify-write, just as the sleeper sets them: one of the two comes first, and the other
 *     synchronizes with it. The kernel compares the flags once more before it lets the sleeper sleep. No sleep is
 *     longer than PERIOD, after which the sleeper checks whether the peer is alive; so even a peer that breaks these
 *     rules cannot delay a sleeper forever.
 * (c) Disconnecting. A side that disconnects, or is done, records this in its flags (release) after all messages. A
 *     receiver that finds this (acquire) checks for a message once more; what it does not find then will never come.
 *     The same holds after the death of the peer, which the kernel reports. A sender that finds it right after a message
 *     that reversed the direction is a receiver by then: the peer may have read the message, answered and disconnected.
 * (d) Lanes (duologue/lane.h). After a number that leads back to its state, the sender knows how many more the line
 *     takes, and the receiver how many with the same tag it has seen in one word. Any 8 bytes are a number, and the tag
 *     was checked, so nothing is left to check. Which of them comes next is counted by the turn, which is not stored in
 *     the region. The sender writes the tags of a whole lane with its first number: tags that are not counted mean
 *     nothing. After the last number of a line that was full, a side moves on to the next line. That step is done in
 *     the header as long as the lines are adjacent and their uses have one parity, as far as the sender knows that
 *     lines are free, and up to the line before which the sender checks whether the peer is alive, or the receiver
 *     reports what it has finished with. A receiver takes this step only if the word of the next line is in all its
 *     bits that of a line full of such numbers; the word is read once. The position of the lane shows how many lines
 *     were begun. Every other operation first accounts for what was done.
 * (e) Single-line turns (duologue/lane.h). A run that is at its beginning may be one of many that have one message
 *     each: such a run uses the first line, once, and leaves the counts of lines and bytes where a run that begins
 *     finds them. So the turn also counts which use of the line is next, which gives its parity. A receiver accepts a
 *     word only if it has this parity, one message and nothing else, and a tag that generated code knows to be a
 *     message of numbers that reverses the direction. It leaves everything else to the library, which accounts for what
 *     was done and checks again. The rest is (a) and (b).
 * (f) Giving up. A sender that runs out of time in the middle of a long message has sent nothing, as far as its caller
 *     can see: before its next message it writes a part of no bytes, at which the receiver discards what it has of the
 *     message. Both count the lines and bytes of what was given up like those of any message.
 * (g) Death. A process that has a side holds a write lock on the side's first byte in the file, through a file
 *     description that it opened only for that and that nothing else refers to: no mapping, no duplicate, and in a
 *     child process it is closed as soon as the child exists. So the kernel releases the lock when the process ends or
 *     becomes another program, and not before, whatever process ids and namespaces are involved. It is taken before the
 *     side announces itself, so a side that has announced itself and has no lock is gone. By then everything that its
 *     process stored can be seen: the kernel removes the lock after the last instruction of the program, and a query of
 *     the lock synchronizes with that.
 */
#ifndef DUOLOGUE_SHM_PRIVATE_H
#define DUOLOGUE_SHM_PRIVATE_H

#include <assert.h>

#include "duologue/lane.h"
#include "duologue/shm.h"
#include "../link/transport.h"

/* In the flags of a side. */
#define DUO_SHM_ASLEEP 1u
#define DUO_SHM_LEFT 2u
/* Disconnected after the last message of the protocol, which it has sent or read. */
#define DUO_SHM_DONE 4u

/* In the word of a line: parity, the count of messages, and flags; a tag in each of the upper bytes. */
#define DUO_SHM_PARITY UINT64_C(1)
#define DUO_SHM_COUNT_SHIFT 1
#define DUO_SHM_FULL UINT64_C(0x10)
#define DUO_SHM_LONG UINT64_C(0x20)
#define DUO_SHM_MORE UINT64_C(0x40)
#define DUO_SHM_TAG_SHIFT 8
/* As many tags as a line has, each of them 1. */
#define DUO_SHM_ALIKE UINT64_C(0x01010101010101)

enum {
    DUO_SHM_CELLS = 7,
    DUO_SHM_LINES = 256,
    DUO_SHM_MOST_LINES = 1 << 16,
    /* The largest fragment of a long message, limited so that reading and writing overlap. */
    DUO_SHM_FRAGMENT = 16384,
    /* In a run, a sender checks whether the peer is alive once in this many lines. */
    DUO_SHM_LINES_UNSEEN = 32
};

#define DUO_SHM_MAGIC UINT64_C(0x6575676f6c6f7564)
#define DUO_SHM_VERSION 2

/* The offset of the lock which shows that a process is creating a region, or has a side of it: see (g). */
#define DUO_SHM_HEAD_LOCK 0
#define DUO_SHM_SIDE_LOCK(place) (offsetof(duo_shm_head, sides) + (place) * sizeof(duo_shm_side))

/* What a side announces about itself. */
typedef struct duo_shm_hello {
    /* 0: no process is here. 1: a process is here. 2: the fields below are also written. */
    alignas(DUO_LINE) DUO_ATOMIC uint32_t state;
    /* 0: none yet. 1: the fingerprints are equal. 2: this side accepts the other's. 3: it does not. */
    DUO_ATOMIC uint32_t verdict;
    uint32_t unused;
    /* Whether it has the barrier of (b). */
    uint32_t has_barrier;
    uint64_t unused_too;
    /* The largest message that it accepts. */
    uint64_t largest;
    duo_fingerprint fingerprint;
} duo_shm_hello;

/* One side's part of the head. */
typedef struct duo_shm_side {
    alignas(DUO_LINE) DUO_ATOMIC uint32_t flags;
    /* The processor it was on when it last waited, plus 1. */
    DUO_ATOMIC uint32_t processor;
    /* As receiver: how many lines, and bytes of the second part, it has finished with. */
    alignas(DUO_LINE) DUO_ATOMIC uint64_t lines_taken;
    alignas(8) DUO_ATOMIC uint64_t bytes_taken;
    duo_shm_hello hello;
} duo_shm_side;

/* The head of a region. */
typedef struct duo_shm_head {
    /* Written last by the process that creates the region. */
    alignas(DUO_LINE) DUO_ATOMIC uint64_t magic;
    uint32_t version;
    uint32_t lines;
    uint64_t bytes;
    /* The first belongs to the side that sends first. */
    duo_shm_side sides[2];
} duo_shm_head;

typedef struct duo_shm_line {
    alignas(DUO_LINE) DUO_ATOMIC uint64_t word;
    char cells[DUO_SHM_CELLS * 8];
} duo_shm_line;

/* What runtime/shared-memory.md says about the layout. */
static_assert(offsetof(duo_shm_head, sides) == 64 && sizeof(duo_shm_side) == 192, "the sides");
static_assert(sizeof(duo_shm_head) == 448 && sizeof(duo_shm_line) == 64, "the lines");
static_assert(offsetof(duo_shm_side, lines_taken) == 64, "a side");
static_assert(offsetof(duo_shm_side, hello) == 128, "a side");
static_assert(offsetof(duo_shm_hello, fingerprint) == 32, "a side");

/* What lanes rely on. */
static_assert(DUO_LANE_FULL == DUO_SHM_FULL && DUO_SHM_COUNT_SHIFT == 1, "words");

/* One side of a session, in its own process. */
typedef struct duo_shm {
    duo_remote remote;
    const duo_wire_protocol *protocol;
    /* The line that comes next or continues, the parity of its use, and how much of it is done. */
    duo_shm_line *line;
    uint64_t parity;
    unsigned count;
    unsigned cells;
    /* As sender: the current word of that line. */
    uint64_t word;
    bool heavy;
    duo_shm_side *peer;
    duo_shm_side *own;
    /* Lines begun, and how many may be; the first line of the current run; the same in bytes. */
    uint64_t line_at;
    uint64_t line_limit;
    uint64_t line_run;
    uint64_t byte_at;
    uint64_t byte_limit;
    uint64_t byte_run;
    duo_shm_line *lines;
    char *bytes;
    uint64_t line_count;
    uint64_t byte_count;
    /* A bit for each line: the parity of its last use. */
    uint64_t *parities;
    /* As sender: the largest message that the peer accepts. As receiver: the largest that this side accepts. */
    uint64_t peer_takes;
    uint64_t takes;
    /* How much memory a message that it receives may take. */
    size_t memory;
    /* As sender: how much of a long message remains to be written. */
    uint64_t outgoing;
    /*
     * As sender: some parts of a message were sent before it was given up, which the peer must learn before anything
     * else. The line that was begun is for that; it counts as full, so that no number goes into it.
     */
    bool is_withdrawn;
    /* A long message of which some parts have arrived. */
    char *arriving;
    size_t arriving_size;
    size_t arrived;
    unsigned arriving_tag;
    bool is_arriving;
    /* As receiver: the last check received as many parts as one check may, and there may be more. */
    bool is_unfinished;
    /* As receiver: it has spun for the next message, so the wait that follows does not. */
    bool has_spun;
    uint64_t peer_checked_at;
    /* The peer was found to be dead. */
    bool is_dead;
    /* The peer and this side have agreed. Until then nothing is sent or received; see attach.c. */
    bool is_met;
    /* The verdict given to the peer; 0: none yet. */
    uint32_t verdict;
    bool has_barrier;
    /* The fingerprints of older versions that may be accepted, until both have agreed. */
    duo_fingerprint *accepts;
    size_t accepts_count;
    /* The description of the region that holds this side's lock. */
    int lock;
    /* Until the peer attaches, the process that is to be the peer; or one of the values below. */
    int awaited;
    /* In the list of attached sides of this process: the pointer that points here, and the next side. */
    struct duo_shm **attached_by;
    struct duo_shm *next_attached;
    /* In a set: see transport.c. The pointer that points here, NULL if in no set; the next side; which side this is. */
    struct duo_shm **watched_by;
    struct duo_shm *next_watched;
    unsigned role;
    /* In a set: it waits for free space. */
    bool asks_writable;
    void *region;
    size_t region_size;
} duo_shm;

extern const duo_transport duo_shm_transport;

/* wait.c */
/* Wakes the peer, if it sleeps, because there is something for it. */
void duo_shm_wake(duo_shm *shm);
/* Sets LEFT or DONE, and forgets the session: its handles count as used. */
void duo_shm_leave(duo_shm *shm, uint32_t how);
/*
 * As receiver: whether to spin before the wait for the next message. Not if that was done already, or if the peer cannot
 * answer in the meantime because it runs on the same processor.
 */
bool duo_shm_may_spin(duo_shm *shm);
typedef bool duo_shm_check(duo_shm *shm);
/* Waits until `check` returns true: DUO_OK, DUO_EMPTY once `wait` is over, or why the peer is gone. */
duo_status duo_shm_await(duo_shm *shm, duo_shm_check *check, uint64_t wait);
/* As sender, before a line: whether the peer was killed. Queries the kernel at most ten times per second. */
bool duo_shm_has_died(duo_shm *shm);
/* Of a peer that is gone: DUO_CLOSED if it has disconnected, DUO_LOST if its process ended without that. */
duo_status duo_shm_why_gone(const duo_shm *shm);
/* Sleeps while a word of the region is as expected, for at most `wait` nanoseconds. */
void duo_shm_futex_wait(DUO_ATOMIC uint32_t *word, uint32_t expected, uint64_t wait);
/* Registers this process for the barrier of (b); false if the system has none. */
bool duo_shm_register_barrier(void);

/* region.c */
/*
 * Whether a file can be a region: memory that does not go away while it is mapped. Either the file cannot shrink
 * (it is sealed), or it belongs to this user alone.
 */
bool duo_shm_is_sound(int region);
/* Locks bytes of a file for one description of it; false, with `errno` set, if that cannot be done at once. */
bool duo_shm_lock_bytes(int description, size_t from, size_t size);
/*
 * The start of the lock that another description holds on a byte; SIZE_MAX if there is none, or if that cannot be
 * determined.
 */
size_t duo_shm_lock_at(int description, size_t byte);

/* side.c */
/* For the process that is to be the peer. */
enum { DUO_SHM_NOBODY_KNOWN = -1, DUO_SHM_ENDED_ALREADY = -2 };
/* A side whose turns continue where they were; NULL if memory ran out. */
duo_shm *duo_shm_new_side(void);
/* Locks this side's first byte, with a description of the region that nothing else refers to. */
duo_status duo_shm_lock_side(duo_shm *shm, int region, unsigned place);
/* Whether the peer's process has ended, has become another program, or has released the region. */
bool duo_shm_is_dead(const duo_shm *shm);
/* The one lock for what the sessions of this process share: which are attached, and which set watches which session. */
void duo_shm_lock(void);
void duo_shm_unlock(void);
/* Releases what is needed until both sides have met. */
void duo_shm_forget_options(duo_shm *shm);
/* Unmaps the region and forgets the session, which must not be used afterwards. */
void duo_shm_detach(duo_shm *shm);
/* Takes back that this side sleeps. */
void duo_shm_retract_sleep(duo_shm *shm);
/* Takes a side off its list, under the lock. */
void duo_shm_unlink_side(duo_shm *shm);
void duo_shm_unwatch(duo_session *session, const duo_notifier *notifier);

/* attach.c */
/* Waits until both sides have agreed: DUO_OK, DUO_EMPTY, DUO_REFUSED, or why the peer is gone. */
duo_status duo_shm_meet(duo_shm *shm, uint64_t wait);

/* run.c */
/* Goes to the first line of a run, which begins at this turn. */
void duo_shm_begin_run(duo_shm *shm, uint64_t turn);
/* At the beginning of a run, which may be the first of single-line turns. */
void duo_shm_expect_single_line_turns(duo_shm *shm, uint64_t turn);

/* Publishes the word of the line; returns the flags of the peer, in the order that (b) requires. */
static inline uint32_t duo_shm_publish_word(const duo_shm *shm, uint64_t word)
{
    if (!shm->heavy) return duo_lane_publish(&shm->line->word, word, &shm->peer->flags);
    duo_atomic_store(&shm->line->word, word, memory_order_release);
    return duo_atomic_fetch_or(&shm->peer->flags, 0, memory_order_acq_rel);
}

/* The flags of the peer, read after another store that the peer may be waiting for: see (b). */
static inline uint32_t duo_shm_peer_flags(const duo_shm *shm)
{
    if (shm->heavy) return duo_atomic_fetch_or(&shm->peer->flags, 0, memory_order_acq_rel);
    duo_signal_fence(memory_order_seq_cst);
    return duo_atomic_load(&shm->peer->flags, memory_order_relaxed);
}

/* The longest sleep, in nanoseconds. */
#define DUO_SHM_PERIOD UINT64_C(100000000)

#endif
