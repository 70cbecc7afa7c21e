//! Logs that somebody made to break the checker: nothing panics, and memory is bounded.

use super::{LOG, scratch};
use crate::support::choices::Choices;
use crate::support::program::{run, transcript};
use crate::support::rust::checked;
use duologue_traces::{
    Checker, Event, FINDING_LIMIT, Kind, Mapping, Options, Stop, Table, Tables, Transcript,
    otlp_events,
};

#[test]
fn lines_of_any_length_and_depth() {
    let scratch = scratch("trace-hostile");
    let deep = |open: &str, close: &str| open.repeat(200_000) + &close.repeat(200_000);
    let log = [
        "[".repeat(500_000),
        format!(
            "{{\"session\":\"a\",\"message\":\"login\",\"values\":{}}}",
            deep("[", "]")
        ),
        format!("{{\"session\":{},\"message\":\"login\"}}", deep("[", "]")),
        format!("{{\"session\":\"a\",\"x\":{}", "{\"x\":".repeat(100_000)),
        format!("{{\"session\":\"{}\",\"message\":\"ok\"}}", "a".repeat(300)),
        format!(
            "{{\"session\":\"a\",\"message\":\"{}\"}}",
            "m".repeat(900_000)
        ),
        "x".repeat(3 << 20),
        "{\"session\":\"a\",\"message\":\"\\ud800\"}".to_owned(),
        "{\"session\":\"b\\u001b[31m\\u202e\",\"message\":\"\\u001b[2J\"}".to_owned(),
        "{\"session\":1e999,\"message\":\"login\"}".to_owned(),
        "null \u{1b}[2J".to_owned(),
        "\u{feff}{}".to_owned(),
    ];
    let mut bytes = log.join("\n").into_bytes();
    bytes.extend(b"\n{\"session\":\"\xff\",\"message\":\"login\"}\n\0\r\n\xff\xfe");
    let answer = run(
        scratch.duologue("trace - --protocol bank.proto --format short --log-format json"),
        &bytes,
    );
    assert!(!answer.stdout.contains(&0x1b));
    let human = run(
        scratch.duologue("trace - --protocol bank.proto --log-format json --color never"),
        &bytes,
    );
    assert!(!human.stdout.contains(&0x1b), "a terminal would obey it");
    assert_eq!(human.status.code(), Some(1));
    insta::assert_snapshot!(transcript("trace -", &answer));
}

/// Bytes are changed, removed and added at random, in logs of all kinds.
#[test]
fn random_bytes_are_events_or_problems() {
    let program = checked(&[crate::support::repository().join("protocols/bank.proto")]);
    let protocol = program.protocols().next().expect("the bank").protocol();
    let one = vec![(
        Table::of("bank".to_owned(), protocol),
        vec!["bank".to_owned()],
    )];
    let tables = Tables::new(one, None);
    let otlp = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[]},\"scopeSpans\":[{\"spans\":[{\"spanId\":\"0a\",\"events\":[\
                {\"name\":\"login\",\"attributes\":[{\"key\":\"from\",\"value\":{\"stringValue\":\"client\"}}]}]}]}]}]}";
    let texts = [
        LOG,
        otlp,
        "server <- login(\"holk\")\nclient <- ok\nserver <- closed\n",
    ];
    let words: [&[u8]; 9] = [
        b"\"",
        b"{",
        b"}",
        b"\\u0000",
        b"\xff",
        b"\n",
        b"\"at\":\"client\",",
        b"\"kind\":\"send\",",
        b" <- ",
    ];
    let mut random = Choices::new(2012);
    let mapping = Mapping::own();
    let transcript = Transcript::new("t");
    let [mut events, mut problems] = [0, 0];
    for round in 0..6_000 {
        let mut bytes = texts[round % texts.len()].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes.truncate(at),
                1 => drop(bytes.splice(at..at, words[random.below(words.len())].iter().copied())),
                _ => drop(bytes.splice(at..(at + random.below(9)).min(bytes.len()), [])),
            }
        }
        let options = Options {
            sessions: 3,
            has_both: random.below(2) == 0,
            is_online: random.below(2) == 0,
        };
        let mut checker = Checker::new(&tables, options);
        for (number, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let line = super::line(0, number, text);
            let all = [
                mapping.read(text, None).map(Vec::from_iter),
                transcript.read(text).map(Vec::from_iter),
                otlp_events(text, None),
            ];
            for read in all {
                match read {
                    Ok(list) => {
                        for event in list {
                            events += 1;
                            let place = event.place(text);
                            assert!(place.end <= text.len() && place.start <= place.end);
                            let taken = checker.take(&event, &line);
                            assert!(matches!(taken, Ok(()) | Err(Stop::Sessions)), "{taken:?}");
                        }
                    }
                    Err(problem) => {
                        problems += 1;
                        checker.unreadable(&line, problem.message, problem.byte);
                    }
                }
            }
        }
        let _ = checker.finish();
    }
    assert!(events > 5_000 && problems > 5_000, "{events}, {problems}");
}

