/* The server of the case: first in, first out. */
#include "case.h"

enum { MOST = 16 };

duo_status work_queue_case_server(work_queue_server_idle_t idle, struct transcript *transcript)
{
    ticket queue[MOST];
    size_t first = 0;
    size_t last = 0;
    for (;;) {
        work_queue_idle_t wish;
        TRY(work_queue_server_idle_recv(idle, &wish));
        switch (wish.tag) {
        case WORK_QUEUE_IDLE_PUSH:
            transcript_line(transcript, "server <- push(ticket %u)", wish.as.push.ticket.id);
            idle = wish.as.push.next;
            if (last == MOST) return DUO_NO_MEMORY;
            queue[last++] = wish.as.push.ticket;
            break;
        case WORK_QUEUE_IDLE_POP:
            transcript_line(transcript, "server <- pop");
            if (first < last)
                TRY(work_queue_server_popped_send_ticket(wish.as.pop.next, queue[first++], &idle));
            else
                TRY(work_queue_server_popped_send_empty(wish.as.pop.next, &idle));
            break;
        case WORK_QUEUE_IDLE_CLOSE:
            transcript_line(transcript, "server <- close");
            return DUO_OK;
        }
    }
}
