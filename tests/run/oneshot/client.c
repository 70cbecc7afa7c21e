/* The client of the case: it sends its only value. */
#include "case.h"

duo_status oneshot_case_client(oneshot_bytes_client_oneshot_t oneshot,
                               struct transcript *transcript)
{
    (void)transcript;
    static const uint8_t BYTES[] = {0x00, 0x01, 0xfe, 0xff};
    oneshot_bytes_client_done_t done;
    TRY(oneshot_bytes_client_oneshot_send_send(oneshot, (duo_bytes){BYTES, sizeof BYTES}, &done));
    return oneshot_bytes_client_done_close(done);
}
