/* Regions: how they are made, and how two processes come to have the same one. */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>

#ifdef __linux__

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_ROOM ((size_t)256 << 10)
#define LEAST_ROOM ((size_t)4096)
#if SIZE_MAX > UINT32_MAX
#define MOST_ROOM ((size_t)1 << 40)
#else
#define MOST_ROOM ((size_t)1 << 30)
#endif

/* Gives a new file its size and its head. */
static duo_status lay_out(int region, size_t room)
{
    size_t bytes = LEAST_ROOM;
    if (room == 0) room = USUAL_ROOM;
    while (bytes < room && bytes < MOST_ROOM) bytes *= 2;
    size_t size = sizeof(duo_shm_head) + DUO_SHM_LINES * sizeof(duo_shm_line) + bytes;
    if (ftruncate(region, (off_t)size) != 0) return DUO_SYSTEM;
    duo_shm_head *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    if (head == MAP_FAILED) return DUO_SYSTEM;
    head->version = DUO_SHM_VERSION;
    head->lines = DUO_SHM_LINES;
    head->bytes = bytes;
    atomic_store_explicit(&head->magic, DUO_SHM_MAGIC, memory_order_release);
    munmap(head, sizeof *head);
    return DUO_OK;
}

/* Closes without changing the reason of a failure. */
static duo_status give_up(int region, duo_status status)
{
    int reason = errno;
    close(region);
    errno = reason;
    return status;
}

duo_status duo_shm_create(size_t room, int *region)
{
    *region = -1;
    int made = memfd_create("duologue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) return DUO_SYSTEM;
    duo_status status = lay_out(made, room);
    /* Whoever gets it can rely on its size. */
    if (status == DUO_OK && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        status = DUO_SYSTEM;
    if (status != DUO_OK) return give_up(made, status);
    *region = made;
    return DUO_OK;
}

/* Waits until whoever makes the region of a name has done so. */
static duo_status await_layout(int region)
{
    const uint64_t end = duo_shm_now() + UINT64_C(5000000000);
    while (duo_shm_now() < end) {
        struct stat status;
        if (fstat(region, &status) != 0) return DUO_SYSTEM;
        if (status.st_size >= (off_t)sizeof(duo_shm_head)) {
            duo_shm_head *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, region, 0);
            if (head == MAP_FAILED) return DUO_SYSTEM;
            uint64_t magic = atomic_load_explicit(&head->magic, memory_order_acquire);
            munmap(head, sizeof *head);
            if (magic != 0) return DUO_OK;
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    errno = ETIMEDOUT;
    return DUO_SYSTEM;
}

duo_status duo_shm_open(const char *name, size_t room, int *region)
{
    *region = -1;
    for (;;) {
        bool is_new = true;
        int opened = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (opened < 0 && errno == EEXIST) {
            is_new = false;
            opened = shm_open(name, O_RDWR, 0);
            if (opened < 0 && errno == ENOENT) continue;
        }
        if (opened < 0) return DUO_SYSTEM;
        duo_status status = is_new ? lay_out(opened, room) : await_layout(opened);
        if (status != DUO_OK) return give_up(opened, status);
        *region = opened;
        return DUO_OK;
    }
}

duo_status duo_shm_unlink(const char *name)
{
    return shm_unlink(name) == 0 ? DUO_OK : DUO_SYSTEM;
}

/* A message with room for one descriptor. */
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

duo_status duo_shm_send(int socket, int region)
{
    letter message;
    prepare(&message);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message.head);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof region);
    memcpy(CMSG_DATA(part), &region, sizeof region);
    ssize_t sent;
    do sent = sendmsg(socket, &message.head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1 ? DUO_OK : DUO_SYSTEM;
}

duo_status duo_shm_receive(int socket, int *region)
{
    *region = -1;
    letter message;
    prepare(&message);
    /* Without the padding, in which a second descriptor would find a place: the kernel closes what does not fit. */
    message.head.msg_controllen = CMSG_LEN(sizeof *region);
    ssize_t received;
    do received = recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return DUO_SYSTEM;
    if (received == 0) return DUO_CLOSED;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message.head);
    bool is_one = part != NULL && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
                  part->cmsg_len == CMSG_LEN(sizeof *region);
    if (!is_one) return DUO_BROKEN;
    int got;
    memcpy(&got, CMSG_DATA(part), sizeof got);
    /* There was more in the letter. */
    if (message.head.msg_flags & MSG_CTRUNC) return give_up(got, DUO_BROKEN);
    /* A file that can shrink could take memory away from whoever reads it. */
    int seals = fcntl(got, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) return give_up(got, DUO_BROKEN);
    *region = got;
    return DUO_OK;
}

#else

static duo_status unsupported(void)
{
    errno = ENOSYS;
    return DUO_SYSTEM;
}

duo_status duo_shm_create(size_t room, int *region)
{
    (void)room;
    *region = -1;
    return unsupported();
}

duo_status duo_shm_open(const char *name, size_t room, int *region)
{
    (void)name, (void)room;
    *region = -1;
    return unsupported();
}

duo_status duo_shm_unlink(const char *name)
{
    (void)name;
    return unsupported();
}

duo_status duo_shm_send(int socket, int region)
{
    (void)socket, (void)region;
    return unsupported();
}

duo_status duo_shm_receive(int socket, int *region)
{
    (void)socket;
    *region = -1;
    return unsupported();
}

#endif
