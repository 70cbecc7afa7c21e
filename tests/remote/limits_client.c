/*
 * `limits_client client limits ADDRESS`: sends more than the server's limits allow, in a session for each message, as
 * tests/conversations/src/bin/limits.rs describes it. Its code is generated from wide.proto
 * and untimed.proto.
 */
#include <stdio.h>
#include <unistd.h>

#include "journal_net.h"
#include "limits_cases.h"
#include "visit_net.h"

static duo_status send(unsigned what, journal_client_open_t open, journal_client_open_t *next)
{
    duo_str many[] = {DUO_STR("1234"), DUO_STR("1234"), DUO_STR("")};
    duo_str long_tag[] = {DUO_STR("12345")};
    uint8_t ones[] = {1, 1, 1, 1};
    duo_list_u8_t pages[17];
    for (size_t i = 0; i < 17; i++) pages[i] = (duo_list_u8_t){ones, 1};
    wide_entry_t entry = {DUO_STR(""), {NULL, 0}};
    switch (what) {
    case FITS:
        entry.title = DUO_STR("12345678");
        entry.tags = (duo_list_str_t){many, 2};
        break;
    case FIELD: entry.title = DUO_STR("123456789"); break;
    case ITEMS:
        many[0] = many[1] = DUO_STR("");
        entry.tags = (duo_list_str_t){many, 3};
        break;
    case ITEM: entry.tags = (duo_list_str_t){long_tag, 1}; break;
    case MESSAGE: return journal_client_open_send_attach(open, (duo_bytes){ones, 4}, next);
    case ENTRY:
        return journal_client_open_send_name(open, DUO_STR("123456"), (duo_list_list_u8_t){NULL, 0}, next);
    case INNER:
        pages[0].size = 3;
        return journal_client_open_send_name(open, DUO_STR(""), (duo_list_list_u8_t){pages, 1}, next);
    default:
        return journal_client_open_send_name(open, DUO_STR("12345"), (duo_list_list_u8_t){pages, 17}, next);
    }
    return journal_client_open_send_append(open, entry, next);
}

static duo_status ask(unsigned what, const char *address)
{
    journal_client_open_t open;
    journal_client_answered_t asked;
    journal_answered_t answer;
    wide_key_t key = {1, DUO_STR("k")};
    TRY(journal_client_connect(address, NULL, &open));
    TRY(send(what, open, &open));
    TRY(journal_client_open_send_look_up(open, key, (duo_opt_str_t){false, DUO_STR("")}, &asked));
    TRY(journal_client_answered_recv(asked, &answer));
    open = answer.as.answered.next;
    journal_answered_free(&answer);
    return journal_client_open_send_close(open);
}

/* Late, and asks, so that it learns it. */
static duo_status be_late(const char *address)
{
    visit_client_choose_t choose;
    visit_client_quick_t quick;
    visit_client_quick_answer_t asked;
    visit_quick_answer_t answer;
    TRY(visit_client_connect(address, NULL, &choose));
    TRY(visit_client_choose_send_hurry(choose, &quick));
    (void)getchar();
    TRY(visit_client_quick_send_done(quick, &choose));
    TRY(visit_client_choose_send_ask_quickly(choose, &asked));
    return visit_client_quick_answer_recv(asked, &answer);
}

int main(int argc, char **argv)
{
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4) return 2;
    for (unsigned what = 0; what < CASES; what++) report(what, ask(what, argv[3]));
    report(LATE, be_late(argv[3]));
    return 0;
}
