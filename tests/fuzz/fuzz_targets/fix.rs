//! Arbitrary texts: automatic repairs make the program better and keep its meaning, and a second run has nothing to do.
#![no_main]

use duologue_compiler::compile::Compilation;
use duologue_compiler::diagnostic::Level;
use duologue_compiler::fingerprint::Fingerprint;
use duologue_compiler::relation::View;
use duologue_compiler::repair::repair;
use duologue_fuzz::{Memory, assert_places};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut files = Memory::new(input);
    let before = files.compile(false);
    let repaired = repair(&files.request(false), &files, &|_| true);
    let repaired = repaired.expect("all inputs are in memory");
    assert_places(&repaired.compilation);
    if repaired.texts.is_empty() {
        return;
    }
    let count = |of: &Compilation| (errors(of), of.diagnostics.len());
    assert!(count(&repaired.compilation) < count(&before), "it is better");
    // A program without errors has the same meaning after the repairs as before.
    if let Some(before) = meaning(&before) {
        assert_eq!(meaning(&repaired.compilation), Some(before));
    }
    for (path, text) in repaired.texts {
        let name = path.to_str().expect("the names are UTF-8");
        files.replace(name, text);
    }
    let again = repair(&files.request(false), &files, &|_| true);
    assert_eq!(again.expect("all inputs are in memory").repairs, 0);
});

fn errors(compilation: &Compilation) -> usize {
    let found = compilation.diagnostics.iter();
    found.filter(|found| found.level == Level::Deny).count()
}

/// The protocols of a program by name, with the fingerprints that two processes compare; `None` if there are errors.
fn meaning(compilation: &Compilation) -> Option<Vec<(String, String)>> {
    if errors(compilation) > 0 {
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
