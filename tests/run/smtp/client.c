/* The client of the case: it sends one mail to two recipients, one of which is refused. */
#include "case.h"

static const char *texts(struct transcript *transcript, duo_list_str_t list)
{
    const char *shown = "";
    for (size_t i = 0; i < list.size; i++)
        shown = text(transcript, "%s%s%s", shown, i == 0 ? "" : ", ",
                     quoted(transcript, list.data[i]));
    return text(transcript, "[%s]", shown);
}

static duo_status name_recipient(smtp_client_recipients_t *recipients, duo_str mailbox,
                                 struct transcript *transcript)
{
    smtp_client_recipient_t waiting;
    smtp_recipient_t answer;
    TRY(smtp_client_recipients_send_rcpt_to(*recipients, mailbox, &waiting));
    TRY(smtp_client_recipient_recv(waiting, &answer));
    switch (answer.tag) {
    case SMTP_RECIPIENT_OK:
        transcript_line(transcript, "client <- ok");
        *recipients = answer.as.ok.next;
        break;
    case SMTP_RECIPIENT_REFUSED: {
        smtp_client_recipients_t next = answer.as.refused.next;
        reply_t reply = answer.as.refused.reply;
        transcript_line(transcript, "client <- refused({code: %u, lines: %s})", reply.code,
                        texts(transcript, reply.lines));
        *recipients = next;
        break;
    }
    }
    smtp_recipient_free(&answer);
    return DUO_OK;
}

static duo_status deliver(smtp_client_recipients_t recipients, struct transcript *transcript,
                          smtp_client_idle_t *next)
{
    smtp_client_go_ahead_t waiting;
    smtp_go_ahead_t answer;
    TRY(smtp_client_recipients_send_data(recipients, &waiting));
    TRY(smtp_client_go_ahead_recv(waiting, &answer));
    EXPECT(answer, SMTP_GO_AHEAD_GO_AHEAD);
    transcript_line(transcript, "client <- go_ahead");
    smtp_client_content_t content = answer.as.go_ahead.next;
    smtp_client_delivery_t sent;
    smtp_delivery_t delivered;
    TRY(smtp_client_content_send_line(content, DUO_STR("Subject: hello"), &content));
    TRY(smtp_client_content_send_line(content, DUO_STR(""), &content));
    TRY(smtp_client_content_send_line(content, DUO_STR("\"Hi\", she wrote."), &content));
    TRY(smtp_client_content_send_end_of_mail(content, &sent));
    TRY(smtp_client_delivery_recv(sent, &delivered));
    EXPECT(delivered, SMTP_DELIVERY_QUEUED);
    transcript_line(transcript, "client <- queued(%s)",
                    quoted(transcript, delivered.as.queued.id));
    *next = delivered.as.queued.next;
    smtp_delivery_free(&delivered);
    return DUO_OK;
}

duo_status smtp_case_client(smtp_client_greeting_t greeting, struct transcript *transcript)
{
    smtp_greeting_t greeted;
    TRY(smtp_client_greeting_recv(greeting, &greeted));
    EXPECT(greeted, SMTP_GREETING_READY);
    transcript_line(transcript, "client <- ready(%s)", quoted(transcript, greeted.as.ready.domain));
    smtp_client_hello_t hello = greeted.as.ready.next;
    smtp_greeting_free(&greeted);

    smtp_client_extensions_t asked;
    smtp_extensions_t extensions;
    TRY(smtp_client_hello_send_ehlo(hello, DUO_STR("client.example"), &asked));
    TRY(smtp_client_extensions_recv(asked, &extensions));
    EXPECT(extensions, SMTP_EXTENSIONS_EXTENSIONS);
    transcript_line(transcript, "client <- extensions(%s)",
                    texts(transcript, extensions.as.extensions.value));
    smtp_client_idle_t idle = extensions.as.extensions.next;
    smtp_extensions_free(&extensions);

    smtp_client_sender_t waiting;
    smtp_sender_t sender;
    TRY(smtp_client_idle_send_mail_from(idle, DUO_STR("alice@client.example"), &waiting));
    TRY(smtp_client_sender_recv(waiting, &sender));
    EXPECT(sender, SMTP_SENDER_OK);
    transcript_line(transcript, "client <- ok");
    smtp_client_recipients_t recipients = sender.as.ok.next;
    TRY(name_recipient(&recipients, DUO_STR("bob@server.example"), transcript));
    TRY(name_recipient(&recipients, DUO_STR("eve@elsewhere.example"), transcript));
    TRY(deliver(recipients, transcript, &idle));

    smtp_client_closing_t closing;
    smtp_closing_t last;
    TRY(smtp_client_idle_send_quit(idle, &closing));
    TRY(smtp_client_closing_recv(closing, &last));
    EXPECT(last, SMTP_CLOSING_BYE);
    transcript_line(transcript, "client <- bye");
    return DUO_OK;
}
