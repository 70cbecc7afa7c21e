//! `trace`: logs of sessions against their protocols.

mod hostile;
mod mutations;
pub mod recorded;
mod sides;

use crate::support::program::Scratch;
#[cfg(target_os = "linux")]
use crate::support::tmux::Tmux;
use duologue_traces::{Line, Place};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

const BANK: &str = include_str!("../../protocols/bank.proto");

/// Three interleaved sessions, of which one is wrong, one is unknown to the protocol, and one is unfinished.
const LOG: &str = r#"{"session":"a","from":"client","message":"login","values":["holk","1234"]}
{"session":"b","from":"client","message":"login"}
{"session":"a","from":"server","message":"ok"}
{"session":"b","from":"server","message":"invalid"}
{"session":"a","from":"client","message":"deposit"}
{"session":"a","from":"server","message":"money"}

{"session":"b","message":"logn"}
not json
{"session":3,"message":"login"}
{"session":"a","from":"client","message":"quit"}
"#;

/// A line of a log.
fn line(log: u32, line: u64, text: &[u8]) -> Line<'_> {
    Line {
        place: Place { log, line },
        byte: 0,
        text,
    }
}

fn scratch(name: &str) -> Scratch {
    Scratch::with(name, &[("bank.proto", BANK), ("log.jsonl", LOG)])
}

/// A wrong event is printed before the log is over.
#[test]
fn a_followed_log_is_reported_at_once() {
    let scratch = scratch("trace-follow");
    let mut command = scratch.duologue("trace - --follow --protocol bank.proto --format short");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input is a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
    let lines: Vec<&str> = LOG.lines().collect();
    input
        .write_all((lines[..6].join("\n") + "\n").as_bytes())
        .expect("it reads");
    let mut line = String::new();
    output.read_line(&mut line).expect("it writes");
    assert!(
        line.starts_with("<stdin>:6:43: error[trace-message]: the server sends `money`"),
        "{line}"
    );
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 wrong"));
}

/// A file is followed beyond its end, and a line is read when it is whole.
#[test]
fn a_file_is_followed_as_it_grows() {
    let scratch = scratch("trace-grows");
    scratch.write("grows.jsonl", "{\"session\":\"a\",\"mess");
    let mut command =
        scratch.duologue("trace grows.jsonl --follow --protocol bank.proto --format short");
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
    let file = OpenOptions::new()
        .append(true)
        .open(scratch.path("grows.jsonl"));
    let mut file = file.expect("it is there");
    file.write_all(b"age\":\"quit\"}\n")
        .expect("it can be written");
    let mut line = String::new();
    output.read_line(&mut line).expect("it writes");
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
    assert!(
        line.starts_with("grows.jsonl:1:27: error[trace-message]"),
        "{line}"
    );
}

/// The page describes the findings, the examples on it are read as it says, and its limits are those of the code.
#[test]
fn the_page_is_true() {
    let path = crate::support::repository().join("docs/tracing.md");
    let page = fs::read_to_string(path).expect("the page is there");
    let scratch = scratch("trace-page");
    for name in [
        "trace",
        "trace-message",
        "trace-channel",
        "trace-line",
        "trace-unfinished",
    ] {
        let explained = scratch.transcript(&format!("explain {name}"));
        assert!(explained.contains(&page), "{name}: {explained}");
    }
    let block = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    scratch.write("example.jsonl", block.expect("an example"));
    let answer = scratch.transcript("trace example.jsonl");
    assert!(
        answer.contains("1 session, 2 messages: 1 left early"),
        "{answer}"
    );
    for limit in [
        duologue_traces::AHEAD_LIMIT,
        duologue_traces::ALL_AHEAD_LIMIT,
        duologue_traces::FINDING_LIMIT,
        duologue_traces::ID_LIMIT,
        duologue_traces::CONDITION_LIMIT,
    ] {
        let digits: Vec<char> = limit.to_string().chars().rev().collect();
        let groups: Vec<String> = digits
            .chunks(3)
            .map(|three| three.iter().rev().collect())
            .collect();
        let words = groups.into_iter().rev().collect::<Vec<_>>().join(",");
        assert!(page.contains(&words), "the page does not name {words}");
    }
}

