/* The server of the case: it accepts mail for server.example only. */
#include <string.h>

#include "case.h"

static bool is_ours(duo_str mailbox)
{
    duo_str domain = DUO_STR("@server.example");
    if (mailbox.size < domain.size) return false;
    duo_str end = {mailbox.data + mailbox.size - domain.size, domain.size};
    return duo_str_equal(end, domain);
}

static duo_status take_recipients(smtp_server_recipients_t recipients,
                                  struct transcript *transcript, smtp_server_content_t *next)
{
    for (;;) {
        smtp_recipients_t wish;
        TRY(smtp_server_recipients_recv(recipients, &wish));
        if (wish.tag == SMTP_RECIPIENTS_DATA) {
            transcript_line(transcript, "server <- data");
            return smtp_server_go_ahead_send_go_ahead(wish.as.data.next, next);
        }
        EXPECT(wish, SMTP_RECIPIENTS_RCPT_TO);
        transcript_line(transcript, "server <- rcpt_to(%s)",
                        quoted(transcript, wish.as.rcpt_to.mailbox));
        bool accepts = is_ours(wish.as.rcpt_to.mailbox);
        smtp_server_recipient_t answer = wish.as.rcpt_to.next;
        smtp_recipients_free(&wish);
        if (accepts) {
            TRY(smtp_server_recipient_send_ok(answer, &recipients));
        } else {
            duo_str lines[] = {DUO_STR("no relay"), DUO_STR("go away")};
            reply_t reply = {550, {lines, 2}};
            TRY(smtp_server_recipient_send_refused(answer, reply, &recipients));
        }
    }
}

static duo_status take_lines(smtp_server_content_t content, struct transcript *transcript,
                             smtp_server_idle_t *next)
{
    for (int lines = 0;; lines++) {
        smtp_content_t said;
        TRY(smtp_server_content_recv(content, &said));
        if (said.tag == SMTP_CONTENT_END_OF_MAIL) {
            transcript_line(transcript, "server <- end_of_mail");
            duo_str id = duo_str_from(text(transcript, "mail-%d", lines));
            return smtp_server_delivery_send_queued(said.as.end_of_mail.next, id, next);
        }
        EXPECT(said, SMTP_CONTENT_LINE);
        transcript_line(transcript, "server <- line(%s)", quoted(transcript, said.as.line.value));
        content = said.as.line.next;
        smtp_content_free(&said);
    }
}

duo_status smtp_case_server(smtp_server_greeting_t greeting, struct transcript *transcript)
{
    smtp_server_hello_t waiting;
    smtp_hello_t hello;
    TRY(smtp_server_greeting_send_ready(greeting, DUO_STR("server.example"), &waiting));
    TRY(smtp_server_hello_recv(waiting, &hello));
    EXPECT(hello, SMTP_HELLO_EHLO);
    transcript_line(transcript, "server <- ehlo(%s)", quoted(transcript, hello.as.ehlo.domain));
    smtp_server_extensions_t answer = hello.as.ehlo.next;
    smtp_hello_free(&hello);

    duo_str names[] = {DUO_STR("SIZE"), DUO_STR("8BITMIME")};
    smtp_server_idle_t idle;
    smtp_idle_t wish;
    TRY(smtp_server_extensions_send_extensions(answer, (duo_list_str_t){names, 2}, &idle));
    TRY(smtp_server_idle_recv(idle, &wish));
    EXPECT(wish, SMTP_IDLE_MAIL_FROM);
    transcript_line(transcript, "server <- mail_from(%s)",
                    quoted(transcript, wish.as.mail_from.mailbox));
    smtp_server_sender_t sender = wish.as.mail_from.next;
    smtp_idle_free(&wish);

    smtp_server_recipients_t recipients;
    smtp_server_content_t content;
    TRY(smtp_server_sender_send_ok(sender, &recipients));
    TRY(take_recipients(recipients, transcript, &content));
    TRY(take_lines(content, transcript, &idle));
    TRY(smtp_server_idle_recv(idle, &wish));
    EXPECT(wish, SMTP_IDLE_QUIT);
    transcript_line(transcript, "server <- quit");
    return smtp_server_closing_send_bye(wish.as.quit.next);
}
