//! Protocols, states, messages, attributes and comments: what is a protocol file and what is not.

use super::{clean, fires, says};
use crate::support::texts::compile_text;

#[test]
fn terminals_have_neither_direction_nor_messages() {
    fires(
        "proto! p { s:send { m -> Done } Done { } }",
        &["verbose-terminal"],
    );
    fires(
        "proto! p { s:send { m -> Done } Done { x -> ! } }",
        &["missing-direction"],
    );
    fires(
        "proto! p { s:send { m -> Done } Done:send { } }",
        &["stuck-state"],
    );
    fires(
        "proto! p { s:send<T> { m(T) -> Done<T> } Done<T> { } }",
        &["verbose-terminal"],
    );
}

#[test]
fn braces_and_parentheses_both_work_but_not_mixed() {
    clean("proto! p ( s:send { m -> ! } );");
    clean("proto! p { s:send { m -> ! } };");
    clean("proto ! p(s:send{m->!})");
    fires("proto! p ( s:send { m -> ! } }", &["syntax"]);
    fires("proto! p { s:send { m -> ! } )", &["syntax"]);
}

#[test]
fn a_protocol_has_a_state() {
    fires("proto! p { }", &["empty-protocol"]);
    fires("proto! p ( )", &["empty-protocol"]);
    clean("");
    clean("// nothing but a comment");
}

#[test]
fn commas_separate_messages_but_not_states() {
    let between_states = fires(
        "proto! p { s:send { m -> t }, t:recv { m -> ! } }",
        &["syntax"],
    );
    says(&between_states, "edits: [Edit");
    let missing = fires("proto! p { s:send { m -> s\n n -> ! } }", &["syntax"]);
    says(&missing, "edits: [Edit");
    clean("proto! p { s:send { m -> s, n -> !, } }");
    fires("proto! p { s:send { m -> s,, n -> ! } }", &["syntax"]);
    fires("proto! p { s:send { , } }", &["syntax"]);
}

#[test]
fn blanks_mean_nothing() {
    clean("proto! p{s:send{M()->!,n(u8)->!}}");
    clean("proto\n!\np\n{\ns\n:\nsend\n{\nm\n(\n)\n->\n!\n,\n}\n}");
}

#[test]
fn directions_are_two() {
    for direction in ["receive", "Send", "sned", "both"] {
        let text = format!("proto! p {{ s:{direction} {{ m -> ! }} }}");
        says(&fires(&text, &["syntax"]), "`send` or `recv`");
    }
}

#[test]
fn messages_lead_to_states() {
    says(
        &fires(
            "proto! p { s:send { m -> conected } connected:recv { m -> ! } }",
            &["unknown-state"],
        ),
        "connected",
    );
    fires("proto! p { s:send { m } }", &["syntax"]);
    fires("proto! p { s:send { m -> } }", &["syntax"]);
    fires("proto! p { s:send { m => ! } }", &["syntax"]);
    fires("proto! p { s:send { -> ! } }", &["syntax"]);
}

#[test]
fn attributes_go_before_or_after_documentation() {
    clean("#[allow(stuck-state)]\n/// P.\nproto! p { s:send { m -> t } t:send { } }");
    clean("/// P.\n#[allow(stuck-state)]\n/// P.\nproto! p { s:send { m -> t } t:send { } }");
    clean("proto! p { s:send { m -> t } /// T.\n #[allow(stuck-state)] t:send { } }");
    clean(
        "#[allow(never-ends, unreachable-state,)] proto! p { s:send { m -> s } t:send { m -> t } }",
    );
}

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
fn comments_may_be_anywhere() {
    clean(
        "// a\nproto! /* b */ p /* c /* d */ e */ { s // f\n : send { m /**/ -> /*** g ***/ ! } } // h",
    );
    clean("//// not documentation\n/** nor this */\nproto! p { s:send { m -> ! } }");
    fires("proto! p { s:send { m -> ! } } /* open", &["syntax"]);
    fires("proto! p { s:send { m -> ! } } */", &["syntax"]);
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
fn every_kind_of_text_file_is_read() {
    clean("\u{feff}proto! p { s:send { m -> ! } }");
    clean("proto! p {\r\n\ts:send {\r\n\t\tm -> !\r\n\t}\r\n}\r\n");
    clean("proto! p { s:send { m -> ! } } // no line end");
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

/// The state `waiting` exists, although it contains a mistake; a missing import says nothing about states.
#[test]
fn a_state_with_a_mistake_is_known_despite_a_missing_import() {
    fires(
        r#"import "nowhere.proto";
           proto! worker {
               waiting:send { run -> running, drop(u8, a b) -> waiting }
               running:recv { finished -> waiting, lost -> nowhere }
           }"#,
        &["syntax", "unknown-state", "unresolved-import"],
    );
}

#[test]
fn an_undeclared_type_is_reported_despite_an_unknown_state() {
    fires(
        "proto! parcel { ask:send { track(kilogramm) -> asks } }",
        &["undeclared-type", "unknown-state"],
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

/// What is known of a protocol is checked although another part of it is wrong.
#[test]
fn an_unknown_state_or_type_does_not_hide_a_state_without_messages() {
    fires(
        "proto! p { s:send { m -> t, n -> nowhere } t:recv { } }",
        &["stuck-state", "unknown-state"],
    );
    fires(
        "proto! p { s:send { m(vec<u8>) -> t } t:recv { } }",
        &["stuck-state", "type-argument-count"],
    );
    fires(
        "proto! p { s:send { m(vec<u8>) -> t, e -> ! } t:send { n -> t } }",
        &["cannot-finish", "type-argument-count"],
    );
}

/// A comment goes up to the end of its line, and nothing after it may be lost.
#[test]
fn lines_do_not_end_in_a_carriage_return_alone() {
    fires("// a\rproto! p { s:send { m -> nowhere } }", &["syntax"]);
    fires("proto! p { s:send {\r m -> s } }", &["syntax"]);
    clean("// a\r\nproto! p { s:send { m -> ! } }\r\r\n");
    clean("proto! p { s:send { m -> ! } }\r");
}
