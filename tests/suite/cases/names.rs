//! Names: which may be equal, which clash, and what an entry without a name is called.

use super::{clean, entry_names, fires, says, with_payload};

#[test]
fn an_entry_without_a_type_is_a_type_without_a_name() {
    let declared =
        clean("type username = str;\nproto! p { s:send { login(username, password: str) -> ! } }");
    assert_eq!(entry_names(&declared), ["username", "password"]);
    let undeclared = fires(
        &with_payload("username, password: str"),
        &["undeclared-type"],
    );
    says(&undeclared, "username: str");
}

#[test]
fn an_entry_of_a_named_type_takes_its_name() {
    for declaration in [
        "type money = f64;",
        "struct money { cents: u64 }",
        "enum money { cash }",
        "extern type money;",
    ] {
        let compilation = clean(&format!("{declaration}\n{}", with_payload("money")));
        assert_eq!(entry_names(&compilation), ["money"], "{declaration}");
    }
}

#[test]
fn derived_names_are_numbered_where_they_collide() {
    let names = |payload: &str| {
        let text = format!(
            "type money = f64; type date = u32; {} proto! q {{ s:send {{ m([money], [date]) -> ! }} }}",
            with_payload(payload)
        );
        entry_names(&clean(&text)).join(" ")
    };
    assert_eq!(names("money, money"), "money_0 money_1");
    assert_eq!(names("money, date, money"), "money_0 date money_1");
    assert_eq!(names("u64"), "value");
    assert_eq!(names("u64, str"), "value_0 value_1");
    assert_eq!(names("[money]"), "value");
    assert_eq!(names("money?"), "value");
    assert_eq!(names("(money, date)"), "value");
    assert_eq!(names("money, [money]"), "money value");
}

#[test]
fn an_entry_of_parameter_type_is_a_value() {
    let compilation = clean("proto! p { s:send<T> { m(T) -> s<T>, end -> ! } }");
    assert_eq!(entry_names(&compilation), ["value"]);
}

#[test]
fn written_entry_names_are_unique() {
    fires(&with_payload("a: u8, a: u8"), &["duplicate-name"]);
    fires(&with_payload("a_b: u8, aB: u8"), &["clashing-names"]);
    fires(
        "enum e { v(a: u8, a: u8) }\nproto! p { s:send { m(e) -> ! } }",
        &["duplicate-name"],
    );
}

#[test]
fn an_entry_may_be_named_next() {
    clean(&with_payload("next: u8"));
}

#[test]
fn names_of_different_kinds_never_clash() {
    clean("type login = str;\nproto! login { login:send { login(login: login) -> ! } }");
    clean(
        "struct a { a: u8 }\nenum b { b(b: a) }\nproto! a { a:send { a(b) -> b } b:recv { a -> ! } }",
    );
}

#[test]
fn equal_names_of_one_kind_are_duplicates() {
    for text in [
        "proto! p { s:send { m -> ! } } proto! p { s:send { m -> ! } }",
        "proto! p { s:send { m -> s, quit -> ! } s:send { m -> ! } }",
        "proto! p { s:send { m -> !, m(u8) -> ! } }",
        "type t = u8; struct t { a: u8 } proto! p { s:send { m(t) -> ! } }",
        "struct t { a: u8, a: u8 } proto! p { s:send { m(t) -> ! } }",
        "enum t { a, a } proto! p { s:send { m(t) -> ! } }",
        "proto! p { s:send<T, T> { m(T) -> ! } }",
        "extern bound b; extern bound b; proto! p { s:send<T: b> { m(T) -> ! } }",
        "proto! p { s:send<T> { m(T) -> ! } } proto! q = p<u8>; proto! q = p<str>;",
    ] {
        fires(text, &["duplicate-name"]);
    }
}

#[test]
fn names_that_differ_in_case_and_underscores_clash() {
    for text in [
        "proto! p { s:send { get -> !, Get -> ! } }",
        "proto! p { s:send { get_it -> !, getIt -> ! } }",
        "proto! p { s:send { m -> S } S:send { m -> ! } }",
        "proto! p { s:send<T, t> { m(T, t) -> ! } }",
        "struct a { x: u8, X: u8 } proto! p { s:send { m(a) -> ! } }",
        "enum a { x, X } proto! p { s:send { m(a) -> ! } }",
        "type a_b = u8; type AB = u8; proto! p { s:send { m(a_b, AB) -> ! } }",
    ] {
        fires(text, &["clashing-names"]);
    }
    clean("proto! p { s:send { get -> t } t:recv { get -> ! } }");
}

