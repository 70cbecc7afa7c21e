/* `duo_cancel` ends every wait of this transport that is not for a session: for a region, for its peer, and for its lock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "shm/shm.h"
#include "talk.h"
#include "waits.h"

static duo_canceler *canceler;

/* From here to `end_cancel` every wait of this thread ends. */
static pthread_t begin_cancel(void)
{
    return start(cancel_late, canceler);
}

static void end_cancel(pthread_t thread)
{
    finish(thread);
    duo_canceler_reset(canceler);
}

static void receives(void)
{
    int sockets[2], got, region = region_of(4096);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    CHECK(duo_shm_receive_within(sockets[1], 2000000, &got) == DUO_EMPTY && got == -1);
    pthread_t thread = begin_cancel();
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_EMPTY && got == -1);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_EMPTY && got == -1);
    CHECK(duo_shm_receive_within(sockets[1], DUO_FOREVER, &got) == DUO_EMPTY && got == -1);
    /* What does not have to wait succeeds. */
    CHECK(duo_shm_send(sockets[0], region) == DUO_OK);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_OK);
    close(got);
    end_cancel(thread);
    thread = begin_cancel();
    CHECK(duo_shm_receive_within(sockets[1], DUO_FOREVER, &got) == DUO_EMPTY && got == -1);
    end_cancel(thread);
    /* Its own time limit holds, and is canceled, too. */
    struct timeval limit = {600, 0};
    CHECK(setsockopt(sockets[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    thread = begin_cancel();
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_EMPTY);
    end_cancel(thread);
    limit = (struct timeval){0, 1000};
    CHECK(setsockopt(sockets[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_EMPTY);
    limit = (struct timeval){0, 0};
    CHECK(setsockopt(sockets[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    /* And so does the end of the peer. */
    CHECK(fcntl(sockets[1], F_SETFL, O_NONBLOCK) == 0);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_EMPTY);
    CHECK(fcntl(sockets[1], F_SETFL, 0) == 0);
    close(sockets[0]);
    CHECK(duo_shm_receive(sockets[1], &got) == DUO_CLOSED);
    close(sockets[1]);
    CHECK(duo_shm_receive(-1, &got) == DUO_SYSTEM && errno == EBADF);
    close(region);
}

/* The peer reads nothing. */
static void sends(void)
{
    int sockets[2], got, region = region_of(4096);
    size_t sent = 0;
    duo_status status;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pthread_t thread = begin_cancel();
    while ((status = duo_shm_send(sockets[0], region)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL && sent > 0);
    end_cancel(thread);
    const struct timeval limit = {0, 1000};
    CHECK(setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
    CHECK(duo_shm_send(sockets[0], region) == DUO_SYSTEM && errno == EAGAIN);
    CHECK(fcntl(sockets[0], F_SETFL, O_NONBLOCK) == 0);
    CHECK(duo_shm_send(sockets[0], region) == DUO_SYSTEM && errno == EAGAIN);
    /* Exactly those arrive that were sent. */
    for (; sent > 0; sent--) {
        CHECK(duo_shm_receive_within(sockets[1], DUO_AT_ONCE, &got) == DUO_OK);
        close(got);
    }
    CHECK(duo_shm_receive_within(sockets[1], DUO_AT_ONCE, &got) == DUO_EMPTY);
    close(sockets[0]);
    close(sockets[1]);
    close(region);
}

/* The peer does not attach. */
static void attaches(void)
{
    int region = region_of(4096);
    talk_client_ask_t client;
    talk_server_ask_t server;
    pthread_t thread = begin_cancel();
    CHECK(talk_client_attach(region, NULL, &client) == DUO_EMPTY && client.sends.session == NULL);
    end_cancel(thread);
    /* As after its time limit, the region cannot be used again. */
    CHECK(talk_client_attach(region, NULL, &client) == DUO_REFUSED);
    CHECK(talk_server_attach(region, NULL, &server) == DUO_CLOSED);
    close(region);
}

/* Another process creates the region, and is stopped meanwhile. */
static void locks(void)
{
    char name[64];
    talk_client_ask_t client;
    snprintf(name, sizeof name, "/duologue-canceled-%ld", (long)getpid());
    int region, other;
    CHECK(duo_shm_open(name, 4096, &region) == DUO_OK);
    int lock = shm_open(name, O_RDWR, 0);
    CHECK(lock >= 0 && duo_shm_lock_bytes(lock, DUO_SHM_HEAD_LOCK, sizeof(duo_shm_head)));
    pthread_t thread = begin_cancel();
    CHECK(duo_shm_open(name, 4096, &other) == DUO_EMPTY && other == -1);
    finish(thread);
    CHECK(talk_client_attach(region, NULL, &client) == DUO_EMPTY && client.sends.session == NULL);
    duo_canceler_reset(canceler);
    close(lock);
    /* Neither of them has changed anything. */
    CHECK(duo_shm_open(name, 4096, &other) == DUO_OK);
    const duo_shm_options options = {.at_once = true};
    CHECK(talk_client_attach(other, &options, &client) == DUO_OK);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    CHECK(duo_shm_unlink(name) == DUO_OK);
    close(region);
    close(other);
}

TEST(canceled)
{
    canceler = duo_canceler_new();
    CHECK(canceler != NULL);
    duo_canceler_use(canceler);
    receives();
    sends();
    attaches();
    locks();
    duo_canceler_use(NULL);
    duo_canceler_free(canceler);
}
