/* The server of the case: it receives until goodbye is said. */
#include "case.h"

duo_status simple_proto_case_server(simple_proto_server_say_hello_t hello,
                                    struct transcript *transcript)
{
    for (;;) {
        simple_proto_say_hello_t said;
        TRY(simple_proto_server_say_hello_recv(hello, &said));
        switch (said.tag) {
        case SIMPLE_PROTO_SAY_HELLO_SAY_HELLO:
            transcript_line(transcript, "server <- SayHello");
            hello = said.as.say_hello.next;
            break;
        case SIMPLE_PROTO_SAY_HELLO_GOOD_BYE:
            transcript_line(transcript, "server <- GoodBye");
            return DUO_OK;
        }
    }
}
