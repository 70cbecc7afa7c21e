use conversations::protocols::Reply;
use conversations::protocols::smtp::{Content, Hello, Idle, Recipients, server};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(endpoint: server::Greeting, transcript: &Transcript) -> Result<(), Closed> {
    let extensions = match endpoint.ready("server.example".to_owned())?.recv()? {
        Hello::Ehlo {
            domain,
            next: extensions,
        } => {
            transcript.line(format_args!("server <- ehlo({})", quoted(&domain)));
            extensions
        }
        other => panic!("unexpected: {other:?}"),
    };
    let names = ["SIZE", "8BITMIME"].map(str::to_owned);
    let sender = match extensions.extensions(names.to_vec())?.recv()? {
        Idle::MailFrom(mailbox, sender) => {
            transcript.line(format_args!("server <- mail_from({})", quoted(&mailbox)));
            sender
        }
        other => panic!("unexpected: {other:?}"),
    };
    let mut recipients = sender.ok()?;
    let mut content = loop {
        match recipients.recv()? {
            Recipients::RcptTo(mailbox, answer) => {
                transcript.line(format_args!("server <- rcpt_to({})", quoted(&mailbox)));
                recipients = if mailbox.ends_with("@server.example") {
                    answer.ok()?
                } else {
                    let lines = ["no relay", "go away"].map(str::to_owned).to_vec();
                    answer.refused(Reply { code: 550, lines })?
                };
            }
            Recipients::Data(answer) => {
                transcript.line("server <- data");
                break answer.go_ahead()?;
            }
        }
    };
    let mut lines = 0;
    let idle = loop {
        match content.recv()? {
            Content::Line(text, next) => {
                transcript.line(format_args!("server <- line({})", quoted(&text)));
                lines += 1;
                content = next;
            }
            Content::EndOfMail(delivery) => {
                transcript.line("server <- end_of_mail");
                break delivery.queued(format!("mail-{lines}"))?;
            }
        }
    };
    match idle.recv()? {
        Idle::Quit(closing) => {
            transcript.line("server <- quit");
            closing.bye()?;
        }
        other => panic!("unexpected: {other:?}"),
    }
    Ok(())
}
