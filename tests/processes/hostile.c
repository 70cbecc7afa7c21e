/*
 * A side in Rust and a peer in C, each in a process of its own: the peer breaks the rules, gives up in the middle of a
 * message, notices that the side was killed, or exchanges many messages with it. SIDE in the environment is the program `side` of
 * tests/conversations, which says how it is used.
 */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "child.h"
#include "garbage.h"

typedef struct side {
    pid_t process;
    int socket;
} side;

/* How its session is, and how many messages it has received. */
typedef struct answer {
    char how;
    uint32_t taken;
} answer;

/* `count`: as a client that sends this many messages; NULL: as a server. */
static side start_side(const char *count)
{
    int sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    fflush(NULL);
    side made = {fork(), sockets[0]};
    CHECK(made.process >= 0);
    if (made.process == 0) {
        CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        CHECK(dup2(sockets[1], 0) == 0);
        if (count == NULL) execl(getenv("SIDE"), "side", NULL);
        else execl(getenv("SIDE"), "side", "client", count, NULL);
        CHECK(false);
    }
    close(sockets[1]);
    return made;
}

static void end_side(side *of)
{
    close(of->socket);
    finish_child(of->process);
}

static void kill_side(side *of)
{
    close(of->socket);
    kill_child(of->process);
}

static void say(const side *to, char command)
{
    CHECK(write(to->socket, &command, 1) == 1);
}

static char hear(const side *from)
{
    char heard;
    CHECK(recv(from->socket, &heard, 1, MSG_WAITALL) == 1);
    return heard;
}

static answer hear_answer(const side *from)
{
    unsigned char bytes[5];
    CHECK(recv(from->socket, bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes);
    uint32_t taken = bytes[1] | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3] << 16 | (uint32_t)bytes[4] << 24;
    return (answer){(char)bytes[0], taken};
}

/* The side attaches to a region whose client says nothing. */
static attack begin(const side *with)
{
    attack made = make_attack();
    CHECK(duo_shm_send(with->socket, made.region) == DUO_OK);
    CHECK(hear(with) == 'a');
    return made;
}

static void end(const side *with, attack *made)
{
    say(with, 'q');
    end_attack(made);
}

static void at_rest(const side *with)
{
    size_t broken = 0, taken = 0;
    for (int round = 0; round < 3000; round++) {
        attack made = begin(with);
        if (round % 16 == 0) write_anything(&made, 0, made.size);
        else write_lines(&made);
        say(with, 't');
        answer heard = hear_answer(with);
        CHECK(strchr("moblud", heard.how) != NULL);
        broken += heard.how == 'b';
        taken += heard.taken;
        end(with, &made);
    }
    CHECK(broken > 150 && taken > 150);
}

/* A thread, a set and a task of the side each come to an end, at the latest when the peer's lock is gone. */
static void while_it_reads(const side *with)
{
    for (int round = 0; round < 150; round++) {
        attack made = begin(with);
        attack writer = made;
        atomic_store(&done, false);
        pthread_t thread = start(write_on, &writer);
        say(with, "rsf"[round % 3]);
        if (round % 2 == 0) {
            nanosleep(&(struct timespec){0, 2000000}, NULL);
            close(made.lock);
            made.lock = -1;
        }
        answer heard = hear_answer(with);
        CHECK(strchr("obld", heard.how) != NULL);
        atomic_store(&done, true);
        finish(thread);
        end(with, &made);
    }
}

/* A peer that says anything where it says hello, and then is gone. */
static void hellos(const side *with)
{
    for (int round = 0; round < 500; round++) {
        attack made = make_attack();
        duo_shm_hello *hello = &made.head->sides[0].hello;
        atomic_store(&hello->state, (uint32_t)(any() % 4));
        atomic_store(&hello->verdict, (uint32_t)(any() % 5));
        if (any() % 2 == 0) hello->fingerprint.bytes[any() % 16] ^= 1;
        hello->has_barrier = (uint32_t)any();
        hello->largest = any();
        atomic_store(&made.head->sides[0].flags, (uint32_t)(any() % 8));
        CHECK(duo_shm_send(with->socket, made.region) == DUO_OK);
        if (any() % 2 == 0) write_anything(&made, 64, 192);
        close(made.lock);
        made.lock = -1;
        /* A state of 0 means that nobody has come yet. */
        atomic_store(&hello->state, 1 + (uint32_t)(any() % 2));
        char heard = hear(with);
        CHECK(heard == 'a' || heard == 'e');
        if (heard == 'a') say(with, 'q');
        end_attack(&made);
    }
}

