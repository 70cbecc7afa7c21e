/*
 * Sessions in memory that two processes share. docs/wire.md describes the region; what follows is why
 * this way of using it is correct. Nothing in the region is trusted: it is read once, into memory of
 * this process, and then checked; positions are counted here and never read from there.
 *
 * (a) Payload. The sender writes the cells of a message, and bytes of the second part of the region,
 *     then stores the line's word (release). The receiver reads the word (acquire), finds the parity of
 *     this use of the line and a higher count of messages, so it sees them. Both sides count the uses of
 *     each line alike, so a word from an earlier use has the other parity: between two uses of a line in
 *     one direction the sender has read `taken` (acquire), released after the receiver had read the line;
 *     after a turn a message came back.
 * (b) Sleeping. Whoever is about to sleep sets ASLEEP in its own flags, then looks once more for what it
 *     waits for, then sleeps; whoever provides it stores it, then reads the other's flags. Each has a
 *     store before a load, and a barrier between them: the sleeper `membarrier`, which executes a full
 *     barrier on every processor that runs the peer, and the provider nothing but an order for the
 *     compiler. If the provider's barrier falls behind its store, the sleeper sees what was stored; if it
 *     falls before, the provider's load comes after the sleeper's store and finds ASLEEP. Where one of the
 *     two processes has no such barrier (`heavy`), the provider reads the flags by a read-modify-write, as
 *     the sleeper sets them: one of the two comes first, and the other synchronises with it. The kernel compares the flags
 *     once more before it lets the sleeper sleep. No sleep is longer than PERIOD, at whose end the peer is
 *     looked after; so even a peer that breaks these rules delays nobody for ever.
 * (c) Leaving. Whoever leaves, or is done, says so in its flags (release) behind all messages. A
 *     receiver that finds this (acquire) looks for a message once more; what it does not find then will
 *     never come. The same holds behind the death of the peer, which the kernel reports.
 * (d) Lanes (duologue/lane.h). Behind a number that leads back to its state, the sender knows how many more
 *     the line takes, and the receiver how many of the same tag it has seen in one word. Any 8 bytes are a
 *     number, and the tag was checked, so nothing is left to check; which of them comes next is counted by
 *     the turn, which stands nowhere in the region. The sender writes the tags of a whole lane with its first
 *     number: tags that are not counted mean nothing.
 *     Whoever has done the last number of a line that was full goes on to the next line. That is a step in the
 *     header as long as the lines lie one behind the other and their uses have one parity, as far as the
 *     sender knows of room, and up to the line before which it looks after the peer, or the receiver says what
 *     it has done with. A receiver takes this step only if the word of the next line is in all its bits that of
 *     a line full of such numbers; it is read once. How many lines were begun is seen from where the lane is.
 *     Every other operation first settles what was done.
 * (e) Volleys (duologue/lane.h). A run that is at its beginning may be one of many that have one message each:
 *     such a run takes the first line, once, and leaves the counts of lines and bytes where a run that begins
 *     finds them. So which use of the line the next one is, and with that its parity, the turn counts as well.
 *     A receiver takes a word only if it has this parity, one message and nothing else, and a tag that
 *     generated code knows to be a message of numbers that turns the direction; everything else it leaves to the
 *     library, which settles what was done and looks anew. The rest is (a) and (b).
 * (f) Keeping back. Only the receiver's speed hangs on it. The line that a receiver looks at, and some behind it that
 *     its processor fetches in advance, leave the sender, which has to fetch them back before it can go on: at the
 *     sender's heels both walk slowly. So in a stream the receiver looks now and then at a line further ahead.
 *     Its word is a hint: nothing is taken but what the word of the own line says, which is read (acquire) as ever. If
 *     that line is not full it waits for that, for some looks at most and then no more until all lines before it
 *     are done, so that no message is kept waiting twice. It does so only behind so many lines in one run, and only
 *     if the lines before came without waiting: whoever sends a message now and then, or a few, is never delayed.
 * (g) Giving up. A sender whose time is over in the middle of a long message has sent nothing, as far as its caller
 *     can see: before its next message it writes a part of no bytes, at which the receiver forgets what it has of the
 *     message. Both count the lines and bytes of what was given up as those of any message.
 * (h) Death. A process that has a side holds a write lock on its first byte in the file, by a description that it
 *     opened for that alone, and which nothing else refers to: no mapping, no duplicate, and in a child process it is
 *     closed as soon as there is one. So the kernel releases the lock when the process ends or becomes another program,
 *     and not before; whatever numbers and name spaces processes have. It is taken before the side says that it is
 *     there, so a side that has said so and has no lock is gone. By then all that its process stored can be seen: the
 *     kernel takes the lock away after the last instruction of the program, and a look for the lock synchronises with that.
 */
