//! Protocols, states, messages, attributes and comments: what is a protocol file and what is not.

use super::{clean, fires, says};
use crate::support::texts::compile_text;

#[test]
fn misplaced_and_unknown_attributes_are_rejected() {
    for text in [
        "#[at_most(1 B)] struct e { a: u8 } proto! p { s:send { m(e) -> ! } }",
        "#[dual_of(p)] type t = u8; proto! p { s:send { m(t) -> ! } }",
        "#[accepts(client, 5587fde1ea262a7f6f78ddc9dc6d1f83)] enum e { a } proto! p { s:send { m(e) -> ! } }",
        "struct e { #[allow(stuck-state)] a: u8 } proto! p { s:send { m(e) -> ! } }",
        "proto! p { s:send { m(#[allow(stuck-state)] u8) -> ! } }",
        "#[allow(stuck-state)] import \"a.proto\"; proto! p { s:send { m -> ! } }",
        "#[allow(syntax)] proto! p { s:send { m -> ! } }",
        "#[forbid(stuck-state)] proto! p { s:send { m -> ! } }",
    ] {
        let compilation = compile_text(text);
        assert!(compilation.checked.is_none(), "{text}");
    }
}

#[test]
fn attributes_set_levels_before_every_declaration() {
    const PROTOCOL: &str = "proto! p { s:send<X> { m(X) -> ! } }";
    for declaration in [
        "#[allow(unused-declaration)] type t = u8;",
        "/// T.\n#[deny(unused-declaration)] #[allow(unused-declaration)] struct t { a: u8 }",
        "#[allow(all)] enum t { a(other) }",
        "#[allow(unused-declaration)] extern type t;",
        "#[allow(unused-declaration)] extern bound t;",
        "#[allow(unused-declaration, undeclared-type)] struct t { a: [other?] }",
        "#[allow(undeclared-type)] proto! i = p<other>;",
    ] {
        clean(&format!("{declaration} {PROTOCOL}"));
    }
    for (declaration, rules) in [
        (
            "#[allow(stuck-state)] type t = u8;",
            &["unused-declaration", "unused-suppression"][..],
        ),
        (
            "#[warn(missing-docs)] extern type t;",
            &["missing-docs", "unused-declaration"],
        ),
        ("#[allow(never-end)] proto! i = p<u8>;", &["unknown-rule"]),
        (
            "#[deny(undeclared-type)] proto! i = p<other>;",
            &["undeclared-type"],
        ),
    ] {
        let compilation = fires(&format!("{declaration} {PROTOCOL}"), rules);
        let is_denied = declaration.starts_with("#[deny");
        assert_eq!(compilation.checked.is_none(), is_denied, "{declaration}");
    }
}

#[test]
fn the_nearest_attribute_wins() {
    clean("#[deny(stuck-state)] proto! p { s:send { m -> t } #[allow(stuck-state)] t:send { } }");
    let denied = fires(
        "#[allow(stuck-state)] proto! p { s:send { m -> t } #[deny(stuck-state)] t:send { } }",
        &["stuck-state", "unused-suppression"],
    );
    assert!(denied.checked.is_none());
    let warned = fires(
        "#[warn(never-ends)] proto! p { s:send { m -> s } }",
        &["never-ends"],
    );
    assert!(warned.checked.is_some());
}

#[test]
fn documentation_reaches_the_model() {
    let compilation = clean(
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
fn misplaced_documentation_breaks_nothing() {
    for text in [
        "proto! p { s:send { m -> ! } }\n//! too late",
        "proto! p { s:send { m -> !,\n/// of nothing\n} }",
        "proto! p { s:send { m -> ! }\n/// of nothing\n}",
        "proto! p { s:send { m -> ! } }\n/// of nothing",
    ] {
        let compilation = compile_text(text);
        assert!(
            compilation.checked.is_some(),
            "{text}: {:?}",
            compilation.diagnostics
        );
    }
}

#[test]
fn another_tools_files_are_recognized() {
    let compilation = compile_text("syntax = \"proto3\";\n\nmessage Login { string name = 1; }\n");
    says(&compilation, "Protocol Buffers");
    assert_eq!(
        compilation.diagnostics.len(),
        1,
        "{:?}",
        compilation.diagnostics
    );
}

#[test]
fn one_mistake_hides_no_other() {
    let compilation = compile_text(
        "proto! a { s:send { m -> ! n -> ! } }
         proto! b { s:send { m -> nowhere, quit -> ! } }
         struct c { x y }
         proto! d { s:sned { m -> ! } }
         proto! e { s:send { m -> !, m -> ! } }",
    );
    let mut rules: Vec<_> = compilation
        .diagnostics
        .iter()
        .map(|found| found.rule)
        .collect();
    rules.sort_unstable();
    assert_eq!(
        rules,
        [
            "duplicate-name",
            "syntax",
            "syntax",
            "syntax",
            "unknown-state"
        ]
    );
}

#[test]
fn a_state_has_at_most_256_messages() {
    let with = |count: usize| {
        let messages: String = (0..count).map(|n| format!("m{n} -> !,")).collect();
        format!("proto! p {{ s:send {{ {messages} }} }}")
    };
    clean(&with(256));
    fires(&with(257), &["too-many-messages"]);
}