/// A followed log goes on in the file that replaces it, and ends with a summary at Ctrl-C.
#[cfg(target_os = "linux")]
#[test]
fn a_followed_log_is_rotated_and_summed_up() {
    use rustix::process::{Pid, Signal, kill_process};
    let scratch = scratch("trace-rotated");
    let wrong = |session: &str| format!("{{\"session\":\"{session}\",\"message\":\"quit\"}}\n");
    scratch.write("log.jsonl", wrong("a"));
    let mut command =
        scratch.duologue("trace log.jsonl --follow --protocol bank.proto --format short");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
    let mut next = || {
        let mut line = String::new();
        output.read_line(&mut line).expect("it writes");
        line
    };
    assert!(next().starts_with("log.jsonl:1:"));
    let append = |path: &str, text: &str| {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(scratch.path(path));
        let file = file.as_mut().expect("it can be opened");
        file.write_all(text.as_bytes()).expect("it can be written");
    };
    fs::rename(scratch.path("log.jsonl"), scratch.path("log.1")).expect("it can be renamed");
    append("log.1", &wrong("b"));
    append("log.jsonl", &("\n".to_owned() + &wrong("c")));
    assert!(
        next().starts_with("log.jsonl:2:"),
        "the rest of the old file"
    );
    assert!(next().starts_with("log.jsonl:2:"), "the new file");
    let id = i32::try_from(child.id()).expect("a small number");
    kill_process(Pid::from_raw(id).expect("a process"), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("bank: 3 sessions, 3 messages: 3 wrong\n"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// A fifo with some lines, which is not over until the returned file is closed.
#[cfg(target_os = "linux")]
fn fifo(scratch: &Scratch, name: &str) -> impl Fn(&str) -> fs::File + use<> {
    let path = scratch.path(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo is there").success());
    move |text: &str| {
        let opened = OpenOptions::new().write(true).open(&path);
        let mut file = opened.expect("it can be opened");
        file.write_all(text.as_bytes()).expect("somebody reads");
        file
    }
}

/// Ctrl-C ends the check of a log that comes to no end with a summary of what was read, also while nothing arrives, and a half line is no
/// finding.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_check_says_what_it_has_read() {
    use rustix::process::{Pid, Signal, kill_process};
    let login = "{\"session\":\"a\",\"message\":\"login\"}\n{\"session\":\"a\",\"mess";
    for (options, code, more) in [
        ("", 3, "interrupted: the logs were not read to their end"),
        ("--follow", 0, ""),
    ] {
        for from_stdin in [false, true] {
            let scratch = scratch("trace-interrupted");
            let log = if from_stdin { "-" } else { "pipe" };
            let line = format!("trace {log} {options} --protocol bank.proto --format short");
            let mut command = scratch.duologue(&line);
            let open = fifo(&scratch, "pipe");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
            let mut input = child.stdin.take().expect("its input is a pipe");
            let kept = match from_stdin {
                true => {
                    input.write_all(login.as_bytes()).expect("it reads");
                    None
                }
                false => Some(open(login)),
            };
            let id = i32::try_from(child.id()).expect("a small number");
            let id = Pid::from_raw(id).expect("a process");
            // Until what was written is read, the pipe is not empty.
            let unread = |file: &dyn std::os::fd::AsFd| {
                rustix::io::ioctl_fionread(file.as_fd()).expect("it is a pipe")
            };
            while match &kept {
                Some(file) => unread(file),
                None => unread(&input),
            } > 0
            {
                std::thread::yield_now();
            }
            kill_process(id, Signal::INT).expect("it runs");
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{line}: {said}");
            assert!(
                said.contains("bank: 1 session, 1 message: 1 unfinished"),
                "{line}: {said}"
            );
            assert!(said.contains(more), "{line}: {said}");
            let found = String::from_utf8_lossy(&output.stdout);
            assert!(!found.contains("trace-line"), "{line}: {found}");
            drop((kept, input));
        }
    }
}

/// On a terminal a check that takes long says how much it has read, and leaves nothing of that. Elsewhere it says nothing.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "with tmux"]
fn a_long_check_shows_its_progress_on_a_terminal_alone() {
    let scratch = scratch("trace-progress");
    let (quiet, shown) = (fifo(&scratch, "quiet"), fifo(&scratch, "shown"));
    let line = "{\"session\":\"a\",\"message\":\"login\"}\n";
    let mut command = scratch.duologue("trace quiet --protocol bank.proto");
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.env("TERM", "xterm").spawn().expect("it starts");
    let first = quiet(line);
    // It begins later, so the other one has run for longer when it shows something.
    let tmux = Tmux::start(&scratch, (80, 24), "trace shown --protocol bank.proto");
    let second = shown(line);
    tmux.shows("reading logs: 0 MiB, ");
    drop(first);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !said.contains("reading logs") && !said.contains('\r'),
        "{said}"
    );
    drop(second);
    let screen = tmux.shows("ended with 0");
    assert!(screen.contains("covered 1/8 transitions"), "{screen}");
    assert!(!screen.contains("reading logs"), "{screen}");
}
