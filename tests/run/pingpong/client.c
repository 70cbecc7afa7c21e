/* The client of the case: three rounds, then it closes the session. */
#include "case.h"

duo_status pingpong_case_client(pingpong_client_ping_t ping, struct transcript *transcript)
{
    for (int i = 0; i < 3; i++) {
        pingpong_client_pong_t waiting;
        pingpong_pong_t got;
        TRY(pingpong_client_ping_send_ping(ping, &waiting));
        TRY(pingpong_client_pong_recv(waiting, &got));
        EXPECT(got, PINGPONG_PONG_PONG);
        transcript_line(transcript, "client <- pong");
        ping = got.as.pong.next;
    }
    return pingpong_client_ping_close(ping);
}
