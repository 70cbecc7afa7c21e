/*
 * A name that remains after a crash is usable: the next process that opens it creates the region again, unless a
 * process has a side of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shm/shm.h"
#include "talk.h"

static char name[64];

static int open_name(void)
{
    int region;
    CHECK(duo_shm_open(name, 4096, &region) == DUO_OK);
    return region;
}

static void serve_by_name(int unused)
{
    (void)unused;
    serve(open_name());
}

static void serve_and_stay(int unused)
{
    serve_by_name(unused);
    for (;;) pause();
}

static void talk_once(int region)
{
    talk_client_ask_t client = ask(attach_client(region), 6, 6);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
}

/* A session with a server that ends with it, or is killed after it. */
static void talk_with(void (*server)(int), bool is_killed)
{
    pid_t child = start_child(server, -1);
    int region = open_name();
    talk_once(region);
    if (is_killed) kill_child(child);
    else finish_child(child);
    close(region);
}

static void check_taken(int region)
{
    const duo_shm_options options = {.wait = 1};
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, &options, &server) == DUO_REFUSED);
}

/* The server is killed in the middle of a session, several times. */
static void killed(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = start_child(serve_by_name, -1);
        int region = open_name();
        talk_client_ask_t client = ask(attach_client(region), 1, 1);
        kill_child(child);
        /* This process still has the other side. */
        int again = open_name();
        check_taken(again);
        close(again);
        CHECK(talk_client_ask_close(client) == DUO_OK);
        close(region);
    }
    talk_with(serve_by_name, false);
    /* One session after the other, and a server that stays after its session is over. */
    talk_with(serve_and_stay, true);
}

/* Both processes are gone. */
static void talk_and_die(int unused)
{
    (void)unused;
    (void)ask(attach_client(open_name()), 2, 2);
    CHECK(raise(SIGKILL) == 0);
}

static void both_killed(void)
{
    pid_t server = start_child(serve_by_name, -1), client = start_child(talk_and_die, -1);
    int ended;
    CHECK(waitpid(client, &ended, 0) == client && WIFSIGNALED(ended));
    finish_child(server);
    talk_with(serve_by_name, false);
}

/* The process that was creating the region died before it was done: there is a file with nothing in it, or half of a region. */
static void half_made(off_t size)
{
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && ftruncate(file, size) == 0);
    talk_with(serve_by_name, false);
    close(file);
}

/* A region that no process has attached to is left alone, even if the process that created it is gone. */
static void unused(void)
{
    int one = open_name(), other = open_name();
    struct stat first, second;
    CHECK(fstat(one, &first) == 0 && fstat(other, &second) == 0);
    CHECK(first.st_ino == second.st_ino);
    /* A side is taken even if nothing has been sent yet. */
    const duo_shm_options options = {.at_once = true};
    talk_server_ask_t server;
    CHECK(talk_server_attach(one, &options, &server) == DUO_OK);
    int third = open_name();
    check_taken(third);
    CHECK(talk_server_ask_close(server) == DUO_OK);
    close(one);
    close(other);
    close(third);
}

static void open_and_serve(int region)
{
    /* Several processes try, and one becomes the server. */
    const duo_shm_options options = {.wait = UINT64_C(20000000000)};
    talk_server_ask_t server;
    region = open_name();
    duo_status status = talk_server_attach(region, &options, &server);
    if (status != DUO_OK) {
        CHECK(status == DUO_REFUSED);
        _exit(2);
    }
    answer_all(server);
}

/* Many processes at once open a name that remains after a crash: they all get the same region. */
static void opened_by_many(void)
{
    enum { MANY = 8 };
    for (int round = 0; round < 20; round++) {
        pid_t child = start_child(serve_by_name, -1);
        int region = open_name();
        talk_client_ask_t client = ask(attach_client(region), 1, 1);
        kill_child(child);
        CHECK(talk_client_ask_close(client) == DUO_OK);
        close(region);
        for (int i = 0; i < MANY; i++) start_child(open_and_serve, -1);
        take_a_moment();
        region = open_name();
        client = ask(attach_client(region), 1, 1);
        /* The others end first. */
        int ended;
        for (int i = 1; i < MANY; i++) CHECK(wait(&ended) > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 2);
        CHECK(talk_client_ask_send_end(client) == DUO_OK);
        CHECK(wait(&ended) > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        close(region);
    }
}

TEST(names)
{
    snprintf(name, sizeof name, "/duologue-names-%d", (int)getpid());
    killed();
    both_killed();
    opened_by_many();
    CHECK(duo_shm_unlink(name) == DUO_OK);
    half_made(0);
    CHECK(duo_shm_unlink(name) == DUO_OK);
    half_made(8192);
    CHECK(duo_shm_unlink(name) == DUO_OK);
    unused();
    CHECK(duo_shm_unlink(name) == DUO_OK);
}
