/* The client of the case: it sends readings of every kind, and asks three times how many there were. */
#include "case.h"

static duo_status flush(telemetry_client_report_t *report, struct transcript *transcript)
{
    telemetry_client_echo_t waiting;
    telemetry_echo_t answer;
    TRY(telemetry_client_report_send_flush(*report, &waiting));
    TRY(telemetry_client_echo_recv(waiting, &answer));
    EXPECT(answer, TELEMETRY_ECHO_RECEIVED);
    duo_opt_tuple2_bool_f64_t last = answer.as.received.last;
    const char *shown = "none";
    if (last.some)
        shown = text(transcript, "some((%s, %.2f))", last.value.v0 ? "true" : "false",
                     last.value.v1);
    transcript_line(transcript, "client <- received(%u, %s)", answer.as.received.count, shown);
    *report = answer.as.received.next;
    return DUO_OK;
}

duo_status telemetry_case_client(telemetry_client_report_t report, struct transcript *transcript)
{
    static const uint8_t DATA[] = {0xde, 0xad};
    TRY(telemetry_client_report_send_unsigned(report, UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX,
                                              &report));
    TRY(telemetry_client_report_send_signed(report, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN,
                                            &report));
    TRY(flush(&report, transcript));
    TRY(telemetry_client_report_send_real(report, -0.25f, 1024.5, &report));
    TRY(telemetry_client_report_send_old(report, -1, 1, 0.75, DUO_STR("1812"), &report));
    TRY(telemetry_client_report_send_raw(report, true, DUO_STR("Zürich"),
                                         (duo_bytes){DATA, sizeof DATA}, &report));
    TRY(flush(&report, transcript));

    telemetry_client_echo_t waiting;
    telemetry_echo_t answer;
    TRY(telemetry_client_report_send_flush(report, &waiting));
    TRY(telemetry_client_echo_recv(waiting, &answer));
    EXPECT(answer, TELEMETRY_ECHO_ENOUGH);
    transcript_line(transcript, "client <- enough");
    return DUO_OK;
}
