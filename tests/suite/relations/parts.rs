//! Which part of a payload two versions disagree about, and where each version declares it.

use super::{compiled, view};
use crate::support::program::Scratch;
use duologue::relation::{self, Change, Mismatch};
use insta::assert_snapshot;

/// Old and new text, the path to the part, and the labels at the words of both.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    [(&'static str, &'static str); 2],
);

const ROWS: &[Row] = &[
    (
        "proto! p { s:send { buy(item) -> ! } } struct item { name: str, price: price } struct price { amount: u32 }",
        "proto! p { s:send { buy(item) -> ! } } struct item { name: str, price: price } struct price { amount: u64 }",
        "item.price.amount",
        [
            ("u32", "`item.price.amount` is `u32` here"),
            ("u64", "`item.price.amount` is `u64` here"),
        ],
    ),
    (
        "proto! p { s:send { x(tt) -> ! } } type tt = u8;",
        "proto! p { s:send { x(tt) -> ! } } type tt = u16;",
        "",
        [("u8", "`tt` is `u8` here"), ("u16", "`tt` is `u16` here")],
    ),
    (
        "proto! p { s:send { x(v: [tt]) -> ! } } type tt = [point]; struct point { x: u8 }",
        "proto! p { s:send { x(v: [tt]) -> ! } } type tt = [point]; struct point { x: i8 }",
        "v[][].x",
        [
            ("u8", "`v[][].x` is `u8` here"),
            ("i8", "`v[][].x` is `i8` here"),
        ],
    ),
    (
        "proto! p { s:send { x(u8, str) -> ! } }",
        "proto! p { s:send { x(u16, str) -> ! } }",
        "",
        [
            ("u8", "`x` carries `u8` here"),
            ("u16", "`x` carries `u16` here"),
        ],
    ),
    (
        "proto! p { s:send { x([u8]) -> ! } }",
        "proto! p { s:send { x([u8]?) -> ! } }",
        "",
        [
            ("[u8]", "`x` carries `[u8]` here"),
            ("[u8]?", "`x` carries `[u8]?` here"),
        ],
    ),
    (
        "proto! p { s:send { x(a: u8, b: (u8, str)) -> ! } }",
        "proto! p { s:send { x(a: u8, b: (u8, u8)) -> ! } }",
        "b.1",
        [
            ("(u8, str)", "`b.1` is `str` here"),
            ("(u8, u8)", "`b.1` is `u8` here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: e) -> ! } } enum e { no, yes(why: str) }",
        "proto! p { s:send { x(v: e) -> ! } } enum e { no, yes(why: u8) }",
        "v.yes.why",
        [
            ("str", "`v.yes.why` is `str` here"),
            ("u8", "`v.yes.why` is `u8` here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: e) -> ! } } enum e { no, yes }",
        "proto! p { s:send { x(v: e) -> ! } } enum e { no, maybe, yes }",
        "v",
        [
            ("e", "`v` has no variant `maybe` here"),
            ("maybe", "`v` has the variant `maybe` here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: e) -> ! } } struct e { a: u8, b: u8 }",
        "proto! p { s:send { x(v: e) -> ! } } struct e { b: u8, a: u8 }",
        "v",
        [
            ("a", "`v` has `a` as field 1 here"),
            ("b", "`v` has `b` as field 1 here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: e) -> ! } } struct e { a: u8 }",
        "proto! p { s:send { x(v: e) -> ! } } struct e { c: u8 }",
        "v",
        [
            ("a", "`v` has the field `a` here"),
            ("c", "`v` has the field `c` here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: n) -> ! } } struct n { a: u8 }",
        "proto! p { s:send { x(v: n) -> ! } } enum n { a }",
        "v",
        [("n", "`n` is a struct here"), ("n", "`n` is an enum here")],
    ),
    (
        "proto! p { s:send { x(v: money) -> ! } } type money = f64;",
        "proto! p { s:send { x(v: u8) -> ! } } type money = f64;",
        "v",
        [("money", "`v` is `money` here"), ("u8", "`v` is `u8` here")],
    ),
    (
        "proto! p { a:send { go -> t<u8> } t:recv<T: send> { b(n: T) -> ! } }",
        "proto! p { a:send { go -> t<u16> } t:recv<T: send> { b(n: T) -> ! } }",
        "n",
        [
            ("t<u8>", "`T` is `u8` here"),
            ("t<u16>", "`T` is `u16` here"),
        ],
    ),
    (
        "proto! p { s:send { x(e: q::client::s) -> ! } } proto! q { s:send { m(k: u8) -> ! } }",
        "proto! p { s:send { x(e: q::client::s) -> ! } } proto! q { s:send { m(k: u16) -> ! } }",
        "e.m.k",
        [
            ("u8", "`e.m.k` is `u8` here"),
            ("u16", "`e.m.k` is `u16` here"),
        ],
    ),
    (
        "proto! p { s:send { x(e: q::client::s) -> ! } } proto! q { s:send { m -> t } t:recv { k -> ! } }",
        "proto! p { s:send { x(e: q::client::s) -> ! } } proto! q { s:send { m -> t } t:send { k -> ! } }",
        "e",
        [
            ("t", "the client receives in this state"),
            ("t", "the client sends in this state"),
        ],
    ),
    (
        "proto! p { s:send { x(e: q::client::s) -> ! } } proto! q { s:send { m -> t } t:recv { k -> ! } }",
        "proto! p { s:send { x(e: q::server::s) -> ! } } proto! q { s:send { m -> t } t:recv { k -> ! } }",
        "",
        [
            ("q::client::s", "`e` is `q::client::s` here"),
            ("q::server::s", "`e` is `q::server::s` here"),
        ],
    ),
    (
        "proto! p { s:send { x(v: tree) -> ! } } struct tree { all: [tree], leaf: u8 }",
        "proto! p { s:send { x(v: tree) -> ! } } struct tree { all: [tree], leaf: u16 }",
        "v.leaf",
        [
            ("u8", "`v.leaf` is `u8` here"),
            ("u16", "`v.leaf` is `u16` here"),
        ],
    ),
];

#[test]
fn the_part_that_differs_is_named() {
    for (old, new, path, labels) in ROWS {
        let (ours, theirs) = (compiled(old), compiled(new));
        let change = Change::between(view(&ours), view(&theirs));
        let found = change
            .old_client
            .into_iter()
            .next()
            .expect("the payload differs");
        assert!(matches!(found.clash, Mismatch::Payload(..)), "{new}");
        let part = found.part.expect("equally many values");
        let path = if labels[0].1.contains("q::client") {
            "e"
        } else {
            path
        };
        assert_eq!(part.path, path, "{new}");
        let slice = |compilation: &duologue::compile::Compilation, span| {
            compilation.sources.slice(span).to_owned()
        };
        let found = [
            (slice(&ours, part.left.span), part.left.text),
            (slice(&theirs, part.right.span), part.right.text),
        ];
        let expected = labels.map(|(words, text)| (words.to_owned(), text.to_owned()));
        assert_eq!(found, expected, "{new}");
    }
}

#[test]
fn different_numbers_of_values_are_reported_for_the_whole_payload() {
    let old = compiled("proto! p { s:send { x(u8) -> ! } }");
    let new = compiled("proto! p { s:send { x(u8, str) -> ! } }");
    let found = relation::misfit(view(&old), view(&new)).expect("they differ");
    assert!(found.part.is_none());
}

/// Through imports, aliases and instances, with the files of both versions.
#[test]
fn reports_show_the_part_in_both_versions() {
    let shop = "import \"types.proto\";\nproto! shop {\n    s:send { buy(item) -> ! }\n}\n";
    let types = "type count = u8;\nstruct item { name: str, price: price }\n\
                 struct price { amount: u32, many: count }\n";
    let stream = "proto! stream {\n    s:send<T: send> { item(T) -> s<T>, end -> ! }\n}\n\
                  proto! numbers = stream<u64>;\n";
    let files = [
        ("old/shop.proto", shop),
        ("old/types.proto", types),
        ("old/stream.proto", stream),
    ];
    let scratch = Scratch::with("breaking-parts", &files);
    scratch.write("new/shop.proto", shop);
    scratch.write("new/types.proto", types.replace("u32", "u64"));
    scratch.write("new/stream.proto", stream.replace("u64", "u32"));
    assert_snapshot!(
        "deep",
        scratch.transcript("breaking new/shop.proto --against old/shop.proto --ascii")
    );
    assert_snapshot!(
        "instance",
        scratch.transcript("breaking new/stream.proto --against old/stream.proto --ascii")
    );
    scratch.write("new/types.proto", types.replace("u8", "u16"));
    assert_snapshot!(
        "alias",
        scratch.transcript("breaking new/shop.proto --against old/shop.proto --format short")
    );
}
