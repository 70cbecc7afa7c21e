/* What the tests of sessions between processes share: a server that answers. */
#ifndef TALK_H
#define TALK_H

#include <string.h>

#include "child.h"
#include "talk_shm.h"

/* Answers numbers and texts with what was sent, after adding up what arrived without a question. */
static inline void answer_all(talk_server_ask_t server)
{
    uint64_t sum = 0;
    for (;;) {
        talk_ask_t asked;
        talk_server_answer_t answering = {0};
        duo_status status = talk_server_ask_recv(server, &asked);
        if (status == DUO_CLOSED || status == DUO_LOST) return;
        CHECK(status == DUO_OK);
        switch (asked.tag) {
        case TALK_ASK_NUMBER:
            answering = asked.as.number.next;
            status = talk_server_answer_send_number(answering, asked.as.number.value + sum, &server);
            break;
        case TALK_ASK_TEXT:
            answering = asked.as.text.next;
            status = talk_server_answer_send_text(answering, asked.as.text.value, &server);
            break;
        case TALK_ASK_MORE:
            sum += asked.as.more.value;
            server = asked.as.more.next;
            break;
        case TALK_ASK_PAGE:
            sum += asked.as.page.value.size;
            server = asked.as.page.next;
            break;
        case TALK_ASK_LINES:
            for (size_t i = 0; i < asked.as.lines.value.size; i++)
                sum += asked.as.lines.value.data[i].size;
            if (asked.as.lines.at.some) sum += asked.as.lines.at.value.v0;
            status = talk_server_answer_send_number(asked.as.lines.next, sum, &server);
            break;
        case TALK_ASK_TABLE:
            for (size_t i = 0; i < asked.as.table.value.size; i++) sum += asked.as.table.value.data[i];
            status = talk_server_answer_send_number(asked.as.table.next, sum, &server);
            break;
        case TALK_ASK_BLOCK:
            CHECK(asked.block == NULL);
            sum += asked.as.block.value_0 + asked.as.block.value_8;
            status = talk_server_answer_send_number(asked.as.block.next, sum, &server);
            break;
        case TALK_ASK_END: return;
        }
        talk_ask_free(&asked);
        if (status == DUO_CLOSED) return;
        CHECK(status == DUO_OK);
    }
}

static inline void serve(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    answer_all(server);
}

/* Attaches, and is a live peer that reads nothing until it receives SIGCONT. */
static inline void serve_when_told(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    CHECK(raise(SIGSTOP) == 0);
    answer_all(server);
}

/* Attaches, and never answers. */
static inline void serve_nothing(int region)
{
    talk_server_ask_t server;
    CHECK(talk_server_attach(region, NULL, &server) == DUO_OK);
    for (;;) pause();
}

static inline talk_client_ask_t attach_client(int region)
{
    talk_client_ask_t client;
    CHECK(talk_client_attach(region, NULL, &client) == DUO_OK);
    return client;
}

/* The client of a session with a child process that runs this, in a region with this space. */
static inline talk_client_ask_t meet_child(void (*run)(int), size_t space, pid_t *child)
{
    int region = region_of(space);
    *child = start_child(run, region);
    talk_client_ask_t client = attach_client(region);
    close(region);
    return client;
}

/* Ends such a session, and waits for the child. */
static inline void end_talk(talk_client_ask_t client, pid_t child)
{
    CHECK(talk_client_ask_send_end(client) == DUO_OK);
    finish_child(child);
}

/* Asks with a number and checks the answer. */
static inline talk_client_ask_t ask(talk_client_ask_t client, uint64_t number, uint64_t expected)
{
    talk_client_answer_t waiting;
    talk_answer_t answer;
    CHECK(talk_client_ask_send_number(client, number, &waiting) == DUO_OK);
    CHECK(talk_client_answer_recv(waiting, &answer) == DUO_OK);
    CHECK(answer.tag == TALK_ANSWER_NUMBER && answer.as.number.value == expected);
    return answer.as.number.next;
}

#endif
