/* The sides of this process: their memory, their locks, and the sets that watch them. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* In nanoseconds; laying out a region takes a few microseconds. */
#define MOST_LAYING_OUT UINT64_C(5000000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static duo_shm *attached;
static duo_remote_pool shm_pool = {.transport = &duo_shm_transport, .size = sizeof(duo_shm)};

void duo_shm_lock(void)
{
    pthread_mutex_lock(&lock);
}

void duo_shm_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The sessions belong to the parent: if their descriptions stayed open here, the parent's end would go unnoticed. */
static void be_child(void)
{
    for (duo_shm *shm = attached; shm != NULL; shm = shm->next_attached) {
        close(shm->lock);
        shm->lock = -1;
    }
    attached = NULL;
    duo_shm_unlock();
}

/*
 * A child process does not have the thread that may have held the lock, so the thread that forks holds it, as in
 * pool.c.
 */
__attribute__((constructor)) static void guard_sides(void)
{
    (void)pthread_atfork(duo_shm_lock, duo_shm_unlock, be_child);
}

duo_shm *duo_shm_new_side(void)
{
    return (duo_shm *)(void *)duo_remote_from_pool(&shm_pool);
}

duo_status duo_shm_lock_side(duo_shm *shm, int region, unsigned place)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", region);
    /* Under the lock: when a process forks, all such descriptions are on its list. */
    duo_shm_lock();
    shm->lock = open(path, O_RDWR | O_CLOEXEC);
    if (shm->lock >= 0) DUO_LIST_ADD(&attached, shm, next_attached, attached_by);
    duo_shm_unlock();
    if (shm->lock < 0) return DUO_SYSTEM;
    const size_t byte = DUO_SHM_SIDE_LOCK(place);
    const uint64_t end = duo_now() + MOST_LAYING_OUT;
    while (!duo_shm_lock_bytes(shm->lock, byte, 1)) {
        if (errno != EAGAIN && errno != EACCES) return DUO_SYSTEM;
        /*
         * A process that creates a region again holds all of its locks for a moment. A region that came from a peer has
         * no name.
         */
        struct stat status;
        bool is_named = fstat(shm->lock, &status) == 0 && status.st_nlink > 0;
        size_t locked = is_named ? duo_shm_lock_at(shm->lock, byte) : byte;
        if (locked == byte || duo_now() >= end) return DUO_REFUSED;
        if (duo_is_canceled()) return DUO_EMPTY;
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return DUO_OK;
}

/* Releases the lock, by which the peer notices the end of this side. */
static void unlock_side(duo_shm *shm)
{
    if (shm->lock < 0) return;
    duo_shm_lock();
    DUO_LIST_REMOVE(shm, next_attached, attached_by);
    /* Before any thread forks, since the child would keep it open. */
    close(shm->lock);
    shm->lock = -1;
    duo_shm_unlock();
}

void duo_shm_forget_options(duo_shm *shm)
{
    if (shm->accepts != NULL) duo_release(shm->accepts);
    shm->accepts = NULL;
    if (shm->awaited >= 0) close(shm->awaited);
    shm->awaited = DUO_SHM_NOBODY_KNOWN;
}

void duo_shm_detach(duo_shm *shm)
{
    if (shm->arriving != NULL) duo_release(shm->arriving);
    if (shm->parities != NULL) duo_release(shm->parities);
    if (shm->region != NULL) munmap(shm->region, shm->region_size);
    shm->arriving = NULL;
    shm->parities = NULL;
    shm->region = NULL;
    shm->is_arriving = false;
    duo_shm_forget_options(shm);
    unlock_side(shm);
    duo_remote_to_pool(&shm_pool, &shm->remote);
}

/* Whether the process that was to attach has ended. */
static bool has_ended(int awaited)
{
    struct pollfd watched = {awaited, POLLIN, 0};
    return awaited == DUO_SHM_ENDED_ALREADY || (awaited >= 0 && poll(&watched, 1, 0) > 0);
}

bool duo_shm_is_dead(const duo_shm *shm)
{
    if (!shm->is_met && duo_atomic_load(&shm->peer->hello.state, memory_order_acquire) == 0)
        return has_ended(shm->awaited);
    unsigned place = shm->peer == &((duo_shm_head *)shm->region)->sides[1];
    return duo_shm_lock_at(shm->lock, DUO_SHM_SIDE_LOCK(place)) == SIZE_MAX;
}

void duo_shm_retract_sleep(duo_shm *shm)
{
    if (duo_atomic_load(&shm->own->flags, memory_order_relaxed) & DUO_SHM_ASLEEP)
        duo_atomic_fetch_and(&shm->own->flags, ~DUO_SHM_ASLEEP, memory_order_relaxed);
}

/* Takes a side off its list, under the lock. Others see that its notifier is gone after everything else is done. */
void duo_shm_unlink_side(duo_shm *shm)
{
    DUO_LIST_REMOVE(shm, next_watched, watched_by);
    duo_shm_retract_sleep(shm);
    duo_atomic_store(&shm->remote.session.sides[shm->role].notifier, NULL, memory_order_release);
}

void duo_shm_unwatch(duo_session *session, const duo_notifier *notifier)
{
    duo_shm *shm = (duo_shm *)(void *)session;
    duo_shm_lock();
    /* While the lock is held no notifier is installed or removed. */
    duo_notifier *DUO_ATOMIC *installed = &session->sides[shm->role].notifier;
    if (shm->watched_by != NULL && duo_atomic_load(installed, memory_order_relaxed) == notifier) duo_shm_unlink_side(shm);
    duo_shm_unlock();
}
