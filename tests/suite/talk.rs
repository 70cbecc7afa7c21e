//! `duologue talk`: sessions that are played in the terminal, from scripts and by robots.

use crate::support::program::{Scratch, run};
use crate::support::rust::protocols_in;
use crate::support::tmux::Tmux;
use crate::support::{conversations, repository, stem};
use std::fs;
use std::path::Path;

/// The conversations of `tests/run/` with one session of a protocol that needs no instance, or of the instance named.
const CONVERSATIONS: [(&str, &str); 11] = [
    ("bank", "bank"),
    ("double_buffer", "double_buffer"),
    ("file_server", "file_server"),
    ("future", "future"),
    ("oneshot", "oneshot"),
    ("relay", "relay"),
    ("stream", "stream"),
    ("telemetry", "telemetry"),
    ("type_switch", "type_switch"),
    ("word_count", "word_count"),
    ("work_queue", "work_queue"),
];

fn protocol(name: &str) -> String {
    let path = repository().join("protocols").join(name);
    format!("{}.proto", path.display())
}

fn bank() -> Vec<u8> {
    fs::read(protocol("bank")).expect("it is there")
}

#[test]
fn transcripts_of_all_languages_are_played_as_they_are() {
    let scratch = Scratch::new("talk-transcripts");
    for (conversation, name) in CONVERSATIONS {
        let path = repository().join("tests/run").join(conversation);
        let expected = fs::read_to_string(path.join("expected.txt")).expect("it is there");
        let mut command = scratch.duologue("talk");
        command
            .arg(protocol(name))
            .args(["--script", "-", "--record", "session.jsonl"]);
        let output = run(command, expected.as_bytes());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{conversation}: {errors}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{conversation}"
        );
        let mut check = scratch.duologue("trace session.jsonl --protocol");
        check.arg(protocol(name));
        let output = run(check, b"");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{conversation}: {report}");
    }
}

#[test]
fn what_robots_play_is_a_transcript_of_the_protocol() {
    let scratch = Scratch::new("talk-robots");
    let mut played = 0;
    for path in protocols_in("protocols") {
        let name = stem(&path);
        // Their messages carry endpoints or types of the host program, or there is no protocol without type parameters.
        let left_out =
            "double_buffer feed future oneshot relay stream switchboard types work_queue";
        if left_out.split(' ').any(|one| one == name) {
            continue;
        }
        let protocol = match name {
            "word_count" => "#word_count",
            "negotiation" => "#buyer",
            _ => "",
        };
        for seed in 0..5 {
            let mut command = scratch.duologue("talk --robot both --messages 200 --seed");
            command
                .arg(seed.to_string())
                .arg(format!("{}{protocol}", path.display()));
            let output = run(command, b"");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {errors}");
            let mut again = scratch.duologue("talk --script -");
            again.arg(format!("{}{protocol}", path.display()));
            let repeated = run(again, &output.stdout);
            let errors = String::from_utf8_lossy(&repeated.stderr);
            assert!(repeated.status.success(), "{name}: {errors}");
            assert_eq!(repeated.stdout, output.stdout, "{name}");
            assert!(!output.stdout.is_empty(), "{name}");
            played += 1;
        }
    }
    assert!(played >= 40, "only {played} dialogues");
}

#[test]
fn the_page_shows_what_a_robot_plays() {
    let page = fs::read_to_string(repository().join("docs/testing.md")).expect("it is there");
    let shown = page.split("--seed 0\n```\n\n```text\n").nth(1);
    let shown = shown.and_then(|rest| rest.split("```").next());
    let scratch = Scratch::new("talk-page");
    let mut command = scratch.duologue("talk --robot both --seed 0");
    command.arg(protocol("bank"));
    let output = run(command, b"");
    let shown = shown.expect("the page has a dialogue");
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with(shown),
        "{output:?}"
    );
}

#[test]
fn lines_of_any_length_and_depth_end_in_errors() {
    let deep = "type t = [u8];\nenum tree { leaf, node([tree]) }\nproto! p { s:send { a(tree) -> s, stop -> ! } }\n";
    let scratch = Scratch::with("talk-hostile", &[("p.proto", deep)]);
    let nested = format!(
        "a({}leaf{})",
        "node([".repeat(100_000),
        "])".repeat(100_000)
    );
    let long = "a".repeat(9 << 20);
    for (input, expected) in [
        (nested, "nested more than 600 deep"),
        (long, "the line has more than 8388608 bytes"),
    ] {
        let output = run(scratch.duologue("talk p.proto"), input.as_bytes());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
        assert!(!output.status.success());
    }
}

#[test]
#[ignore = "with tmux"]
fn a_person_plays_the_client_of_the_bank() {
    let scratch = Scratch::with("talk-terminal", &[]);
    scratch.write("bank.proto", bank());
    let tmux = Tmux::start(&scratch, (100, 30), "talk bank.proto --record session.txt");
    tmux.shows("client in login>");
    // Tab completes what may be sent.
    tmux.keys(&["lo", "Tab"]);
    tmux.shows("client in login> login(");
    tmux.keys(&["\"holk\", 5)", "Enter"]);
    tmux.shows("expected `\"` before a text, not `5`");
    // The line comes back from the history, and is corrected.
    tmux.keys(&["Up", "BSpace", "BSpace", "\"1234\")", "Enter"]);
    tmux.shows("server in login_response>");
    tmux.keys(&["invalid", "Enter"]);
    tmux.shows("client <- invalid");
    tmux.keys(&[":undo", "Enter"]);
    tmux.shows("back to 1 message");
    tmux.keys(&["o", "Tab", "Enter"]);
    tmux.shows("client in connected>");
    tmux.keys(&["quit", "Enter"]);
    tmux.shows("bank: 3 messages, finished, covered 4/8 transitions");
    let record = scratch.read("session.txt");
    assert_eq!(
        record,
        "server <- login(\"holk\", \"1234\")\nclient <- ok\nserver <- quit\n"
    );
}

#[test]
fn every_conversation_is_played_or_has_several_sessions() {
    // Their transcripts are those of several sessions, of protocols seen from the other side, or without the payloads.
    let others = "feed future_broken long_words seller switchboard".split(' ');
    for name in conversations() {
        let is_known = others.clone().any(|other| other == name)
            || CONVERSATIONS.iter().any(|(known, _)| *known == name);
        assert!(is_known, "{name} is played by no test");
    }
    assert!(Path::new(&protocol("bank")).exists());
}
