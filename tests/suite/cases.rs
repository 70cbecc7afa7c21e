//! The language on real texts: the protocols of `protocols/` and of the corpus, the pages of the documentation, the hard cases of
//! the language, and texts that were broken on purpose.

mod attack;
mod describe;
mod files;
mod names;
mod pages;
mod protocols;
mod structure;
mod types;

use crate::support::texts::{compile_text, findings, fired};
use duologue::compile::Compilation;

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

/// Compiles a text that must be free of findings.
#[track_caller]
fn clean(text: &str) -> Compilation {
    let compilation = fires(text, &[]);
    assert!(
        compilation.checked.is_some(),
        "no finding, and yet nothing checked:\n{text}"
    );
    compilation
}

/// Asserts that some finding says these words, in its message, a label, a note or a help.
#[track_caller]
fn says(compilation: &Compilation, words: &str) {
    let everything: String = compilation
        .diagnostics
        .iter()
        .map(|found| format!("{found:?}\n"))
        .collect();
    assert!(
        everything.contains(words),
        "nobody says {words:?}:\n{everything}"
    );
}

/// A protocol with one state, one message and the end behind it; the message has this payload.
fn with_payload(payload: &str) -> String {
    format!("proto! p {{ s:send {{ m({payload}) -> ! }} }}")
}

/// The entry names of the first message of the first state of the first protocol.
fn entry_names(compilation: &Compilation) -> Vec<String> {
    let program = compilation.checked.as_ref().expect("checked").program();
    let entries = &program.protocols[0].states[0].messages[0].entries;
    entries.iter().map(|entry| entry.name.to_string()).collect()
}
