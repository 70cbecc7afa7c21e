/*
 * Of the first bytes of a message only the tag counts: a copy may have anything in the others. Under `-fshort-enums`
 * most of them are not part of the tag.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "handles.h"
#include "payloads.h"

/* Fills the bytes between the tag and the block. */
static void spoil(payloads_start_t *message)
{
    char *first = (char *)message + sizeof message->tag;
    memset(first, 0xa5, offsetof(payloads_start_t, block) - sizeof message->tag);
}

int main(void)
{
    payloads_server_start_t server;
    payloads_client_start_t client;
    payloads_start_t got;
    CHECK(payloads_init(&server, &client) == DUO_OK);

    carried_t items[3] = {{.tag = CARRIED_HELD}, {.tag = CARRIED_NOTHING}, {.tag = CARRIED_HELD}};
    items[0].as.held.handle = handle_new();
    items[2].as.held.handle = handle_new();
    CHECK(payloads_client_start_send_carried(client, (duo_list_carried_t){items, 3}, &client) == DUO_OK);
    CHECK(payloads_server_start_recv(server, &got) == DUO_OK);
    CHECK(got.tag == PAYLOADS_START_CARRIED);
    server = got.as.carried.next;
    CHECK(handles_alive() == 2);
    spoil(&got);
    payloads_start_free(&got);
    CHECK(handles_alive() == 0);
    /* There is nothing left to free. */
    spoil(&got);
    payloads_start_free(&got);

    /* Where no message was received there is nothing to free, whatever was there before. */
    memset(&got, 0xa5, sizeof got);
    CHECK(payloads_server_start_try_recv(server, &got) == DUO_EMPTY);
    payloads_start_free(&got);
    CHECK(payloads_client_start_send_end(client) == DUO_OK);
    CHECK(payloads_server_start_recv(server, &got) == DUO_OK);
    CHECK(got.tag == PAYLOADS_START_END);
    return 0;
}
