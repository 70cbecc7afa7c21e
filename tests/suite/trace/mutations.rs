//! Every transcript of `tests/run/` is legal; with one event dropped, doubled, swapped with the next or renamed, the first line that
//! the protocol does not allow is reported. What is allowed is decided here by a walk over the resolved protocol, which shares
//! nothing with the tables of the checker.

use super::sides::Both;
use crate::support::rust::checked;
use crate::support::{conversations, repository};
use duologue::check::CheckedProgram;
use duologue::protocol::{Next, Protocol, Side};
use duologue_traces::{Checker, Counts, Finding, Mapping, Options, Table, Tables, Transcript};
use insta::assert_snapshot;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

/// The folders of `tests/run/` with the protocol that their programs begin with. In some, programs also receive in other sessions,
/// whose messages are listed.
const CASES: &[(&str, &str, &[&str])] = &[
    ("bank", "bank", &[]),
    ("double_buffer", "double_buffer", &[]),
    ("feed", "feed", &["send", "closed"]),
    ("file_server", "file_server", &[]),
    ("future", "future", &[]),
    ("future_broken", "future", &[]),
    ("long_words", "tally", &[]),
    ("oneshot", "oneshot", &[]),
    ("relay", "relay", &[]),
    ("seller", "seller", &[]),
    ("stream", "stream", &[]),
    ("switchboard", "switchboard", &["negate", "result", "quit"]),
    ("telemetry", "telemetry", &[]),
    ("type_switch", "type_switch", &[]),
    ("word_count", "tally", &[]),
    ("work_queue", "work_queue", &[]),
];

/// A message of a transcript with its sender; a side that has left has no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub from: Side,
    pub message: Option<String>,
}

/// The first event that is not allowed.
fn first_wrong(protocol: &Protocol, events: &[Said]) -> Option<usize> {
    let mut state = Some(protocol.start());
    let mut left = None;
    for (at, event) in events.iter().enumerate() {
        let Some(message) = &event.message else {
            left = Some(event.from);
            continue;
        };
        let here = state.filter(|state| state.active_side() == Some(event.from));
        let found = here.filter(|_| left != Some(event.from));
        let found =
            found.and_then(|state| state.messages.iter().find(|one| one.name.text() == message));
        let Some(found) = found else {
            return Some(at);
        };
        state = match &found.next {
            Next::State { state, .. } => Some(protocol.state(*state)),
            Next::End | Next::Error => None,
        };
    }
    None
}

/// All events with one of them changed, and what was done.
fn mutants(events: &[Said], protocol: &Protocol) -> Vec<(&'static str, usize, Vec<Said>)> {
    let mut mutants = Vec::new();
    let states = protocol.states.iter().flat_map(|state| &state.messages);
    let mut names: BTreeSet<&str> = states.map(|message| message.name.text()).collect();
    names.insert("no_such_message");
    for at in 0..events.len() {
        let with = |change: &dyn Fn(&mut Vec<Said>)| {
            let mut events = events.to_vec();
            change(&mut events);
            events
        };
        mutants.push(("dropped", at, with(&|events| drop(events.remove(at)))));
        let same = events[at].clone();
        mutants.push((
            "doubled",
            at,
            with(&|events| events.insert(at, same.clone())),
        ));
        if at + 1 < events.len() && events[at] != events[at + 1] {
            mutants.push(("swapped", at, with(&|events| events.swap(at, at + 1))));
        }
        let Some(own) = &events[at].message else {
            continue;
        };
        for name in names.iter().filter(|name| *name != own) {
            let rename = |events: &mut Vec<Said>| events[at].message = Some((*name).to_owned());
            mutants.push(("renamed", at, with(&rename)));
        }
    }
    mutants
}

/// A log of our own, as something that sees all messages writes it.
fn log(events: &[Said]) -> String {
    let line = |event: &Said| {
        let from = event.from.word();
        match &event.message {
            Some(name) => format!(
                "{{\"session\":\"s\",\"from\":\"{from}\",\"message\":\"{name}\",\"values\":[1]}}\n"
            ),
            None => format!("{{\"session\":\"s\",\"kind\":\"left\",\"from\":\"{from}\"}}\n"),
        }
    };
    events.iter().map(line).collect()
}

/// A transcript.
fn written(events: &[Said]) -> String {
    let line = |event: &Said| {
        let receiver = event.from.dual().word();
        match &event.message {
            Some(name) => format!("{receiver} <- {name}(1, \"<- x\")\n"),
            None => format!("{receiver} <- closed\n"),
        }
    };
    events.iter().map(line).collect()
}

/// What the checker finds in a log.
fn found(tables: &Tables<'_>, log: &str, is_transcript: bool) -> (Vec<Finding>, Vec<Counts>) {
    let options = Options {
        sessions: 10,
        has_both: false,
        is_online: false,
    };
    let mut checker = Checker::new(tables, options);
    let (mapping, transcript) = (Mapping::own(), Transcript::new("s"));
    for (number, text) in (1..).zip(log.lines()) {
        let line = super::line(0, number, text.as_bytes());
        let event = match is_transcript {
            true => transcript.read(line.text),
            false => mapping.read(line.text, None),
        };
        let event = event.expect("it can be read").expect("it is an event");
        checker.take(&event, &line).expect("there are few sessions");
    }
    let (found, more, counts) = checker.finish();
    assert_eq!(more, 0);
    (found, counts)
}

