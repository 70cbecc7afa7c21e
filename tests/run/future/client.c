/* The client of the case: it waits for the value. */
#include "case.h"

duo_status future_case_client(future_text_client_waiting_t waiting, struct transcript *transcript)
{
    future_text_waiting_t got;
    TRY(future_text_client_waiting_recv(waiting, &got));
    EXPECT(got, FUTURE_TEXT_WAITING_COMPLETED);
    transcript_line(transcript, "client <- completed(%s)",
                    quoted(transcript, got.as.completed.value));
    future_text_waiting_free(&got);
    return DUO_OK;
}
