/* The client of the case: it waits for a value that never comes. */
#include "case.h"

duo_status future_broken_case_client(future_text_client_waiting_t waiting,
                                     struct transcript *transcript)
{
    future_text_waiting_t got;
    EXPECT_CLOSED(future_text_client_waiting_recv(waiting, &got));
    transcript_line(transcript, "client <- closed");
    return DUO_OK;
}
