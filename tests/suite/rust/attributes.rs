//! Derives and attributes that the user adds to declared types.

use crate::support::program::Scratch;
use crate::support::rust::{checked, generate, protocols_in, scratch};
use duologue::languages::{Attribute, AttributeError, Options, check_attributes};

fn words(error: Result<impl std::fmt::Debug, AttributeError>) -> String {
    error.expect_err("it is wrong").to_string()
}

#[test]
fn texts_that_are_no_attributes_are_rejected() {
    let right = [
        "#[non_exhaustive]",
        "#[serde(default)]",
        " #[ serde :: x { a } ] ",
        "#[doc = \"]\"]",
        "#[doc = concat!(\"a\", \"b\")]",
        "#[unsafe(no_mangle)]",
        "#[::x::y[1, ')', '\\'', r#\"\"]\"#]]",
        "/// Documentation.",
        "#[r#type]",
    ];
    for text in right {
        assert!(Attribute::on_type(".", text).is_ok(), "{text}");
        assert!(Attribute::on_member(".", text).is_ok(), "{text}");
    }
    let wrong = [
        "",
        "serde(default)",
        "#[]",
        "#[serde(default)",
        "#[serde(default]",
        "#[serde(default)]]",
        "#![allow(unused)]",
        "#[a] #[b]",
        "#[a]\npub struct Other;",
        "#[a b]",
        "#[a =]",
        "#[a == 1]",
        "#[a::]",
        "#[a:b]",
        "#[1]",
        "#(a)",
        "#[doc = \"]",
        "#[a] /*",
        "# [a] x",
    ];
    for text in wrong {
        let expected = format!(
            "`{}` is not an attribute; write one such as `#[serde(default)]`",
            text.trim()
        );
        assert_eq!(words(Attribute::on_type(".", text)), expected);
        assert_eq!(words(Attribute::on_member(".", text)), expected);
    }
}

#[test]
fn texts_that_are_no_traits_are_rejected() {
    for text in ["Default", "::serde::Serialize", "a::b , c", "r#type"] {
        assert!(Attribute::derive(".", text).is_ok(), "{text}");
    }
    let wrong = [
        "",
        "a,",
        ",",
        "a b",
        "a::",
        "a<b>",
        "a(b)",
        "a::b)]",
        "#[derive(A)]",
        "'a",
        "a:b",
        "1",
        "\"",
    ];
    for text in wrong {
        let expected = format!("`{text}` is not the path of a trait; write one such as `Default`");
        assert_eq!(words(Attribute::derive(".", text)), expected);
    }
    assert_eq!(
        words(Attribute::derive("account", "Default, Hash")),
        "`Hash` needs no option: it is derived for every type whose fields allow it"
    );
}

/// Paths are names of protocol files, and select what is inside.
#[test]
fn paths_that_select_nothing_are_reported() {
    let files = Scratch::new("selects");
    let text = "package acme.pay;\ntype money = f64;\nstruct account { owner: str, limit: money? }\nenum kind { new, paid(account) }\n";
    files.write("pay.proto", text);
    files.write("plain.proto", "struct plain { text: str }\n");
    let inputs = ["pay.proto", "plain.proto"].map(|name| files.path(name));
    let checked = checked(&inputs);
    let check = |attribute: Result<Attribute, AttributeError>| {
        let attribute = attribute.expect("the text is right");
        check_attributes(checked.program(), &[attribute])
    };
    for path in [
        ".",
        "acme",
        "acme.pay",
        "acme.pay.account",
        "acme.pay.kind",
        "plain",
    ] {
        assert_eq!(check(Attribute::derive(path, "Default")), Ok(()), "{path}");
        assert_eq!(check(Attribute::on_type(path, "#[a]")), Ok(()), "{path}");
        assert_eq!(check(Attribute::on_member(path, "#[a]")), Ok(()), "{path}");
    }
    for path in ["acme.pay.account.limit", "acme.pay.kind.paid", "plain.text"] {
        assert_eq!(check(Attribute::on_member(path, "#[a]")), Ok(()), "{path}");
        let error = words(check(Attribute::on_type(path, "#[a]")));
        assert!(
            error.starts_with(&format!("there is no struct or enum `{path}`")),
            "{error}"
        );
    }
    for (path, expected) in [
        (
            "account",
            "there is no struct or enum `account`; did you mean `acme.pay.account`?",
        ),
        (
            "acme.pay.acount",
            "there is no struct or enum `acme.pay.acount`; did you mean `acme.pay.account`?",
        ),
        // An alias has no derives.
        (
            "acme.pay.money",
            "there is no struct or enum `acme.pay.money`",
        ),
        ("acme.p", "there is no struct or enum `acme.p`"),
        ("", "there is no struct or enum ``"),
    ] {
        assert_eq!(words(check(Attribute::derive(path, "Default"))), expected);
    }
    let member = words(check(Attribute::on_member(
        "acme.pay.account.limits",
        "#[a]",
    )));
    let help = "there is no field or variant `acme.pay.account.limits`; did you mean `acme.pay.account.limit`?";
    assert_eq!(member, help);
    let two = ["a", "b"].map(|path| Attribute::derive(path, "Default").expect("it is a trait"));
    let both = "there is no struct or enum `a`\nthere is no struct or enum `b`";
    assert_eq!(words(check_attributes(checked.program(), &two)), both);
}

#[test]
fn derives_occur_once() {
    let inputs = protocols_in("tests/conversations/derived");
    let mut options = Options::default();
    let long = "x".repeat(80);
    for traits in [&long, "Default", &long] {
        let derive = Attribute::derive(".", traits);
        options.rust.attributes.push(derive.expect("it is a trait"));
    }
    let attribute = Attribute::on_member("shop", "#[a]").expect("it is an attribute");
    options.rust.attributes.push(attribute);
    let folder = scratch("derives");
    generate(&inputs, &options, &folder);
    let module = std::fs::read_to_string(folder.join("shop/mod.rs")).expect("it was written");
    assert_eq!(module.matches(&format!("{long},")).count(), 3, "{module}");
    assert_eq!(module.matches("    #[a]\n").count(), 9, "{module}");
}
