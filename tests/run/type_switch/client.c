/* The client of the case: it asks for values of every type. */
#include <inttypes.h>

#include "case.h"

static duo_status get_maybe(type_switch_client_start_t *start, struct transcript *transcript)
{
    type_switch_client_wait_opt_u64_t waiting;
    type_switch_wait_opt_u64_t got;
    TRY(type_switch_client_start_send_get_maybe(*start, &waiting));
    TRY(type_switch_client_wait_opt_u64_recv(waiting, &got));
    EXPECT(got, TYPE_SWITCH_WAIT_OPT_U64_THING);
    duo_opt_u64_t maybe = got.as.thing.value;
    if (maybe.some)
        transcript_line(transcript, "client <- thing(some(%" PRIu64 "))", maybe.value);
    else
        transcript_line(transcript, "client <- thing(none)");
    *start = got.as.thing.next;
    return DUO_OK;
}

static duo_status get_list(type_switch_client_start_t *start, struct transcript *transcript)
{
    type_switch_client_wait_list_tuple2_u8_bool_t waiting;
    type_switch_wait_list_tuple2_u8_bool_t got;
    TRY(type_switch_client_start_send_get_list(*start, &waiting));
    TRY(type_switch_client_wait_list_tuple2_u8_bool_recv(waiting, &got));
    EXPECT(got, TYPE_SWITCH_WAIT_LIST_TUPLE2_U8_BOOL_THING);
    duo_list_tuple2_u8_bool_t list = got.as.thing.value;
    const char *shown = "";
    for (size_t i = 0; i < list.size; i++)
        shown = text(transcript, "%s%s(%u, %s)", shown, i == 0 ? "" : ", ", list.data[i].v0,
                     list.data[i].v1 ? "true" : "false");
    transcript_line(transcript, "client <- thing([%s])", shown);
    *start = got.as.thing.next;
    type_switch_wait_list_tuple2_u8_bool_free(&got);
    return DUO_OK;
}

duo_status type_switch_case_client(type_switch_client_start_t start, struct transcript *transcript)
{
    type_switch_client_wait_i64_t for_int;
    type_switch_wait_i64_t got_int;
    TRY(type_switch_client_start_send_get_int(start, &for_int));
    TRY(type_switch_client_wait_i64_recv(for_int, &got_int));
    EXPECT(got_int, TYPE_SWITCH_WAIT_I64_THING);
    transcript_line(transcript, "client <- thing(%" PRId64 ")", got_int.as.thing.value);

    type_switch_client_wait_str_t for_text;
    type_switch_wait_str_t got_text;
    TRY(type_switch_client_start_send_get_text(got_int.as.thing.next, &for_text));
    TRY(type_switch_client_wait_str_recv(for_text, &got_text));
    EXPECT(got_text, TYPE_SWITCH_WAIT_STR_THING);
    transcript_line(transcript, "client <- thing(%s)",
                    quoted(transcript, got_text.as.thing.value));
    start = got_text.as.thing.next;
    type_switch_wait_str_free(&got_text);

    TRY(get_maybe(&start, transcript));
    TRY(get_maybe(&start, transcript));
    TRY(get_list(&start, transcript));
    return type_switch_client_start_send_stop(start);
}
