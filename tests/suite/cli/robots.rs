//! `duologue robots`: coverage from anywhere, merged, and scripts as bytes.

use super::BANK;
use crate::support::program::{Scratch, run};
use crate::support::sarif::keeps_to_schema;
use insta::assert_snapshot;
use serde_json::Value;
use std::fmt::Write as _;

/// A folder with the bank, in which nothing has been covered.
fn bank(name: &str) -> (Scratch, Value) {
    let scratch = Scratch::with(name, &[("bank.proto", BANK), ("nothing.json", "")]);
    let command = "robots report nothing.json --protocol bank.proto --format json";
    let output = run(scratch.duologue(command), b"");
    let line: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!(line["covered"], 0);
    assert_eq!(line["coverable"], 8);
    (scratch, line)
}

/// The coverage of a robot that has seen these messages, each in its state.
fn coverage(nothing: &Value, language: &str, side: &str, seen: &[(&str, &str, u64)]) -> String {
    let mut line = nothing.clone();
    line["language"] = language.into();
    line["side"] = side.into();
    line["sessions"] = 3.into();
    let transitions = line["transitions"].as_array_mut().expect("a list");
    for (state, message, count) in seen {
        let mut all = transitions.iter_mut();
        let found = all.find(|one| one["state"] == *state && one["message"] == *message);
        found.expect("the bank has the message")["sent"] = (*count).into();
    }
    format!("{line}\n")
}

const LOGIN: &[(&str, &str, u64)] = &[("login", "login", 4), ("login_response", "ok", 3)];
/// Each of these is an error that names its line, and none is printed as it is, or at length.
#[test]
fn hostile_reports() {
    let (scratch, nothing) = bank("robots-hostile");
    let good = coverage(&nothing, "rust", "client", LOGIN);
    let long = "x".repeat(1 << 20);
    let deep = "[".repeat(1 << 20);
    let fingerprint = nothing["fingerprint"].as_str().expect("a text");
    let other = |what: &str| good.replacen("{", &format!("{{{what},"), 1);
    let long = format!("\"{long}\"");
    let replaced = [
        ("another version", "\"version\":1", "\"version\":2"),
        ("another fingerprint", fingerprint, &"01".repeat(16)),
        ("no protocol", "\"bank\"", "\"bakn\""),
        ("a long protocol", "\"bank\"", &long),
        ("no state", "\"connected\"", "\"wait<\\u001b[31m\\n>\""),
        ("no message", "\"deposit\"", &long),
        ("no language", "\"rust\"", "\"\\u001b[2Jrust\""),
        ("a long language", "\"rust\"", &long),
        ("no side", "\"client\",", "\"clients\","),
        (
            "a large number",
            "\"sent\":4",
            "\"sent\":18446744073709551616",
        ),
        ("a negative number", "\"sent\":4", "\"sent\":-4"),
    ];
    let mut cases = vec![
        ("not JSON", "bank: covered 8/8\n".to_owned()),
        ("cut off", good[..good.len() / 2].to_owned()),
        ("another shape", "[1, 2]".to_owned()),
        ("a number", "7".to_owned()),
        ("deep", deep.clone()),
        (
            "deep in what is ignored",
            other(&format!("\"more\":{deep}")),
        ),
    ];
    cases.extend(replaced.map(|(what, from, to)| (what, good.replace(from, to))));
    let mut errors = String::new();
    for (what, text) in cases {
        assert_ne!(text, good, "{what}: nothing was replaced");
        scratch.write("wrong.json", format!("{good}\n{text}"));
        let output = run(
            scratch.duologue("robots report wrong.json --protocol bank.proto"),
            b"",
        );
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(3), "{what}: {said}");
        assert!(said.starts_with("error: wrong.json:3: "), "{what}: {said}");
        assert!(said.len() < 400, "{what}: {said}");
        assert!(
            said.lines().count() == 1 && !said.contains('\u{1b}'),
            "{what}: {said}"
        );
        let _ = write!(errors, "{what}: {said}");
    }
    assert_snapshot!("hostile", errors);
}

/// Counts are added without overflow, and what is unknown in a line is ignored.
#[test]
fn extreme_reports() {
    let (scratch, nothing) = bank("robots-extreme");
    let most = coverage(&nothing, "rust", "client", &[("login", "login", u64::MAX)]);
    let most = most.replace(
        "\"sessions\":3",
        "\"sessions\":18446744073709551615,\"later\":{\"a\":[1]}",
    );
    scratch.write("most.json", most.repeat(3));
    // A language server, an editor or a crash may leave half a file, or bytes that are no text.
    scratch.write("bytes.json", b"\xff\xfe");
    let large = std::fs::File::create(scratch.path("large.json")).expect("it can be created");
    large.set_len(100 << 20).expect("a sparse file");
    let reports = ["most", "bytes", "large", "missing"].map(|name| {
        scratch.transcript(&format!("robots report {name}.json --protocol bank.proto"))
    });
    assert_snapshot!("extreme", reports.concat());
}

/// What is missing is a finding for other programs, too.
#[test]
fn findings_keep_to_the_schema_of_sarif() {
    let (scratch, nothing) = bank("robots-findings");
    scratch.write("some.json", coverage(&nothing, "c", "server", LOGIN));
    let command = "robots report some.json --protocol bank.proto --at-least 100";
    let command = format!("{command} --format sarif --report json=found.json");
    let output = run(scratch.duologue(&command), b"");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let sarif: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    keeps_to_schema(&sarif);
    let found: Value = serde_json::from_str(&scratch.read("found.json")).expect("a JSON document");
    let counts = [&sarif["runs"][0]["results"], &found["diagnostics"]]
        .map(|list| list.as_array().map(Vec::len));
    assert_eq!(counts, [Some(6); 2], "{found}");
}

/// A robot plays no more messages than its limit, and a value that is too long is an error of its line.
#[test]
fn scripts_of_any_length_are_bytes() {
    let scratch = Scratch::with("robots-bytes", &[("bank.proto", BANK)]);
    let command = "robots bytes bank.proto --side client --script long.txt";
    let round = "server <- login(\"a\", \"b\")\nclient <- invalid\n";
    scratch.write("long.txt", round.repeat(60));
    let note = "note: the script has 120 messages: set the robot's `limit` to at least 120, or";
    scratch.said(command, 0, &[note]);
    scratch.write("long.txt", round.repeat(50));
    let exact = scratch.said(format!("{command} --output long.bin"), 0, &[]);
    assert!(!exact.contains("note: "), "{exact}");
    let bytes = std::fs::metadata(scratch.path("long.bin")).expect("it was written");
    assert!(bytes.len() > 50, "{} bytes", bytes.len());
    let large = format!(
        "# A comment\nserver <- login(\"{}\", \"\")\n",
        "a".repeat(70_000)
    );
    scratch.write("long.txt", large);
    scratch.said(command, 1, &["error: long.txt:2: "]);
}
