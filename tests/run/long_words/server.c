/* The server of the case: it returns long words. */
#include <inttypes.h>

#include "case.h"

enum { MOST = 16 };

static bool is_word(duo_str word, uint64_t n)
{
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] != (char)('a' + (7 * i + n) % 26)) return false;
    return true;
}

duo_status long_words_case_server(word_count_server_counting_t counting, struct transcript *transcript)
{
    /* The received messages are kept, since the words are inside them. */
    word_count_counting_t kept[MOST], got;
    size_t size = 0;
    for (;;) {
        TRY(word_count_server_counting_recv(counting, &got));
        if (got.tag == WORD_COUNT_COUNTING_DONE) break;
        EXPECT(got, WORD_COUNT_COUNTING_COUNT);
        duo_str word = got.as.count.value_0;
        transcript_line(transcript, "server <- %s(%zu, %" PRIu64 ")",
                        is_word(word, got.as.count.value_1) ? "count" : "another word", word.size,
                        got.as.count.value_1);
        counting = got.as.count.next;
        if (size == MOST) return DUO_NO_MEMORY;
        kept[size++] = got;
    }
    transcript_line(transcript, "server <- done");
    word_count_server_totals_t telling = got.as.done.next;
    for (size_t i = 0; i < size; i++) {
        TRY(word_count_server_totals_send_total(telling, kept[i].as.count.value_0,
                                                kept[i].as.count.value_1, &telling));
        word_count_counting_free(&kept[i]);
    }
    return word_count_server_totals_send_end(telling);
}
