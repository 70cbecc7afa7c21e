/* Regions: how they are created, and how two processes get the same one. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>

#define USUAL_SPACE ((size_t)256 << 10)
#define LEAST_SPACE ((size_t)4096)
#if SIZE_MAX > UINT32_MAX
#define MOST_SPACE ((size_t)1 << 40)
#else
#define MOST_SPACE ((size_t)1 << 30)
#endif

/*
 * Gives a file its size and all of its memory, so that no later store finds the system out of memory, which would
 * kill the process. A signal would make the kernel start again, so signals are blocked meanwhile.
 */
static duo_status reserve(int region, size_t size)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed;
    do failed = posix_fallocate(region, 0, (off_t)size);
    while (failed == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failed;
    return failed == 0 ? DUO_OK : DUO_SYSTEM;
}

/* Gives a new file its memory and its head. */
static duo_status lay_out(int region, size_t space)
{
    size_t bytes = LEAST_SPACE;
    if (space == 0) space = USUAL_SPACE;
    while (bytes < space && bytes < MOST_SPACE) bytes *= 2;
    size_t size = sizeof(duo_shm_head) + DUO_SHM_LINES * sizeof(duo_shm_line) + bytes;
    duo_status status = reserve(region, size);
    if (status != DUO_OK) return status;
    duo_shm_head *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    if (head == MAP_FAILED) return DUO_SYSTEM;
    head->version = DUO_SHM_VERSION;
    head->lines = DUO_SHM_LINES;
    head->bytes = bytes;
    duo_atomic_store(&head->magic, DUO_SHM_MAGIC, memory_order_release);
    munmap(head, sizeof *head);
    return DUO_OK;
}

/* Closes without changing the `errno` of a failure. */
static duo_status give_up(int region, duo_status status)
{
    int reason = errno;
    close(region);
    errno = reason;
    return status;
}

