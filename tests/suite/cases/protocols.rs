//! The protocols in `protocols/` and in the corpus have no errors, and match the numbers that were worked out by hand.

use super::describe::describe;
use crate::support::rust::protocols_in;
use crate::support::texts::{compile_texts, findings, fired};
use crate::support::{repository, stem};
use duologue::compile::Compilation;
use duologue::graph::StateGraph;
use duologue::protocol::{Direction, Protocol};
use std::path::PathBuf;

/// Compiles one file of a folder of the repository; the other files of the folder can be imported.
fn compile(folder: &str, file: &str) -> Compilation {
    let texts = read(folder);
    let mut texts: Vec<_> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_slice()))
        .collect();
    texts.sort_by_key(|(name, _)| *name != file);
    assert_eq!(texts[0].0, file, "{folder} has no such file");
    compile_texts(&texts)
}

/// The `.proto` files of a folder, in order.
fn read(folder: &str) -> Vec<(String, Vec<u8>)> {
    let paths = protocols_in(folder).into_iter();
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).expect("a protocol");
        (format!("{}.proto", stem(&path)), text)
    };
    paths.map(read).collect()
}

#[test]
fn our_protocols_are_clean() {
    for (name, text) in read("protocols") {
        let compilation = compile("protocols", &name);
        assert_eq!(
            fired(&compilation),
            [""; 0],
            "{name}:\n{}",
            findings(&compilation)
        );
        let source = String::from_utf8(text).expect("text");
        let checked = compilation.checked.expect("checked");
        let what_we_know = format!("{source}\n----\n\n{}", describe(&checked));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name.trim_end_matches(".proto"), what_we_know);
        });
    }
}

/// One line of a table of verdicts, computed.
fn verdict(compilation: &Compilation) -> String {
    let checked = compilation.checked.as_ref().expect("checked");
    let file = &checked.program().files[0];
    assert_eq!(file.protocols.len(), 1);
    let protocol = checked.program().protocol(file.protocols[0]);
    let graph = StateGraph::of(protocol);
    let states = |direction| {
        protocol
            .states
            .iter()
            .filter(|state| state.direction == Some(direction))
            .count()
    };
    let (to_server, to_client) = graph.capacities();
    let columns = [
        protocol.name.to_string(),
        states(Direction::Send).to_string(),
        states(Direction::Recv).to_string(),
        protocol
            .states
            .iter()
            .map(|state| state.messages.len())
            .sum::<usize>()
            .to_string(),
        protocol
            .start()
            .direction
            .map_or("", Direction::word)
            .to_owned(),
        end(protocol, &graph).to_owned(),
        to_server.to_string(),
        to_client.to_string(),
        fired(compilation).join(" "),
    ];
    columns.join("\t")
}

/// Whether the end can be reached from all, some or none of the reachable states.
fn end(protocol: &Protocol, graph: &StateGraph) -> &'static str {
    let (reachable, finishing) = (graph.reachable(), graph.can_finish());
    let mut asked = (0..protocol.states.len())
        .filter(|state| reachable[*state])
        .map(|state| finishing[state]);
    match (asked.clone().all(|can| can), asked.any(|can| can)) {
        (true, _) => "always",
        (false, true) => "partial",
        (false, false) => "never",
    }
}

#[test]
fn the_corpus_has_the_verdicts_of_its_tables() {
    for folder in ["tests/corpus/literature", "tests/corpus/2012"] {
        let table = std::fs::read_to_string(repository().join(folder).join("verdicts.tsv"))
            .expect("a table");
        let mut expected: Vec<_> = table.lines().skip(1).collect();
        expected.sort_unstable();
        let ours: Vec<_> = read(folder)
            .iter()
            .map(|(name, _)| verdict(&compile(folder, name)))
            .collect();
        assert_eq!(ours.join("\n"), expected.join("\n"), "{folder}");
    }
}
