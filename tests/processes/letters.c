/* Messages over a socket that carry something other than one region: none leaves a descriptor behind. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "duologue/shm.h"

/* As many as the kernel accepts in one message. */
enum { MOST = 253 };

static size_t open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    size_t count = 0;
    while (readdir(folder) != NULL) count++;
    CHECK(closedir(folder) == 0);
    return count;
}

/* Sends one byte, and the same descriptor `times` times. */
static void send_letter(int socket, int descriptor, size_t times)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    alignas(struct cmsghdr) char control[CMSG_SPACE(MOST * sizeof descriptor)];
    memset(control, 0, sizeof control);
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    if (times > 0) {
        head.msg_control = control;
        head.msg_controllen = CMSG_SPACE(times * sizeof descriptor);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(times * sizeof descriptor);
        for (size_t i = 0; i < times; i++)
            memcpy(CMSG_DATA(rights) + i * sizeof descriptor, &descriptor, sizeof descriptor);
    }
    CHECK(sendmsg(socket, &head, MSG_NOSIGNAL) == 1);
}

static void check_letters(int sockets[2], int region, int other)
{
    int got;
    const size_t times[] = {0, 2, 3, 4, 16, MOST};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        send_letter(sockets[0], region, times[i]);
        size_t before = open_descriptors();
        CHECK(duo_shm_receive(sockets[1], &got) == DUO_BROKEN && got == -1);
        CHECK(open_descriptors() == before);
    }
    send_letter(sockets[0], other, 1);
    size_t before = open_descriptors();
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_BROKEN && got == -1);
    CHECK(open_descriptors() == before);
    CHECK(duo_shm_send(sockets[0], region) == DUO_OK);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_OK && open_descriptors() == before + 1);
    close(got);
}

TEST(letters)
{
    int sockets[2], region;
    CHECK(duo_shm_create(4096, &region) == DUO_OK);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    check_letters(sockets, region, sockets[0]);
    /* Credentials come first, and fill the space. */
    const int on = 1;
    CHECK(setsockopt(sockets[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    size_t before = open_descriptors();
    int got;
    send_letter(sockets[0], region, 2);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_BROKEN && got == -1);
    CHECK(open_descriptors() == before);
}
