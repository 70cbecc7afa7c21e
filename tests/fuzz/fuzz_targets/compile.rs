//! Arbitrary texts: they are checked and reported, and programs that pass the checks are generated in every language.
#![no_main]

use duologue_compiler::protocol::FileId;
use duologue_compiler::report::{self, json, sarif};
use duologue_compiler::languages::{Target, generate};
use duologue_compiler::dual;
use duologue_compiler::graph::{diagram, promela};
use duologue_fuzz::{Memory, assert_places, options};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

fuzz_target!(|input: &[u8]| {
    let files = Memory::new(input);
    let compilation = files.compile(false);
    assert_places(&compilation);
    let sources = &compilation.sources;
    for found in &compilation.diagnostics {
        assert!(!report::short(found, sources).is_empty());
    }
    let _ = json(&compilation.diagnostics, sources);
    let _ = sarif(&compilation.diagnostics, sources);
    let Some(checked) = &compilation.checked else {
        assert!(
            !compilation.diagnostics.is_empty(),
            "a refusal has a finding"
        );
        return;
    };
    for target in Target::ALL {
        let written = generate(checked, target, &options());
        let paths: BTreeSet<&str> = written
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(paths.len(), written.files.len(), "no path appears twice");
        assert!(written.files.iter().all(|file| file.text.ends_with('\n')));
    }
    let program = checked.program();
    for protocol in &program.protocols {
        let _ = diagram::dot(protocol, sources);
        let _ = diagram::mermaid(protocol, sources);
        let _ = promela::promela(protocol);
    }
    for (_, number) in program.files.iter().zip(0..) {
        let _ = dual::file(program, sources, FileId::new(number));
    }
});
