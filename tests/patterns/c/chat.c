/* A chat room on one thread: each user may speak at any time, and hears what all say. */
#include <pthread.h>
#include <string.h>

#include "chat.h"
#include "duologue/ready.h"
#include "lines.h"

enum { USERS = 2 };

typedef struct user {
    chat_server_joining_t joining;
    bool has_joined;
    chat_server_open_t says;
    lines_client_open_t hears;
} user;

/* Sends a line to each user. The endpoint of one that has disconnected counts as used, and later sends change nothing. */
static size_t broadcast(user *users, duo_str line)
{
    size_t reached = 0;
    for (user *to = users; to < users + USERS; to++)
        if (lines_client_open_send_line(to->hears, line, &to->hears) == DUO_OK) reached++;
    return reached;
}

static duo_status join(user *from)
{
    chat_joining_t joined;
    duo_status status = chat_server_joining_recv(from->joining, &joined);
    if (status != DUO_OK) return status;
    from->hears = lines_client_open_take(&chat_joining_as_join(&joined)->hears);
    from->says = chat_joining_as_join(&joined)->next;
    from->has_joined = true;
    chat_joining_free(&joined);
    return DUO_OK;
}

/* Receives from a user that is ready. Not DUO_OK if it has left. */
static duo_status hear(user *from, user *users)
{
    chat_open_t said;
    if (!from->has_joined) return join(from);
    duo_status status = chat_server_open_recv(from->says, &said);
    if (status == DUO_OK && said.tag == CHAT_OPEN_SAY) {
        (void)broadcast(users, chat_open_as_say(&said)->value);
        from->says = chat_open_as_say(&said)->next;
        chat_open_free(&said);
        return DUO_OK;
    }
    lines_client_open_close(from->hears);
    return DUO_CLOSED;
}

static void *room(void *context)
{
    user *users = context;
    duo_ports *ports = duo_ports_new();
    void *ready;
    for (user *from = users; from < users + USERS; from++)
        if (duo_ports_add(ports, DUO_READY(from->joining), from, NULL) != DUO_OK) return context;
    while (duo_ports_wait(ports, DUO_FOREVER, &ready) == DUO_OK) {
        user *from = ready;
        if (hear(from, users) != DUO_OK) continue;
        if (duo_ports_add(ports, DUO_READY(from->says), from, NULL) != DUO_OK) return context;
    }
    duo_ports_free(ports);
    return NULL;
}

/* Joins the room. The user has two endpoints then: one to say, and one to hear. */
static duo_status enter(chat_client_joining_t self, const char *name, lines_server_open_t *hears, chat_client_open_t *says)
{
    lines_client_open_t speaks = {0};
    const duo_str text = {name, strlen(name)};
    duo_status status = lines_init(hears, &speaks);
    if (status == DUO_OK) status = chat_client_joining_send_join(self, text, speaks, says);
    return status;
}

int main(void)
{
    user users[USERS] = {0};
    chat_client_joining_t clients[USERS];
    chat_client_open_t says[USERS];
    lines_server_open_t hears[USERS];
    const char *const names[USERS] = {"ann", "ben"};
    pthread_t thread;
    duo_status status = DUO_OK;
    void *failed;
    for (int i = 0; i < USERS && status == DUO_OK; i++) status = chat_init(&users[i].joining, &clients[i]);
    for (int i = 0; i < USERS && status == DUO_OK; i++) status = enter(clients[i], names[i], &hears[i], &says[i]);
    if (status != DUO_OK || pthread_create(&thread, NULL, room, users) != 0) return 1;

    /* Both speak, and neither waits for the other. */
    for (int i = 0; i < USERS && status == DUO_OK; i++)
        status = chat_client_open_send_say(says[i], DUO_STR("hello"), &says[i]);
    for (int i = 0; i < USERS && status == DUO_OK; i++) {
        lines_open_t line;
        status = lines_server_open_recv(hears[0], &line);
        if (status != DUO_OK) break;
        hears[0] = lines_open_as_line(&line)->next;
        if (!duo_str_equal(lines_open_as_line(&line)->value, DUO_STR("hello"))) return 2;
        lines_open_free(&line);
    }
    if (status == DUO_OK) status = chat_client_open_send_leave(says[0]);
    chat_client_open_close(says[1]);
    lines_server_open_close(hears[0]);
    lines_server_open_close(hears[1]);
    return pthread_join(thread, &failed) == 0 && failed == NULL && status == DUO_OK ? 0 : 3;
}
