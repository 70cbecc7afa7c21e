/* The client of the case: it says hello three times. */
#include "case.h"

duo_status simple_proto_case_client(simple_proto_client_say_hello_t hello,
                                    struct transcript *transcript)
{
    (void)transcript;
    for (int i = 0; i < 3; i++) TRY(simple_proto_client_say_hello_send_say_hello(hello, &hello));
    return simple_proto_client_say_hello_send_good_bye(hello);
}
