/* The server of the case: three rounds, then it finds the session closed. */
#include "case.h"

duo_status pingpong_case_server(pingpong_server_ping_t waiting, struct transcript *transcript)
{
    pingpong_ping_t got;
    for (int i = 0; i < 3; i++) {
        TRY(pingpong_server_ping_recv(waiting, &got));
        EXPECT(got, PINGPONG_PING_PING);
        transcript_line(transcript, "server <- ping");
        TRY(pingpong_server_pong_send_pong(got.as.ping.next, &waiting));
    }
    EXPECT_CLOSED(pingpong_server_ping_recv(waiting, &got));
    transcript_line(transcript, "server <- closed");
    return DUO_OK;
}
