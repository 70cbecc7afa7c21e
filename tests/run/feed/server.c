/* The server of the case: it has three primes, and no rumours. */
#include "case.h"

duo_status feed_case_server(feed_server_idle_t idle, struct transcript *transcript)
{
    static const uint64_t PRIMES[] = {2, 3, 5};
    for (;;) {
        feed_idle_t wish;
        TRY(feed_server_idle_recv(idle, &wish));
        if (wish.tag == FEED_IDLE_LEAVE) {
            transcript_line(transcript, "server <- leave");
            return DUO_OK;
        }
        EXPECT(wish, FEED_IDLE_SUBSCRIBE);
        transcript_line(transcript, "server <- subscribe(%s, <stream.client.Stream>)",
                        quoted(transcript, wish.as.subscribe.topic));
        bool knows = duo_str_equal(wish.as.subscribe.topic, DUO_STR("primes"));
        feed_server_answer_t answer = wish.as.subscribe.next;
        numbers_client_stream_t to = numbers_client_stream_take(&wish.as.subscribe.to);
        feed_idle_free(&wish);
        if (!knows) {
            TRY(feed_server_answer_send_unknown_topic(answer, to, &idle));
            continue;
        }
        TRY(feed_server_answer_send_subscribed(answer, &idle));
        for (int i = 0; i < 3; i++) TRY(numbers_client_stream_send_send(to, PRIMES[i], &to));
        TRY(numbers_client_stream_close(to));
    }
}
