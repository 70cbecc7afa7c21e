/* A search that never ends, and that its client stops. */
#include <pthread.h>

#include "lookup.h"
#include "stop.h"

static duo_status find(stop_server_armed_t stop, lookup_server_found_t out, lookup_server_idle_t *next)
{
    stop_armed_t stopped;
    duo_status status = DUO_OK;
    for (uint64_t item = 0; status == DUO_OK && stop_server_armed_try_recv(stop, &stopped) == DUO_EMPTY; item++)
        status = lookup_server_found_send_item(out, item, &out);
    return status == DUO_OK ? lookup_server_found_send_done(out, next) : status;
}

static void *serve(void *context)
{
    lookup_server_idle_t *server = context;
    lookup_idle_t asked;
    while (lookup_server_idle_recv(*server, &asked) == DUO_OK) {
        stop_server_armed_t stop = stop_server_armed_take(&lookup_idle_as_find(&asked)->stop);
        lookup_server_found_t out = lookup_idle_as_find(&asked)->next;
        lookup_idle_free(&asked);
        duo_status status = find(stop, out, server);
        stop_server_armed_close(stop);
        if (status != DUO_OK) break;
    }
    return NULL;
}

/* Adds the first items, and stops the search. What was sent meanwhile is received and dropped. */
static duo_status add(lookup_client_idle_t *client, unsigned count, uint64_t *sum)
{
    stop_server_armed_t stopped = {0};
    stop_client_armed_t stop = {0};
    lookup_client_found_t found = {0};
    lookup_found_t got;
    duo_status status = stop_init(&stopped, &stop);
    if (status == DUO_OK) status = lookup_client_idle_send_find(*client, DUO_STR("numbers"), stopped, &found);
    while (status == DUO_OK && (status = lookup_client_found_recv(found, &got)) == DUO_OK) {
        switch (got.tag) {
        case LOOKUP_FOUND_ITEM:
            found = got.as.item.next;
            if (count > 0)
                count--, *sum += got.as.item.value;
            else
                stop_client_armed_close(stop);
            break;
        case LOOKUP_FOUND_DONE: *client = got.as.done.next; return DUO_OK;
        }
    }
    return status;
}

int main(void)
{
    lookup_server_idle_t server = {0};
    lookup_client_idle_t client = {0};
    uint64_t sum = 0;
    pthread_t thread;
    duo_status status = lookup_init(&server, &client);
    if (status != DUO_OK || pthread_create(&thread, NULL, serve, &server) != 0) return 1;
    status = add(&client, 4, &sum);
    if (status == DUO_OK) status = add(&client, 3, &sum);
    lookup_client_idle_close(client);
    pthread_join(thread, NULL);
    return status == DUO_OK && sum == 0 + 1 + 2 + 3 + 0 + 1 + 2 ? 0 : 2;
}
