/* The server of the case: it reads what is posted. */
#include "case.h"

duo_status relay_case_server(relay_text_server_board_t board, struct transcript *transcript)
{
    for (;;) {
        relay_text_board_t got;
        TRY(relay_text_server_board_recv(board, &got));
        if (got.tag == RELAY_TEXT_BOARD_CLOSE) {
            transcript_line(transcript, "server <- close");
            return DUO_OK;
        }
        EXPECT(got, RELAY_TEXT_BOARD_POST);
        transcript_line(transcript, "server <- post(%s)", quoted(transcript, got.as.post.value));
        board = got.as.post.next;
        relay_text_board_free(&got);
    }
}
