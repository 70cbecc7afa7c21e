/* Limits of protocols: a sender gets an error, and a receiver refuses what a peer without limits sends. */
#include <unistd.h>

#include "bounded_net.h"
#include "check.h"
#include "unbounded_net.h"

static const char address[] = "unix:limits.sock";

static unbounded_client_open_t wide;
static bounded_client_open_t narrow;

static void *connect_wide(void *context)
{
    (void)context;
    CHECK(unbounded_client_connect(address, NULL, &wide) == DUO_OK);
    return NULL;
}

static void *connect_narrow(void *context)
{
    (void)context;
    CHECK(bounded_client_connect(address, NULL, &narrow) == DUO_OK);
    return NULL;
}

static bounded_server_open_t meet(void *(*connect)(void *))
{
    duo_listener *listener;
    bounded_server_open_t server;
    CHECK(duo_listen(address, NULL, &listener) == DUO_OK);
    pthread_t thread = start(connect, NULL);
    CHECK(bounded_server_accept(listener, DUO_FOREVER, &server) == DUO_OK);
    CHECK(pthread_join(thread, NULL) == 0);
    duo_listener_close(listener);
    return server;
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
        bounded_server_open_t server = meet(connect_wide);
        CHECK(send_too_much(which) == DUO_OK);
        CHECK(bounded_server_open_recv(server, &message) == DUO_BROKEN);
        (void)unbounded_client_open_close(wide);
    }
}

static void senders(void)
{
    bounded_open_t message;
    bounded_server_open_t server = meet(connect_narrow);
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

int main(void)
{
    CHECK(chdir(FOLDER) == 0);
    receivers();
    senders();
    return 0;
}
