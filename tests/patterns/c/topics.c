/* A hub that passes on what is published under a topic. */
#include <pthread.h>
#include <string.h>

#include "lines.h"
#include "topics.h"

enum { MOST = 8 };

typedef struct subscription {
    char topic[16];
    lines_client_open_t to;
} subscription;

static bool is_about(const subscription *one, duo_str topic)
{
    const duo_str own = {one->topic, strlen(one->topic)};
    return duo_str_equal(own, topic);
}

/* Sends to the subscribers of a topic, and forgets those that have disconnected. */
static size_t publish(subscription *all, size_t count, duo_str topic, duo_str text)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_about(&all[i], topic) && lines_client_open_send_line(all[i].to, text, &all[i].to) != DUO_OK) continue;
        all[kept++] = all[i];
    }
    return kept;
}

/* Refuses a subscription that does not fit: its subscriber finds the session closed. */
static size_t subscribe(subscription *all, size_t count, duo_str topic, lines_client_open_t to)
{
    if (count == MOST || topic.size >= sizeof all[count].topic) {
        lines_client_open_close(to);
        return count;
    }
    memset(all[count].topic, 0, sizeof all[count].topic);
    memcpy(all[count].topic, topic.data, topic.size);
    all[count].to = to;
    return count + 1;
}

static void *hub(void *context)
{
    topics_server_open_t *inbox = context;
    subscription all[MOST];
    size_t count = 0;
    topics_open_t got;
    while (topics_server_open_recv(*inbox, &got) == DUO_OK) {
        switch (got.tag) {
        case TOPICS_OPEN_SUBSCRIBE:
            count = subscribe(all, count, got.as.subscribe.topic, lines_client_open_take(&got.as.subscribe.to));
            *inbox = got.as.subscribe.next;
            break;
        case TOPICS_OPEN_PUBLISH:
            count = publish(all, count, got.as.publish.topic, got.as.publish.text);
            *inbox = got.as.publish.next;
            break;
        }
        topics_open_free(&got);
    }
    while (count > 0) lines_client_open_close(all[--count].to);
    return NULL;
}

int main(void)
{
    topics_server_open_t server = {0};
    topics_client_open_t client = {0};
    topics_client_open_shared_t publisher;
    lines_server_open_t news = {0};
    lines_client_open_t to = {0};
    lines_open_t line;
    pthread_t thread;
    if (topics_init(&server, &client) != DUO_OK || lines_init(&news, &to) != DUO_OK) return 1;
    if (pthread_create(&thread, NULL, hub, &server) != 0) return 1;
    duo_status status = topics_client_open_share(client, &publisher);
    if (status == DUO_OK) status = topics_client_open_shared_send_subscribe(publisher, DUO_STR("news"), to);
    if (status == DUO_OK)
        status = topics_client_open_shared_send_publish(publisher, DUO_STR("weather"), DUO_STR("rain"));
    if (status == DUO_OK)
        status = topics_client_open_shared_send_publish(publisher, DUO_STR("news"), DUO_STR("a bridge opens"));
    if (status == DUO_OK) status = lines_server_open_recv(news, &line);
    if (status != DUO_OK) return 2;
    bool is_right = duo_str_equal(line.as.line.value, DUO_STR("a bridge opens"));
    /* Closing the session ends the subscription. */
    lines_server_open_close(line.as.line.next);
    lines_open_free(&line);
    status = topics_client_open_shared_send_publish(publisher, DUO_STR("news"), DUO_STR("nobody hears this"));
    topics_client_open_shared_release(publisher);
    pthread_join(thread, NULL);
    return is_right && status == DUO_OK ? 0 : 3;
}
