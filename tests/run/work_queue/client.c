/* The client of the case: two tickets go in, two come out. */
#include "case.h"

static duo_status pop(work_queue_client_idle_t *idle, struct transcript *transcript)
{
    work_queue_client_popped_t waiting;
    work_queue_popped_t got;
    TRY(work_queue_client_idle_send_pop(*idle, &waiting));
    TRY(work_queue_client_popped_recv(waiting, &got));
    switch (got.tag) {
    case WORK_QUEUE_POPPED_TICKET:
        transcript_line(transcript, "client <- ticket(ticket %u)", got.as.ticket.ticket.id);
        *idle = got.as.ticket.next;
        break;
    case WORK_QUEUE_POPPED_EMPTY:
        transcript_line(transcript, "client <- empty");
        *idle = got.as.empty.next;
        break;
    }
    return DUO_OK;
}

duo_status work_queue_case_client(work_queue_client_idle_t idle, struct transcript *transcript)
{
    TRY(work_queue_client_idle_send_push(idle, (ticket){7}, &idle));
    TRY(work_queue_client_idle_send_push(idle, (ticket){8}, &idle));
    for (int i = 0; i < 3; i++) TRY(pop(&idle, transcript));
    return work_queue_client_idle_send_close(idle);
}
