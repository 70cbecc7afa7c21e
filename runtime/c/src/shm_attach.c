/* Taking a side of a region, and agreeing with the peer on what is spoken: docs/wire.md. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>

#ifdef __linux__

#include <pthread.h>
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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_guarded = PTHREAD_ONCE_INIT;
static duo_shm *pool;
/* How many were made and not freed. */
static size_t made;

static void enter(void)
{
    pthread_mutex_lock(&lock);
}

void duo_shm_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static size_t empty_pool(void)
{
    enter();
    duo_shm *gone = pool;
    pool = NULL;
    for (const duo_shm *shm = gone; shm != NULL; shm = shm->next_free) made -= 1;
    size_t living = made;
    duo_shm_unlock();
    while (gone != NULL) {
        duo_shm *shm = gone;
        gone = shm->next_free;
        duo_release(shm);
    }
    return living;
}

/* A child process does not have the thread that may have held the lock: so who forks holds it. */
static void guard(void)
{
    duo_empty_too(empty_pool);
    (void)pthread_atfork(enter, duo_shm_unlock, duo_shm_unlock);
}

void duo_shm_lock(void)
{
    pthread_once(&is_guarded, guard);
    enter();
}

/* A side whose turns go on where they were; NULL if memory ran out. */
static duo_shm *from_pool(void)
{
    duo_shm_lock();
    duo_shm *shm = pool;
    if (shm != NULL) pool = shm->next_free;
    duo_shm_unlock();
    if (shm != NULL) return shm;
    shm = duo_allocate_aligned(DUO_LINE, sizeof *shm);
    if (shm == NULL) return NULL;
    memset(shm, 0, sizeof *shm);
    duo_shm_lock();
    made += 1;
    duo_shm_unlock();
    for (unsigned role = DUO_CLIENT; role <= DUO_SERVER; role++)
        atomic_init(&shm->remote.session.sides[role].turn, DUO_REMOTE + 2 + role);
    shm->remote.transport = &duo_shm_transport;
    return shm;
}

static void to_pool(duo_shm *shm)
{
    duo_shm_lock();
    shm->next_free = pool;
    pool = shm;
    duo_shm_unlock();
}

void duo_shm_detach(duo_shm *shm)
{
    if (shm->arriving != NULL) duo_release(shm->arriving);
    if (shm->parities != NULL) duo_release(shm->parities);
    if (shm->process >= 0) close(shm->process);
    munmap(shm->region, shm->region_size);
    shm->arriving = NULL;
    shm->parities = NULL;
    shm->is_arriving = false;
    to_pool(shm);
}

