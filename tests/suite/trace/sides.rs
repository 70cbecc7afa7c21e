//! The logs of both sides: who is to blame, whatever the clocks say.

use super::mutations::Said;
use super::scratch;
use duologue::protocol::Side;
use duologue_traces::{Blame, Checker, Mapping, Options, Tables};
use insta::assert_snapshot;

/// The logs of the client and of the server.
pub struct Both([Vec<String>; 2]);

/// What was found, independently of where that was noticed.
#[derive(Debug, PartialEq, Eq)]
pub struct Judged {
    pub line: u64,
    pub message: String,
    pub blame: Blame,
}

impl Both {
    /// Logs of one session in which the sides saw these messages.
    pub fn of(events: [&[Said]; 2]) -> Both {
        let sides = [Side::Client, Side::Server];
        let logs = [0, 1].map(|index| {
            let at = sides[index].word();
            let lines = events[index].iter().map(|event| {
                let kind = if event.from == sides[index] { "send" } else { "receive" };
                let name = event.message.as_deref().expect("a message");
                format!("{{\"session\":\"s\",\"at\":\"{at}\",\"kind\":\"{kind}\",\"message\":\"{name}\"}}")
            });
            lines.collect()
        });
        Both(logs)
    }

    /// The verdict if the logs arrive in one of four orders: one after another, or in turn.
    pub fn verdict(&self, tables: &Tables<'_>, order: usize) -> Option<Judged> {
        let options = Options {
            sessions: 10,
            has_both: true,
            is_online: false,
        };
        let mut checker = Checker::new(tables, options);
        let mapping = Mapping::own();
        let mut lines: Vec<(usize, usize)> = Vec::new();
        for (log, texts) in self.0.iter().enumerate() {
            lines.extend((0..texts.len()).map(|line| (log, line)));
        }
        match order {
            0 => {}
            1 => lines.sort_by_key(|(log, line)| (1 - *log, *line)),
            2 => lines.sort_by_key(|(log, line)| (*line, *log)),
            _ => lines.sort_by_key(|(log, line)| (*line / 3, 1 - *log, *line)),
        }
        for (log, line) in lines {
            let text = self.0[log][line].as_bytes();
            let log = u32::try_from(log).expect("two logs");
            let line = u64::try_from(line).expect("few lines") + 1;
            let line = super::line(log, line, text);
            let event = mapping.read(text, None).expect("it can be read");
            checker
                .take(&event.expect("it is an event"), &line)
                .expect("the logs are short");
        }
        let (mut found, _, _) = checker.finish();
        assert!(found.len() <= 1, "{found:?}");
        let found = found.pop()?;
        Some(Judged {
            line: found.line.place.line,
            message: found.report.message,
            blame: found.verdict.expect("it is about a session").blame,
        })
    }
}

/// Lines of a side: `>` before a message that it sends, `<` before one that it receives.
fn log(words: &str, first_hour: usize) -> String {
    let line = |(minute, word): (usize, &str)| {
        let kind = if word.starts_with('>') {
            "send"
        } else {
            "receive"
        };
        let name = &word[1..];
        let time = format!("0{first_hour}:0{minute}");
        match name {
            "left" | "ended" => {
                format!("{{\"session\":\"s\",\"time\":\"{time}\",\"kind\":\"{name}\"}}\n")
            }
            _ => format!(
                "{{\"session\":\"s\",\"time\":\"{time}\",\"kind\":\"{kind}\",\"message\":\"{name}\"}}\n"
            ),
        }
    };
    words.split_whitespace().enumerate().map(line).collect()
}

#[test]
fn the_sender_the_receiver_or_the_channel_is_to_blame() {
    let scratch = scratch("trace-sides");
    let pipeline = "proto! pipe { a:send { one -> b } b:send { two -> c, three -> c } c:recv { done -> ! } }\n";
    scratch.write("pipe.proto", pipeline);
    let cases = [
        ("nothing is wrong", ">one >two <done", "<one <two >done"),
        (
            "the client sends what the state does not have",
            ">one >one <done",
            "<one <one >done",
        ),
        (
            "the server answers too early",
            ">one >two <done",
            "<one >done <two",
        ),
        (
            "the channel changes a message",
            ">one >two <done",
            "<one <three >done",
        ),
        (
            "the channel loses a message",
            ">one >two <done",
            "<two >done",
        ),
        (
            "the channel invents an answer",
            ">one >two <done",
            "<one <two <ended",
        ),
        (
            "the client has left before the answer",
            ">one >two <left",
            "<one <two >done",
        ),
        ("only one log, which has a wrong message", "", "<one <one"),
    ];
    let mut text = String::new();
    for (name, client, server) in cases {
        text += &format!("{name}\n");
        let mut answers = Vec::new();
        for hour in [0, 1] {
            scratch.write("client.jsonl", log(client, hour));
            scratch.write("server.jsonl", log(server, 0));
            let line =
                "trace client=client.jsonl server=server.jsonl --protocol pipe.proto --ascii";
            answers.push(scratch.transcript(line));
        }
        assert_eq!(
            answers[0],
            answers[1].replace("\"01:", "\"00:"),
            "{name}: an hour apart"
        );
        let other = scratch.transcript(
            "trace server=server.jsonl client=client.jsonl --protocol pipe.proto --format short -q",
        );
        let usual = scratch.transcript(
            "trace client=client.jsonl server=server.jsonl --protocol pipe.proto --format short -q",
        );
        let lines = |answer: &str| {
            answer
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&other), lines(&usual), "{name}");
        text += &answers[0];
    }
    assert_snapshot!(text);
}
