/* The server of the case: it breaks its promise. */
#include "case.h"

duo_status future_broken_case_server(future_text_server_waiting_t waiting,
                                     struct transcript *transcript)
{
    (void)transcript;
    return future_text_server_waiting_close(waiting);
}