/* A correct client. */
static payloads_client_all_t attach_to(const side *with, int *region)
{
    payloads_client_all_t client;
    *region = region_of(4096);
    CHECK(duo_shm_send(with->socket, *region) == DUO_OK);
    CHECK(payloads_client_attach(*region, NULL, &client) == DUO_OK);
    CHECK(hear(with) == 'a');
    return client;
}

/* A sender that runs out of time in the middle of a text has sent nothing, and goes on. */
static void given_up(const side *with)
{
    static char text[60000];
    memset(text, 'x', sizeof text);
    for (int how = 0; how < 3; how++) {
        int region;
        payloads_client_all_t client = attach_to(with, &region);
        const duo_str str = {text, sizeof text};
        for (int time = 0; time < 3; time++)
            CHECK(payloads_client_all_send_str_within(client, 1000000, str, &client) == DUO_FULL);
        say(with, "rsf"[how]);
        CHECK(payloads_client_all_send_u64(client, 7, &client) == DUO_OK);
        CHECK(payloads_client_all_send_str(client, str, &client) == DUO_OK);
        CHECK(payloads_client_all_send_over(client) == DUO_OK);
        answer heard = hear_answer(with);
        CHECK(heard.how == 'o' && heard.taken == 3);
        say(with, 'q');
        close(region);
    }
}

/* Many messages, short and long, to a thread, a set and a task of the side. */
static void many_to_rust(const side *with)
{
    enum { COUNT = 60000 };
    static char text[10000];
    memset(text, 'x', sizeof text);
    for (int how = 0; how < 3; how++) {
        int region;
        payloads_client_all_t client = attach_to(with, &region);
        say(with, "rsf"[how]);
        for (uint64_t n = 0; n < COUNT; n++) {
            const duo_str str = {text, n % sizeof text};
            if (n % 100 == 0) CHECK(payloads_client_all_send_str(client, str, &client) == DUO_OK);
            else CHECK(payloads_client_all_send_u64(client, n, &client) == DUO_OK);
        }
        CHECK(payloads_client_all_send_over(client) == DUO_OK);
        answer heard = hear_answer(with);
        CHECK(heard.how == 'o' && heard.taken == COUNT + 1);
        say(with, 'q');
        close(region);
    }
}

/* Many messages from a side that is the client. */
static void many_from_rust(void)
{
    side with = start_side("60000");
    int region = region_of(4096);
    CHECK(duo_shm_send(with.socket, region) == DUO_OK);
    payloads_server_all_t server;
    CHECK(payloads_server_attach(region, NULL, &server) == DUO_OK);
    payloads_all_t message;
    for (uint64_t n = 0; n < 60000; n++) {
        CHECK(payloads_server_all_recv(server, &message) == DUO_OK);
        if (n % 100 == 0) {
            CHECK(message.tag == PAYLOADS_ALL_STR && message.as.str.value.size == n % 10000);
            server = message.as.str.next;
            payloads_all_free(&message);
        } else {
            CHECK(message.tag == PAYLOADS_ALL_U64 && message.as.u64.value == n);
            server = message.as.u64.next;
        }
    }
    CHECK(payloads_server_all_recv(server, &message) == DUO_OK && message.tag == PAYLOADS_ALL_OVER);
    end_side(&with);
    close(region);
}

/* A message that is larger than the side accepts is not sent, and the session goes on. */
static void too_large(const side *with)
{
    static char text[1 << 16];
    memset(text, 'x', sizeof text);
    int region;
    payloads_client_all_t client = attach_to(with, &region);
    CHECK(payloads_client_all_send_str(client, (duo_str){text, sizeof text}, &client) == DUO_TOO_LARGE);
    CHECK(payloads_client_all_close(client) == DUO_OK);
    say(with, 'r');
    answer heard = hear_answer(with);
    CHECK(heard.how == 'l' && heard.taken == 0);
    say(with, 'q');
    close(region);
}

/* The side is killed while the client waits for free lines, or before it sends. */
static void killed(bool is_full)
{
    side with = start_side(NULL);
    int region;
    payloads_client_all_t client = attach_to(&with, &region);
    say(&with, 'w');
    duo_status status = DUO_OK;
    while (is_full && status == DUO_OK) status = payloads_client_all_try_send_u64(client, 7, &client);
    CHECK(status == (is_full ? DUO_FULL : DUO_OK));
    kill_side(&with);
    do status = payloads_client_all_send_u64(client, 7, &client);
    while (status == DUO_OK);
    CHECK(status == DUO_LOST);
    close(region);
}

TEST(hostile)
{
    side with = start_side(NULL);
    given_up(&with);
    many_to_rust(&with);
    too_large(&with);
    at_rest(&with);
    while_it_reads(&with);
    hellos(&with);
    end_side(&with);
    killed(false);
    killed(true);
    many_from_rust();
}
