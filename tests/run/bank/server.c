/* The server of the case: it keeps one account, whose password is 1234. */
#include "case.h"

static duo_status serve(bank_server_connected_t customer, struct transcript *transcript)
{
    double balance = 0.0;
    for (;;) {
        bank_connected_t wish;
        TRY(bank_server_connected_recv(customer, &wish));
        switch (wish.tag) {
        case BANK_CONNECTED_DEPOSIT:
            transcript_line(transcript, "server <- deposit(%.2f)", wish.as.deposit.money);
            balance += wish.as.deposit.money;
            customer = wish.as.deposit.next;
            break;
        case BANK_CONNECTED_WITHDRAWAL: {
            double amount = wish.as.withdrawal.amount;
            bank_server_withdrawal_response_t answer = wish.as.withdrawal.next;
            transcript_line(transcript, "server <- withdrawal(%.2f)", amount);
            if (amount <= balance) {
                balance -= amount;
                TRY(bank_server_withdrawal_response_send_money(answer, amount, &customer));
            } else {
                TRY(bank_server_withdrawal_response_send_insufficient_funds(answer, &customer));
            }
            break;
        }
        case BANK_CONNECTED_QUIT:
            transcript_line(transcript, "server <- quit");
            return DUO_OK;
        }
    }
}

duo_status bank_case_server(bank_server_login_t door, struct transcript *transcript)
{
    for (;;) {
        bank_login_t asked;
        TRY(bank_server_login_recv(door, &asked));
        EXPECT(asked, BANK_LOGIN_LOGIN);
        transcript_line(transcript, "server <- login(%s, %s)",
                        quoted(transcript, asked.as.login.username),
                        quoted(transcript, asked.as.login.password));
        bool knows = duo_str_equal(asked.as.login.password, DUO_STR("1234"));
        bank_server_login_response_t answer = asked.as.login.next;
        bank_login_free(&asked);
        if (knows) {
            bank_server_connected_t customer;
            TRY(bank_server_login_response_send_ok(answer, &customer));
            return serve(customer, transcript);
        }
        TRY(bank_server_login_response_send_invalid(answer, &door));
    }
}
