/* The client of the case: a wrong password, a right one, a deposit, two withdrawals. */
#include "case.h"

duo_status bank_case_client(bank_client_login_t login, struct transcript *transcript)
{
    bank_client_login_response_t waiting;
    bank_login_response_t answer;
    TRY(bank_client_login_send_login(login, DUO_STR("holk"), DUO_STR("wrong"), &waiting));
    TRY(bank_client_login_response_recv(waiting, &answer));
    EXPECT(answer, BANK_LOGIN_RESPONSE_INVALID);
    transcript_line(transcript, "client <- invalid");

    login = answer.as.invalid.next;
    TRY(bank_client_login_send_login(login, DUO_STR("holk"), DUO_STR("1234"), &waiting));
    TRY(bank_client_login_response_recv(waiting, &answer));
    EXPECT(answer, BANK_LOGIN_RESPONSE_OK);
    transcript_line(transcript, "client <- ok");

    bank_client_connected_t shop = answer.as.ok.next;
    bank_client_withdrawal_response_t asked;
    bank_withdrawal_response_t given;
    TRY(bank_client_connected_send_deposit(shop, 100.0, &shop));
    TRY(bank_client_connected_send_withdrawal(shop, 30.0, &asked));
    TRY(bank_client_withdrawal_response_recv(asked, &given));
    EXPECT(given, BANK_WITHDRAWAL_RESPONSE_MONEY);
    transcript_line(transcript, "client <- money(%.2f)", given.as.money.money);

    TRY(bank_client_connected_send_withdrawal(given.as.money.next, 500.0, &asked));
    TRY(bank_client_withdrawal_response_recv(asked, &given));
    EXPECT(given, BANK_WITHDRAWAL_RESPONSE_INSUFFICIENT_FUNDS);
    transcript_line(transcript, "client <- insufficient_funds");
    return bank_client_connected_send_quit(given.as.insufficient_funds.next);
}