#ifndef DUOLOGUE_SHM_ROOM_H
#define DUOLOGUE_SHM_ROOM_H

#include <assert.h>

#include "duologue/lane.h"
#include "duologue/shm.h"
#include "transport.h"

/* In the flags of a side. */
#define DUO_SHM_ASLEEP 1u
#define DUO_SHM_LEFT 2u
/* Left behind the last message of the protocol, which it has sent or read. */
#define DUO_SHM_DONE 4u

/* In the word of a line: parity, the count of messages, and flags; a tag in each of the upper bytes. */
#define DUO_SHM_PARITY UINT64_C(1)
#define DUO_SHM_COUNT_SHIFT 1
#define DUO_SHM_FULL UINT64_C(0x10)
#define DUO_SHM_LONG UINT64_C(0x20)
#define DUO_SHM_MORE UINT64_C(0x40)
#define DUO_SHM_TAG_SHIFT 8
/* As many tags as a line has, each 1. */
#define DUO_SHM_ALIKE UINT64_C(0x01010101010101)

enum {
    DUO_SHM_CELLS = 7,
    DUO_SHM_LINES = 256,
    DUO_SHM_MOST_LINES = 1 << 16,
    /* No fragment of a long message is longer, so that reading and writing overlap. */
    DUO_SHM_FRAGMENT = 16384,
    /* A sender looks after the peer before each line of a run that has so many before it. */
    DUO_SHM_LINES_UNSEEN = 32
};

#define DUO_SHM_MAGIC UINT64_C(0x65756f6c61756f64)
#define DUO_SHM_VERSION 2

/* Where a lock begins by which it is known that somebody makes a region, or has a side of it: see (h). */
#define DUO_SHM_HEAD_LOCK 0
#define DUO_SHM_SIDE_LOCK(place) (offsetof(duo_shm_head, sides) + (place) * sizeof(duo_shm_side))

/* What a side tells the other about itself. */
typedef struct duo_shm_hello {
    /* 0: nobody is here. 1: somebody is. 2: what follows is written. */
    alignas(DUO_LINE) DUO_ATOMIC(uint32_t) state;
    /* 0: not yet. 1: the fingerprints are equal. 2: accepts the other's. 3: does not. */
    DUO_ATOMIC(uint32_t) verdict;
    uint32_t unused;
    /* Whether it has the barrier of (b). */
    uint32_t has_barrier;
    uint64_t unused_too;
    /* The largest message it takes. */
    uint64_t largest;
    duo_fingerprint fingerprint;
} duo_shm_hello;

/* One side's part of the head. */
typedef struct duo_shm_side {
    alignas(DUO_LINE) DUO_ATOMIC(uint32_t) flags;
    /* Where it ran when it last waited, plus 1. */
    DUO_ATOMIC(uint32_t) processor;
    /* As receiver: how many lines, and bytes of the second part, it has done with. */
    alignas(DUO_LINE) DUO_ATOMIC(uint64_t) lines_taken;
    alignas(8) DUO_ATOMIC(uint64_t) bytes_taken;
    duo_shm_hello hello;
} duo_shm_side;

