/* The client of the case: it hands two calculator sessions to the server. */
#include <inttypes.h>

#include "case.h"

duo_status switchboard_case_client(switchboard_client_open_t open, struct transcript *transcript)
{
    for (int64_t n = 1; n <= 2; n++) {
        calculator_server_ready_t served;
        calculator_client_ready_t sums;
        calculator_client_answer_t waiting;
        calculator_answer_t answer;
        TRY(calculator_init(&served, &sums));
        TRY(switchboard_client_open_send_connect(open, served, &open));
        TRY(calculator_client_ready_send_negate(sums, n, &waiting));
        TRY(calculator_client_answer_recv(waiting, &answer));
        EXPECT(answer, CALCULATOR_ANSWER_RESULT);
        transcript_line(transcript, "client <- result(%" PRId64 ")", answer.as.result.value);
        TRY(calculator_client_ready_send_quit(answer.as.result.next));
    }
    return switchboard_client_open_send_shut(open);
}
