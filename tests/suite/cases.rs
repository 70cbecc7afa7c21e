//! The language applied to real texts: the protocols in `protocols/` and in the corpus, the pages of the documentation, difficult
//! cases of the language, and deliberately broken texts.

mod attack;
mod describe;
mod files;
mod names;
mod pages;
mod protocols;
mod structure;
mod types;
mod uses;

use crate::support::repository;
use crate::support::texts::{compile_text, findings, fired};
use duologue::compile::Compilation;
use std::fs;

/// Compiles a text that must fire exactly these rules.
#[track_caller]
fn fires(text: &str, rules: &[&str]) -> Compilation {
    let compilation = compile_text(text);
    assert_eq!(
        fired(&compilation),
        rules,
        "in:\n{text}\nfound:\n{}",
        findings(&compilation)
    );
    compilation
}

/// Compiles a text that must have no findings.
#[track_caller]
fn clean(text: &str) -> Compilation {
    let compilation = fires(text, &[]);
    assert!(
        compilation.checked.is_some(),
        "no findings, but nothing was checked:\n{text}"
    );
    compilation
}

/// Asserts that some finding contains these words: in its message, a label, a note or a help.
#[track_caller]
fn says(compilation: &Compilation, words: &str) {
    let everything: String = compilation
        .diagnostics
        .iter()
        .map(|found| format!("{found:?}\n"))
        .collect();
    assert!(
        everything.contains(words),
        "no finding says {words:?}:\n{everything}"
    );
}

/// A protocol with one state and one message, which has this payload and leads to the end.
fn with_payload(payload: &str) -> String {
    format!("proto! p {{ s:send {{ m({payload}) -> ! }} }}")
}

/// The entry names of the first message of the first state of the first protocol.
fn entry_names(compilation: &Compilation) -> Vec<String> {
    let program = compilation.checked.as_ref().expect("checked").program();
    let entries = &program.protocols[0].states[0].messages[0].entries;
    entries.iter().map(|entry| entry.name.to_string()).collect()
}

/// Below each answer in `tests/questions/` are texts, each with the rules that it violates, or `clean`, and with words of a finding.
#[test]
fn questions_are_answered() {
    let unescaped = |text: &str| {
        let text = text.trim_start().replace("\\\\", "\0");
        let text = text.replace("\\n", "\n").replace("\\t", "\t");
        text.replace("\\r", "\r")
            .replace("\\bom", "\u{feff}")
            .replace('\0', "\\")
    };
    for file in ["names", "structure", "types"] {
        let path = repository().join(format!("tests/questions/{file}.txt"));
        let lines = fs::read_to_string(path).expect("it is there");
        let mut last = None;
        for line in lines.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (rules, text) = line.split_once(':').expect("rules and a text");
            let text = unescaped(text);
            last = Some(match rules.trim() {
                "says" => {
                    let last: Compilation = last.take().expect("it is below a text");
                    says(&last, &text);
                    last
                }
                "clean" => clean(&text),
                rules => fires(&text, &rules.split(' ').collect::<Vec<_>>()),
            });
        }
    }
}
