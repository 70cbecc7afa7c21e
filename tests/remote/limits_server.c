/*
 * `limits_server server limits ADDRESS`: receives what limits_client.c sends. Its code is generated from narrow.proto and
 * timed.proto.
 */
#include <stdio.h>
#include <unistd.h>

#include "journal_net.h"
#include "limits_cases.h"
#include "visit_net.h"

static duo_status answer(duo_listener *listener)
{
    journal_server_open_t open;
    journal_open_t message;
    TRY(journal_server_accept(listener, DUO_FOREVER, &open));
    for (;;) {
        journal_server_answered_t asked;
        narrow_answer_t nothing = {.tag = NARROW_ANSWER_NOTE, .as.note.text.some = false};
        TRY(journal_server_open_recv(open, &message));
        switch (message.tag) {
        case JOURNAL_OPEN_APPEND: open = message.as.append.next; break;
        case JOURNAL_OPEN_ATTACH: open = message.as.attach.next; break;
        case JOURNAL_OPEN_NAME: open = message.as.name.next; break;
        case JOURNAL_OPEN_LOOK_UP:
            asked = message.as.look_up.next;
            TRY(journal_server_answered_send_answered(asked, nothing, &open));
            break;
        case JOURNAL_OPEN_CLOSE: return DUO_OK;
        }
        journal_open_free(&message);
    }
}

static duo_status hurry(duo_listener *listener)
{
    visit_server_choose_t choose;
    visit_choose_t chosen;
    visit_quick_t message;
    TRY(visit_server_accept(listener, DUO_FOREVER, &choose));
    TRY(visit_server_choose_recv(choose, &chosen));
    if (chosen.tag != VISIT_CHOOSE_HURRY) return DUO_BROKEN;
    return visit_server_quick_recv(chosen.as.hurry.next, &message);
}

int main(int argc, char **argv)
{
    duo_listener *listener;
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4 || duo_listen(argv[3], NULL, &listener) != DUO_OK) return 2;
    printf("listening %s\n", duo_listener_address(listener));
    for (unsigned what = 0; what < CASES; what++) report(what, answer(listener));
    report(LATE, hurry(listener));
    duo_listener_close(listener);
    return 0;
}
