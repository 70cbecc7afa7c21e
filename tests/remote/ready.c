/*
 * Waiting for sessions over sockets, in shared memory and within this process, all at once: by select, in a set, and
 * through the set's descriptor.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counted.h"
#include "talk_net.h"
#include "talk_shm.h"
#include "waits.h"

enum { KINDS = 3, ROUNDS = 50 };

static const char *const names[] = {"near", "shared", "socket"};

struct pair {
    talk_client_ask_t client;
    talk_server_ask_t server;
    int socket;
    int region;
};

static void *connect_client(void *context)
{
    struct pair *pair = context;
    if (pair->socket >= 0) CHECK(talk_client_connect_over(pair->socket, NULL, &pair->client) == DUO_OK);
    else CHECK(talk_client_attach(pair->region, NULL, &pair->client) == DUO_OK);
    return NULL;
}

static void begin(struct pair *pair, int kind)
{
    pair->socket = -1;
    if (kind == 0) {
        CHECK(talk_init(&pair->server, &pair->client) == DUO_OK);
        return;
    }
    int ends[2];
    if (kind == 1) CHECK(duo_shm_create(0, &pair->region) == DUO_OK);
    else CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (kind == 2) pair->socket = ends[0];
    pthread_t thread = start(connect_client, pair);
    if (kind == 1) CHECK(talk_server_attach(pair->region, NULL, &pair->server) == DUO_OK);
    else CHECK(talk_server_accept_over(ends[1], NULL, &pair->server) == DUO_OK);
    finish(thread);
    if (kind == 1) close(pair->region);
}

/* Which sessions the other thread uses in turn. */
struct talker {
    struct pair *pairs;
    const size_t *which;
    size_t count;
};

static void *talk(void *context)
{
    const struct talker *talker = context;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < talker->count; i++) {
            struct pair *pair = &talker->pairs[talker->which[i]];
            talk_client_answer_t asked;
            talk_answer_t answer;
            if (round % 16 == 0) take_a_moment();
            CHECK(talk_client_ask_send_number(pair->client, round, &asked) == DUO_OK);
            CHECK(talk_client_answer_recv(asked, &answer) == DUO_OK);
            CHECK(answer.tag == TALK_ANSWER_NUMBER && answer.as.number.value == round + 1);
            pair->client = answer.as.number.next;
        }
    }
    return NULL;
}

static void respond(struct pair *pair)
{
    talk_ask_t asked;
    CHECK(talk_server_ask_try_recv(pair->server, &asked) == DUO_OK);
    CHECK(asked.tag == TALK_ASK_NUMBER);
    CHECK(talk_server_answer_send_number(asked.as.number.next, asked.as.number.value + 1, &pair->server) == DUO_OK);
}

static void by_select(struct pair *pairs, const size_t *which, size_t count)
{
    struct talker talker = {pairs, which, count};
    pthread_t thread = start(talk, &talker);
    for (size_t done = 0; done < ROUNDS * count; done++) {
        duo_endpoint endpoints[KINDS];
        size_t ready;
        for (size_t i = 0; i < count; i++) endpoints[i] = DUO_READY(pairs[which[i]].server);
        CHECK(duo_select(endpoints, count, DUO_FOREVER, &ready) == DUO_OK);
        respond(&pairs[which[ready]]);
    }
    finish(thread);
}

static void by_set(struct pair *pairs, const size_t *which, size_t count, bool by_descriptor)
{
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL);
    int descriptor = by_descriptor ? duo_ports_descriptor(ports) : -1;
    struct talker talker = {pairs, which, count};
    pthread_t thread = start(talk, &talker);
    for (size_t i = 0; i < count; i++)
        CHECK(duo_ports_add(ports, DUO_READY(pairs[which[i]].server), &pairs[which[i]], NULL) == DUO_OK);
    for (size_t done = 0; done < ROUNDS * count;) {
        void *with;
        if (by_descriptor) {
            struct pollfd polled = {descriptor, POLLIN, 0};
            CHECK(poll(&polled, 1, -1) == 1);
        }
        duo_status status = duo_ports_wait(ports, by_descriptor ? DUO_AT_ONCE : DUO_FOREVER, &with);
        if (by_descriptor && status == DUO_EMPTY) continue;
        CHECK(status == DUO_OK);
        struct pair *pair = with;
        respond(pair);
        CHECK(duo_ports_add(ports, DUO_READY(pair->server), pair, NULL) == DUO_OK);
        done++;
    }
    finish(thread);
    duo_ports_free(ports);
}

/* A wait ends from another thread, whatever is in the set; sockets alone need a descriptor for this. */
static void interrupted(struct pair *pairs, const size_t *which, size_t count)
{
    void *with;
    duo_ports *ports = duo_ports_new();
    CHECK(ports != NULL && duo_ports_descriptor(ports) >= 0);
    for (size_t i = 0; i < count; i++)
        CHECK(duo_ports_add(ports, DUO_READY(pairs[which[i]].server), &pairs[which[i]], NULL) == DUO_OK);
    for (int i = 0; i < 3; i++) {
        pthread_t thread = start(interrupt_late, ports);
        CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY && duo_ports_count(ports) == count);
        finish(thread);
    }
    duo_ports_free(ports);
}