/* The head of a region. */
typedef struct duo_shm_head {
    /* Written last by whoever makes the region. */
    alignas(DUO_LINE) DUO_ATOMIC(uint64_t) magic;
    uint32_t version;
    uint32_t lines;
    uint64_t bytes;
    /* Who speaks first has the first. */
    duo_shm_side sides[2];
} duo_shm_head;

typedef struct duo_shm_line {
    alignas(DUO_LINE) DUO_ATOMIC(uint64_t) word;
    char cells[DUO_SHM_CELLS * 8];
} duo_shm_line;

/* What docs/wire.md says of the layout. */
static_assert(offsetof(duo_shm_head, sides) == 64 && sizeof(duo_shm_side) == 192, "the sides");
static_assert(sizeof(duo_shm_head) == 448 && sizeof(duo_shm_line) == 64, "the lines");
static_assert(offsetof(duo_shm_side, lines_taken) == 64, "a side");
static_assert(offsetof(duo_shm_side, hello) == 128, "a side");
static_assert(offsetof(duo_shm_hello, fingerprint) == 32, "a side");

/* What lanes rest on. */
static_assert(DUO_LANE_FULL == DUO_SHM_FULL && DUO_SHM_COUNT_SHIFT == 1, "words");

/* One side of a session, in its own process. */
typedef struct duo_shm {
    duo_remote remote;
    const duo_wire_protocol *protocol;
    /* The line that comes next or goes on, the parity of its use, and what of it is done. */
    duo_shm_line *line;
    uint64_t parity;
    unsigned count;
    unsigned cells;
    /* As sender: the word that stands in it. */
    uint64_t word;
    bool heavy;
    duo_shm_side *peer;
    duo_shm_side *own;
    /* Lines begun, and how many may be; the first of the current run; the same in bytes. */
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
    /* As sender: what the peer takes. As receiver: what this side takes. */
    uint64_t peer_takes;
    uint64_t takes;
    /* How much memory a message that it receives may take. */
    size_t memory;
    /* As sender: what of a long message is still to be written. */
    uint64_t outgoing;
    /*
     * As sender: parts were sent of a message that was given up, which the peer has to learn before anything else. The
     * line that was begun is for that; it counts as full, so that no number goes into it.
     */
    bool is_withdrawn;
    /* A long message of which parts have come. */
    char *arriving;
    size_t arriving_size;
    size_t arrived;
    unsigned arriving_tag;
    bool is_arriving;
    /* As receiver: the last look took as many parts as one may, and there may be more. */
    bool is_unfinished;
    /* How long looking is worth while, in looks. */
    unsigned patience;
    /* As receiver of a stream, see (f): the line before which it looks ahead next, looks in vain since, and whether it is to wait. */
    uint64_t looks_ahead_at;
    unsigned vain;
    bool is_near;
    uint64_t looked_after;
    /* The peer was found dead. */
    bool is_dead;
    /* The peer and this side have agreed. Until then nothing is sent or received; see shm_attach.c. */
    bool is_met;
    /* What was said to the peer; 0: nothing yet. */
    uint32_t verdict;
    bool has_barrier;
    /* The fingerprints of older versions that may be accepted, until both have agreed. */
    duo_fingerprint *accepts;
    size_t accepts_count;
    /* The description of the region by which this side's lock is held. */
    int lock;
    /* Before it attaches, the process that is to be the peer; NOBODY_KNOWN or ENDED_ALREADY. */
    int awaited;
    /* Among the attached sides of this process: the place that points here, and the next. */
    struct duo_shm **attached_by;
    struct duo_shm *next_attached;
    /* In a set: see shm_watch.c. The place that points here, NULL outside; the next; which side this is. */
    struct duo_shm **watched_by;
    struct duo_shm *next_watched;
    unsigned role;
    /* In a set, it waits for room. */
    bool asks_room;
    void *region;
    size_t region_size;
    struct duo_shm *next_free;
} duo_shm;

