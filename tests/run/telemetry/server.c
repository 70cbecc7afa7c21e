/* The server of the case: it counts, and remembers the last real reading. */
#include <inttypes.h>

#include "case.h"

static void show(const telemetry_report_t *said, struct transcript *transcript)
{
    switch (said->tag) {
    case TELEMETRY_REPORT_UNSIGNED:
        transcript_line(transcript, "server <- unsigned(%u, %u, %u, %" PRIu64 ")",
                        said->as.unsigned_.value_0, said->as.unsigned_.value_1,
                        said->as.unsigned_.value_2, said->as.unsigned_.value_3);
        break;
    case TELEMETRY_REPORT_SIGNED:
        transcript_line(transcript, "server <- signed(%d, %d, %d, %" PRId64 ")",
                        said->as.signed_.value_0, said->as.signed_.value_1,
                        said->as.signed_.value_2, said->as.signed_.value_3);
        break;
    case TELEMETRY_REPORT_REAL:
        transcript_line(transcript, "server <- real(%.2f, %.2f)", (double)said->as.real.single,
                        said->as.real.double_);
        break;
    case TELEMETRY_REPORT_OLD:
        transcript_line(transcript, "server <- old(%" PRId64 ", %" PRIu64 ", %.2f, %s)",
                        said->as.old.value_0, said->as.old.value_1, said->as.old.value_2,
                        quoted(transcript, said->as.old.value_3));
        break;
    case TELEMETRY_REPORT_RAW:
        transcript_line(transcript, "server <- raw(%s, %s, %s)",
                        said->as.raw.on ? "true" : "false", quoted(transcript, said->as.raw.name),
                        hex(transcript, said->as.raw.data));
        break;
    case TELEMETRY_REPORT_FLUSH: transcript_line(transcript, "server <- flush"); break;
    }
}

duo_status telemetry_case_server(telemetry_server_report_t report, struct transcript *transcript)
{
    uint32_t count = 0;
    int flushes = 0;
    duo_opt_tuple2_bool_f64_t last = {0};
    for (;;) {
        telemetry_report_t said;
        TRY(telemetry_server_report_recv(report, &said));
        show(&said, transcript);
        switch (said.tag) {
        case TELEMETRY_REPORT_UNSIGNED: report = said.as.unsigned_.next; break;
        case TELEMETRY_REPORT_SIGNED: report = said.as.signed_.next; break;
        case TELEMETRY_REPORT_REAL:
            last.some = true;
            last.value.v0 = said.as.real.single < 0;
            last.value.v1 = said.as.real.double_;
            report = said.as.real.next;
            break;
        case TELEMETRY_REPORT_OLD: report = said.as.old.next; break;
        case TELEMETRY_REPORT_RAW: report = said.as.raw.next; break;
        case TELEMETRY_REPORT_FLUSH:
            if (++flushes == 3) return telemetry_server_echo_send_enough(said.as.flush.next);
            TRY(telemetry_server_echo_send_received(said.as.flush.next, count, last, &report));
            continue;
        }
        count++;
        telemetry_report_free(&said);
    }
}
