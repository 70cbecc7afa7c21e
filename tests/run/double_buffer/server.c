/* The server of the case: it shows one buffer while the other one is filled. */
#include "case.h"

static struct pixels *two_zeroes(void)
{
    struct pixels *pixels = calloc(1, sizeof *pixels);
    if (pixels == NULL) abort();
    pixels->size = 2;
    pixels->bytes = calloc(2, 1);
    if (pixels->bytes == NULL) abort();
    return pixels;
}

duo_status double_buffer_case_server(double_buffer_server_acquire_t acquire,
                                     struct transcript *transcript)
{
    struct pixels *shown = two_zeroes();
    struct pixels *hidden = two_zeroes();
    for (;;) {
        double_buffer_acquire_t wish;
        TRY(double_buffer_server_acquire_recv(acquire, &wish));
        if (wish.tag == DOUBLE_BUFFER_ACQUIRE_FINISH) break;
        EXPECT(wish, DOUBLE_BUFFER_ACQUIRE_REQUEST);
        transcript_line(transcript, "server <- request");
        double_buffer_server_release_t waiting;
        double_buffer_release_t back;
        TRY(double_buffer_server_wait_buffer_send_give_buffer(wish.as.request.next, hidden,
                                                              &waiting));
        TRY(double_buffer_server_release_recv(waiting, &back));
        EXPECT(back, DOUBLE_BUFFER_RELEASE_RELEASE);
        acquire = back.as.release.next;
        hidden = shown;
        shown = buffer_take(&back.as.release.buffer);
        double_buffer_release_free(&back);
        transcript_line(transcript, "server <- release(%s)",
                        hex(transcript, (duo_bytes){shown->bytes, shown->size}));
    }
    transcript_line(transcript, "server <- finish");
    pixels_free(shown);
    pixels_free(hidden);
    return DUO_OK;
}
