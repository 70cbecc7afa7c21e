/* How two processes meet, and when they do not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bump_shm.h"
#include "later_shm.h"
#include "latest_shm.h"
#include "listen_shm.h"
#include "talk.h"

static void after_fork(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve, 0, &child);
    client = ask(client, 41, 41);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    CHECK(talk_client_ask_send_end(client) == DUO_USED);
    CHECK(talk_client_ask_close(client) == DUO_USED);
    finish_child(child);
}

static char name[64];

static void serve_by_name(int unused)
{
    (void)unused;
    int region;
    CHECK(duo_shm_open(name, 0, &region) == DUO_OK);
    serve(region);
}

static void by_name(void)
{
    snprintf(name, sizeof name, "/duologue-meet-%d", (int)getpid());
    pid_t child = start_child(serve_by_name, -1);
    int region;
    CHECK(duo_shm_open(name, 0, &region) == DUO_OK);
    talk_client_ask_t client = attach_client(region);
    CHECK(duo_shm_unlink(name) == DUO_OK);
    client = ask(client, 7, 7);
    CHECK(talk_client_ask_close(client) == DUO_OK);
    finish_child(child);
    CHECK(duo_shm_unlink(name) == DUO_SYSTEM && errno == ENOENT);
    close(region);
}

static int sockets[2];

static void serve_by_socket(int unused)
{
    (void)unused;
    int region;
    close(sockets[0]);
    CHECK(duo_shm_receive(sockets[1], &region) == DUO_OK);
    serve(region);
    CHECK(duo_shm_receive(sockets[1], &region) == DUO_BROKEN);
    CHECK(duo_shm_receive(sockets[1], &region) == DUO_BROKEN);
    CHECK(duo_shm_receive(sockets[1], &region) == DUO_CLOSED && region == -1);
}

static void by_socket(void)
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = start_child(serve_by_socket, -1);
    close(sockets[1]);
    int region = region_of(4096);
    CHECK(duo_shm_send(sockets[0], region) == DUO_OK);
    talk_client_ask_t client = attach_client(region);
    client = ask(client, 1, 1);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    /* A file that could shrink, and a descriptor that is not a file. */
    FILE *file = tmpfile();
    CHECK(file != NULL && duo_shm_send(sockets[0], fileno(file)) == DUO_OK);
    CHECK(send(sockets[0], "x", 1, 0) == 1);
    close(sockets[0]);
    finish_child(child);
    fclose(file);
    close(region);
}

static void serve_listening(int region)
{
    /* The other team's client is our server. */
    listen_client_ask_t listener;
    CHECK(listen_client_attach(region, NULL, &listener) == DUO_OK);
    listen_ask_t asked;
    CHECK(listen_client_ask_recv(listener, &asked) == DUO_OK && asked.tag == LISTEN_ASK_TEXT);
    listen_client_answer_t answering = asked.as.text.next;
    CHECK(listen_client_answer_send_text(answering, asked.as.text.value, &listener) == DUO_OK);
    listen_ask_free(&asked);
    CHECK(listen_client_ask_close(listener) == DUO_OK);
}

static void two_descriptions(void)
{
    pid_t child;
    talk_client_ask_t client = meet_child(serve_listening, 0, &child);
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_text(client, DUO_STR("hello"), &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK && answer.tag == TALK_ANSWER_TEXT);
    CHECK(duo_str_equal(answer.as.text.value, DUO_STR("hello")));
    client = answer.as.text.next;
    talk_answer_free(&answer);
    finish_child(child);
    CHECK(talk_client_ask_send_end(client) == DUO_CLOSED);
}

static void serve_refused(int region)
{
    later_server_ask_t server;
    CHECK(later_server_attach(region, NULL, &server) == DUO_REFUSED);
    CHECK(later_server_ask_close(server) == DUO_USED);
}

static void serve_accepting(int region)
{
    const duo_fingerprint older[] = {{{0}}, TALK_FINGERPRINT};
    const duo_shm_options options = {.accepts = older, .accepts_count = 2};
    later_server_ask_t server;
    CHECK(later_server_attach(region, &options, &server) == DUO_OK);
    later_ask_t asked;
    CHECK(later_server_ask_recv(server, &asked) == DUO_OK && asked.tag == LATER_ASK_NUMBER);
    later_server_answer_t answering = asked.as.number.next;
    CHECK(later_server_answer_send_number(answering, asked.as.number.value, &server) == DUO_OK);
    CHECK(later_server_ask_recv(server, &asked) == DUO_OK && asked.tag == LATER_ASK_END);
}

/* Its protocol file names the older version. */
static void serve_latest(int region)
{
    latest_server_ask_t server;
    CHECK(latest_server_attach(region, NULL, &server) == DUO_OK);
    latest_ask_t asked;
    CHECK(latest_server_ask_recv(server, &asked) == DUO_OK && asked.tag == LATEST_ASK_END);
}

