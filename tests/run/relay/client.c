/* The client of the case: it posts two texts. */
#include "case.h"

duo_status relay_case_client(relay_text_client_board_t board, struct transcript *transcript)
{
    (void)transcript;
    TRY(relay_text_client_board_send_post(board, DUO_STR("line one\nline two"), &board));
    TRY(relay_text_client_board_send_post(board, DUO_STR(""), &board));
    return relay_text_client_board_send_close(board);
}
