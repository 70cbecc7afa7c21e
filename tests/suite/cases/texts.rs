//! Texts that a line of `tests/questions/` cannot hold, because they are long or no text at all, and what is asked of a program.

use crate::support::texts::{compile_text, compile_texts, fired};

#[test]
fn a_long_chain_of_aliases_of_a_bounded_type_is_refused_quickly() {
    let aliases: String = (1..=2000)
        .map(|at| format!("type a{at} = a{};\n", at - 1))
        .collect();
    let uses = vec!["a2000"; 90].join(", ");
    let messages: String = (0..100).map(|at| format!("m{at}({uses}) -> s,")).collect();
    let text =
        format!("type a0 = str<5>;\n{aliases}proto! p {{ s:send {{ {messages} done -> ! }} }}");
    assert_eq!(fired(&compile_text(&text)), ["unusable-limit"]);
}

#[test]
fn documentation_reaches_the_model() {
    let compilation = compile_text(
        "//! File.\n\n/// One.\n///  Two.\n////not\nproto! p {\n  /// S.\n  s:send {\n    /// M.\n    m -> !\n  }\n}",
    );
    let checked = compilation.checked.expect("checked");
    let program = checked.program();
    let lines = |docs: &duologue::protocol::Docs| docs.join("|");
    assert_eq!(lines(&program.files[0].docs), "File.");
    assert_eq!(lines(&program.protocols[0].docs), "One.| Two.");
    assert_eq!(lines(&program.protocols[0].states[0].docs), "S.");
    assert_eq!(
        lines(&program.protocols[0].states[0].messages[0].docs),
        "M."
    );
}

#[test]
fn a_state_has_at_most_256_messages() {
    let with = |count: usize| {
        let messages: String = (0..count).map(|n| format!("m{n} -> !,")).collect();
        format!("proto! p {{ s:send {{ {messages} }} }}")
    };
    assert_eq!(fired(&compile_text(&with(256))), [""; 0]);
    assert_eq!(fired(&compile_text(&with(257))), ["too-many-messages"]);
}

#[test]
fn bytes_that_are_not_text_are_an_error_with_a_position() {
    let compilation = compile_texts(&[("main.proto", b"proto! p { s:send {\n  m\xff -> ! } }")]);
    assert_eq!(fired(&compilation), ["syntax"]);
    let span = compilation.diagnostics[0].primary.span;
    let place = compilation
        .sources
        .get(span.source)
        .position(span.start as usize);
    assert_eq!((place.line, place.column), (2, 4));
}

/// A cycle of many files is reported as one finding of a few lines.
#[test]
fn a_long_cycle_of_imports_is_cut_short() {
    let names: Vec<String> = (0..40).map(|index| format!("f{index}.proto")).collect();
    let texts: Vec<String> = (0..40)
        .map(|index| format!("import \"f{}.proto\";\n", (index + 1) % 40))
        .collect();
    let files = names.iter().zip(&texts);
    let files: Vec<(&str, &[u8])> = files
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let compilation = compile_texts(&files);
    assert_eq!(fired(&compilation), ["import-cycle"]);
    assert_eq!(compilation.diagnostics.len(), 1);
    let found = &compilation.diagnostics[0];
    assert_eq!(found.related.len(), 8);
    assert_eq!(found.notes, ["the cycle continues through 31 more imports"]);
}

/// Who waits for a file that is missing knows its path.
#[test]
fn files_that_are_missing_are_known() {
    let compilation = compile_text("import \"t.proto\"; proto! p { s:send { m -> ! } }");
    let missed = &compilation.files_missed;
    assert!(
        missed.iter().any(|path| path.ends_with("t.proto")),
        "{missed:?}"
    );
}
