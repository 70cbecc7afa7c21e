//! `duologue talk`: sessions that are played in the terminal, from scripts and by robots.

use crate::support::program::{Scratch, run, transcript};
use crate::support::repository;
use crate::support::tmux::Tmux;
use insta::assert_snapshot;
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

/// Runs `duologue talk` with these lines as its input.
fn talk(arguments: &str, lines: &str) -> String {
    let scratch = Scratch::with("talk", &[]);
    let name = arguments.split(' ').next().expect("a protocol");
    let text = fs::read(protocol(name)).expect("it is there");
    scratch.write(&format!("{name}.proto"), text);
    // What the file server imports.
    let types = fs::read(protocol("types")).expect("it is there");
    scratch.write("types.proto", types);
    let arguments = arguments.replacen(name, &format!("talk {name}.proto"), 1);
    transcript(
        &arguments,
        &run(scratch.duologue(&arguments), lines.as_bytes()),
    )
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
    for entry in fs::read_dir(repository().join("protocols")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("UTF-8");
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
fn a_robot_answers_the_lines_of_a_person() {
    let lines = "login(\"holk\", \"1234\")\n# A comment.\nlogin(username: \"holk\", password: \"\\u{e9}\\n\")\n:leave\n";
    assert_snapshot!(talk("bank --robot server", lines));
    // What a script says for the robot's side is not chosen by the robot.
    let lines = "login(\"a\", \"b\")\nclient <- ok\nserver <- deposit(2.5)\nwithdrawal(1e3)\nclient <- insufficient_funds\n:quit\n";
    assert_snapshot!(talk("bank --robot server --format json", lines));
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
fn wrong_lines() {
    let lines = [
        "logn(\"a\", \"b\")",
        "login(\"a\", 5)",
        "login(\"a\")",
        "login(\"a\", \"b\", \"c\")",
        "login(\"a\", \"b\") ok",
        "login(\"a\", \"b",
        "login(\"\\x\", \"b\")",
        "deposit(1.00)",
        "client <- ok",
        "teller <- ok",
        "(1)",
        "{\"from\":\"client\",\"message\":\"login\"}",
        ":unto",
        ":leave teller",
    ];
    let mut all = String::new();
    for line in lines {
        all += &talk("bank", line);
    }
    let before = "login(\"a\", \"b\")\nok\n";
    for line in ["deposit(a lot)", "deposit(1,5)", "quit\nquit"] {
        all += &talk("bank", &format!("{before}{line}"));
    }
    assert_snapshot!(all);
}

#[test]
fn wrong_values() {
    let lines = [
        "unsigned(256, 0, 0, 0)",
        "unsigned(-1, 0, 0, 0)",
        "signed(0, 0, 0, 9223372036854775808)",
        "real(one, 2)",
        "raw(yes, \"\", <>)",
        "raw(true, \"\", <0>)",
        "raw(true, \"\", <zz>)",
        "raw(true, \"\", 00)",
    ];
    let mut all: String = lines.iter().map(|line| talk("telemetry", line)).collect();
    let before = "list(\"/\")\n";
    for line in [
        "listing({name: \"/\"})",
        "listing({nam: \"/\"})",
        "listing({name: \"/\", changed: 0, files: [], folders: [], name: \"\"})",
        "listing({name: \"/\", changed: 0, files: [{}], folders: []})",
        "failed(busy)",
        "failed(lost)",
        "failed(denied(none))",
    ] {
        all += &talk("file_server", &format!("{before}{line}"));
    }
    assert_snapshot!(all);
}

#[test]
fn bounds_of_the_protocol_hold() {
    let text = "type name = str<3>;\nproto! p { s:send { a(name) -> s, b(bytes<2>) -> s, c([u8; 1]) -> s, stop -> ! } }\n";
    let scratch = Scratch::with("talk-bounds", &[("p.proto", text)]);
    let mut all = String::new();
    for line in [
        "a(\"abcd\")",
        "b(<010203>)",
        "c([1, 2])",
        "a(\"abc\")\nb(<0102>)\nc([1])",
    ] {
        let output = run(scratch.duologue("talk p.proto"), line.as_bytes());
        all += &transcript("talk p.proto", &output);
    }
    assert_snapshot!(all);
}

#[test]
fn hostile_lines_end_in_errors() {
    let deep = "type t = [u8];\nenum tree { leaf, node([tree]) }\nproto! p { s:send { a(tree) -> s, stop -> ! } }\n";
    let scratch = Scratch::with("talk-hostile", &[("p.proto", deep)]);
    let nested = format!(
        "a({}leaf{})",
        "node([".repeat(100_000),
        "])".repeat(100_000)
    );
    let long = "a".repeat(9 << 20);
    let cases: [(&[u8], &str); 4] = [
        (nested.as_bytes(), "nested more than 600 deep"),
        (long.as_bytes(), "the line has more than 8388608 bytes"),
        (b"a(\xff)", "the line is not UTF-8"),
        (
            b"a(leaf)\n\x1b[2J\n",
            "error: standard input:2:1: expected a message",
        ),
    ];
    for (input, expected) in cases {
        let output = run(scratch.duologue("talk p.proto"), input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
        assert!(!output.status.success());
        assert!(!errors.contains('\u{1b}'), "{errors}");
    }
}

#[test]
fn what_is_read_is_not_overwritten() {
    let scratch = Scratch::with("talk-overwrite", &[("s.txt", "login(\"a\", \"b\")\n")]);
    scratch.write("bank.proto", bank());
    for record in ["s.txt", "bank.proto", "./s.txt"] {
        let before = scratch.read(record);
        let line = format!("talk bank.proto --script s.txt --record {record}");
        let output = run(scratch.duologue(&line), b"");
        assert_eq!(output.status.code(), Some(2), "{record}: {output:?}");
        assert_eq!(scratch.read(record), before);
    }
}

#[test]
fn hidden_characters_and_numbers_that_are_none_are_played_again() {
    let text = "proto! p { s:send { a(str, f64) -> s, stop -> ! } }\n";
    let scratch = Scratch::with("talk-hidden", &[("p.proto", text)]);
    let line = "a(\"\u{202e}x\u{9b}\u{7}\", NaN)\n";
    let output = run(
        scratch.duologue("talk p.proto --record r.txt"),
        line.as_bytes(),
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        scratch.read("r.txt"),
        "server <- a(\"\\u{202e}x\\u{9b}\\u{7}\", NaN)\n"
    );
    let again = run(scratch.duologue("talk p.proto --script r.txt"), b"");
    assert!(again.status.success(), "{again:?}");
    assert_eq!(again.stdout, output.stdout);
}

/// A robot that can send nothing has failed.
#[test]
fn a_robot_that_is_stuck_fails() {
    let text = "extern type thing { rust = \"Thing\"; c = \"thing\"; scala = \"Thing\"; }\nproto! p { s:send { a(thing) -> ! } }\n";
    let scratch = Scratch::with("talk-stuck", &[("p.proto", text)]);
    assert_snapshot!(scratch.transcript("talk p.proto --robot both"));
}

#[test]
fn records_are_written_even_if_a_line_is_wrong() {
    let scratch = Scratch::with("talk-record", &[]);
    scratch.write("bank.proto", bank());
    let input = b"login(\"a\", \"b\")\nnonsense\n";
    let output = run(scratch.duologue("talk bank.proto --record a.txt"), input);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(scratch.read("a.txt"), "server <- login(\"a\", \"b\")\n");
    let output = run(
        scratch.duologue("talk bank.proto --record missing/a.txt"),
        input,
    );
    assert_eq!(output.status.code(), Some(3));
    assert!(
        output.stdout.is_empty(),
        "nothing is played that cannot be recorded"
    );
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
    for entry in fs::read_dir(repository().join("tests/run")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let is_case = path.join("expected.txt").exists();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("UTF-8");
        let is_known = others.clone().any(|other| other == name)
            || CONVERSATIONS.iter().any(|(known, _)| *known == name);
        assert!(!is_case || is_known, "{name} is played by no test");
    }
    assert!(Path::new(&protocol("bank")).exists());
}
