/* The client of the case: it sends four numbers, then closes the session. */
#include "case.h"

duo_status stream_case_client(numbers_client_stream_t out, struct transcript *transcript)
{
    (void)transcript;
    static const uint64_t NUMBERS[] = {1, 2, 3, UINT64_MAX};
    for (int i = 0; i < 4; i++) TRY(numbers_client_stream_send_send(out, NUMBERS[i], &out));
    return numbers_client_stream_close(out);
}