static void other_versions(void)
{
    int region = region_of(0);
    pid_t child = start_child(serve_refused, region);
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_REFUSED);
    CHECK(talk_client_ask_close(client) == DUO_USED);
    finish_child(child);
    close(region);

    region = region_of(0);
    child = start_child(serve_accepting, region);
    client = ask(attach_client(region), 3, 3);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    finish_child(child);
    close(region);

    region = region_of(0);
    child = start_child(serve_latest, region);
    bump_client_ask_t older;
    CHECK(bump_client_attach(region, NULL, &older) == DUO_OK);
    CHECK(bump_client_ask_send_end(older) == DUO_OK);
    finish_child(child);
    close(region);
}

static void taken_places(void)
{
    int region = region_of(0);
    pid_t child = start_child(serve, region);
    talk_client_ask_t client = attach_client(region), second;
    CHECK(talk_client_attach(region, NULL, &second) == DUO_REFUSED);
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_REFUSED);
    /* Neither of them disturbs the sides that were there first. */
    client = ask(client, 5, 5);
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    finish_child(child);
    close(region);
}

static void nobody_comes(void)
{
    int region = region_of(0);
    const duo_shm_options options = {.wait = 20000000};
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, &options, &client) == DUO_EMPTY);
    /* A peer that comes too late finds the session closed. */
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, &options, &server) == DUO_CLOSED);
    close(region);
}

static void no_regions(void)
{
    talk_client_ask_t client;
    CHECK(talk_client_attach(-1, NULL, &client) == DUO_SYSTEM && errno == EBADF);
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK(talk_client_attach(fileno(file), NULL, &client) == DUO_BROKEN);
    CHECK(ftruncate(fileno(file), 1 << 20) == 0);
    CHECK(talk_client_attach(fileno(file), NULL, &client) == DUO_BROKEN);
    fclose(file);
    /* A head that claims more than there is. */
    int region = region_of(4096);
    uint64_t *head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0);
    CHECK(head != MAP_FAILED);
    const uint64_t sizes[] = {0, 3, 2048, UINT64_C(1) << 30, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        head[2] = sizes[i];
        CHECK(talk_client_attach(region, NULL, &client) == DUO_BROKEN);
    }
    munmap(head, 4096);
    close(region);
}

static uid_t other_user;

/* Replaces the system's function, so that files of this user can appear to be another user's. */
uid_t geteuid(void)
{
    return other_user != 0 ? other_user : getuid();
}

static void names_of_others(void)
{
    snprintf(name, sizeof name, "/duologue-meet-%d", (int)getpid());
    int region, again;
    CHECK(duo_shm_open(name, 0, &region) == DUO_OK);
    other_user = getuid() + 1;
    CHECK(duo_shm_open(name, 0, &again) == DUO_SYSTEM && errno == EACCES && again == -1);
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_BROKEN);
    other_user = 0;
    const mode_t modes[] = {0666, 0640, 0602};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK(fchmod(region, modes[i]) == 0);
        CHECK(duo_shm_open(name, 0, &again) == DUO_SYSTEM && errno == EACCES && again == -1);
        CHECK(talk_client_attach(region, NULL, &client) == DUO_BROKEN);
    }
    CHECK(fchmod(region, 0600) == 0);
    CHECK(duo_shm_open(name, 0, &again) == DUO_OK);
    CHECK(duo_shm_unlink(name) == DUO_OK);
    close(again);
    close(region);
}

/* Its head is that of a region. */
static void check_refused(int file)
{
    int region = region_of(4096);
    struct stat status;
    CHECK(fstat(region, &status) == 0 && ftruncate(file, status.st_size) == 0);
    char head[448];
    CHECK(pread(region, head, sizeof head, 0) == sizeof head);
    CHECK(pwrite(file, head, sizeof head, 0) == sizeof head);
    talk_client_ask_t client;
    const duo_shm_options options = {.wait = 1};
    CHECK(talk_client_attach(file, &options, &client) == DUO_BROKEN);
    close(file);
    close(region);
}

/* Memory that others could take away is not mapped. */
static void files_that_shrink(void)
{
    check_refused(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    /* Not in tmpfs. */
    char path[64];
    snprintf(path, sizeof path, "duologue-meet-%d", (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && unlink(path) == 0);
    check_refused(file);
    /* Sealed, but with pages that can run out. */
    int huge = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    CHECK(huge >= 0 && ftruncate(huge, 1 << 30) == 0);
    CHECK(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    talk_client_ask_t client;
    CHECK(talk_client_attach(huge, NULL, &client) == DUO_BROKEN);
    close(huge);
}

TEST(meet)
{
    names_of_others();
    files_that_shrink();
    after_fork();
    by_name();
    by_socket();
    two_descriptions();
    other_versions();
    taken_places();
    nobody_comes();
    no_regions();
}