static bool is_power(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

/* Maps a region of so many bytes at most and finds its parts; DUO_BROKEN if it is none. */
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
    bool is_region = atomic_load_explicit(&head->magic, memory_order_acquire) == DUO_SHM_MAGIC;
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

/* The name space in which process numbers count, as a number; 0 if unknown. */
static uint64_t name_space(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Says who is here; DUO_REFUSED if the side is taken. */
static duo_status say_hello(duo_shm *shm, bool has_barrier)
{
    duo_shm_hello *own = &shm->own->hello;
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong_explicit(&own->state, &nobody, 1, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return DUO_REFUSED;
    own->process = (uint32_t)getpid();
    own->name_space = name_space();
    own->has_barrier = has_barrier;
    own->largest = shm->takes;
    own->fingerprint = shm->protocol->fingerprint;
    atomic_store_explicit(&own->state, 2, memory_order_seq_cst);
    duo_shm_wake_word(&own->state);
    return DUO_OK;
}

/* Waits for a word that the peer writes to have at least this value. Looks after the peer, once it is known. */
static duo_status await_word(duo_shm *shm, _Atomic uint32_t *word, uint32_t wanted, uint64_t end)
{
    for (;;) {
        uint32_t value = atomic_load_explicit(word, memory_order_acquire);
        if (value >= wanted) return DUO_OK;
        uint64_t now = duo_shm_now();
        if (now >= end) return DUO_EMPTY;
        uint32_t flags = atomic_load_explicit(&shm->peer->flags, memory_order_acquire);
        bool is_gone = (flags & DUO_SHM_LEFT) || (shm->process >= 0 && duo_shm_is_dead(shm->process));
        if (is_gone && atomic_load_explicit(word, memory_order_acquire) < wanted) return DUO_CLOSED;
        if (is_gone) return DUO_OK;
        duo_shm_sleep(word, value, end - now < DUO_SHM_PERIOD ? end - now : DUO_SHM_PERIOD);
    }
}

static bool accepts(const duo_shm_options *options, const duo_fingerprint *theirs)
{
    for (size_t i = 0; i < options->accepts_count; i++)
        if (memcmp(&options->accepts[i], theirs, sizeof *theirs) == 0) return true;
    return false;
}

/* Watches the process that the peer says it is. */
static duo_status watch(duo_shm *shm, const duo_shm_hello *peer)
{
    if (peer->name_space == 0 || peer->name_space != name_space()) {
        errno = EXDEV;
        return DUO_SYSTEM;
    }
    shm->process = (int)syscall(SYS_pidfd_open, (pid_t)peer->process, 0);
    if (shm->process >= 0) return DUO_OK;
    return errno == ESRCH ? DUO_CLOSED : DUO_SYSTEM;
}

/* Agrees with the peer. `is_ours`: the side was free. */
static duo_status meet(duo_shm *shm, const duo_shm_options *options, bool *is_ours)
{
    bool has_barrier = duo_shm_register_barrier();
    duo_status status = say_hello(shm, has_barrier);
    *is_ours = status == DUO_OK;
    if (status != DUO_OK) return status;
    uint64_t now = duo_shm_now();
    uint64_t end = options->wait == 0 || options->wait > UINT64_MAX - now ? UINT64_MAX
                                                                         : now + options->wait;
    status = await_word(shm, &shm->peer->hello.state, 2, end);
    if (status != DUO_OK) return status;
    duo_shm_hello peer = {
        .process = shm->peer->hello.process,
        .has_barrier = shm->peer->hello.has_barrier,
        .name_space = shm->peer->hello.name_space,
        .largest = shm->peer->hello.largest,
        .fingerprint = shm->peer->hello.fingerprint,
    };
    __asm__ __volatile__("" ::: "memory");
    status = watch(shm, &peer);
    if (status != DUO_OK) return status;
    shm->heavy = !has_barrier || peer.has_barrier != 1;
    shm->peer_takes = peer.largest;
    const duo_fingerprint *own = &shm->protocol->fingerprint;
    bool is_equal = memcmp(own, &peer.fingerprint, sizeof *own) == 0;
    uint32_t verdict = is_equal                              ? SAID_EQUAL
                       : accepts(options, &peer.fingerprint) ? SAID_ACCEPTS
                                                             : SAID_UNKNOWN;
    atomic_store_explicit(&shm->own->hello.verdict, verdict, memory_order_seq_cst);
    duo_shm_wake_word(&shm->own->hello.verdict);
    status = await_word(shm, &shm->peer->hello.verdict, SAID_EQUAL, end);
    if (status != DUO_OK) return status;
    uint32_t theirs = atomic_load_explicit(&shm->peer->hello.verdict, memory_order_relaxed);
    bool is_agreed = is_equal || verdict == SAID_ACCEPTS || theirs == SAID_ACCEPTS;
    return is_agreed ? DUO_OK : DUO_REFUSED;
}

duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol, duo_role role,
                          const duo_shm_options *options, duo_endpoint *endpoint)
{
    static const duo_shm_options usual = {0};
    const duo_endpoint none = {NULL, 0};
    *endpoint = none;
    if (options == NULL) options = &usual;
    duo_shm *shm = from_pool();
    if (shm == NULL) return DUO_NO_MEMORY;
    duo_status status = map(shm, region, options->region == 0 ? LARGEST_REGION : options->region);
    if (status != DUO_OK) {
        to_pool(shm);
        return status;
    }
    duo_shm_head *head = shm->region;
    unsigned place = role == protocol->first ? 0 : 1;
    shm->own = &head->sides[place];
    shm->peer = &head->sides[1 - place];
    shm->protocol = protocol;
    shm->process = -1;
    shm->is_dead = false;
    size_t largest = options->largest == 0 ? LARGEST : options->largest;
    shm->takes = largest;
    shm->memory = options->memory != 0 ? options->memory : largest < SIZE_MAX / 4 ? 4 * largest : SIZE_MAX;
    shm->patience = 1024;
    shm->looked_after = duo_shm_now();
    shm->line_at = shm->byte_at = 0;
    bool is_ours = false;
    status = meet(shm, options, &is_ours);
    if (status != DUO_OK) {
        int reason = errno;
        /* Who finds the side taken must not disturb the one who has taken it. */
        if (is_ours) duo_shm_leave(shm, DUO_SHM_LEFT);
        else duo_shm_detach(shm);
        errno = reason;
        return status;
    }
    shm->remote.volley.place = shm->lines[0].cells;
    shm->remote.volley.line = &shm->lines[0].word;
    shm->remote.volley.peer = &shm->peer->flags;
    uint64_t turn = atomic_load_explicit(&shm->remote.session.sides[role].turn, memory_order_relaxed);
    duo_shm_begin_run(shm, turn);
    endpoint->session = &shm->remote.session;
    endpoint->turn = turn;
    return DUO_OK;
}

#else

duo_status duo_shm_attach(int region, const duo_wire_protocol *protocol, duo_role role,
                          const duo_shm_options *options, duo_endpoint *endpoint)
{
    (void)region, (void)protocol, (void)role, (void)options;
    const duo_endpoint none = {NULL, 0};
    *endpoint = none;
    errno = ENOSYS;
    return DUO_SYSTEM;
}

#endif
