use conversations::protocols::smtp::{
    Closing, Delivery, Extensions, GoAhead, Greeting, Recipient, Sender, client,
};
use conversations::{Transcript, list, quoted};
use duologue::Closed;

pub fn run(endpoint: client::Greeting, transcript: &Transcript) -> Result<(), Closed> {
    let hello = match endpoint.recv()? {
        Greeting::Ready {
            domain,
            next: hello,
        } => {
            transcript.line(format_args!("client <- ready({})", quoted(&domain)));
            hello
        }
        other => panic!("unexpected: {other:?}"),
    };
    let idle = match hello.ehlo("client.example".to_owned())?.recv()? {
        Extensions::Extensions(names, idle) => {
            let names = list(names.iter().map(|name| quoted(name)));
            transcript.line(format_args!("client <- extensions({names})"));
            idle
        }
        other => panic!("unexpected: {other:?}"),
    };
    let mut recipients = match idle.mail_from("alice@client.example".to_owned())?.recv()? {
        Sender::Ok(recipients) => {
            transcript.line("client <- ok");
            recipients
        }
        other => panic!("unexpected: {other:?}"),
    };
    for recipient in ["bob@server.example", "eve@elsewhere.example"] {
        recipients = match recipients.rcpt_to(recipient.to_owned())?.recv()? {
            Recipient::Ok(next) => {
                transcript.line("client <- ok");
                next
            }
            Recipient::Refused(reply, next) => {
                let lines = list(reply.lines.iter().map(|line| quoted(line)));
                let code = reply.code;
                transcript.line(format_args!(
                    "client <- refused({{code: {code}, lines: {lines}}})"
                ));
                next
            }
        };
    }
    let mut content = match recipients.data()?.recv()? {
        GoAhead::GoAhead(content) => {
            transcript.line("client <- go_ahead");
            content
        }
        other => panic!("unexpected: {other:?}"),
    };
    for line in ["Subject: hello", "", "\"Hi\", she wrote."] {
        content = content.line(line.to_owned())?;
    }
    let idle = match content.end_of_mail()?.recv()? {
        Delivery::Queued { id, next: idle } => {
            transcript.line(format_args!("client <- queued({})", quoted(&id)));
            idle
        }
        other => panic!("unexpected: {other:?}"),
    };
    let Closing::Bye = idle.quit()?.recv()?;
    transcript.line("client <- bye");
    Ok(())
}