/* Whether only this user (and root) can open a file. */
static bool is_own(int region)
{
    struct stat status;
    if (fstat(region, &status) != 0) return false;
    return status.st_uid == geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Whether no peer can take away memory of this file, because of a seal that cannot be removed. */
static bool is_sealed(int region)
{
    int seals = fcntl(region, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

bool duo_shm_is_sound(int region)
{
    /* Other file systems have seals too, but their memory may be elsewhere, or run out. */
    struct statfs system;
    if (fstatfs(region, &system) != 0 || system.f_type != TMPFS_MAGIC) return false;
    return is_sealed(region) || is_own(region);
}

static struct flock bytes_of(short type, size_t from, size_t size)
{
    struct flock bytes;
    /* Its process id must be 0. */
    memset(&bytes, 0, sizeof bytes);
    bytes.l_type = type;
    bytes.l_whence = SEEK_SET;
    bytes.l_start = (off_t)from;
    bytes.l_len = (off_t)size;
    return bytes;
}

bool duo_shm_lock_bytes(int description, size_t from, size_t size)
{
    struct flock bytes = bytes_of(F_WRLCK, from, size);
    return fcntl(description, F_OFD_SETLK, &bytes) == 0;
}

static void unlock(int description)
{
    struct flock bytes = bytes_of(F_UNLCK, DUO_SHM_HEAD_LOCK, sizeof(duo_shm_head));
    fcntl(description, F_OFD_SETLK, &bytes);
}

size_t duo_shm_lock_at(int description, size_t byte)
{
    struct flock bytes = bytes_of(F_WRLCK, byte, 1);
    if (fcntl(description, F_OFD_GETLK, &bytes) != 0 || bytes.l_type == F_UNLCK) return SIZE_MAX;
    return (size_t)bytes.l_start;
}

duo_status duo_shm_create(size_t space, int *region)
{
    *region = -1;
    int made = memfd_create("duologue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) return DUO_SYSTEM;
    duo_status status = lay_out(made, space);
    /* The processes that get it can rely on its size. */
    if (status == DUO_OK && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        status = DUO_SYSTEM;
    if (status != DUO_OK) return give_up(made, status);
    *region = made;
    return DUO_OK;
}

/* How long to wait for another process that is creating the region of a name, which takes a few microseconds. */
#define MOST_MAKING UINT64_C(5000000000)

/* Waits for the lock under which the region of a name is created; DUO_EMPTY if the wait is canceled. */
static duo_status lock_head(int region)
{
    const uint64_t end = duo_now() + MOST_MAKING;
    while (!duo_shm_lock_bytes(region, DUO_SHM_HEAD_LOCK, 1)) {
        if (errno != EAGAIN && errno != EACCES) return DUO_SYSTEM;
        if (duo_is_canceled()) return DUO_EMPTY;
        if (duo_now() >= end) {
            errno = ETIMEDOUT;
            return DUO_SYSTEM;
        }
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return DUO_OK;
}

/* What a file contains; this process has the lock of the head. */
typedef enum shape { UNMADE, FRESH, USED } shape;

static duo_status look_at(int region, shape *found)
{
    struct stat status;
    *found = UNMADE;
    if (fstat(region, &status) != 0) return DUO_SYSTEM;
    if (status.st_nlink == 0) return DUO_CLOSED;
    if (status.st_size < (off_t)sizeof(duo_shm_head)) return DUO_OK;
    duo_shm_head *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, region, 0);
    if (head == MAP_FAILED) return DUO_SYSTEM;
    if (duo_atomic_load(&head->magic, memory_order_acquire) != 0) {
        uint32_t one = duo_atomic_load(&head->sides[0].hello.state, memory_order_acquire);
        uint32_t other = duo_atomic_load(&head->sides[1].hello.state, memory_order_acquire);
        *found = one == 0 && other == 0 ? FRESH : USED;
    }
    munmap(head, sizeof *head);
    return DUO_OK;
}

/*
 * Creates the region of a name if no process has done so, or if its session is over: a side was taken, and now no
 * process has one. This process then holds all of the head's locks, so no other process attaches meanwhile, and no
 * process in a session has mapped the file. DUO_CLOSED: the name was removed.
 */
static duo_status make_region(int region, size_t space, bool *is_made)
{
    shape found;
    duo_status status = lock_head(region);
    if (status == DUO_OK) status = look_at(region, &found);
    if (status != DUO_OK) return status;
    *is_made = found == UNMADE ||
               (found == USED && duo_shm_lock_bytes(region, DUO_SHM_HEAD_LOCK, sizeof(duo_shm_head)));
    if (*is_made) status = ftruncate(region, 0) == 0 ? lay_out(region, space) : DUO_SYSTEM;
    return status;
}

duo_status duo_shm_open(const char *name, size_t space, int *region)
{
    *region = -1;
    for (;;) {
        int opened = shm_open(name, O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
        if (opened < 0) return DUO_SYSTEM;
        if (!is_own(opened)) {
            errno = EACCES;
            return give_up(opened, DUO_SYSTEM);
        }
        bool is_made = false;
        duo_status status = make_region(opened, space, &is_made);
        if (status == DUO_OK) {
            unlock(opened);
            *region = opened;
            return DUO_OK;
        }
        int reason = errno;
        if (status == DUO_SYSTEM && is_made) shm_unlink(name);
        close(opened);
        errno = reason;
        if (status != DUO_CLOSED) return status;
    }
}

duo_status duo_shm_unlink(const char *name)
{
    return shm_unlink(name) == 0 ? DUO_OK : DUO_SYSTEM;
}

/* A message with space for one descriptor. */
typedef struct letter {
    struct msghdr head;
    struct iovec part;
    char word;
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
} letter;

static void prepare(letter *message)
{
    memset(message, 0, sizeof *message);
    message->part.iov_base = &message->word;
    message->part.iov_len = 1;
    message->head.msg_iov = &message->part;
    message->head.msg_iovlen = 1;
    message->head.msg_control = message->control;
    message->head.msg_controllen = sizeof message->control;
}

/* Readable while this thread is canceled; -1, which `poll` ignores, if it cannot be. */
static int cancel_descriptor(void)
{
    const duo_sleeper *own = duo_own_sleeper();
    return own == NULL ? -1 : own->descriptor;
}

/* Until when a call for this socket waits, by its flags and by its own time limit, which is this option. */
static uint64_t limit_of(int socket, int option)
{
    struct timeval limit = {0, 0};
    socklen_t size = sizeof limit;
    int flags = fcntl(socket, F_GETFL);
    /* If it is no socket, the call says so. */
    if (flags < 0 || (flags & O_NONBLOCK) != 0 || getsockopt(socket, SOL_SOCKET, option, &limit, &size) != 0)
        return DUO_AT_ONCE;
    uint64_t wait = (uint64_t)limit.tv_sec * DUO_SECOND + (uint64_t)limit.tv_usec * 1000;
    return wait == 0 ? DUO_FOREVER : duo_until(wait);
}

/* Waits for one of these events, but not after `until`; DUO_EMPTY if the wait is over, or is canceled. */
static duo_status await_socket(int socket, short events, uint64_t until)
{
    uint64_t left = duo_left(until);
    if (left == DUO_AT_ONCE || duo_is_canceled()) return DUO_EMPTY;
    struct pollfd polled[] = {{socket, events, 0}, {cancel_descriptor(), POLLIN, 0}};
    /* In whole milliseconds, rounded up; a time that is too long for one call is split into several. */
    uint64_t most = UINT64_C(60000), milliseconds = left / 1000000 + 1;
    int ready = poll(polled, 2, (int)(milliseconds < most ? milliseconds : most));
    return ready < 0 && errno != EINTR ? DUO_SYSTEM : DUO_OK;
}

duo_status duo_shm_send(int socket, int region)
{
    letter message;
    prepare(&message);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message.head);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof region);
    memcpy(CMSG_DATA(part), &region, sizeof region);
    /* A thread that can be canceled waits in `poll` only. */
    bool polls = cancel_descriptor() >= 0;
    const uint64_t until = polls ? limit_of(socket, SO_SNDTIMEO) : DUO_AT_ONCE;
    for (;;) {
        ssize_t sent;
        do sent = sendmsg(socket, &message.head, MSG_NOSIGNAL | (polls ? MSG_DONTWAIT : 0));
        while (sent < 0 && errno == EINTR);
        if (sent == 1) return DUO_OK;
        if (!polls || (errno != EAGAIN && errno != EWOULDBLOCK)) return DUO_SYSTEM;
        duo_status status = await_socket(socket, POLLOUT, until);
        if (status == DUO_EMPTY && duo_is_canceled() && until != DUO_AT_ONCE) return DUO_FULL;
        if (status == DUO_EMPTY) errno = EAGAIN;
        if (status != DUO_OK) return DUO_SYSTEM;
    }
}

static duo_status receive(int socket, int flags, int *region)
{
    *region = -1;
    letter message;
    prepare(&message);
    /* Without the padding, into which a second descriptor would fit: the kernel closes descriptors that do not fit. */
    message.head.msg_controllen = CMSG_LEN(sizeof *region);
    ssize_t received;
    do received = recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC | flags);
    while (received < 0 && errno == EINTR);
    if (received < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? DUO_EMPTY : DUO_SYSTEM;
    if (received == 0) return DUO_CLOSED;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message.head);
    bool is_one = part != NULL && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
                  part->cmsg_len == CMSG_LEN(sizeof *region);
    if (!is_one) return DUO_BROKEN;
    int got;
    memcpy(&got, CMSG_DATA(part), sizeof got);
    /* The message contained more. */
    if (message.head.msg_flags & MSG_CTRUNC) return give_up(got, DUO_BROKEN);
    /* A file that can shrink could take memory away from the process that reads it. */
    if (!is_sealed(got)) return give_up(got, DUO_BROKEN);
    *region = got;
    return DUO_OK;
}

static duo_status receive_until(int socket, uint64_t until, int *region)
{
    for (;;) {
        /* Another thread may receive what came between the two calls. */
        duo_status status = receive(socket, MSG_DONTWAIT, region);
        if (status != DUO_EMPTY) return status;
        status = await_socket(socket, POLLIN, until);
        if (status != DUO_OK) return status;
    }
}

duo_status duo_shm_receive(int socket, int *region)
{
    if (cancel_descriptor() < 0) return receive(socket, 0, region);
    return receive_until(socket, limit_of(socket, SO_RCVTIMEO), region);
}

duo_status duo_shm_receive_within(int socket, uint64_t nanoseconds, int *region)
{
    return receive_until(socket, duo_until(nanoseconds), region);
}