#[test]
fn a_type_parameter_may_not_hide_a_type() {
    fires(
        "type money = f64; proto! p { s:send<money: send> { m(money) -> s<money>, end -> ! } }",
        &["clashing-names"],
    );
    fires(
        "proto! p { s:send<u8> { m(u8) -> ! } }",
        &["clashing-names"],
    );
}

#[test]
fn states_may_be_named_like_the_sides_or_begin_like_them() {
    clean("proto! p { client:send { m -> ! } }");
    clean("proto! p { s:send { m -> Server } Server:recv { m -> ! } }");
    clean("proto! p { hello:send { m -> server_hello } server_hello:recv { m -> ! } }");
}

/// The host declares the type, once.
#[test]
fn two_spellings_of_a_host_type_do_not_clash() {
    fires(&with_payload("a: string, b: String"), &["undeclared-type"]);
}

#[test]
fn what_is_not_resolved_hides_no_clash() {
    let clash = "struct bank_login { user: str }
         proto! bank { login:send { enter(bank_login) -> ! } }";
    fires(clash, &["target-clash"]);
    fires(
        &format!("{clash} proto! p {{ s:send {{ m -> nowhere }} }}"),
        &["target-clash", "unknown-state"],
    );
    fires(
        &format!("{clash} proto! p {{ s:send<T> {{ m(T) -> ! }} }} proto! q = p<u8, u8>;"),
        &["target-clash", "type-argument-count"],
    );
    // Nothing else is reported about a name that is declared twice.
    fires(&format!("{clash} {clash}"), &["duplicate-name"]);
}

#[test]
fn built_in_types_cannot_be_declared_again() {
    for name in ["u64", "str", "bool", "bytes", "int", "uint", "float"] {
        fires(
            &format!("type {name} = [u8]; proto! p {{ s:send {{ m({name}) -> ! }} }}"),
            &["duplicate-name"],
        );
    }
}

#[test]
fn every_word_is_a_name_where_a_name_is_expected() {
    clean("extern type send; proto! p { send:send { send(send) -> send, recv -> ! } }");
    clean("type type = u8; proto! proto { type:send { type(type: type) -> ! } }");
    clean(
        "struct struct { enum: u8 } enum enum { struct(struct), extern }
         proto! import { package:recv { from(enum) -> drop, bound -> ! } drop:send { rust -> ! } }",
    );
}

#[test]
fn names_are_ascii_and_have_a_letter_or_digit() {
    for name in ["__x__", "a__b", "a1", "A", "_a"] {
        clean(&format!("proto! p {{ s:send {{ {name} -> ! }} }}"));
    }
    clean(&format!(
        "proto! p {{ s:send {{ {} -> ! }} }}",
        "a".repeat(100)
    ));
    let only_underscores = fires("proto! p { s:send { _ -> ! } }", &["syntax"]);
    says(&only_underscores, "underscore");
    fires("proto! p { s:send { naïve -> ! } }", &["syntax"]);
    let long = fires(
        &format!("proto! p {{ s:send {{ {} -> ! }} }}", "a".repeat(101)),
        &["syntax"],
    );
    says(&long, "100");
    fires("proto! p { s:send { 1st -> ! } }", &["syntax"]);
}

#[test]
fn names_that_an_operating_system_reserves_are_fine() {
    for name in ["con", "aux", "nul", "prn", "com1"] {
        clean(&format!("proto! {name} {{ s:send {{ m -> ! }} }}"));
    }
}

#[test]
fn a_bound_may_be_named_like_a_keyword() {
    let bounds = "extern bound package;\nextern bound import;\n";
    let types = "extern type box: package import;\nextern type bag: import +\n    package copy;\n";
    let protocol = "proto! p { s:send<T: package import> { m(T, box, bag) -> ! } }";
    clean(&format!("{bounds}{types}{protocol}"));
}
