/* The client of the case: it lists the folder, and reads one file in pieces. */
#include <inttypes.h>

#include "case.h"

static const char *person(struct transcript *transcript, acme_person_t person)
{
    return text(transcript, "{id: %u, name: %s}", person.id, quoted(transcript, person.name));
}

static const char *file(struct transcript *transcript, const acme_file_t *file)
{
    const char *owner = "none";
    if (file->owner.some)
        owner = text(transcript, "some(%s)", person(transcript, file->owner.value));
    return text(transcript, "{name: %s, size: %" PRIu64 ", owner: %s, checksum: %s}",
                quoted(transcript, file->name), file->size, owner,
                hex(transcript, file->checksum));
}

static const char *folder(struct transcript *transcript, const acme_folder_t *shown)
{
    const char *files = "";
    for (size_t i = 0; i < shown->files.size; i++)
        files = text(transcript, "%s%s%s", files, i == 0 ? "" : ", ",
                     file(transcript, &shown->files.data[i]));
    const char *folders = "";
    for (size_t i = 0; i < shown->folders.size; i++)
        folders = text(transcript, "%s%s%s", folders, i == 0 ? "" : ", ",
                       folder(transcript, &shown->folders.data[i]));
    return text(transcript, "{name: %s, changed: %" PRId64 ", files: [%s], folders: [%s]}",
                quoted(transcript, shown->name), shown->changed, files, folders);
}

static const char *problem(struct transcript *transcript, const acme_problem_t *problem)
{
    switch (problem->tag) {
    case ACME_PROBLEM_NOT_FOUND: return "not_found";
    case ACME_PROBLEM_DENIED:
        return text(transcript, "denied(%s)", person(transcript, problem->as.denied.to));
    case ACME_PROBLEM_BUSY:
        return text(transcript, "busy(%" PRId64 ", (%u, %u))", problem->as.busy.until,
                    problem->as.busy.readers.v0, problem->as.busy.readers.v1);
    }
    return "no problem";
}

static duo_status list(file_server_client_idle_t *idle, duo_str path, struct transcript *transcript)
{
    file_server_client_listing_t waiting;
    file_server_listing_t answer;
    TRY(file_server_client_idle_send_list(*idle, path, &waiting));
    TRY(file_server_client_listing_recv(waiting, &answer));
    switch (answer.tag) {
    case FILE_SERVER_LISTING_LISTING:
        transcript_line(transcript, "client <- listing(%s)",
                        folder(transcript, &answer.as.listing.folder));
        *idle = answer.as.listing.next;
        break;
    case FILE_SERVER_LISTING_FAILED:
        transcript_line(transcript, "client <- failed(%s)",
                        problem(transcript, &answer.as.failed.problem));
        *idle = answer.as.failed.next;
        break;
    }
    file_server_listing_free(&answer);
    return DUO_OK;
}

static duo_status read_piece(file_server_client_reading_t *reading, uint64_t at, duo_opt_u32_t limit,
                             struct transcript *transcript)
{
    file_server_client_piece_t waiting;
    file_server_piece_t answer;
    TRY(file_server_client_reading_send_read(*reading, at, limit, &waiting));
    TRY(file_server_client_piece_recv(waiting, &answer));
    switch (answer.tag) {
    case FILE_SERVER_PIECE_DATA:
        transcript_line(transcript, "client <- data(%s)", hex(transcript, answer.as.data.value));
        *reading = answer.as.data.next;
        break;
    case FILE_SERVER_PIECE_END_OF_FILE:
        transcript_line(transcript, "client <- end_of_file");
        *reading = answer.as.end_of_file.next;
        break;
    }
    file_server_piece_free(&answer);
    return DUO_OK;
}

duo_status file_server_case_client(file_server_client_idle_t idle, struct transcript *transcript)
{
    file_server_client_opening_t waiting;
    file_server_opening_t answer;
    TRY(list(&idle, DUO_STR("/"), transcript));

    acme_files_mode_t append = {.tag = ACME_FILES_MODE_APPEND, .as.append.create = false};
    TRY(file_server_client_idle_send_open(idle, DUO_STR("/secret"), append, &waiting));
    TRY(file_server_client_opening_recv(waiting, &answer));
    EXPECT(answer, FILE_SERVER_OPENING_FAILED);
    transcript_line(transcript, "client <- failed(%s)",
                    problem(transcript, &answer.as.failed.problem));
    idle = answer.as.failed.next;
    file_server_opening_free(&answer);

    acme_files_mode_t read = {.tag = ACME_FILES_MODE_READ};
    TRY(file_server_client_idle_send_open(idle, DUO_STR("/hello"), read, &waiting));
    TRY(file_server_client_opening_recv(waiting, &answer));
    EXPECT(answer, FILE_SERVER_OPENING_OPENED);
    transcript_line(transcript, "client <- opened(%s)", file(transcript, &answer.as.opened.file));
    file_server_client_reading_t reading = answer.as.opened.next;
    file_server_opening_free(&answer);
    TRY(read_piece(&reading, 0, (duo_opt_u32_t){true, 4}, transcript));
    TRY(read_piece(&reading, 4, (duo_opt_u32_t){false, 0}, transcript));
    TRY(read_piece(&reading, 5, (duo_opt_u32_t){true, 4}, transcript));
    TRY(file_server_client_reading_send_close(reading, &idle));

    TRY(list(&idle, DUO_STR("/tmp"), transcript));
    return file_server_client_idle_send_leave(idle);
}