struct giving {
    duo_ports *ports;
    struct pair *pair;
};

static void *give_late(void *context)
{
    const struct giving *given = context;
    take_a_moment();
    CHECK(duo_ports_give(given->ports, DUO_READY(given->pair->server), given->pair) == DUO_OK);
    return NULL;
}

/* Other threads add endpoints of every kind to a set that waits: to an empty one, and to one that has others. */
static void given(struct pair *pairs, const size_t *which, size_t count)
{
    duo_ports *ports = duo_ports_new_open();
    CHECK(ports != NULL);
    for (size_t i = 0; i < count; i++) {
        struct giving giving = {ports, &pairs[which[i]]};
        struct talker talker = {pairs, &which[i], 1};
        pthread_t thread = start(give_late, &giving), talking = start(talk, &talker);
        for (size_t done = 0; done < ROUNDS; done++) {
            void *with;
            CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_OK && with == &pairs[which[i]]);
            respond(with);
            CHECK(duo_ports_give(ports, DUO_READY(pairs[which[i]].server), with) == DUO_OK);
        }
        finish(talking);
        finish(thread);
    }
    duo_ports_free(ports);
}

/* Selects and sets that are canceled lose nothing, whatever they wait for, and neither does a receive. */
static void canceled(struct pair *pairs, const size_t *which, size_t count)
{
    duo_endpoint endpoints[KINDS];
    size_t ready;
    void *with;
    duo_canceler *canceler = duo_canceler_new();
    duo_ports *ports = duo_ports_new();
    CHECK(canceler != NULL && ports != NULL);
    duo_canceler_use(canceler);
    for (size_t i = 0; i < count; i++) {
        talk_ask_t asked;
        endpoints[i] = DUO_READY(pairs[which[i]].server);
        pthread_t thread = start(cancel_late, canceler);
        CHECK(talk_server_ask_recv(pairs[which[i]].server, &asked) == DUO_EMPTY);
        finish(thread);
        CHECK(talk_server_ask_recv(pairs[which[i]].server, &asked) == DUO_EMPTY);
        duo_canceler_reset(canceler);
    }
    pthread_t thread = start(cancel_late, canceler);
    CHECK(duo_select(endpoints, count, DUO_FOREVER, &ready) == DUO_EMPTY);
    finish(thread);
    CHECK(duo_select(endpoints, count, DUO_FOREVER, &ready) == DUO_EMPTY);
    duo_canceler_reset(canceler);
    for (size_t i = 0; i < count; i++) CHECK(duo_ports_add(ports, endpoints[i], &pairs[which[i]], NULL) == DUO_OK);
    thread = start(cancel_late, canceler);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY && duo_ports_count(ports) == count);
    finish(thread);
    CHECK(duo_ports_wait(ports, DUO_FOREVER, &with) == DUO_EMPTY && duo_ports_count(ports) == count);
    duo_canceler_use(NULL);
    duo_ports_free(ports);
    duo_canceler_free(canceler);
}

/*
 * A send that is canceled sends nothing, and everything before it arrives. If there is a limit for a whole dialogue, closing does not wait for
 * the peer either, which reads nothing, so the last bytes are not written.
 */
static void canceled_sends(int kind, bool in_time)
{
    const duo_time_limit limit = duo_time_limit_in(UINT64_C(50000000));
    struct pair pair;
    talk_ask_t asked;
    uint64_t sent = 0, read = 0;
    duo_status status;
    begin(&pair, kind);
    duo_canceler *canceler = duo_canceler_new();
    CHECK(canceler != NULL);
    duo_canceler_use(canceler);
    pthread_t thread = pthread_self();
    if (in_time) CHECK(duo_cancel_at(canceler, limit) == DUO_OK);
    else thread = start(cancel_late, canceler);
    while ((status = talk_client_ask_send_more(pair.client, sent, &pair.client)) == DUO_OK) sent++;
    CHECK(status == DUO_FULL && sent > 0 && (!in_time || duo_time_left(limit) == 0));
    CHECK(talk_client_ask_send_more(pair.client, sent, &pair.client) == DUO_FULL);
    if (!in_time) finish(thread);
    if (in_time) CHECK(talk_client_ask_close(pair.client) == DUO_OK);
    duo_canceler_use(NULL);
    for (; in_time || read < sent; read++) {
        status = talk_server_ask_recv(pair.server, &asked);
        if (status != DUO_OK) break;
        CHECK(asked.as.more.value == read);
        pair.server = asked.as.more.next;
    }
    CHECK(in_time ? read <= sent : read == sent);
    if (!in_time) {
        CHECK(talk_client_ask_close(pair.client) == DUO_OK);
        status = talk_server_ask_recv(pair.server, &asked);
    }
    CHECK(status == DUO_CLOSED || (in_time && status == DUO_LOST));
    duo_canceler_free(canceler);
}

