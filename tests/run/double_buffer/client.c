/* The client of the case: it draws three pictures. */
#include <string.h>

#include "case.h"

duo_status double_buffer_case_client(double_buffer_client_acquire_t acquire,
                                     struct transcript *transcript)
{
    for (int n = 1; n <= 3; n++) {
        double_buffer_client_wait_buffer_t waiting;
        double_buffer_wait_buffer_t given;
        TRY(double_buffer_client_acquire_send_request(acquire, &waiting));
        TRY(double_buffer_client_wait_buffer_recv(waiting, &given));
        EXPECT(given, DOUBLE_BUFFER_WAIT_BUFFER_GIVE_BUFFER);
        /* Once it has been taken out of the message, the buffer belongs to this program. */
        double_buffer_client_release_t release = given.as.give_buffer.next;
        struct pixels *buffer = buffer_take(&given.as.give_buffer.buffer);
        double_buffer_wait_buffer_free(&given);
        transcript_line(transcript, "client <- give_buffer(%s)",
                        hex(transcript, (duo_bytes){buffer->bytes, buffer->size}));
        memset(buffer->bytes, n, buffer->size);
        TRY(double_buffer_client_release_send_release(release, buffer, &acquire));
    }
    return double_buffer_client_acquire_send_finish(acquire);
}
