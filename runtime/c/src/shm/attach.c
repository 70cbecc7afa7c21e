/* Taking a side of a region, and agreeing with the peer on the protocol: runtime/shared-memory.md. */
#define _GNU_SOURCE
#include "shm.h"
#include "../wire/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define LARGEST ((size_t)64 << 20)
#define LARGEST_REGION ((size_t)1 << 30)

enum { SAID_NOTHING, SAID_EQUAL, SAID_ACCEPTS, SAID_UNKNOWN };

static bool is_power(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

/* DUO_BROKEN if the file cannot be a region. */
static duo_status check_file(int region)
{
    struct stat status;
    if (fstat(region, &status) != 0) return DUO_SYSTEM;
    return duo_shm_is_sound(region) ? DUO_OK : DUO_BROKEN;
}

/*
 * Maps a region of at most `most` bytes and finds its parts; DUO_BROKEN if it is not a region. Uses the caller's
 * description, since a mapping keeps the description open with which it was made.
 */
static duo_status map(duo_shm *shm, int region, size_t most)
{
    struct stat status;
    if (fstat(region, &status) != 0) return DUO_SYSTEM;
    if (status.st_size < (off_t)sizeof(duo_shm_head)) return DUO_BROKEN;
    if ((uint64_t)status.st_size > most) return DUO_TOO_LARGE;
    size_t size = (size_t)status.st_size;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    if (memory == MAP_FAILED) return DUO_SYSTEM;
    duo_shm_head *head = memory;
    bool is_region = duo_atomic_load(&head->magic, memory_order_acquire) == DUO_SHM_MAGIC;
    uint32_t version = head->version, lines = head->lines;
    uint64_t bytes = head->bytes;
    __asm__ __volatile__("" ::: "memory");
    is_region = is_region && version == DUO_SHM_VERSION && is_power(lines) && is_power(bytes) &&
                lines >= 8 && lines <= DUO_SHM_MOST_LINES && bytes >= 4096 && bytes <= size &&
                size - bytes >= sizeof *head + lines * sizeof(duo_shm_line);
    if (is_region) shm->parities = duo_allocate((lines + 63) / 64 * sizeof *shm->parities);
    if (!is_region || shm->parities == NULL) {
        munmap(memory, size);
        return is_region ? DUO_NO_MEMORY : DUO_BROKEN;
    }
    memset(shm->parities, 0, (lines + 63) / 64 * sizeof *shm->parities);
    shm->region = memory;
    shm->region_size = size;
    shm->lines = (duo_shm_line *)(void *)(head + 1);
    shm->bytes = (char *)(shm->lines + lines);
    shm->line_count = lines;
    shm->byte_count = bytes;
    return DUO_OK;
}

static bool accepts(const duo_shm *shm, const duo_fingerprint *theirs)
{
    const duo_shm_head *head = shm->region;
    bool is_first = shm->own == &head->sides[0];
    duo_role first = shm->protocol->first, other = first == DUO_CLIENT ? DUO_SERVER : DUO_CLIENT;
    return duo_wire_contains(shm->accepts, shm->accepts_count, theirs) ||
           duo_wire_accepts(shm->protocol, is_first ? first : other, theirs);
}

/* The verdict on the peer, which has announced its protocol. */
static uint32_t judge(duo_shm *shm)
{
    duo_shm_hello peer = {
        .has_barrier = shm->peer->hello.has_barrier,
        .largest = shm->peer->hello.largest,
        .fingerprint = shm->peer->hello.fingerprint,
    };
    __asm__ __volatile__("" ::: "memory");
    shm->has_barrier = shm->has_barrier && peer.has_barrier == 1;
    shm->peer_takes = peer.largest;
    const duo_fingerprint *own = &shm->protocol->fingerprint;
    if (memcmp(own, &peer.fingerprint, sizeof *own) == 0) return SAID_EQUAL;
    return accepts(shm, &peer.fingerprint) ? SAID_ACCEPTS : SAID_UNKNOWN;
}

/* Continues the handshake; true once both have given their verdicts. */
static bool has_verdicts(duo_shm *shm)
{
    duo_shm_hello *peer = &shm->peer->hello;
    if (shm->verdict == SAID_NOTHING) {
        if (duo_atomic_load(&peer->state, memory_order_acquire) < 2) return false;
        shm->verdict = judge(shm);
        duo_atomic_store(&shm->own->hello.verdict, shm->verdict, memory_order_seq_cst);
        duo_shm_wake(shm);
    }
    return duo_atomic_load(&peer->verdict, memory_order_acquire) != SAID_NOTHING;
}

/* Until both have met, a side that stores a word wakes the other by a read-modify-write of its flags: see (b) in shm.h. */
duo_status duo_shm_meet(duo_shm *shm, uint64_t wait)
{
    duo_status status = duo_shm_await(shm, has_verdicts, wait);
    if (status != DUO_OK) return status;
    uint32_t theirs = duo_atomic_load(&shm->peer->hello.verdict, memory_order_relaxed);
    bool is_agreed = shm->verdict == SAID_EQUAL || shm->verdict == SAID_ACCEPTS || theirs == SAID_ACCEPTS;
    if (!is_agreed) return DUO_REFUSED;
    duo_shm_forget_options(shm);
    shm->is_met = true;
    shm->heavy = !shm->has_barrier;
    shm->cells = 0;
    shm->peer_checked_at = duo_now();
    return DUO_OK;
}

/* Announces that this side is here; DUO_REFUSED if it was already taken. */
static duo_status say_hello(duo_shm *shm)
{
    duo_shm_hello *own = &shm->own->hello;
    uint32_t nobody = 0;
    if (!duo_atomic_compare_exchange_strong(&own->state, &nobody, 1, memory_order_acq_rel,
                                            memory_order_relaxed))
        return DUO_REFUSED;
    own->has_barrier = shm->has_barrier;
    own->largest = shm->takes;
    own->fingerprint = shm->protocol->fingerprint;
    duo_atomic_store(&own->state, 2, memory_order_seq_cst);
    duo_shm_wake(shm);
    return DUO_OK;
}

/* Keeps the options that are needed until both sides have met. */
static duo_status keep_options(duo_shm *shm, const duo_shm_options *options)
{
    size_t largest = options->largest == 0 ? LARGEST : options->largest;
    shm->takes = largest;
    shm->memory = options->memory != 0 ? options->memory : largest < SIZE_MAX / 4 ? 4 * largest : SIZE_MAX;
    if (options->accepts_count > 0) {
        shm->accepts = duo_allocate(options->accepts_count * sizeof *shm->accepts);
        if (shm->accepts == NULL) return DUO_NO_MEMORY;
        memcpy(shm->accepts, options->accepts, options->accepts_count * sizeof *shm->accepts);
    }
    shm->accepts_count = options->accepts_count;
    if (options->peer == 0) return DUO_OK;
    shm->awaited = (int)syscall(SYS_pidfd_open, options->peer, 0);
    if (shm->awaited >= 0) return DUO_OK;
    shm->awaited = DUO_SHM_ENDED_ALREADY;
    return errno == ESRCH ? DUO_OK : DUO_SYSTEM;
}

/*
 * Takes a side of the region, and announces this. `is_ours`: it was free, so the peer must be notified if this side
 * disconnects.
 */
static duo_status take_side(duo_shm *shm, int region, unsigned place, const duo_shm_options *options,
                            bool *is_ours)
{
    duo_status status = keep_options(shm, options);
    if (status == DUO_OK) status = check_file(region);
    if (status == DUO_OK) status = duo_shm_lock_side(shm, region, place);
    if (status == DUO_OK)
        status = map(shm, region, options->region == 0 ? LARGEST_REGION : options->region);
    if (status != DUO_OK) return status;
    duo_shm_head *head = shm->region;
    shm->own = &head->sides[place];
    shm->peer = &head->sides[1 - place];
    shm->has_barrier = duo_shm_register_barrier();
    status = say_hello(shm);
    *is_ours = status == DUO_OK;
    return status;
}

duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol, duo_role role,
                          const duo_shm_options *options, duo_endpoint *endpoint)
{
    static const duo_shm_options usual = {0};
    const duo_endpoint none = {NULL, 0};
    *endpoint = none;
    if (options == NULL) options = &usual;
    duo_shm *shm = duo_shm_new_side();
    if (shm == NULL) return DUO_NO_MEMORY;
    DUO_RECORD_BEGINS(&shm->remote.session);
    shm->protocol = protocol;
    shm->lock = -1;
    shm->awaited = DUO_SHM_NOBODY_KNOWN;
    shm->verdict = SAID_NOTHING;
    shm->is_dead = shm->is_met = shm->is_withdrawn = false;
    shm->heavy = true;
    /* The peer is checked at once. */
    shm->peer_checked_at = 0;
    shm->line_at = shm->byte_at = 0;
    bool is_ours = false;
    duo_status status = take_side(shm, region, role == protocol->first ? 0 : 1, options, &is_ours);
    if (status == DUO_OK && !options->at_once)
        status = duo_shm_meet(shm, options->wait == 0 ? DUO_FOREVER : options->wait);
    if (status != DUO_OK) {
        int reason = errno;
        /* A process that finds the side taken must not disturb the process that has taken it. */
        if (is_ours) duo_shm_leave(shm, DUO_SHM_LEFT);
        else duo_shm_detach(shm);
        errno = reason;
        return status;
    }
    shm->remote.line_turns.place = shm->lines[0].cells;
    shm->remote.line_turns.line = &shm->lines[0].word;
    shm->remote.line_turns.peer = &shm->peer->flags;
    duo_atomic_store(&shm->remote.session.sides[role].state, protocol->states, memory_order_relaxed);
    uint64_t turn = duo_atomic_load(&shm->remote.session.sides[role].turn, memory_order_relaxed);
    duo_shm_begin_run(shm, turn);
    /* The line counts as full until both have met, so that everything is left to the functions that wait for that. */
    if (!shm->is_met) shm->cells = DUO_SHM_CELLS;
    shm->remote.session.allocator = NULL;
    endpoint->session = &shm->remote.session;
    endpoint->turn = turn;
    return DUO_OK;
}
