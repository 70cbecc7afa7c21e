//! Arbitrary text: the formatter accepts everything that parses, keeps its meaning, and does not change its own output.
#![no_main]

use duologue_compiler::source::Sources;
use duologue_compiler::syntax::format::{Unformatted, format};
use duologue_fuzz::Memory;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for text in Memory::new(input).texts() {
        let Ok(text) = std::str::from_utf8(text) else {
            continue;
        };
        let mut sources = Sources::default();
        let id = sources.add("a.proto", text);
        match format(id, text) {
            Ok(formatted) => {
                let again = format(id, &formatted);
                assert_eq!(again.ok(), Some(formatted), "formatted twice");
            }
            Err(Unformatted::Invalid(errors)) => assert!(!errors.is_empty()),
            Err(refused @ Unformatted::Refused(_)) => panic!("{refused:?}"),
        }
    }
});