/// The transcripts with their protocols.
pub fn cases(program: &CheckedProgram, mut check: impl FnMut(&str, &Protocol, &[Said])) {
    for (case, protocol, others) in CASES {
        let path = repository()
            .join("tests/run")
            .join(case)
            .join("expected.txt");
        let text = fs::read_to_string(path).expect("the transcript is there");
        let events = text.lines().map(|line| {
            let (receiver, message) = line.split_once(" <- ").expect("a transcript");
            let name = message.split('(').next().unwrap_or_default();
            let receiver = if receiver == "client" {
                Side::Client
            } else {
                Side::Server
            };
            Said {
                from: receiver.dual(),
                message: (name != "closed").then(|| name.to_owned()),
            }
        });
        let is_other = |event: &Said| {
            let name = event.message.as_deref().unwrap_or("closed");
            others.contains(&name)
        };
        let events: Vec<Said> = events.filter(|event| !is_other(event)).collect();
        let mut protocols = program.protocols().map(|one| one.protocol());
        let protocol = protocols.find(|one| one.name.text() == *protocol);
        check(case, protocol.expect("the protocol is there"), &events);
    }
}

#[test]
fn every_case_is_listed() {
    let listed: Vec<&str> = CASES.iter().map(|(case, ..)| *case).collect();
    assert_eq!(conversations(), listed);
}

#[test]
fn the_first_wrong_line_of_a_changed_transcript_is_named() {
    let program = checked(&crate::support::rust::protocols_in("protocols"));
    let mut table = String::new();
    let mut all: Vec<(&str, [usize; 2])> = Vec::new();
    cases(&program, |case, protocol, events| {
        let one = vec![(Table::of("p".to_owned(), protocol), vec!["p".to_owned()])];
        let tables = Tables::new(one, None);
        for is_transcript in [false, true] {
            let text = if is_transcript {
                written(events)
            } else {
                log(events)
            };
            let (wrong, _) = found(&tables, &text, is_transcript);
            assert!(wrong.is_empty(), "{case}: {wrong:?}");
        }
        let mut counts: Vec<(&str, [usize; 2])> = Vec::new();
        for (kind, at, changed) in mutants(events, protocol) {
            let expected = first_wrong(protocol, &changed);
            for is_transcript in [false, true] {
                let text = if is_transcript {
                    written(&changed)
                } else {
                    log(&changed)
                };
                let (wrong, counts) = found(&tables, &text, is_transcript);
                let lines: Vec<u64> = wrong.iter().map(|found| found.line.place.line).collect();
                let line = expected.map(|at| u64::try_from(at).expect("few lines") + 1);
                assert_eq!(
                    lines,
                    Vec::from_iter(line),
                    "{case}, {kind} at {at}:\n{text}"
                );
                assert_eq!(counts[0].wrong, u64::from(expected.is_some()));
                for found in &wrong {
                    let verdict = found.verdict.as_ref().expect("a message is wrong");
                    assert!(
                        !verdict.allowed.contains(&verdict.message)
                            || verdict.state == "!"
                            || found.report.message.contains("in which")
                            || found.report.message.contains("left"),
                        "{found:?}"
                    );
                }
            }
            let index = counts.iter().position(|(known, _)| *known == kind);
            let index = index.unwrap_or_else(|| {
                counts.push((kind, [0; 2]));
                counts.len() - 1
            });
            counts[index].1[0] += usize::from(expected.is_some());
            counts[index].1[1] += 1;
        }
        for (kind, [wrong, made]) in counts {
            match all.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, sum)) => {
                    sum[0] += wrong;
                    sum[1] += made;
                }
                None => all.push((kind, [wrong, made])),
            }
        }
    });
    for (kind, [wrong, made]) in all {
        let _ = writeln!(
            table,
            "{kind}: {made}, of which {wrong} are not allowed and {} are",
            made - wrong
        );
    }
    assert_snapshot!("changed transcripts", table);
}

/// With the logs of both sides, of which one is changed, everything is noticed but what makes one log the beginning of the other.
/// However the logs are
/// interleaved, the verdict is the same.
#[test]
fn a_change_in_the_log_of_one_side_is_noticed() {
    let program = checked(&crate::support::rust::protocols_in("protocols"));
    let [mut made, mut noticed] = [0, 0];
    cases(&program, |case, protocol, events| {
        let one = vec![(Table::of("p".to_owned(), protocol), vec!["p".to_owned()])];
        let tables = Tables::new(one, None);
        let events: Vec<Said> = events
            .iter()
            .filter(|one| one.message.is_some())
            .cloned()
            .collect();
        let same = Both::of([&events, &events]);
        assert!(same.verdict(&tables, 0).is_none(), "{case}");
        for (kind, at, changed) in mutants(&events, protocol) {
            for side in [0, 1] {
                let mut logs: [&[Said]; 2] = [&events, &events];
                logs[side] = &changed;
                let both = Both::of(logs);
                let verdicts: Vec<_> = (0..4).map(|order| both.verdict(&tables, order)).collect();
                let what = || format!("{case}, {kind} at {at} in log {side}: {verdicts:#?}");
                assert!(verdicts.iter().all(|one| *one == verdicts[0]), "{}", what());
                // The end of a longer log may only not have arrived yet.
                let is_prefix = changed.starts_with(&events) || events.starts_with(&changed);
                assert!(verdicts[0].is_some() || is_prefix, "{}", what());
                made += 1;
                noticed += usize::from(verdicts[0].is_some());
                if let (Some(verdict), "renamed") = (&verdicts[0], kind) {
                    assert_eq!(
                        verdict.line,
                        u64::try_from(at).expect("few") + 1,
                        "{}",
                        what()
                    );
                }
            }
        }
    });
    assert_snapshot!("changed logs", format!("{noticed} of {made} are noticed"));
}
