/* The server of the case: it receives the only value. */
#include "case.h"

duo_status oneshot_case_server(oneshot_bytes_server_oneshot_t oneshot,
                               struct transcript *transcript)
{
    oneshot_bytes_oneshot_t got;
    TRY(oneshot_bytes_server_oneshot_recv(oneshot, &got));
    EXPECT(got, ONESHOT_BYTES_ONESHOT_SEND);
    transcript_line(transcript, "server <- send(%s)", hex(transcript, got.as.send.value));
    oneshot_bytes_server_done_t done = got.as.send.next;
    oneshot_bytes_oneshot_free(&got);
    return oneshot_bytes_server_done_close(done);
}
