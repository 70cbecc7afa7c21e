/* The server of the case: it answers each question with a value of the right type. */
#include "case.h"

duo_status type_switch_case_server(type_switch_server_start_t start, struct transcript *transcript)
{
    static const duo_tuple2_u8_bool_t LIST[] = {{1, true}, {255, false}};
    int maybes = 0;
    for (;;) {
        type_switch_start_t wish;
        TRY(type_switch_server_start_recv(start, &wish));
        switch (wish.tag) {
        case TYPE_SWITCH_START_GET_INT:
            transcript_line(transcript, "server <- get_int");
            TRY(type_switch_server_wait_i64_send_thing(wish.as.get_int.next, INT64_MIN, &start));
            break;
        case TYPE_SWITCH_START_GET_TEXT:
            transcript_line(transcript, "server <- get_text");
            TRY(type_switch_server_wait_str_send_thing(wish.as.get_text.next,
                                                       DUO_STR("forty-two"), &start));
            break;
        case TYPE_SWITCH_START_GET_MAYBE: {
            transcript_line(transcript, "server <- get_maybe");
            duo_opt_u64_t maybe = {maybes++ == 0, UINT64_MAX};
            TRY(type_switch_server_wait_opt_u64_send_thing(wish.as.get_maybe.next, maybe, &start));
            break;
        }
        case TYPE_SWITCH_START_GET_LIST:
            transcript_line(transcript, "server <- get_list");
            TRY(type_switch_server_wait_list_tuple2_u8_bool_send_thing(
                wish.as.get_list.next, (duo_list_tuple2_u8_bool_t){LIST, 2}, &start));
            break;
        case TYPE_SWITCH_START_STOP:
            transcript_line(transcript, "server <- stop");
            return DUO_OK;
        }
    }
}
