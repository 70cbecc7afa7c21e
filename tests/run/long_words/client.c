/* The client of the case: it has the server return long words. */
#include <inttypes.h>
#include <stdlib.h>

#include "case.h"

enum { LONGEST = 1000000 };

static bool is_word(duo_str word, uint64_t n)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] != (char)('a' + (7 * i + n) % 26)) return false;
    return true;
}

duo_status long_words_case_client(word_count_client_counting_t counting, struct transcript *transcript)
{
    static const size_t SIZES[] = {10000, 20000, 70000, 500000, LONGEST, LONGEST, LONGEST, LONGEST};
    char *letters = malloc(LONGEST);
    if (letters == NULL) return DUO_NO_MEMORY;
    for (uint64_t n = 0; n < sizeof SIZES / sizeof *SIZES; n++) {
        for (size_t i = 0; i < SIZES[n]; i++) letters[i] = (char)('a' + (7 * i + n) % 26);
        duo_str word = {letters, SIZES[n]};
        TRY(word_count_client_counting_send_count(counting, word, n, &counting));
    }
    free(letters);
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
        duo_str word = got.as.total.value_0;
        transcript_line(transcript, "client <- %s(%zu, %" PRIu64 ")",
                        is_word(word, got.as.total.value_1) ? "total" : "another word", word.size,
                        got.as.total.value_1);
        totals = got.as.total.next;
        word_count_totals_free(&got);
    }
}
