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
const REST: &[(&str, &str, u64)] = &[
    ("login", "login", 2),
    ("login_response", "invalid", 1),
    ("connected", "deposit", 7),
    ("connected", "withdrawal", 7),
    ("withdrawal_response", "money", 1),
];

/// Files of robots in two languages, which play different sides, and what nobody has seen.
#[test]
fn reports_are_merged() {
    let (scratch, nothing) = bank("robots-merged");
    let rust = coverage(&nothing, "rust", "client", LOGIN)
        + "\n"
        + &coverage(&nothing, "rust", "client", LOGIN);
    scratch.write("rust.json", rust);
    scratch.write("c.json", coverage(&nothing, "c", "server", REST));
    let both = "robots report rust.json c.json --protocol bank.proto";
    assert_snapshot!("merged", scratch.transcript(both));
    // Of 8 transitions 6 are seen, which is 75 %.
    assert_snapshot!(
        "enough",
        scratch.transcript(&format!("{both} --at-least 75"))
    );
    assert_snapshot!(
        "too-little",
        scratch.transcript(&format!("{both} --at-least 76"))
    );
    assert_snapshot!(
        "one-file",
        scratch.transcript("robots report c.json --protocol bank.proto#bank")
    );
    // What is merged can be merged again.
    let output = run(scratch.duologue(&format!("{both} --format json")), b"");
    let merged: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!(merged["language"], "rust,c");
    assert_eq!(merged["side"], "both");
    assert_eq!(merged["sessions"], 9);
    assert_eq!(merged["transitions"][0]["sent"], 10);
    scratch.write("merged.json", &output.stdout);
    let again = run(
        scratch.duologue("robots report merged.json rust.json --protocol bank.proto --format json"),
        b"",
    );
    let again: Value = serde_json::from_slice(&again.stdout).expect("a line of JSON");
    assert_eq!(again["language"], "rust,c");
    assert_eq!(again["transitions"][0]["sent"], 18);
}

