/* The client of the case: it buys a lamp for no more than 80. */
#include "case.h"

duo_status buyer_case_client(buyer_client_ask_t ask, struct transcript *transcript)
{
    buyer_client_offered_t waiting;
    buyer_offered_t offered;
    TRY(buyer_client_ask_send_ask(ask, DUO_STR("lamp"), &waiting));
    for (;;) {
        TRY(buyer_client_offered_recv(waiting, &offered));
        EXPECT(offered, BUYER_OFFERED_OFFER);
        uint32_t price = offered.as.offer.price;
        transcript_line(transcript, "client <- offer(%u)", price);
        if (price <= 80) return buyer_client_consider_send_accept(offered.as.offer.next);
        TRY(buyer_client_consider_send_counter(offered.as.offer.next, price / 2, &waiting));
    }
}
