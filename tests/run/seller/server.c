/* The server of the case: it buys, and offers too little. */
#include "case.h"

duo_status seller_case_server(seller_server_asked_t ask, struct transcript *transcript)
{
    seller_server_offering_t waiting;
    seller_offering_t offered;
    TRY(seller_server_asked_send_ask(ask, DUO_STR("lamp"), &waiting));
    TRY(seller_server_offering_recv(waiting, &offered));
    EXPECT(offered, SELLER_OFFERING_OFFER);
    transcript_line(transcript, "server <- offer(%u)", offered.as.offer.price);
    TRY(seller_server_considered_send_counter(offered.as.offer.next, 1, &waiting));
    TRY(seller_server_offering_recv(waiting, &offered));
    EXPECT(offered, SELLER_OFFERING_SOLD_OUT);
    transcript_line(transcript, "server <- sold_out");
    return DUO_OK;
}
