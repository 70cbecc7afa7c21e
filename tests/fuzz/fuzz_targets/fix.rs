//! Arbitrary texts: every repair that is applied automatically keeps the meaning, and repairs come to an end.
#![no_main]

use duologue_compiler::compile::Compilation;
use duologue_compiler::diagnostic::{Edit, Level};
use duologue_compiler::fingerprint::Fingerprint;
use duologue_compiler::relation::View;
use duologue_fuzz::{Memory, assert_places};
use libfuzzer_sys::fuzz_target;

/// More repairs than an input of the tested length can need.
const REPAIRS: usize = 2_000;

fuzz_target!(|input: &[u8]| {
    let mut files = Memory::new(input);
    let mut compilation = files.compile(false);
    let before = meaning(&compilation);
    let mut count = 0;
    while let Some(edits) = repair(&compilation) {
        let source = compilation.sources.get(edits[0].span.source);
        let (name, text) = (source.name().to_owned(), applied(source.text(), &edits));
        assert_ne!(text, source.text(), "a repair changes something");
        files.replace(&name, text);
        compilation = files.compile(false);
        assert_places(&compilation);
        count += 1;
        assert!(count < REPAIRS, "repairs do not end");
    }
    // A program without errors has the same meaning after the repairs as before.
    if let Some(before) = before {
        assert_eq!(meaning(&compilation), Some(before));
    }
});

/// The first repair that may be applied automatically.
fn repair(compilation: &Compilation) -> Option<Vec<Edit>> {
    let found = compilation.diagnostics.iter();
    let mut helps = found.flat_map(|found| &found.helps);
    let help = helps.find(|help| help.is_safe && !help.edits.is_empty())?;
    let mut edits = help.edits.clone();
    edits.sort_by_key(|edit| edit.span);
    Some(edits)
}

fn applied(text: &str, edits: &[Edit]) -> String {
    let mut result = String::new();
    let mut at = 0;
    for edit in edits {
        let range = edit.span.range();
        assert!(at <= range.start, "edits of one repair do not overlap");
        result += &text[at..range.start];
        result += &edit.text;
        at = range.end;
    }
    result + &text[at..]
}

/// The protocols of a program by name, with the fingerprints that two processes compare; `None` if there are errors.
fn meaning(compilation: &Compilation) -> Option<Vec<(String, String)>> {
    if compilation
        .diagnostics
        .iter()
        .any(|found| found.level == Level::Deny)
    {
        return None;
    }
    let program = compilation.checked.as_ref()?.program();
    let protocols = program.protocols.iter().zip(0..);
    let known = protocols.map(|(protocol, number)| {
        let view = View::of(
            program,
            duologue_compiler::protocol::ProtocolId::new(number),
        );
        let name = protocol.name.text().to_owned();
        (name, Fingerprint::of(view).to_string())
    });
    Some(known.collect())
}