/// What is missing is a finding at its message, also where other programs read it.
#[test]
fn missing_transitions_are_findings() {
    let (scratch, nothing) = bank("robots-findings");
    scratch.write(
        "some.json",
        coverage(&nothing, "c", "server", REST) + &coverage(&nothing, "rust", "client", LOGIN),
    );
    let command = "robots report some.json --protocol bank.proto";
    for format in ["short", "junit", "github"] {
        assert_snapshot!(
            format!("findings-{format}"),
            scratch.transcript(&format!("{command} --format {format}"))
        );
    }
    let output = run(
        scratch.duologue(&format!(
            "{command} --at-least 100 --format sarif --report json=found.json"
        )),
        b"",
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let sarif: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    keeps_to_schema(&sarif);
    let results = &sarif["runs"][0]["results"];
    assert_eq!(results.as_array().map(Vec::len), Some(2), "{results}");
    assert_eq!(results[0]["level"], "error");
    assert_eq!(results[0]["ruleId"], "robots-missing");
    let found: Value = serde_json::from_str(&scratch.read("found.json")).expect("a JSON document");
    assert_eq!(
        found["diagnostics"].as_array().map(Vec::len),
        Some(2),
        "{found}"
    );
    // A protocol that is wrong has its own findings, and no coverage.
    scratch.write("wrong.proto", "proto! p { s:send { m -> t } }\n");
    scratch.said(
        "robots report some.json --protocol wrong.proto --format short",
        1,
        &["wrong.proto:1:26: error[unknown-state]"],
    );
}

/// A check in CI must not pass because nothing was played.
#[test]
fn nothing_is_not_enough() {
    let (scratch, _) = bank("robots-nothing");
    let command = "robots report nothing.json --protocol bank.proto";
    assert_snapshot!(
        "nothing",
        scratch.transcript(&format!("{command} --at-least 1"))
    );
    let two = "proto! p { s:send { m -> ! } }\nproto! q { s:send { n -> ! } }\n";
    scratch.write("two.proto", two);
    // No test has played `q`, which the file declares, too.
    let output = run(
        scratch.duologue("robots report nothing.json --protocol two.proto#p --format json"),
        b"",
    );
    let mut line: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    line["language"] = "rust".into();
    line["sessions"] = 1.into();
    line["transitions"][0]["sent"] = 1.into();
    scratch.write("one.json", format!("{line}\n"));
    // With a name, what other files declare is left out.
    let elsewhere = line.to_string().replace("\"p\"", "\"elsewhere\"");
    scratch.write("both.json", format!("{elsewhere}\n{line}\n"));
    // What a file imports is tested where it is declared.
    let imports = "import \"two.proto\";\nproto! r { s:send { o -> ! } }\n";
    scratch.write("imports.proto", imports);
    scratch.write("generic.proto", "proto! g { s:send<T> { m(T) -> ! } }\n");
    let reports = [
        "nothing.json --protocol bank.proto --at-least 0",
        "nothing.json --protocol two.proto",
        "nothing.json --protocol two.proto#q --at-least 100",
        "one.json --protocol two.proto --at-least 100",
        "one.json --protocol two.proto",
        "both.json --protocol two.proto",
        "both.json --protocol two.proto#p",
        "nothing.json --protocol two.proto --at-least 1",
        "nothing.json --protocol imports.proto --at-least 1",
        "nothing.json --protocol bank.proto#bnak",
        "nothing.json --protocol generic.proto",
    ];
    let reports = reports.map(|report| scratch.transcript(&format!("robots report {report}")));
    assert_snapshot!("little", reports.concat());
}

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

/// A message without values is a byte, and a value takes as few as it can.
#[test]
fn scripts_are_bytes() {
    let script = "# A session.\nserver <- login(\"ab\", \"\")\nclient <- ok\n\ndeposit(0.25)\nserver<-withdrawal(1e9)\nmoney(7)\nserver <- closed\n";
    let scratch = Scratch::with(
        "robots-bytes",
        &[("bank.proto", BANK), ("session.txt", script)],
    );
    let client = "robots bytes bank.proto --side client --script session.txt";
    assert_eq!(
        scratch.transcript(client),
        format!("$ duologue {client}\n6002000100600161ff0000000065cdcd41ff\n--- exit 0 ---\n")
    );
    let server =
        scratch.transcript("robots bytes bank.proto#bank --side server --script session.txt");
    assert!(server.contains("\n60601c\n"), "{server}");
    let written = scratch.transcript(&format!("{client} --output session.bin"));
    assert!(
        written.ends_with("session.bin\n--- exit 0 ---\n"),
        "{written}"
    );
    let bytes = std::fs::read(scratch.path("session.bin")).expect("it was written");
    assert_eq!(bytes.len(), 18);
    // A robot plays no more messages than its limit.
    let mut long = "server <- login(\"a\", \"b\")\nclient <- invalid\n".repeat(60);
    scratch.write("long.txt", &long);
    let command = "robots bytes bank.proto --side client --script long.txt";
    scratch.said(
        command,
        0,
        &["note: the script has 120 messages: set the robot's `limit` to at least 120, or"],
    );
    long.truncate(long.len() / 60 * 50);
    scratch.write("long.txt", &long);
    let exact = scratch.transcript(command);
    assert!(!exact.contains("note: "), "{exact}");
    scratch.said(format!("{client} --output none/session.bin"), 3, &[]);
}

/// Errors name the line of the script.
#[test]
fn wrong_scripts_name_the_line() {
    let host =
        "proto! work { s:send { #[allow(undeclared-type)] push(ticket) -> s, close -> ! } }\n";
    let generic = "proto! g { s:send<T> { m(T) -> ! } }\n";
    let files = [
        ("bank.proto", BANK),
        ("work.proto", host),
        ("generic.proto", generic),
    ];
    let scratch = Scratch::with("robots-wrong", &files);
    let login = "server <- login(\"a\", \"b\")\n";
    let large = format!("server <- login(\"{}\", \"\")\n", "a".repeat(70_000));
    let mut errors = String::new();
    for (number, text) in [
        (1, "logn(\"a\", \"b\")\n".to_owned()),
        (2, format!("{login}deposit(1)\n")),
        (2, format!("{login}server <- ok\n")),
        (
            3,
            format!("{login}client <- ok\nserver <- deposit(\"a\")\n"),
        ),
        (3, format!("{login}\nclient <- ok extra\n")),
        (4, format!("{login}client <- ok\nquit\nquit\n")),
        (2, format!("server <- closed\n{login}")),
        (1, "closed\n".to_owned()),
        (2, format!("# A comment\n{large}")),
    ] {
        scratch.write("script.txt", &text);
        let output =
            scratch.transcript("robots bytes bank.proto --side client --script script.txt");
        let place = format!("error: script.txt:{number}: ");
        assert!(output.contains(&place), "{text}: {output}");
        assert!(output.ends_with("--- exit 1 ---\n"), "{output}");
        errors += output.split("--- stderr ---\n").nth(1).unwrap_or_default();
    }
    scratch.write("script.txt", "# Two tickets\n\nserver <- push(7)\n");
    errors += &scratch.transcript("robots bytes work.proto --side client --script script.txt");
    errors += &scratch.transcript("robots bytes work.proto --side server --script script.txt");
    errors += &scratch.transcript("robots bytes generic.proto --side client --script script.txt");
    errors += &scratch.transcript("robots bytes bank.proto --side client --script missing.txt");
    assert_snapshot!("wrong-scripts", errors);
}
