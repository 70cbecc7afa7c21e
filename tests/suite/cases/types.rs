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
fn a_question_mark_belongs_to_a_type_and_not_to_a_state() {
    clean("proto! p { s:send<T> { m(T?) -> ! } }");
    fires("proto! p { s:send { m -> s?, quit -> ! } }", &["syntax"]);
}

#[test]
fn parentheses_around_one_type_are_only_parentheses() {
    assert_eq!(payload_type("(u8)"), payload_type("u8"));
    assert_eq!(payload_type("((u8))?"), payload_type("u8?"));
    fires(&with_payload("()?"), &["syntax"]);
    fires(&with_payload("(u8,)"), &["syntax"]);
}

#[test]
fn structs_may_be_empty_and_enums_may_not() {
    clean("struct e { }\nproto! p { s:send { m(e) -> ! } }");
    fires("enum e { }\nproto! p { s:send { m(e) -> ! } }", &["syntax"]);
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
fn only_a_list_closes_a_loop_of_types() {
    for text in [
        "type a = b; type b = a; proto! p { s:send { m(a) -> ! } }",
        "type a = a; proto! p { s:send { m(a) -> ! } }",
        "type a = [a]; proto! p { s:send { m(a) -> ! } }",
        "struct node { next: node? } proto! p { s:send { m(node) -> ! } }",
        "struct node { next: (u8, node) } proto! p { s:send { m(node) -> ! } }",
        "enum node { next(node), end } proto! p { s:send { m(node) -> ! } }",
        "struct a { b: b } struct b { a: c } type c = a?; proto! p { s:send { m(a) -> ! } }",
    ] {
        fires(text, &["recursive-type"]);
    }
    clean("struct node { next: [node] } proto! p { s:send { m(node) -> ! } }");
    clean("enum node { next([node]), end } proto! p { s:send { m(node) -> ! } }");
    clean("struct a { b: b } enum b { a([a?]), end } proto! p { s:send { m(a) -> ! } }");
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
fn type_arguments_are_counted() {
    clean("proto! p { s:send { m -> wait<i64,> } wait:recv<T> { m(T) -> ! } }");
    fires(
        "proto! p { s:send { m -> wait<> } wait:recv<T> { m(T) -> ! } }",
        &["syntax"],
    );
    fires(
        "proto! p { s:send { m -> wait } wait:recv<T> { m(T) -> ! } }",
        &["type-argument-count"],
    );
    fires(
        "proto! p { s:send { m -> wait<u8> } wait:recv { m -> ! } }",
        &["type-argument-count"],
    );
    fires(
        "proto! p { s:send<T> { m(T) -> ! } } proto! q = p<u8, u8>;",
        &["type-argument-count"],
    );
    fires(
        "proto! p { s:send<T> { m(T) -> ! } } proto! q { s:send { m(p::client::s) -> ! } }",
        &["type-argument-count"],
    );
}

#[test]
fn type_arguments_must_satisfy_the_bounds_of_the_parameter() {
    for (bound, argument) in [
        ("copy", "str"),
        ("copy", "[u8]"),
        ("copy", "bytes"),
        ("copy", "(u8, str)"),
        ("copy", "str?"),
        ("eq", "f64"),
        ("ord", "f32"),
        ("hash", "[f64]"),
        ("eq", "(u8, f32?)"),
        ("clone", "q::client::t"),
        ("debug", "q::client::t"),
        ("eq", "q::server::t"),
    ] {
        let text = format!(
            "proto! q {{ t:send {{ m -> ! }} }}
             proto! p {{ s:send {{ m -> w<{argument}> }} w:recv<T: {bound}> {{ m(T) -> ! }} }}"
        );
        fires(&text, &["unsatisfied-bound"]);
    }
    for (bound, argument) in [
        ("copy", "(u8, f64?)"),
        ("clone", "[str]"),
        ("debug", "bytes"),
        ("eq", "[(str, u8)]"),
        ("ord", "str?"),
        ("hash", "bool"),
        ("send", "q::client::t"),
    ] {
        clean(&format!(
            "proto! q {{ t:send {{ m -> ! }} }}
             proto! p {{ s:send {{ m -> w<{argument}> }} w:recv<T: {bound}> {{ m(T) -> ! }} }}"
        ));
    }
}

#[test]
fn a_parameter_satisfies_only_the_bounds_it_declares() {
    clean("proto! p { s:send<T: copy> { m -> w<T> } w:recv<T: copy> { m(T) -> ! } }");
    clean("proto! p { s:send<T: copy> { m -> w<T> } w:recv<T: clone> { m(T) -> ! } }");
    fires(
        "proto! p { s:send<T: send> { m -> w<T> } w:recv<T: copy> { m(T) -> ! } }",
        &["unsatisfied-bound"],
    );
    fires(
        "extern type e; proto! p { s:send { m -> w<e> } w:recv<T: debug> { m(T) -> ! } }",
        &["unsatisfied-bound"],
    );
    clean("extern type e: debug; proto! p { s:send { m -> w<e> } w:recv<T: debug> { m(T) -> ! } }");
}

#[test]
fn structs_satisfy_the_bounds_that_all_their_parts_satisfy() {
    let with = |declaration: &str, bound: &str| {
        format!(
            "{declaration} proto! p {{ s:send {{ m -> w<item> }} w:recv<T: {bound}> {{ m(T) -> ! }} }}"
        )
    };
    clean(&with(
        "struct item { a: str, b: [item] }",
        "clone + eq + ord + hash + debug",
    ));
    clean(&with(
        "enum item { a(str), b }",
        "clone + eq + ord + hash + debug",
    ));
    clean(&with("type item = u8;", "copy"));
    fires(
        &with("struct item { a: f64 }", "eq"),
        &["unsatisfied-bound"],
    );
    fires(
        &with("struct item { a: u8 }", "copy"),
        &["unsatisfied-bound"],
    );
}

#[test]
fn endpoint_types_name_protocol_side_and_state() {
    let q = "proto! q { t:send<T> { m(T) -> t<T>, end -> ! } }";
    let p = "proto! p { s:send<T> { m(T) -> s<T>, end -> ! } }";
    let user = |ty: &str| format!("{q}\n{p}\nproto! r {{ s:send {{ m({ty}) -> ! }} }}");
    clean(&user("p::client::s<q::server::t<u64>>"));
    clean(&user("p :: client :: s < q::server::t< u64 > >"));
    says(&fires(&user("p::s"), &["unknown-side"]), "side");
    fires(&user("p::middle::s"), &["unknown-side"]);
    fires(&user("a::p::client::s"), &["unknown-side"]);
    says(&fires(&user("p::client"), &["unknown-state"]), "`p` is `s`");
    says(&fires(&user("p::client<u8>"), &["unknown-state"]), "::s");
    fires(&user("nobody::client"), &["unknown-protocol"]);
    fires(&user("nobody::client::s"), &["unknown-protocol"]);
    fires(&user("p::client::nowhere"), &["unknown-state"]);
}

#[test]
fn protocols_may_send_endpoints_of_each_other() {
    clean("proto! p { s:send { m(p::client::s) -> ! } }");
    clean(
        "proto! p { s:send { m(q::client::s) -> ! } } proto! q { s:send { m(p::server::s) -> s, end -> ! } }",
    );
    clean("struct card { back: p::client::s } proto! p { s:send { m(card) -> ! } }");
}

#[test]
fn type_arguments_may_change_but_not_grow() {
    clean("proto! p { s:send<A, B> { swap -> s<B, A>, m(A, B) -> ! } }");
    clean(
        "proto! p { s:send<T> { up -> t<[T]>, end(T) -> ! } t:send<T> { m(T) -> t<T>, end -> ! } }",
    );
    clean("proto! p { s:send<T> { reset -> s<u8>, m(T) -> ! } }");
    for text in [
        "proto! p { s:send<T> { up -> s<[T]>, m(T) -> ! } }",
        "proto! p { s:send<T> { up -> t<T?>, m(T) -> ! } t:recv<T> { up -> s<T>, m(T) -> ! } }",
        "proto! p { s:send<A, B> { up -> s<B, [A]>, m(A, B) -> ! } }",
        "proto! p { s:send<T> { up -> s<p::client::s<T>>, m(T) -> ! } }",
    ] {
        fires(text, &["expanding-recursion"]);
    }
}

#[test]
fn bounds_of_the_host_are_taken_on_trust() {
    clean("extern bound show; proto! p { s:send { m -> w<str> } w:recv<T: show> { m(T) -> ! } }");
    clean(
        "extern bound show { rust = \"::std::fmt::Display\"; } proto! p { s:send<T: show> { m(T) -> ! } } proto! q = p<u8>;",
    );
}

/// A package is recognized by its protocols, and a file need not be in one.
#[test]
fn an_endpoint_in_a_file_without_protocols_has_an_unknown_protocol() {
    fires(
        "struct door { key: nobody::client::s }",
        &["unknown-protocol"],
    );
    fires(
        "package a.b; type door = [nobody::server::s<u8>];",
        &["unknown-protocol"],
    );
}

#[test]
fn states_with_different_limits_are_not_equivalent() {
    let two = |one: &str, other: &str| {
        format!(
            "#[deny(equivalent-states)]\n\
             proto! p {{ a:send {{ {one} m(str) -> b, x -> ! }} b:send {{ {other} m(str) -> a, x -> ! }} }}"
        )
    };
    fires(&two("", ""), &["equivalent-states"]);
    let limit = "#[at_most(1 KiB)]";
    fires(&two(limit, limit), &["equivalent-states"]);
    clean(&two(limit, "#[at_most(1 MiB)]"));
    clean(&two("", limit));
}

#[test]
fn states_with_different_time_limits_are_not_equivalent() {
    let two = |one: &str, other: &str| {
        format!(
            "#[deny(equivalent-states)]\n\
             proto! p {{ {one} a:send {{ m(str) -> b, x -> ! }} {other} b:send {{ m(str) -> a, x -> ! }} }}"
        )
    };
    fires(
        &two("#[within(1s)]", "#[within(1000 ms)]"),
        &["equivalent-states"],
    );
    clean(&two("#[within(1s)]", "#[within(2s)]"));
    clean(&two("", "#[within(1s)]"));
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

#[test]
fn bounds_in_structs_and_enums_are_checked() {
    for text in [
        "struct a { x: u8, y: u8<4> }",
        "enum a { x, y(u8, bool<4>) }",
        "type a = [u8<4>];",
    ] {
        fires(text, &["unusable-limit"]);
    }
}

/// The protocol itself gives the argument for which the limit is too small, so its instances do not report that again.
#[test]
fn a_limit_that_is_too_small_for_arguments_is_reported_once() {
    let text = "proto! p { s:send<T> { go(T) -> w<u64> } w:recv<U> { #[at_most(4 B)] m(U) -> ! } }\n\
                proto! a = p<str>;\nproto! b = p<bool>;";
    let compilation = fires(text, &["unusable-limit"]);
    assert_eq!(compilation.diagnostics.len(), 1);
}
