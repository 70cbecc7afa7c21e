/* Limits of protocols: a sender gets an error, and a receiver refuses what a peer without limits sends. */
#include <unistd.h>

#include "bounded_entries_net.h"
#include "bounded_net.h"
#include "bounded_shm.h"
#include "bounded_texts_net.h"
#include "child.h"
#include "meet.h"
#include "raw.h"
#include "unbounded_entries_net.h"
#include "unbounded_net.h"
#include "unbounded_shm.h"
#include "unbounded_texts_net.h"

static const char address[] = "unix:limits.sock";

/* The handshake may take longer than it does on a busy machine. */
static const duo_net_options patient = {.hello = UINT64_C(120000000000)};

/* Both sides of a session, whose versions have other limits. */
static void begin(const duo_wire_protocol *connecting, duo_endpoint *client, const duo_wire_protocol *accepting, duo_endpoint *server)
{
    meeting connects = {.protocol = connecting, .role = DUO_CLIENT, .options = &patient};
    meeting accepts = {.protocol = accepting, .role = DUO_SERVER, .options = &patient};
    meet(&connects, &accepts);
    CHECK(connects.status == DUO_OK && accepts.status == DUO_OK);
    *client = connects.endpoint;
    *server = accepts.endpoint;
}

static unbounded_client_open_t wide;

static void *greet(void *context)
{
    unbounded_client_open_t client;
    (void)context;
    CHECK(unbounded_client_connect("unix:greeting.sock", &patient, &client) != DUO_OK);
    return NULL;
}

/* Sends what the receiver's limits do not allow. */
static duo_status send_too_much(int which)
{
    duo_str many[] = {DUO_STR("1234"), DUO_STR("1234"), DUO_STR("")};
    duo_str large[] = {DUO_STR("12345")};
    duo_bytes bytes = {(const void *)"1234", 4};
    free_entry_t entry = {DUO_STR("12345678"), {many, 2}};
    switch (which) {
    case 0: entry.title = DUO_STR("123456789"); break;
    case 1: entry.tags.size = 3; break;
    case 2:
        entry.tags.data = large;
        entry.tags.size = 1;
        break;
    case 3: return unbounded_client_open_send_attach(wide, bytes, &wide);
    default: return unbounded_client_open_send_name(wide, DUO_STR("123456"), &wide);
    }
    return unbounded_client_open_send_append(wide, entry, &wide);
}

static void receivers(void)
{
    bounded_open_t message;
    for (int which = 0; which < 5; which++) {
        bounded_server_open_t server;
        begin(&duo_wire_of_unbounded, &wide.sends, &duo_wire_of_bounded, &server.receives);
        CHECK(send_too_much(which) == DUO_OK);
        CHECK(bounded_server_open_recv(server, &message) == DUO_BROKEN);
        (void)unbounded_client_open_close(wide);
    }
}

static int excess;

static void send_in_memory(int region)
{
    CHECK(unbounded_client_attach(region, NULL, &wide) == DUO_OK);
    CHECK(send_too_much(excess) == DUO_OK);
    (void)unbounded_client_open_close(wide);
}

/* The same in shared memory, from a process whose protocol has no limits. */
static void receivers_in_memory(void)
{
    bounded_open_t message;
    bounded_server_open_t server;
    for (excess = 0; excess < 5; excess++) {
        int region = region_of(0);
        pid_t child = start_child(send_in_memory, region);
        CHECK(bounded_server_attach(region, NULL, &server) == DUO_OK);
        CHECK(bounded_server_open_recv(server, &message) == DUO_BROKEN);
        finish_child(child);
        close(region);
    }
}

static void senders(void)
{
    bounded_open_t message;
    bounded_client_open_t narrow;
    bounded_server_open_t server;
    begin(&duo_wire_of_bounded, &narrow.sends, &duo_wire_of_bounded, &server.receives);
    duo_bytes three = {(const void *)"123", 3}, four = {(const void *)"1234", 4};
    entry_t entry = {DUO_STR("123456789"), {NULL, 0}};
    CHECK(bounded_client_open_send_append(narrow, entry, &narrow) == DUO_TOO_LARGE);
    CHECK(bounded_client_open_send_name(narrow, DUO_STR("123456"), &narrow) == DUO_TOO_LARGE);
    CHECK(bounded_client_open_send_attach(narrow, four, &narrow) == DUO_TOO_LARGE);
    /* The session goes on, and nothing of those was sent. */
    CHECK(bounded_client_open_send_attach(narrow, three, &narrow) == DUO_OK);
    CHECK(bounded_server_open_recv(server, &message) == DUO_OK);
    CHECK(message.tag == BOUNDED_OPEN_ATTACH && message.as.attach.value.size == 3);
    server = message.as.attach.next;
    bounded_open_free(&message);
    (void)bounded_client_open_close(narrow);
    CHECK(bounded_server_open_recv(server, &message) == DUO_CLOSED);
}

