//! Records of sessions in the three languages: `trace` accepts them, and blames the side that has sent a message which was changed.

use crate::support::program::{Scratch, run};
use crate::support::repository;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The report of `trace` about a log, as JSON, with the examples of the repository.
pub fn check(log: &Path, arguments: &[&str]) -> (bool, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
    command.current_dir(repository().join("protocols"));
    command.args(["trace", "--format", "json"]).arg(log);
    let checked = run(
        {
            command.args(arguments);
            command
        },
        b"",
    );
    let report = serde_json::from_slice(&checked.stdout).unwrap_or_else(|error| {
        let errors = String::from_utf8_lossy(&checked.stderr);
        panic!("{error}:\n{errors}")
    });
    (checked.status.success(), report)
}

/// Checks that a log is accepted, and that one whose message is replaced is not, with blame for its sender. Returns the counts of
/// the bank.
pub fn is_accepted(log: &Path, scratch: &str) -> Value {
    let (accepted, report) = check(log, &[]);
    assert!(accepted, "{report:#}");
    let text = fs::read_to_string(log).expect("it was written");
    let scratch = Scratch::with(&format!("recorded-{scratch}"), &[]);
    // What the sender has logged: if only the receiver's line were another, the channel would be to blame.
    let is_sent = |line: &&str| line.contains("\"deposit\"") && !line.contains("\"receive\"");
    let sent = text.lines().find(is_sent).expect("a customer deposits");
    let at = text.find(sent).expect("it is there");
    let line = 1 + text[..at].matches('\n').count();
    let (before, after) = text.split_at(at);
    let after = after.replacen("\"deposit\"", "\"money\"", 1);
    scratch.write("changed.jsonl", format!("{before}{after}"));
    let changed = scratch.path("changed.jsonl");
    let (accepted, report) = check(&changed, &[]);
    assert!(!accepted, "a client never sends `money`");
    let wrong = report.to_string();
    assert!(wrong.contains("\"blame\":\"client\""), "{report:#}");
    assert!(wrong.contains("trace-message"), "{report:#}");
    assert!(wrong.contains(&format!("\"line\":{line}")), "{report:#}");
    report
}

/// The program of the page about traces, which records one whole session and one that is stopped.
#[test]
fn rust_records_and_the_page_has_the_program() {
    let scratch = Scratch::with("recorded-rust", &[]);
    let mut recorded = crate::rust::recorded_program();
    let ended = run(
        {
            recorded.current_dir(scratch.path("."));
            recorded
        },
        b"",
    );
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{errors}");
    let log = scratch.path("sessions.jsonl");
    let text = fs::read_to_string(&log).expect("it was written");
    assert_eq!(text.lines().count(), 6 + 20 + 1, "{text}");
    assert!(
        text.ends_with("\"kind\":\"left\",\"why\":\"`withdrawal` is one message too many\"}\n")
            || text.ends_with("\"kind\":\"left\",\"why\":\"`money` is one message too many\"}\n")
            || text.ends_with("\"kind\":\"left\",\"why\":\"`deposit` is one message too many\"}\n"),
        "{text}"
    );
    is_accepted(&log, "rust-changed");
}
