//! `explain` of states and protocols: what is said about protocols is so, and every place that is named exists.

use crate::support::program::{Scratch, run};
use crate::support::repository;
use crate::support::rust::{checked, protocols_in};
use crate::support::texts::Texts;
use duologue::protocol::{Next, Protocol, Side};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// Everything that a claim can be about holds for this one.
const JOURNAL: &str = "\
#[at_most(64 KiB)]
proto! journal {
    #[within(90s)]
    open:send { append(text: str) -> done, close -> ! }
    done:recv { appended -> open, full -> ! }
}
";

fn scratch(name: &str) -> Scratch {
    Scratch::with(name, &[("journal.proto", JOURNAL)])
}

fn printed(scratch: &Scratch, arguments: &str) -> Value {
    let output = run(scratch.duologue(arguments), b"");
    assert!(output.status.success(), "{arguments}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// A protocol without one of its states and the messages that lead to it, without payloads.
fn without(protocol: &Protocol, gone: usize) -> String {
    let mut text = String::from("proto! p {\n");
    for (index, state) in protocol.states.iter().enumerate() {
        if index == gone {
            continue;
        }
        let direction = match state.active_side() {
            Some(Side::Client) => ":send",
            Some(Side::Server) => ":recv",
            None => "",
        };
        let _ = write!(text, "    {}{direction} {{", state.name);
        for message in &state.messages {
            let next = match &message.next {
                Next::End | Next::Error => "!".to_owned(),
                Next::State { state, .. } if state.index() == gone => continue,
                Next::State { state, .. } => protocol.state(*state).name.to_string(),
            };
            let _ = write!(text, " {} -> {next},", message.name);
        }
        text += " }\n";
    }
    text + "}\n"
}

/// The states that a rule reports, without those that it reports of the whole protocol.
fn reported(compilation: &duologue::compile::Compilation, rule: &str) -> BTreeSet<String> {
    let found = compilation.diagnostics.iter();
    let found = found.filter(|found| found.rule == rule);
    let names = found.map(|found| compilation.sources.slice(found.primary.span).to_owned());
    names.collect()
}

/// What is said to break without a state is what the checker says of the protocol without it.
#[test]
fn removed_states_break_what_the_checker_finds() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in protocols_in("protocols")
        .into_iter()
        .chain(protocols_in("tests/corpus/literature"))
    {
        let program = checked(std::slice::from_ref(&path));
        let program = program.program();
        let file = path.to_str().expect("UTF-8");
        for protocol in program.files[0]
            .protocols
            .iter()
            .map(|id| program.protocol(*id))
        {
            for gone in 1..protocol.states.len() {
                let name = &protocol.states[gone].name;
                let scratch = Scratch::new("explain-removed");
                let mut command = scratch.duologue("explain --format json");
                command.arg(format!("{file}#{}/{name}", protocol.name));
                let output = run(command, b"");
                assert!(output.status.success(), "{output:?}");
                let sheet: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let whole = Texts::default()
                    .with("p.proto", without(protocol, usize::MAX))
                    .compile();
                let rest = Texts::default()
                    .with("p.proto", without(protocol, gone))
                    .compile();
                for (list, rule) in [
                    ("unreachable", "unreachable-state"),
                    ("stuck", "stuck-state"),
                ] {
                    let said = sheet["without"][list].as_array().expect("a list");
                    let said: BTreeSet<String> = said
                        .iter()
                        .map(|name| name.as_str().expect("a name").to_owned())
                        .collect();
                    let before = reported(&whole, rule);
                    let after = reported(&rest, rule);
                    let is_new = |name: &&String| !before.contains(*name);
                    let found: BTreeSet<String> = after.iter().filter(is_new).cloned().collect();
                    let states: BTreeSet<String> = protocol
                        .states
                        .iter()
                        .map(|state| state.name.to_string())
                        .collect();
                    let found: BTreeSet<String> = found.intersection(&states).cloned().collect();
                    let missing: Vec<_> = found.difference(&said).collect();
                    assert!(
                        missing.is_empty(),
                        "{file}#{}/{name}: {rule} also finds {missing:?}",
                        protocol.name
                    );
                    // One finding names the first state of a group that is not reached.
                    assert_eq!(
                        found.is_empty(),
                        said.is_empty(),
                        "{file}#{}/{name}: {rule}",
                        protocol.name
                    );
                    *counts.entry(rule).or_default() += said.len();
                }
            }
        }
    }
    assert!(counts.values().all(|count| *count > 20), "{counts:?}");
}

/// A protocol for which every claim holds names all places: each file is there, and each test and heading is in its file.
#[test]
fn places_of_guarantees_exist() {
    let scratch = scratch("guarantee-places");
    let json = printed(&scratch, "explain journal.proto --format json");
    let claims = json["protocols"][0]["claims"].as_array().expect("a list");
    let mut places = 0;
    for claim in claims {
        assert_eq!(claim["holds"], "yes", "{claim}");
        let proofs = claim["proofs"].as_array().expect("a list");
        assert_eq!(proofs.len(), 3, "{claim}");
        for proof in proofs {
            let see = proof["see"].as_array().expect("a list");
            assert_eq!(
                see.is_empty(),
                proof["by"] == "nobody" && claim["id"] != "forgotten-endpoints-close",
                "{claim}"
            );
            for place in see {
                let (path, name) = (place["path"].as_str(), place["name"].as_str());
                let (path, name) = (path.expect("a path"), name.expect("a name"));
                let text = fs::read_to_string(repository().join(path));
                let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
                assert!(text.contains(name), "{path} has no `{name}`");
                places += 1;
            }
        }
    }
    assert!(places > 60, "only {places} places");
}
