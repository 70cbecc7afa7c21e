/* The server of the case: it asks 100, and 25 more than each counter-offer. */
#include "case.h"

duo_status buyer_case_server(buyer_server_ask_t shop, struct transcript *transcript)
{
    buyer_ask_t asked;
    buyer_server_consider_t waiting;
    TRY(buyer_server_ask_recv(shop, &asked));
    EXPECT(asked, BUYER_ASK_ASK);
    transcript_line(transcript, "server <- ask(%s)", quoted(transcript, asked.as.ask.item));
    buyer_server_offered_t offer = asked.as.ask.next;
    buyer_ask_free(&asked);
    TRY(buyer_server_offered_send_offer(offer, 100, &waiting));
    for (;;) {
        buyer_consider_t answer;
        TRY(buyer_server_consider_recv(waiting, &answer));
        switch (answer.tag) {
        case BUYER_CONSIDER_ACCEPT:
            transcript_line(transcript, "server <- accept");
            return DUO_OK;
        case BUYER_CONSIDER_COUNTER: {
            uint32_t price = answer.as.counter.price;
            transcript_line(transcript, "server <- counter(%u)", price);
            TRY(buyer_server_offered_send_offer(answer.as.counter.next, price + 25, &waiting));
            break;
        }
        case BUYER_CONSIDER_WALK_AWAY:
            transcript_line(transcript, "server <- walk_away");
            return DUO_OK;
        }
    }
}
