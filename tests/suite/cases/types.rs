//! Payload types, type parameters, bounds and endpoints.

use super::{clean, fires, says, with_payload};
use crate::support::texts::{Texts, compile_text, fired};
use duologue::protocol::{Builtin, Type};

/// The type of the only entry of the only message.
fn payload_type(payload: &str) -> Type {
    let compilation = clean(&with_payload(payload));
    let program = compilation.checked.expect("checked");
    program.program().protocols[0].states[0].messages[0].entries[0]
        .ty
        .clone()
}

#[test]
fn the_tilde_means_nothing() {
    assert_eq!(payload_type("~str"), payload_type("str"));
    assert_eq!(payload_type("~~str"), payload_type("str"));
    assert_eq!(payload_type("~[~u8]?"), payload_type("[u8]?"));
    fires(&with_payload("str~"), &["syntax"]);
}

#[test]
fn options_nest() {
    let option = |ty| Type::Option(Box::new(ty));
    assert_eq!(
        payload_type("u8??"),
        option(option(Type::Builtin(Builtin::U8)))
    );
}

#[test]
fn old_names_of_numbers_are_aliases() {
    assert_eq!(payload_type("int"), payload_type("i64"));
    assert_eq!(payload_type("uint"), payload_type("u64"));
    assert_eq!(payload_type("float"), payload_type("f64"));
}

#[test]
fn parentheses_around_one_type_are_only_parentheses() {
    assert_eq!(payload_type("(u8)"), payload_type("u8"));
    assert_eq!(payload_type("((u8))?"), payload_type("u8?"));
    fires(&with_payload("()?"), &["syntax"]);
    fires(&with_payload("(u8,)"), &["syntax"]);
}

#[test]
fn declared_types_have_no_parameters() {
    let compilation = compile_text("struct pair<A> { a: A }\nproto! p { s:send { m -> ! } }");
    assert_eq!(
        compilation.diagnostics.len(),
        1,
        "{:?}",
        compilation.diagnostics
    );
    assert_eq!(compilation.diagnostics[0].rule, "syntax");
    says(&compilation, "parameter");
    let money = format!("type money = f64; {}", with_payload("money<u8>"));
    fires(&money, &["type-argument-count"]);
    fires(&with_payload("[u8<u8>]"), &["type-argument-count"]);
}

#[test]
fn bounds_are_joined_by_plus_or_whitespace() {
    for parameters in [
        "T: copy send, U",
        "T: copy + send,",
        "T:",
        "T:,U:send",
        "T: send + copy clone + eq ord hash debug",
    ] {
        let text = format!("proto! p {{ s:send<{parameters}> {{ m -> ! }} }}");
        let compilation = compile_text(&text);
        assert!(
            compilation.checked.is_some(),
            "{text}: {:?}",
            compilation.diagnostics
        );
    }
    fires("proto! p { s:send<> { m -> ! } }", &["syntax"]);
    fires("proto! p { s:send<T: + send> { m(T) -> ! } }", &["syntax"]);
    fires(
        "proto! p { s:send<T: snd> { m(T) -> ! } }",
        &["unknown-bound"],
    );
}

#[test]
fn a_long_chain_of_aliases_of_a_bounded_type_is_refused_quickly() {
    let aliases: String = (1..=2000)
        .map(|at| format!("type a{at} = a{};\n", at - 1))
        .collect();
    let uses = vec!["a2000"; 90].join(", ");
    let messages: String = (0..100).map(|at| format!("m{at}({uses}) -> s,")).collect();
    let text =
        format!("type a0 = str<5>;\n{aliases}proto! p {{ s:send {{ {messages} done -> ! }} }}");
    fires(&text, &["unusable-limit"]);
}

#[test]
fn a_file_with_instances_alone_may_declare_what_it_does_not_use() {
    let generic = "proto! p { s:send<T> { m(T) -> ! } }";
    fires(&format!("type a = u8; {generic}"), &["unused-declaration"]);
    let compilation = Texts::default()
        .with(
            "a.proto",
            "import \"b.proto\"; type a = u8; proto! q = p<str>;",
        )
        .with("b.proto", generic)
        .compile();
    assert_eq!(fired(&compilation), ["unused-declaration"]);
    clean("type a = u8;");
}

/// The protocol itself gives the argument for which the limit is too small, so its instances do not report that again.
#[test]
fn a_limit_that_is_too_small_for_arguments_is_reported_once() {
    let text = "proto! p { s:send<T> { go(T) -> w<u64> } w:recv<U> { #[at_most(4 B)] m(U) -> ! } }\n\
                proto! a = p<str>;\nproto! b = p<bool>;";
    let compilation = fires(text, &["unusable-limit"]);
    assert_eq!(compilation.diagnostics.len(), 1);
}
