//! Pairs of versions with the verdict worked out by hand.

use super::{compiled, program, view};
use duologue::relation::{self, Change, Fate, Rollout, Travel, versions};

/// The question, the states of the old and of the new version, and the verdict.
type Row = (&'static str, &'static str, &'static str, Rollout);

/// Declarations that both versions share.
pub const SHARED: &str = "
    type money = f64;
    struct point { x: u8, y: u8 }
    enum shape { dot, line(from: point, to: point) }
    extern type buffer;
    struct tree { children: [tree] }
    proto! talk { s:send { hi -> t, bye -> ! } t:recv { ho -> s } }
    proto! answer { s:recv { hi -> t, bye -> ! } t:send { ho -> s } }
    proto! loops { s:send { me(loops::client::s) -> s, you(loops::server::s) -> ! } }
    proto! knots { a:send { me(knots::client::b) -> b, you(knots::server::a) -> ! }
                   b:send { you(knots::server::b) -> !, me(knots::client::a) -> a } }
    proto! stream { s:send<T: send> { item(T) -> s<T>, end -> ! } }
";

const ROWS: &[Row] = {
    use Rollout::{AnyOrder, ClientFirst, Incompatible, Same, ServerFirst};
    &[
        ("nothing", "s:send { a -> ! }", "s:send { a -> ! }", Same),
        (
            "the order of messages",
            "s:send { a -> s, b -> ! }",
            "s:send { b -> !, a -> s }",
            Same,
        ),
        (
            "the order of states",
            "s:send { a -> t } t:recv { b -> u } u:send { c -> ! }",
            "s:send { a -> t } u:send { c -> ! } t:recv { b -> u }",
            Same,
        ),
        (
            "the name of a state",
            "s:send { a -> t } t:recv { b -> ! }",
            "s:send { a -> u } u:recv { b -> ! }",
            AnyOrder,
        ),
        (
            "a state is split",
            "s:send { a -> s, b -> ! }",
            "s:send { a -> t, b -> ! } t:send { a -> s, b -> ! }",
            AnyOrder,
        ),
        (
            "states are merged",
            "s:send { a -> t } t:send { a -> s }",
            "s:send { a -> s }",
            AnyOrder,
        ),
        (
            "another terminal",
            "s:send { a -> ! }",
            "s:send { a -> done } done { }",
            AnyOrder,
        ),
        (
            "the name of an entry",
            "s:send { a(n: u8) -> ! }",
            "s:send { a(m: u8) -> ! }",
            AnyOrder,
        ),
        (
            "an alias",
            "s:send { a(n: money) -> ! }",
            "s:send { a(n: f64) -> ! }",
            Same,
        ),
        (
            "a tilde",
            "s:send { a(n: str) -> ! }",
            "s:send { a(n: ~str) -> ! }",
            Same,
        ),
        (
            "a client may send more",
            "s:send { a -> ! }",
            "s:send { a -> !, b -> ! }",
            ServerFirst,
        ),
        (
            "a client may send less",
            "s:send { a -> !, b -> ! }",
            "s:send { a -> ! }",
            ClientFirst,
        ),
        (
            "a server may send more",
            "s:recv { a -> ! }",
            "s:recv { a -> !, b -> ! }",
            ClientFirst,
        ),
        (
            "a server may send less",
            "s:recv { a -> !, b -> ! }",
            "s:recv { a -> ! }",
            ServerFirst,
        ),
        (
            "both may send more",
            "s:send { a -> t } t:recv { b -> ! }",
            "s:send { a -> t, c -> ! } t:recv { b -> !, d -> ! }",
            Incompatible,
        ),
        (
            "only the new sender has the new message",
            "s:send { a -> t } t:recv { b -> ! }",
            "s:send { a -> t, c -> u } t:recv { b -> ! } u:recv { d -> ! }",
            ServerFirst,
        ),
        (
            "the name of a message",
            "s:send { a -> ! }",
            "s:send { b -> ! }",
            Incompatible,
        ),
        (
            "another payload",
            "s:send { a(u8) -> ! }",
            "s:send { a(u16) -> ! }",
            Incompatible,
        ),
        (
            "one more payload",
            "s:send { a(u8) -> ! }",
            "s:send { a(u8, u8) -> ! }",
            Incompatible,
        ),
        (
            "an optional payload",
            "s:send { a(str) -> ! }",
            "s:send { a(str?) -> ! }",
            Incompatible,
        ),
        (
            "bytes or a list",
            "s:send { a(bytes) -> ! }",
            "s:send { a([u8]) -> ! }",
            Incompatible,
        ),
        (
            "the other direction",
            "s:send { a -> ! }",
            "s:recv { a -> ! }",
            Incompatible,
        ),
        (
            "the session ends earlier",
            "s:send { a -> t } t:send { b -> ! }",
            "s:send { a -> ! }",
            Incompatible,
        ),
        (
            "the session continues",
            "s:send { a -> ! }",
            "s:send { a -> t } t:recv { b -> ! }",
            Incompatible,
        ),
        (
            "an unreachable difference",
            "s:send { a -> ! } t:send { b -> ! }",
            "s:send { a -> ! } t:send { c -> ! }",
            Same,
        ),
        (
            "an unreachable state",
            "s:send { a -> ! }",
            "s:send { a -> ! } t:send { b -> ! }",
            AnyOrder,
        ),
        (
            "a struct or its tuple",
            "s:send { a(n: point) -> ! }",
            "s:send { a(n: (u8, u8)) -> ! }",
            Incompatible,
        ),
        (
            "an external type or another",
            "s:send { a(n: buffer) -> ! }",
            "s:send { a(n: buffers) -> ! }",
            Incompatible,
        ),
        (
            "an external type",
            "s:send { a(buffer) -> ! }",
            "s:send { a(buffer) -> ! }",
            Same,
        ),
        (
            "an endpoint or its dual",
            "s:send { a(e: talk::client::s) -> ! }",
            "s:send { a(e: talk::server::s) -> ! }",
            Incompatible,
        ),
        (
            "an endpoint that does the same",
            "s:send { a(e: talk::client::s) -> ! }",
            "s:send { a(e: answer::server::s) -> ! }",
            AnyOrder,
        ),
        (
            "endpoints of protocols that send themselves",
            "s:send { a(e: loops::client::s) -> ! }",
            "s:send { a(e: knots::client::b) -> ! }",
            AnyOrder,
        ),
        (
            "an endpoint in another state",
            "s:send { a(e: talk::client::s) -> ! }",
            "s:send { a(e: talk::client::t) -> ! }",
            Incompatible,
        ),
        (
            "an argument of an endpoint",
            "s:send { a(e: stream::client::s<u8>) -> ! }",
            "s:send { a(e: stream::client::s<u16>) -> ! }",
            Incompatible,
        ),
        (
            "the name of a parameter",
            "s:send<T: send> { a(n: T) -> s<T> }",
            "s:send<U: send> { a(n: U) -> s<U> }",
            Same,
        ),
        (
            "the order of parameters",
            "s:send<T: send, U: send> { a(n: T, m: U) -> ! }",
            "s:send<T: send, U: send> { a(n: U, m: T) -> ! }",
            Incompatible,
        ),
        (
            "one more bound",
            "s:send<T: send> { a(n: T) -> s<T> }",
            "s:send<T: send + eq> { a(n: T) -> s<T> }",
            AnyOrder,
        ),
        (
            "a bound that always holds",
            "s:send<T: send + eq> { a(n: T) -> s<T> }",
            "s:send<T: eq> { a(n: T) -> s<T> }",
            Same,
        ),
        (
            "an argument in between",
            "s:send { a -> t<u8> } t:recv<T: send> { b(n: T) -> ! }",
            "s:send { a -> t<u16> } t:recv<T: send> { b(n: T) -> ! }",
            Incompatible,
        ),
        (
            "an argument or the type itself",
            "s:send { a -> t<u8> } t:recv<T: send> { b(n: T) -> ! }",
            "s:send { a -> t } t:recv { b(n: u8) -> ! }",
            AnyOrder,
        ),
    ]
};

#[test]
fn verdicts_worked_out_by_hand() {
    for (what, old, new, expected) in ROWS {
        let text = |states: &str| format!("proto! p {{ {states} }}{SHARED}");
        let (old, new) = (compiled(&text(old)), compiled(&text(new)));
        let change = Change::between(view(&old), view(&new));
        assert_eq!(change.rollout(), *expected, "{what}: {:?}", change.renamed);
        let back = Change::between(view(&new), view(&old)).rollout();
        let turned = match expected {
            Rollout::ServerFirst => Rollout::ClientFirst,
            Rollout::ClientFirst => Rollout::ServerFirst,
            Rollout::Same | Rollout::AnyOrder | Rollout::Incompatible => *expected,
        };
        assert_eq!(back, turned, "{what}, backwards");
    }
}

/// The shapes of declared types in two versions, and whether a message that carries `n` is the same in both.
#[test]
fn declared_types_compare_by_structure() {
    let rows = [
        ("struct n { x: u8 }", "struct n { x: u8 }", true),
        ("struct n { x: u8 }", "struct n { y: u8 }", false),
        (
            "struct n { x: u8, y: u8 }",
            "struct n { y: u8, x: u8 }",
            false,
        ),
        (
            "struct n { x: [n] }",
            "struct m { x: [n] } struct n { x: [m] }",
            true,
        ),
        (
            "struct n { x: [n] }",
            "struct m { x: [m]? } struct n { x: [m] }",
            false,
        ),
        ("enum n { a, b(x: u8) }", "enum n { a, b(y: u8) }", true),
        (
            "enum n { a, b(x: u8) }",
            "enum n { a, b(x: u8, y: u8) }",
            false,
        ),
        ("enum n { a, b }", "enum n { b, a }", false),
        ("enum n { a }", "struct n { a: u8 }", false),
        ("type n = str;", "type m = str; type n = m;", true),
        ("extern type n;", "", true),
        ("extern type n;", "type n = str;", false),
    ];
    for (old, new, is_same) in rows {
        let text = |types: &str| format!("{types} proto! p {{ s:send {{ a(v: n) -> ! }} }}");
        let (ours, theirs) = (compiled(&text(old)), compiled(&text(new)));
        let found = relation::difference(view(&ours), view(&theirs));
        assert_eq!(found.is_none(), is_same, "{old} | {new}");
    }
}

/// Declarations in two versions with the same behavior: what programs have to change, if anything.
#[test]
fn versions_that_break_programs_are_not_the_same() {
    let entry = "proto! p { s:send { a(v: n) -> ! } }";
    let rows = [
        (
            "enum n { a, b(x: u8) }",
            "enum n { a, b(y: u8) }",
            entry,
            Some("variant's value"),
        ),
        (
            "struct m { x: u8 } struct n { x: m }",
            "struct k { x: u8 } struct n { x: k }",
            entry,
            Some("type"),
        ),
        (
            "struct n { x: [u8], o: o } enum o { a(str, m) } type m = u8;",
            "type m = u8; struct n { x: [m], o: o } enum o { a(str, m: m) }",
            entry,
            None,
        ),
        (
            "type m = u8; type n = m;",
            "type n = u8;",
            entry,
            Some("alias"),
        ),
        (
            "type m = u8; type n = m;",
            "type m = u16; type n = u8;",
            entry,
            Some("meaning of an alias"),
        ),
        ("extern type n;", "", entry, None),
        (
            "extern type n;",
            "extern type n: clone;",
            entry,
            Some("external type"),
        ),
        (
            "extern type n;",
            "extern type n { rust = \"a::B\"; }",
            entry,
            Some("external type"),
        ),
        (
            "enum o { b(x: u8) } proto! q { s:send { m(o) -> ! } }",
            "enum o { b(y: u8) } proto! q { s:send { m(o) -> ! } }",
            "proto! p { s:send { a(v: q::client::s) -> ! } }",
            Some("variant's value"),
        ),
        (
            "proto! q { s:send { m(x: u8) -> ! } }",
            "proto! q { s:send { m(y: u8) -> ! } }",
            "proto! p { s:send { a(v: q::client::s) -> ! } }",
            Some("payload entry"),
        ),
        (
            "enum n { a, b(m: m) } type m = u8;",
            "enum n { a, b(m) } type m = u8;",
            entry,
            Some("variant's value"),
        ),
        (
            "proto! q { s:send { m(t) -> ! } } type t = u8;",
            "proto! q { s:send { m(t: t) -> ! } } type t = u8;",
            "proto! p { s:send { a(v: q::client::s) -> ! } }",
            Some("payload entry"),
        ),
    ];
    for (old, new, protocol, expected) in rows {
        let text = |types: &str| format!("{protocol} {types}");
        let (ours, theirs) = (compiled(&text(old)), compiled(&text(new)));
        let change = Change::between(view(&ours), view(&theirs));
        let renamed = change.renamed.as_ref().map(|renamed| renamed.what);
        assert!(change.old_client.is_empty(), "{old} | {new}");
        assert_eq!(renamed, expected, "{old} | {new}");
    }
}

#[test]
fn instances_are_versions_too() {
    let text = |ty: &str| {
        format!(
            "proto! stream {{ s:send<T: send> {{ item(T) -> s<T>, end -> ! }} }} proto! numbers = stream<{ty}>;"
        )
    };
    let (old, new) = (compiled(&text("u8")), compiled(&text("u16")));
    let found = versions(program(&old), program(&new), Travel::Names);
    let rollouts = found.iter().map(|versions| match &versions.fate {
        Fate::Kept(_, _, change) => (versions.name.as_str(), change.rollout()),
        Fate::Added | Fate::Removed(..) => panic!("{} is in both", versions.name),
    });
    let expected = [
        ("numbers", Rollout::Incompatible),
        ("stream", Rollout::Same),
    ];
    assert_eq!(rollouts.collect::<Vec<_>>(), expected);
}