extern const duo_transport duo_shm_transport;

/* shm_wait.c */
/* Tells the peer that something is there for it, if it waits. */
void duo_shm_wake(duo_shm *shm);
/* Says LEFT or DONE, and forgets the session: its handles are used ones. */
void duo_shm_leave(duo_shm *shm, uint32_t how);
typedef bool duo_shm_look(duo_shm *shm);
/* Waits until `look` finds what it looks for: DUO_OK, DUO_EMPTY once `wait` is over, or DUO_CLOSED. */
duo_status duo_shm_await(duo_shm *shm, duo_shm_look *look, uint64_t wait);
/* As sender, before a line: whether the peer was killed. Asks the kernel ten times in a second at most. */
bool duo_shm_has_died(duo_shm *shm);
/* Sleeps while a word of the region is as expected, for so many nanoseconds at most. */
void duo_shm_sleep(DUO_ATOMIC(uint32_t) *word, uint32_t expected, uint64_t wait);
/* This process takes part in the barrier of (b); false if the system has none. */
bool duo_shm_register_barrier(void);
uint64_t duo_shm_now(void);

/* The moment at which a wait of that duration is over. */
static inline uint64_t duo_shm_until(uint64_t wait)
{
    if (wait == DUO_AT_ONCE || wait == DUO_FOREVER) return wait;
    uint64_t now = duo_shm_now();
    return wait < DUO_FOREVER - now ? now + wait : DUO_FOREVER;
}

/* How much of it is left. */
static inline uint64_t duo_shm_left(uint64_t until)
{
    if (until == DUO_AT_ONCE || until == DUO_FOREVER) return until;
    uint64_t now = duo_shm_now();
    return until > now ? until - now : DUO_AT_ONCE;
}

/* shm_region.c */
/*
 * Whether a file can be a region: memory that does not go away while it is mapped. Either the file cannot shrink (a
 * seal), or it belongs to this user alone.
 */
bool duo_shm_is_sound(int region);
/* Locks bytes of a file for one description of it; false, and `errno`, if that cannot be done at once. */
bool duo_shm_lock_bytes(int description, size_t from, size_t size);
/*
 * Where the lock begins by which another description has a byte; SIZE_MAX if none has, or that cannot be known.
 */
size_t duo_shm_lock_at(int description, size_t byte);

/* shm_attach.c */
/* Waits until both sides have agreed: DUO_OK, DUO_EMPTY, DUO_CLOSED, or DUO_REFUSED. */
duo_status duo_shm_meet(duo_shm *shm, uint64_t wait);
/* Whether the peer's process has ended, has become another program, or let go of the region. */
bool duo_shm_is_dead(const duo_shm *shm);
/* The one lock of what the sessions of this process share: the pool, and who is watched by which set. */
void duo_shm_lock(void);
void duo_shm_unlock(void);
/* Unmaps and forgets; nobody may use the session afterwards. */
void duo_shm_detach(duo_shm *shm);

/* shm.c */
/* Goes to the first line of a run, which begins at this turn. */
void duo_shm_begin_run(duo_shm *shm, uint64_t turn);
/* At the beginning of a run: it may be the first of a volley. */
void duo_shm_expect_volley(duo_shm *shm, uint64_t turn);

static inline void duo_shm_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* What the peer says of itself, behind a store that it may wait for: (b). */
static inline uint32_t duo_shm_peer_flags(const duo_shm *shm)
{
    if (shm->heavy) return duo_atomic_fetch_or(&shm->peer->flags, 0, memory_order_acq_rel);
    duo_signal_fence(memory_order_seq_cst);
    return duo_atomic_load(&shm->peer->flags, memory_order_relaxed);
}

/* No sleep is longer, in nanoseconds. */
#define DUO_SHM_PERIOD UINT64_C(100000000)

#endif
