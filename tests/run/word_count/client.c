/* The client of the case: it has the server count five words. */
#include <inttypes.h>

#include "case.h"

duo_status word_count_case_client(word_count_client_counting_t counting,
                                  struct transcript *transcript)
{
    static const char *const WORDS[] = {"the", "cat", "and", "the", "hat"};
    for (int i = 0; i < 5; i++)
        TRY(word_count_client_counting_send_count(counting, duo_str_from(WORDS[i]), 1, &counting));
    word_count_client_totals_t totals;
    TRY(word_count_client_counting_send_done(counting, &totals));
    for (;;) {
        word_count_totals_t got;
        TRY(word_count_client_totals_recv(totals, &got));
        if (got.tag == WORD_COUNT_TOTALS_END) {
            transcript_line(transcript, "client <- end");
            return DUO_OK;
        }
        EXPECT(got, WORD_COUNT_TOTALS_TOTAL);
        transcript_line(transcript, "client <- total(%s, %" PRIu64 ")",
                        quoted(transcript, got.as.total.value_0), got.as.total.value_1);
        totals = got.as.total.next;
        word_count_totals_free(&got);
    }
}