/* Accepting, connecting and serving. */
static void canceled_beginnings(void)
{
    duo_listener *listener;
    talk_server_ask_t server;
    talk_client_ask_t client;
    int ends[2];
    duo_canceler *canceler = duo_canceler_new();
    CHECK(canceler != NULL);
    CHECK(duo_listen("tcp://127.0.0.1:0", NULL, &listener) == DUO_OK);
    duo_canceler_use(canceler);
    pthread_t thread = start(cancel_late, canceler);
    CHECK(talk_server_accept(listener, DUO_FOREVER, &server) == DUO_EMPTY);
    finish(thread);
    CHECK(duo_listener_run(listener) == DUO_OK);
    duo_canceler_reset(canceler);
    /* A peer that answers nothing. */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const duo_net_options options = {.hello = UINT64_C(600000000000)};
    thread = start(cancel_late, canceler);
    CHECK(talk_client_connect_over(ends[0], &options, &client) == DUO_LATE);
    finish(thread);
    duo_canceler_use(NULL);
    close(ends[1]);
    duo_canceler_free(canceler);
    duo_listener_close(listener);
}

static void *send_texts(void *context)
{
    static char long_text[200000];
    struct pair *pair = context;
    memset(long_text, 'a', sizeof long_text);
    CHECK(talk_client_ask_send_page(pair->client, DUO_STR("short"), &pair->client) == DUO_OK);
    CHECK(talk_client_ask_send_page(pair->client, (duo_str){long_text, sizeof long_text}, &pair->client) == DUO_OK);
    duo_str lines[] = {DUO_STR("one"), DUO_STR("two")};
    const duo_list_str_t both = DUO_ITEMS(duo_list_str_t, lines);
    const duo_opt_tuple2_u8_f64_t none = DUO_NONE(duo_opt_tuple2_u8_f64_t);
    talk_client_answer_t asked;
    CHECK(talk_client_ask_send_lines(pair->client, both, none, &asked) == DUO_OK);
    CHECK(talk_client_answer_close(asked) == DUO_OK);
    return NULL;
}

/* The payloads of a session are in memory of its own, whatever connects it: one block for each message, made where it is received. */
static void own_memory(int kind)
{
    static arena blocks;
    static const duo_allocator own = {arena_take, arena_give_back, &blocks};
    blocks.made = 0;
    blocks.left = 3;
    struct pair pair;
    begin(&pair, kind);
    CHECK(duo_use_allocator(pair.server.receives, &own) == DUO_OK);
    pthread_t thread = start(send_texts, &pair);
    talk_ask_t asked[3];
    for (int i = 0; i < 3; i++) {
        CHECK(talk_server_ask_recv(pair.server, &asked[i]) == DUO_OK);
        /* Within a process the sender makes them, and it may be ahead. */
        if (kind != 0) CHECK(blocks.made == i + 1 && blocks.live == i + 1);
        if (i < 2) CHECK(asked[i].tag == TALK_ASK_PAGE && asked[i].as.page.value.size == (i == 0 ? 5 : 200000));
        if (i < 2) pair.server = asked[i].as.page.next;
    }
    CHECK(asked[2].tag == TALK_ASK_LINES && duo_str_equal(asked[2].as.lines.value.data[1], DUO_STR("two")));
    finish(thread);
    CHECK(blocks.made == 3 && blocks.live == 3);
    for (int i = 0; i < 3; i++) talk_ask_free(&asked[i]);
    CHECK(blocks.made == 3 && blocks.live == 0);
    CHECK(talk_server_answer_close(asked[2].as.lines.next) == DUO_OK);
}

TEST(ready)
{
    struct pair pairs[KINDS];
    for (int kind = 0; kind < KINDS; kind++) begin(&pairs[kind], kind);
    static const size_t sets[][KINDS] = {{1}, {2}, {1, 0}, {2, 0}, {2, 1}, {2, 0, 1}};
    static const size_t sizes[] = {1, 1, 2, 2, 2, 3};
    for (size_t i = 0; i < 6; i++) {
        by_select(pairs, sets[i], sizes[i]);
        by_set(pairs, sets[i], sizes[i], false);
        by_set(pairs, sets[i], sizes[i], true);
        interrupted(pairs, sets[i], sizes[i]);
        given(pairs, sets[i], sizes[i]);
        canceled(pairs, sets[i], sizes[i]);
    }
    canceled_beginnings();
    for (int kind = 0; kind < KINDS; kind++) {
        canceled_sends(kind, false);
        canceled_sends(kind, true);
        own_memory(kind);
        duo_status status = talk_client_ask_close(pairs[kind].client);
        if (status != DUO_OK) fprintf(stderr, "%s: %s\n", names[kind], duo_status_text(status));
        CHECK(status == DUO_OK);
        talk_ask_t asked;
        CHECK(talk_server_ask_recv(pairs[kind].server, &asked) == DUO_CLOSED);
    }
    CHECK(duo_shutdown() == 0);
}
