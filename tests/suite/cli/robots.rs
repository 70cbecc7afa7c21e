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
    let wrong = scratch.transcript("robots report some.json --protocol wrong.proto --format short");
    assert!(
        wrong.contains("wrong.proto:1:26: error[unknown-state]"),
        "{wrong}"
    );
    assert!(wrong.ends_with("--- exit 1 ---\n"), "{wrong}");
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
    let zero = scratch.transcript(&format!("{command} --at-least 0"));
    assert!(zero.ends_with("--- exit 0 ---\n"), "{zero}");
    let two = "proto! p { s:send { m -> ! } }\nproto! q { s:send { n -> ! } }\n";
    scratch.write("two.proto", two);
    let none = scratch.transcript("robots report nothing.json --protocol two.proto");
    assert!(none.contains("no coverage of a protocol"), "{none}");
    assert!(none.ends_with("--- exit 3 ---\n"), "{none}");
    let named =
        scratch.transcript("robots report nothing.json --protocol two.proto#q --at-least 100");
    assert!(
        named.contains("missing client: n (s) at the start"),
        "{named}"
    );
    assert!(named.ends_with("--- exit 1 ---\n"), "{named}");
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
    let one = "robots report one.json --protocol two.proto";
    let half = scratch.transcript(&format!("{one} --at-least 100"));
    assert!(
        half.contains(
            "error: 0 % of the transitions of `q` are covered; --at-least requires 100 %\n"
        ),
        "{half}"
    );
    assert!(half.ends_with("--- exit 1 ---\n"), "{half}");
    assert_eq!(
        scratch.transcript(one),
        format!(
            "$ duologue {one}\np: 1 session in rust\n    covered 1/1 transitions\n--- exit 0 ---\n"
        )
    );
    // With a name, what other files declare is left out.
    let elsewhere = line.to_string().replace("\"p\"", "\"elsewhere\"");
    scratch.write("both.json", format!("{elsewhere}\n{line}\n"));
    let of_file = scratch.transcript("robots report both.json --protocol two.proto");
    assert!(
        of_file.contains("both.json:1: there is no protocol `elsewhere`: name the file"),
        "{of_file}"
    );
    let of_name = scratch.transcript("robots report both.json --protocol two.proto#p");
    assert!(of_name.contains("covered 1/1"), "{of_name}");
    assert!(of_name.ends_with("--- exit 0 ---\n"), "{of_name}");
    let all = scratch.transcript("robots report nothing.json --protocol two.proto --at-least 1");
    assert!(all.ends_with("--- exit 1 ---\n"), "{all}");
    // What a file imports is tested where it is declared.
    scratch.write(
        "imports.proto",
        "import \"two.proto\";\nproto! r { s:send { o -> ! } }\n",
    );
    let imports = "robots report nothing.json --protocol imports.proto --at-least 1";
    let imports = scratch.transcript(imports);
    assert!(imports.contains("transitions of `r`"), "{imports}");
    assert!(!imports.contains("transitions of `q`"), "{imports}");
    let unknown = scratch.transcript("robots report nothing.json --protocol bank.proto#bnak");
    assert!(unknown.contains("did you mean `bank`?"), "{unknown}");
    assert!(unknown.ends_with("--- exit 2 ---\n"), "{unknown}");
    scratch.write("generic.proto", "proto! g { s:send<T> { m(T) -> ! } }\n");
    let generic = scratch.transcript("robots report nothing.json --protocol generic.proto");
    assert!(
        generic.contains("no protocol of generic.proto has robots"),
        "{generic}"
    );
}

/// Each of these is an error that names its line, and none is printed as it is, or at length.
#[test]
fn hostile_reports() {
    let (scratch, nothing) = bank("robots-hostile");
    let good = coverage(&nothing, "rust", "client", LOGIN);
    let long = "x".repeat(1 << 20);
    let deep = "[".repeat(1 << 20);
    let fingerprint = nothing["fingerprint"].as_str().expect("a text");
    let cases: [(&str, String); 17] = [
        ("not JSON", "bank: covered 8/8\n".to_owned()),
        ("cut off", good[..good.len() / 2].to_owned()),
        ("another shape", "[1, 2]".to_owned()),
        ("a number", "7".to_owned()),
        ("deep", deep.clone()),
        (
            "deep in what is ignored",
            good.replacen('{', &format!("{{\"more\":{deep},"), 1),
        ),
        (
            "another version",
            good.replace("\"version\":1", "\"version\":2"),
        ),
        (
            "another fingerprint",
            good.replace(fingerprint, "00112233445566778899aabbccddeeff"),
        ),
        ("no protocol", good.replace("\"bank\"", "\"bakn\"")),
        (
            "a long protocol",
            good.replace("\"bank\"", &format!("\"{long}\"")),
        ),
        (
            "no state",
            good.replace("\"connected\"", "\"wait<\\u001b[31m\\n>\""),
        ),
        (
            "no message",
            good.replace("\"deposit\"", &format!("\"{long}\"")),
        ),
        (
            "no language",
            good.replace("\"rust\"", "\"\\u001b[2Jrust\""),
        ),
        (
            "a long language",
            good.replace("\"rust\"", &format!("\"{long}\"")),
        ),
        ("no side", good.replace("\"client\",", "\"clients\",")),
        (
            "a number that is too large",
            good.replace("\"sent\":4", "\"sent\":18446744073709551616"),
        ),
        (
            "a negative number",
            good.replace("\"sent\":4", "\"sent\":-4"),
        ),
    ];
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
    let output = scratch.transcript("robots report most.json --protocol bank.proto");
    assert!(output.starts_with("$ duologue robots report most.json --protocol bank.proto\nbank: 18446744073709551615 sessions in rust\n    covered 1/8 transitions\n"), "{output}");
    // A language server, an editor or a crash may leave half a file, or bytes that are no text.
    scratch.write("bytes.json", b"\xff\xfe");
    let output = scratch.transcript("robots report bytes.json --protocol bank.proto");
    assert!(
        output.contains("error: cannot read bytes.json: "),
        "{output}"
    );
    assert!(output.ends_with("--- exit 3 ---\n"), "{output}");
    let large = std::fs::File::create(scratch.path("large.json")).expect("it can be created");
    large.set_len(100 << 20).expect("a sparse file");
    let output = scratch.transcript("robots report large.json --protocol bank.proto");
    assert!(
        output.contains("error: cannot read large.json: it is larger than 64 MiB"),
        "{output}"
    );
    assert!(output.ends_with("--- exit 3 ---\n"), "{output}");
    let output = scratch.transcript("robots report missing.json --protocol bank.proto");
    assert!(output.ends_with("--- exit 3 ---\n"), "{output}");
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
    let noted = scratch.transcript(command);
    assert!(
        noted.contains(
            "note: the script has 120 messages: set the robot's `limit` to at least 120, or"
        ),
        "{noted}"
    );
    assert!(noted.ends_with("--- exit 0 ---\n"), "{noted}");
    long.truncate(long.len() / 60 * 50);
    scratch.write("long.txt", &long);
    let exact = scratch.transcript(command);
    assert!(!exact.contains("note: "), "{exact}");
    let unwritable = scratch.transcript(&format!("{client} --output none/session.bin"));
    assert!(unwritable.ends_with("--- exit 3 ---\n"), "{unwritable}");
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
