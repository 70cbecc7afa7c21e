//! The transcripts of `tests/wire/sessions.txt`, with a connection and a clock that the test controls.

#[macro_use]
#[path = "../../../tests/sessions/golden/state.rs"]
mod states;

mod counter;
mod shell;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use duologue::transport::Why;

use super::Checks;
use shell::Shell;

/// A transcript: its name, its terms, and its steps.
struct Transcript {
    name: String,
    terms: Vec<String>,
    steps: Vec<String>,
}

fn text() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("../../../tests/wire/sessions.txt");
    fs::read_to_string(file).expect("the repository has it")
}

fn transcripts() -> Vec<Transcript> {
    let mut transcripts: Vec<Transcript> = Vec::new();
    for line in text().lines().map(str::trim_end) {
        let words = || line.split(' ').map(str::to_owned);
        if line.is_empty() || line.starts_with('#') || line.starts_with("broken ") {
        } else if line.starts_with("session ") {
            transcripts.push(Transcript {
                name: words().nth(1).expect("a name"),
                terms: words().skip(2).collect(),
                steps: Vec::new(),
            });
        } else {
            let last = transcripts.last_mut().expect("a transcript begins");
            last.steps.push(line.to_owned());
        }
    }
    assert!(transcripts.len() > 20, "only {}", transcripts.len());
    transcripts
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = (0..text.len()).step_by(2);
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    digits.map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A reason as the transcripts spell it.
fn spelled(why: Why) -> String {
    format!("{why:?}").to_lowercase()
}

/// What follows `x`, how often a step is repeated; and the words before.
fn repeated(step: &str) -> (&str, usize) {
    match step.rsplit_once(" x ") {
        Some((step, count)) => (step, count.parse().expect("a number")),
        None => (step, 1),
    }
}

/// Does a step. Bytes of the peer arrive this many at a time.
fn act(shell: &mut Shell, step: &str, chunk: usize) {
    let (step, count) = repeated(step);
    let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
    let millis = || Duration::from_millis(rest.parse().expect("a number"));
    match verb {
        "send" => (0..count).for_each(|_| shell.send(rest)),
        "recv" => (0..count).for_each(|_| assert_eq!(shell.recv(), rest)),
        "drop" => shell.drop_side(),
        "flush" => shell.flush(),
        "<" => {
            let bytes = unhex(rest).repeat(count);
            let chunk = chunk.saturating_mul(count);
            bytes.chunks(chunk).for_each(|bytes| shell.arrives(bytes));
        }
        ">" => assert_eq!(hex(&shell.take_written()), rest.repeat(count)),
        "cut" => shell.ends(),
        "fails" => shell.fails(),
        "accept" => shell.accept(rest.parse().unwrap_or(usize::MAX)),
        "pass" => shell.pass(millis()),
        "full" => assert!(shell.core.is_full()),
        "deadline" => assert_eq!(shell.deadline(), (rest != "none").then(millis)),
        "over" => assert_eq!((shell.why(), shell.is_closed()), (Some(rest.into()), false)),
        "closed" => assert_eq!((shell.why(), shell.is_closed()), (Some(rest.into()), true)),
        "open" => assert_eq!((shell.why(), shell.is_closed()), (None, false)),
        _ => panic!("there is no step `{verb}`"),
    }
}

/// Plays a transcript.
fn play(transcript: &Transcript, chunk: usize) {
    let mut shell = Shell::begin(&transcript.terms);
    for (number, step) in transcript.steps.iter().enumerate() {
        let at = format!("{}, step {number}: {step}", transcript.name);
        shell::while_doing(at, || act(&mut shell, step, chunk));
    }
    assert_eq!(hex(&shell.take_written()), "", "{}: more", transcript.name);
}

#[test]
fn sessions_are_as_in_the_transcripts() {
    for transcript in transcripts() {
        play(&transcript, usize::MAX);
    }
}

/// However the peer's bytes are cut into pieces, the session is the same.
#[test]
fn bytes_may_arrive_one_at_a_time() {
    for transcript in transcripts() {
        play(&transcript, 1);
    }
}

/// The connection ends after each byte of the peer. The session is lost, unless it had already ended.
#[test]
fn a_session_that_is_cut_after_any_byte_is_lost() {
    let mut cuts = 0;
    for transcript in transcripts() {
        if transcript.steps.iter().any(|step| repeated(step).1 > 1) {
            continue;
        }
        for (at, step) in transcript.steps.iter().enumerate() {
            let Some(digits) = step.strip_prefix("< ") else {
                continue;
            };
            let bytes = unhex(digits);
            for count in 0..bytes.len() {
                let mut shell = Shell::begin(&transcript.terms);
                let name = format!("{}, cut after {count} bytes of {step}", transcript.name);
                shell::while_doing(name, || {
                    for step in &transcript.steps[..at] {
                        act(&mut shell, step, usize::MAX);
                    }
                    let ended = shell.why();
                    shell.arrives(&bytes[..count]);
                    shell.ends();
                    shell.pass(Duration::from_secs(20));
                    let expected = ended.unwrap_or_else(|| "lost".to_owned());
                    assert_eq!((shell.why(), shell.is_closed()), (Some(expected), true));
                });
                cuts += 1;
            }
        }
    }
    assert!(cuts > 80, "only {cuts}");
}

/// The lines `broken`: what no correct peer sends ends the session, and the peer learns why.
#[test]
fn frames_that_break_the_format_end_the_session() {
    let text = text();
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("broken "))
        .collect();
    assert!(lines.len() > 10, "only {}", lines.len());
    for line in lines {
        for chunk in [1, usize::MAX] {
            let mut words = line.split(' ');
            let name = words.next().expect("a name");
            let side = words.next().expect("a side").to_owned();
            let bytes = unhex(words.next().expect("bytes"));
            let mut shell = Shell::begin(&[side.clone(), "largest=64".to_owned()]);
            shell::while_doing(line.to_owned(), || {
                if side == "client" {
                    shell.send("ask");
                    shell.take_written();
                }
                bytes.chunks(chunk).for_each(|bytes| shell.arrives(bytes));
                assert_eq!(hex(&shell.take_written()), "000301", "{name}");
                act(&mut shell, "closed broken", chunk);
            });
        }
    }
}

/// A session whose states have limits of different length by turns, as the thread sees it that has the deadlines: its entries do not accumulate.
#[test]
fn there_is_one_entry_for_each_limit() {
    let limits = [10_000, 10, 300, 10, 10_000, 25];
    let start = Instant::now();
    let mut checks = Checks::default();
    let mut entries: Vec<Instant> = Vec::new();
    for step in 0..20_000_u64 {
        let now = start + Duration::from_millis(step);
        let due = now + Duration::from_millis(limits[step as usize % limits.len()]);
        if checks.request(due) {
            entries.push(due);
        }
        let come = entries.iter().filter(|at| **at <= now).count();
        entries.retain(|at| *at > now);
        for _ in 0..come {
            checks.come(now);
            if checks.request(due) {
                entries.push(due);
            }
        }
        assert!(entries.iter().any(|at| *at <= due), "{step}: no entry");
        assert_eq!(entries.len(), checks.entries.len());
        assert!(entries.len() <= 5, "{step}: {} entries", entries.len());
    }
}
