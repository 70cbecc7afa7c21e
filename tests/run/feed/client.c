/* The client of the case: one subscription is served, the other one is returned. */
#include <inttypes.h>

#include "case.h"

static duo_status subscribe(feed_client_idle_t idle, duo_str topic, numbers_server_stream_t *in,
                            feed_client_answer_t *waiting)
{
    numbers_client_stream_t out;
    TRY(numbers_init(in, &out));
    return feed_client_idle_send_subscribe(idle, topic, out, waiting);
}

static duo_status expect_number(numbers_server_stream_t *in, struct transcript *transcript)
{
    numbers_stream_t got;
    TRY(numbers_server_stream_recv(*in, &got));
    EXPECT(got, NUMBERS_STREAM_SEND);
    transcript_line(transcript, "client <- send(%" PRIu64 ")", got.as.send.value);
    *in = got.as.send.next;
    return DUO_OK;
}

static duo_status expect_closed(numbers_server_stream_t in, struct transcript *transcript)
{
    numbers_stream_t got;
    EXPECT_CLOSED(numbers_server_stream_recv(in, &got));
    transcript_line(transcript, "client <- closed");
    return DUO_OK;
}

duo_status feed_case_client(feed_client_idle_t idle, struct transcript *transcript)
{
    feed_client_answer_t waiting;
    feed_answer_t answer;
    numbers_server_stream_t primes;
    TRY(subscribe(idle, DUO_STR("primes"), &primes, &waiting));
    TRY(feed_client_answer_recv(waiting, &answer));
    EXPECT(answer, FEED_ANSWER_SUBSCRIBED);
    transcript_line(transcript, "client <- subscribed");
    for (int i = 0; i < 3; i++) TRY(expect_number(&primes, transcript));
    TRY(expect_closed(primes, transcript));

    numbers_server_stream_t rumours;
    TRY(subscribe(answer.as.subscribed.next, DUO_STR("rumours"), &rumours, &waiting));
    TRY(feed_client_answer_recv(waiting, &answer));
    EXPECT(answer, FEED_ANSWER_UNKNOWN_TOPIC);
    transcript_line(transcript, "client <- unknown_topic(<stream.client.Stream>)");
    idle = answer.as.unknown_topic.next;
    numbers_client_stream_t back = numbers_client_stream_take(&answer.as.unknown_topic.back);
    feed_answer_free(&answer);
    TRY(numbers_client_stream_send_send(back, 7, &back));
    TRY(expect_number(&rumours, transcript));
    TRY(numbers_client_stream_close(back));
    TRY(expect_closed(rumours, transcript));
    return feed_client_idle_send_leave(idle);
}