/* The greeting of a client, as the system carries it. */
static size_t greeting(uint8_t *bytes, size_t room)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "greeting.sock"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)unlink(at.sun_path);
    CHECK(bind(listener, (const struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    pthread_t thread = start(greet, NULL);
    int socket = accept(listener, NULL, NULL);
    ssize_t size = recv(socket, bytes, room, 0);
    CHECK(size > 0);
    CHECK(close(socket) == 0 && close(listener) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return (size_t)size;
}

/* What is announced beyond a limit is refused before any of it has arrived: after `at_most`, and after a bound. */
static void announced(void)
{
    static const char *const frames[] = {"02 05", "03 07"};
    uint8_t bytes[512];
    size_t size = greeting(bytes, sizeof bytes);
    for (int which = 0; which < 2; which++) {
        duo_listener *listener;
        bounded_server_open_t server;
        bounded_open_t message;
        CHECK(duo_listen(address, &patient, &listener) == DUO_OK);
        int raw = raw_connect(address);
        raw_send(raw, bytes, size);
        CHECK(bounded_server_accept(listener, DUO_FOREVER, &server) == DUO_OK);
        raw_send_hex(raw, frames[which]);
        CHECK(bounded_server_open_recv_within(server, UINT64_C(120000000000), &message) == DUO_BROKEN);
        CHECK(close(raw) == 0);
        duo_listener_close(listener);
    }
}

/* Limits where type parameters have arguments. */
static void arguments(void)
{
    unbounded_texts_client_items_t wide_texts;
    unbounded_entries_client_items_t wide_entries;
    bounded_texts_server_items_t texts;
    bounded_entries_server_items_t entries;
    bounded_texts_items_t text;
    bounded_entries_items_t entry;
    duo_str three[] = {DUO_STR(""), DUO_STR(""), DUO_STR("")};
    for (int which = 0; which < 3; which++) {
        begin(&duo_wire_of_unbounded_texts, &wide_texts.sends, &duo_wire_of_bounded_texts, &texts.receives);
        duo_list_str_t many = {three, which == 2 ? 3 : 2};
        duo_str item = which == 1 ? DUO_STR("123456") : DUO_STR("12345");
        duo_status sent = which == 2 ? unbounded_texts_client_items_send_many(wide_texts, many, &wide_texts)
                                     : unbounded_texts_client_items_send_item(wide_texts, item, &wide_texts);
        CHECK(sent == DUO_OK);
        CHECK(DUO_FLUSH(wide_texts) == DUO_OK);
        duo_status expected = which == 0 ? DUO_OK : DUO_BROKEN;
        CHECK(bounded_texts_server_items_recv(texts, &text) == expected);
        if (expected == DUO_OK) {
            (void)bounded_texts_server_items_close(text.as.item.next);
            bounded_texts_items_free(&text);
        }
        (void)unbounded_texts_client_items_close(wide_texts);
    }
    for (int which = 0; which < 2; which++) {
        begin(&duo_wire_of_unbounded_entries, &wide_entries.sends, &duo_wire_of_bounded_entries, &entries.receives);
        free_entry_t large = {DUO_STR("123456789"), {NULL, 0}};
        duo_list_free_entry_t many = {&large, 1};
        if (which == 0) large.title = DUO_STR("12345678");
        CHECK(unbounded_entries_client_items_send_many(wide_entries, many, &wide_entries) == DUO_OK);
        CHECK(DUO_FLUSH(wide_entries) == DUO_OK);
        duo_status expected = which == 0 ? DUO_OK : DUO_BROKEN;
        CHECK(bounded_entries_server_items_recv(entries, &entry) == expected);
        if (expected == DUO_OK) {
            (void)bounded_entries_server_items_close(entry.as.many.next);
            bounded_entries_items_free(&entry);
        }
        (void)unbounded_entries_client_items_close(wide_entries);
    }
}

TEST(limits)
{
    /* First, because a child of a process with threads has none of them, and the checkers cannot tell what belonged to those. */
    receivers_in_memory();
    receivers();
    senders();
    announced();
    arguments();
}