/// A million sessions, of which the checker holds as many as it may, and findings of which it keeps as many as it may.
#[test]
fn a_million_sessions() {
    let program = checked(&[crate::support::repository().join("protocols/bank.proto")]);
    let protocol = program.protocols().next().expect("the bank").protocol();
    let tables = || {
        let one = vec![(
            Table::of("bank".to_owned(), protocol),
            vec!["bank".to_owned()],
        )];
        Tables::new(one, None)
    };
    let options = Options {
        sessions: 1000,
        has_both: false,
        is_online: false,
    };
    let text = b"{}";
    let take = |checker: &mut Checker<'_, '_>, session: u64, message: &'static str| {
        let event = Event {
            session: session.to_string().into(),
            protocol: None,
            kind: Kind::Message,
            message: message.into(),
            from: None,
            at: None,
        };
        let line = super::line(0, session + 1, text);
        checker.take(&event, &line)
    };
    let one = tables();
    let mut checker = Checker::new(&one, options);
    // Sessions that end make way for others.
    for session in 0..100_000 {
        for message in ["login", "ok", "quit"] {
            assert_eq!(take(&mut checker, session, message), Ok(()));
        }
    }
    for session in 100_000..1_000_000 {
        let taken = take(&mut checker, session, "login");
        let is_full = session >= 101_000;
        assert_eq!(taken, if is_full { Err(Stop::Sessions) } else { Ok(()) });
    }
    assert_eq!(checker.open(), 1000);
    // The last of those that are over are remembered.
    assert_eq!(take(&mut checker, 99_999, "login"), Ok(()));
    assert_eq!(take(&mut checker, 0, "login"), Err(Stop::Sessions));
    let (found, more, counts) = checker.finish();
    assert_eq!((found.len(), more, counts[0].wrong), (1, 0, 1));
    assert_eq!((counts[0].finished, counts[0].unfinished), (99_999, 1000));

    let options = Options {
        sessions: 1_000_000,
        ..options
    };
    let mut checker = Checker::new(&one, options);
    for session in 0..5_000 {
        assert_eq!(take(&mut checker, session, "quit"), Ok(()));
    }
    let (found, more, _) = checker.finish();
    assert_eq!((found.len(), more), (FINDING_LIMIT, 4000));
}

/// The log of one side may be ahead of the other's only so far, and a side that logs alone is no problem.
#[test]
fn logs_that_are_too_far_apart() {
    let scratch = scratch("trace-apart");
    let protocol =
        "#[allow(never-ends, cannot-finish, unbounded-run)]\nproto! p { s:send { m -> s } }\n";
    scratch.write("p.proto", protocol);
    let line = |kind: &str| format!("{{\"session\":1,\"kind\":\"{kind}\",\"message\":\"m\"}}\n");
    scratch.write("client.jsonl", line("send").repeat(150_000));
    scratch.write("server.jsonl", line("receive"));
    let answer =
        scratch.transcript("trace client=client.jsonl server=server.jsonl --protocol p.proto -q");
    assert!(answer.contains("too far apart"), "{answer}");
    assert!(answer.ends_with("--- exit 3 ---\n"), "{answer}");
    scratch.said(
        "trace client=client.jsonl --protocol p.proto",
        0,
        &["150000 messages: 1 unfinished"],
    );
}
