//! Robots in Scala play with each other. They are part of the programs that are compiled once for each version.

use super::{package_of, programs, read};
use crate::support::repository;
use crate::support::scala::Scala;
use duologue::check::CheckedProgram;
use std::collections::BTreeSet;
use std::fmt::Write;

fn transcripts() -> String {
    read(&repository().join("tests/robots/transcripts.txt"))
}

/// A program that has a line for each protocol of the transcripts.
pub fn cases(checked: &CheckedProgram) -> String {
    let transcripts = transcripts();
    let heads = transcripts
        .lines()
        .filter_map(|line| line.strip_prefix("# "));
    let names: BTreeSet<&str> = heads.filter_map(|head| head.split(' ').next()).collect();
    assert!(names.len() > 15, "{names:?}");
    let mut text = String::from(
        "package cases\n\nobject RobotCases {\n  def all(each: Robots.Each): Unit = {\n",
    );
    for name in names {
        let path = format!("{}.{name}", package_of(checked, name));
        let hooks = match name {
            "double_buffer" => ["BufferClient", "BufferServer"],
            "work_queue" => ["TicketClient", "TicketServer"],
            _ => ["", ""],
        };
        let [client, server] = hooks.map(|hooks| match hooks {
            "" => String::new(),
            hooks => format!(", Robots.{hooks}"),
        });
        writeln!(
            text,
            "    each(\"{name}\", {path}.robots.table, () => {path}.init())((first, play) => {path}.robots.client(first, play{client}))(\
             (first, play) => {path}.robots.server(first, play{server}))"
        )
        .expect("writing into memory does not fail");
    }
    text + "  }\n}\n"
}

fn robots_play(scala: Scala) {
    let on = [programs(scala), scala.runtime()];
    let printed = scala.run(&on, "cases.Robots", &[]);
    let printed = printed.unwrap_or_else(|failure| panic!("{failure}"));
    let (played, reports) = printed
        .split_once("== reports\n")
        .unwrap_or_else(|| panic!("{printed}"));
    assert!(
        played == transcripts(),
        "the sessions differ from tests/robots/transcripts.txt:\n{played}"
    );
    let mut count = 0;
    for line in reports.lines() {
        let report: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
        assert_eq!(report["version"], 1);
        assert_eq!(report["language"], "scala");
        assert_eq!(report["side"], "both");
        let fingerprint = report["fingerprint"].as_str().expect("it is a text");
        assert_eq!(fingerprint.len(), 32);
        let transitions = report["transitions"].as_array().expect("it is a list");
        let is_seen = |transition: &serde_json::Value| transition["sent"] != 0;
        assert!(transitions.iter().any(is_seen), "{line}");
        count += 1;
    }
    assert!(count > 15, "{reports}");
}

#[test]
fn robots_play_the_same_sessions_in_scala_3() {
    robots_play(Scala::Three);
}

#[test]
#[ignore = "slow: Scala 2"]
fn robots_play_the_same_sessions_in_scala_2() {
    robots_play(Scala::Two);
}
