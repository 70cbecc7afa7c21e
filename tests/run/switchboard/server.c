/* The server of the case: it serves each session that it is given. */
#include <inttypes.h>

#include "case.h"

static duo_status serve(calculator_server_ready_t session, struct transcript *transcript)
{
    calculator_ready_t wish;
    TRY(calculator_server_ready_recv(session, &wish));
    EXPECT(wish, CALCULATOR_READY_NEGATE);
    int64_t n = wish.as.negate.value;
    transcript_line(transcript, "server <- negate(%" PRId64 ")", n);
    TRY(calculator_server_answer_send_result(wish.as.negate.next, -n, &session));
    TRY(calculator_server_ready_recv(session, &wish));
    EXPECT(wish, CALCULATOR_READY_QUIT);
    transcript_line(transcript, "server <- quit");
    return DUO_OK;
}

duo_status switchboard_case_server(switchboard_server_open_t open, struct transcript *transcript)
{
    for (;;) {
        switchboard_open_t wish;
        TRY(switchboard_server_open_recv(open, &wish));
        switch (wish.tag) {
        case SWITCHBOARD_OPEN_CONNECT:
            transcript_line(transcript, "server <- connect(<calculator.server.ready>)");
            open = wish.as.connect.next;
            TRY(serve(calculator_server_ready_take(&wish.as.connect.session), transcript));
            switchboard_open_free(&wish);
            break;
        case SWITCHBOARD_OPEN_SHUT:
            transcript_line(transcript, "server <- shut");
            return DUO_OK;
        }
    }
}
