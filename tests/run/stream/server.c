/* The server of the case: it receives four numbers, then finds the session closed. */
#include <inttypes.h>

#include "case.h"

duo_status stream_case_server(numbers_server_stream_t in, struct transcript *transcript)
{
    numbers_stream_t got;
    for (int i = 0; i < 4; i++) {
        TRY(numbers_server_stream_recv(in, &got));
        EXPECT(got, NUMBERS_STREAM_SEND);
        transcript_line(transcript, "server <- send(%" PRIu64 ")", got.as.send.value);
        in = got.as.send.next;
    }
    EXPECT_CLOSED(numbers_server_stream_recv(in, &got));
    transcript_line(transcript, "server <- closed");
    return DUO_OK;
}
