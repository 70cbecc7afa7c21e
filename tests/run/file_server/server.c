/* The server of the case: it has one folder to show, and one file to read. */
#include <inttypes.h>

#include "case.h"

static const acme_person_t HOLK = {1, {"holk", 4}};

static duo_status send_root(file_server_server_listing_t answer, file_server_server_idle_t *next)
{
    static const uint8_t CHECKSUM[] = {0xc0, 0xff, 0xee};
    acme_file_t files[] = {
        {DUO_STR("hello"), 5, {true, HOLK}, {CHECKSUM, sizeof CHECKSUM}},
        {.name = DUO_STR("notes")},
    };
    acme_folder_t old = {.name = DUO_STR("old"), .changed = -1};
    acme_folder_t root = {DUO_STR("/"), 1341532800, {files, 2}, {&old, 1}};
    return file_server_server_listing_send_listing(answer, root, next);
}

static duo_status read_hello(file_server_server_reading_t reading, struct transcript *transcript,
                             file_server_server_idle_t *next)
{
    for (;;) {
        file_server_reading_t wish;
        TRY(file_server_server_reading_recv(reading, &wish));
        if (wish.tag == FILE_SERVER_READING_CLOSE) {
            transcript_line(transcript, "server <- close");
            *next = wish.as.close.next;
            return DUO_OK;
        }
        EXPECT(wish, FILE_SERVER_READING_READ);
        uint64_t at = wish.as.read.at;
        duo_opt_u32_t limit = wish.as.read.limit;
        const char *shown = limit.some ? text(transcript, "some(%u)", limit.value) : "none";
        transcript_line(transcript, "server <- read(%" PRIu64 ", %s)", at, shown);
        file_server_server_piece_t answer = wish.as.read.next;
        if (at >= 5) {
            TRY(file_server_server_piece_send_end_of_file(answer, &reading));
            continue;
        }
        duo_bytes data = {(const uint8_t *)"hello" + at, 5 - (size_t)at};
        if (limit.some && data.size > limit.value) data.size = limit.value;
        TRY(file_server_server_piece_send_data(answer, data, &reading));
    }
}

duo_status file_server_case_server(file_server_server_idle_t idle, struct transcript *transcript)
{
    for (;;) {
        file_server_idle_t wish;
        TRY(file_server_server_idle_recv(idle, &wish));
        switch (wish.tag) {
        case FILE_SERVER_IDLE_LIST: {
            transcript_line(transcript, "server <- list(%s)",
                            quoted(transcript, wish.as.list.path));
            bool is_root = duo_str_equal(wish.as.list.path, DUO_STR("/"));
            file_server_server_listing_t answer = wish.as.list.next;
            file_server_idle_free(&wish);
            acme_problem_t busy = {.tag = ACME_PROBLEM_BUSY,
                                   .as.busy = {.until = 1341532801, .readers = {2, 3}}};
            if (is_root) TRY(send_root(answer, &idle));
            else TRY(file_server_server_listing_send_failed(answer, busy, &idle));
            break;
        }
        case FILE_SERVER_IDLE_OPEN: {
            acme_files_mode_t mode = wish.as.open.mode;
            const char *shown = "read";
            if (mode.tag == ACME_FILES_MODE_APPEND)
                shown = text(transcript, "append(%s)", mode.as.append.create ? "true" : "false");
            transcript_line(transcript, "server <- open(%s, %s)",
                            quoted(transcript, wish.as.open.path), shown);
            bool is_hello = duo_str_equal(wish.as.open.path, DUO_STR("/hello"));
            file_server_server_opening_t answer = wish.as.open.next;
            file_server_idle_free(&wish);
            if (!is_hello) {
                acme_problem_t denied = {.tag = ACME_PROBLEM_DENIED, .as.denied.to = HOLK};
                TRY(file_server_server_opening_send_failed(answer, denied, &idle));
                break;
            }
            static const uint8_t CHECKSUM[] = {0xc0, 0xff, 0xee};
            acme_file_t hello = {DUO_STR("hello"), 5, {true, HOLK}, {CHECKSUM, sizeof CHECKSUM}};
            file_server_server_reading_t reading;
            TRY(file_server_server_opening_send_opened(answer, hello, &reading));
            TRY(read_hello(reading, transcript, &idle));
            break;
        }
        case FILE_SERVER_IDLE_LEAVE:
            transcript_line(transcript, "server <- leave");
            return DUO_OK;
        }
    }
}
