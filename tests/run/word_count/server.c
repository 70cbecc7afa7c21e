/* The server of the case: it counts words, and sends the totals in the order of the words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

enum { MOST = 16 };

/* The received message is kept, since the word is inside it. */
typedef struct total {
    word_count_counting_t message;
    duo_str word;
    uint64_t count;
} total;

static int by_word(const void *left, const void *right)
{
    duo_str words[] = {((const total *)left)->word, ((const total *)right)->word};
    size_t shorter = words[0].size < words[1].size ? words[0].size : words[1].size;
    int order = memcmp(words[0].data, words[1].data, shorter);
    if (order != 0) return order;
    return words[0].size < words[1].size ? -1 : words[0].size > words[1].size;
}

static total *find(total *totals, size_t size, duo_str word)
{
    for (size_t i = 0; i < size; i++)
        if (duo_str_equal(totals[i].word, word)) return &totals[i];
    return NULL;
}

duo_status word_count_case_server(word_count_server_counting_t counting,
                                  struct transcript *transcript)
{
    total totals[MOST];
    size_t size = 0;
    word_count_counting_t got;
    for (;;) {
        TRY(word_count_server_counting_recv(counting, &got));
        if (got.tag == WORD_COUNT_COUNTING_DONE) break;
        EXPECT(got, WORD_COUNT_COUNTING_COUNT);
        duo_str word = got.as.count.value_0;
        uint64_t n = got.as.count.value_1;
        transcript_line(transcript, "server <- count(%s, %" PRIu64 ")", quoted(transcript, word),
                        n);
        counting = got.as.count.next;
        total *known = find(totals, size, word);
        if (known != NULL) {
            known->count += n;
            word_count_counting_free(&got);
        } else {
            if (size == MOST) return DUO_NO_MEMORY;
            totals[size++] = (total){got, word, n};
        }
    }
    transcript_line(transcript, "server <- done");
    qsort(totals, size, sizeof *totals, by_word);
    word_count_server_totals_t telling = got.as.done.next;
    for (size_t i = 0; i < size; i++) {
        TRY(word_count_server_totals_send_total(telling, totals[i].word, totals[i].count,
                                                &telling));
        word_count_counting_free(&totals[i].message);
    }
    return word_count_server_totals_send_end(telling);
}
