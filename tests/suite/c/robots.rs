//! Robots in C play with each other.

use super::programs::CASES;
use super::{generate_with, hosts, protocols, quiet};
use crate::robots::report;
use crate::support::c::{Compiler, Program, Watch, runtime, sources_for, sources_in};
use crate::support::{repository, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Protocols without a conversation, with their first states.
const FURTHER: [(&str, &str); 5] = [
    ("buyer", "ask"),
    ("calculator", "ready"),
    ("pingpong", "ping"),
    ("simple_proto", "say_hello"),
    ("smtp", "greeting"),
];

/// Some protocols of the literature, with their first states.
const CORPUS: [(&str, &str); 4] = [
    ("alternating_bit", "send0"),
    ("circuit_breaker", "idle"),
    ("file_access", "closed"),
    ("three_strikes_login", "try1"),
];

/// The file that has a line for each protocol.
fn cases() -> String {
    let cases: BTreeMap<&str, &str> = CASES
        .iter()
        .map(|(_, prefix, state)| (*prefix, *state))
        .chain(FURTHER)
        .collect();
    let mut text = String::new();
    let corpus = CORPUS.map(|(prefix, _)| prefix);
    for prefix in cases.keys().copied().chain(corpus) {
        writeln!(text, "#include \"{prefix}_robots.h\"").expect("string writes cannot fail");
    }
    text.push_str("\n#define CASES");
    for (prefix, state) in cases {
        let hooks = match prefix {
            "double_buffer" => "&buffer_client, &buffer_server",
            "work_queue" => "&queue_client, &queue_server",
            _ => "NULL, NULL",
        };
        write!(
            text,
            " CASE({prefix}, {prefix}_client_{state}_t, {prefix}_server_{state}_t, {hooks})"
        )
        .expect("string writes cannot fail");
    }
    text.push_str("\n#define CORPUS");
    for (prefix, state) in CORPUS {
        write!(
            text,
            " CASE({prefix}, {prefix}_client_{state}_t, {prefix}_server_{state}_t, NULL, NULL)"
        )
        .expect("string writes cannot fail");
    }
    text + "\n"
}

fn program(watch: Watch) -> PathBuf {
    let mut protos = protocols();
    let folder = repository().join("tests/corpus/literature");
    protos.extend(CORPUS.map(|(prefix, _)| folder.join(format!("{prefix}.proto"))));
    let generated = generate_with(&format!("robots-{watch:?}"), &protos, &["--robots"]);
    fs::write(generated.join("cases.h"), cases()).expect("it can be written");
    let own = repository().join("tests/robots");
    let mut sources = sources_in(&generated);
    sources.extend(sources_in(&runtime().join("robots")));
    sources.push(own.join("robots.c"));
    let includes = [vec![generated.clone(), own], hosts()].concat();
    let program = quiet(watch, &sources, &includes, &generated);
    program
        .link()
        .unwrap_or_else(|complaint| panic!("{complaint}"))
}

fn run(watch: Watch, program: &Path, arguments: &[&str]) -> String {
    let printed = succeed(watch.command(program, &[]).args(arguments));
    printed.unwrap_or_else(|complaint| panic!("{arguments:?}:\n{complaint}"))
}

/// The transcripts are those of every language. `INSTA_UPDATE=always` writes them.
#[test]
fn robots_play_the_same_sessions_as_in_other_languages() {
    let path = repository().join("tests/robots/transcripts.txt");
    for watch in [Watch::Address, Watch::Thread] {
        let program = program(watch);
        let played = run(watch, &program, &[]);
        if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
            fs::write(&path, &played).expect("it can be written");
        }
        let expected = fs::read_to_string(&path).expect("it is there");
        assert!(
            played == expected,
            "the sessions differ from {}:\n{played}",
            path.display()
        );
        let covered = run(watch, &program, &["cover"]);
        let prefixes: BTreeSet<&str> = CASES.iter().map(|(_, prefix, _)| *prefix).collect();
        let count = prefixes.len() + FURTHER.len() + CORPUS.len();
        assert_eq!(covered.lines().count(), count);
        let reports = run(watch, &program, &["reports"]);
        let merged = report(&format!("robots-c-{watch:?}"), &reports);
        let bank = " in c\n    covered 8/8 transitions\n";
        assert!(merged.contains(bank), "{merged}");
        for line in reports.lines() {
            let report: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
            assert_eq!(report["language"], "c");
            assert_eq!(report["side"], "both");
            let transitions = report["transitions"].as_array().expect("it is a list");
            assert!(
                transitions.iter().any(|transition| transition["sent"] != 0),
                "{line}"
            );
        }
    }
}

/// libFuzzer plays a client against a server with a fault, and finds it.
#[test]
#[ignore = "nightly: fuzz"]
fn a_fuzzer_finds_a_fault_with_a_robot() {
    let protos = [repository().join("protocols/bank.proto")];
    let generated = generate_with("robots-fuzz", &protos, &["--robots"]);
    let mut sources = sources_in(&generated);
    sources.extend(sources_in(&runtime().join("robots")));
    sources.extend(sources_for(&sources));
    sources.push(repository().join("tests/robots/fuzz.c"));
    let includes = [generated.clone()];
    let flags = ["-fsanitize=fuzzer,address,undefined", "-DFAULT"];
    let [sound, faulty] = [&flags[..1], &flags[..]].map(|flags| Program {
        compiler: Compiler::Clang,
        flags,
        ..quiet(Watch::Plain, &sources, &includes, &generated)
    });
    if let Err(complaint) = sound.fuzz(20_000) {
        panic!("a server without a fault: {complaint}");
    }
    // With this seed, after about 3,000.
    let complaint = faulty.fuzz_inputs(20_000).expect_err("the fault is found");
    assert!(complaint.contains("the balance is negative"), "{complaint}");
}
