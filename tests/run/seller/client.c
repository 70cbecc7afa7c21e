/* The client of the case: it sells, but not below its price. */
#include "case.h"

duo_status seller_case_client(seller_client_asked_t shop, struct transcript *transcript)
{
    seller_asked_t asked;
    seller_client_considered_t waiting;
    TRY(seller_client_asked_recv(shop, &asked));
    EXPECT(asked, SELLER_ASKED_ASK);
    transcript_line(transcript, "client <- ask(%s)", quoted(transcript, asked.as.ask.item));
    seller_client_offering_t offer = asked.as.ask.next;
    seller_asked_free(&asked);
    TRY(seller_client_offering_send_offer(offer, 100, &waiting));

    seller_considered_t answer;
    TRY(seller_client_considered_recv(waiting, &answer));
    switch (answer.tag) {
    case SELLER_CONSIDERED_ACCEPT:
        transcript_line(transcript, "client <- accept");
        return DUO_OK;
    case SELLER_CONSIDERED_COUNTER:
        transcript_line(transcript, "client <- counter(%u)", answer.as.counter.price);
        return seller_client_offering_send_sold_out(answer.as.counter.next);
    case SELLER_CONSIDERED_WALK_AWAY:
        transcript_line(transcript, "client <- walk_away");
        return DUO_OK;
    }
    return DUO_OK;
}
