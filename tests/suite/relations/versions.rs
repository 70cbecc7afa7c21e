//! Pairs of versions with the verdict worked out by hand.

use super::{blocks, compiled, program, rows, turned, view};
use duologue::relation::{self, Change, Fate, Rollout, Travel, versions};

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

#[test]
fn verdicts_worked_out_by_hand() {
    for (what, old, new, expected) in rows("versions") {
        let text = |states: &str| format!("proto! p {{ {states} }}{SHARED}");
        let (old, new) = (compiled(&text(&old)), compiled(&text(&new)));
        let change = Change::between(view(&old), view(&new));
        assert_eq!(change.rollout(), expected, "{what}: {:?}", change.renamed);
        let back = Change::between(view(&new), view(&old)).rollout();
        assert_eq!(back, turned(expected), "{what}, backwards");
    }
}

/// The shapes of declared types in two versions, and whether a message that carries `n` is the same in both.
#[test]
fn declared_types_compare_by_structure() {
    for block in blocks("types") {
        let [verdict, old, new] = &block[..] else {
            panic!("{block:?}")
        };
        let text = |types: &str| format!("{types} proto! p {{ s:send {{ a(v: n) -> ! }} }}");
        let (ours, theirs) = (compiled(&text(old)), compiled(&text(new)));
        let found = relation::difference(view(&ours), view(&theirs));
        assert_eq!(found.is_none(), verdict == "same", "{old} | {new}");
    }
}

/// Declarations in two versions with the same behavior: what programs have to change, if anything.
#[test]
fn versions_that_break_programs_are_not_the_same() {
    for block in blocks("renamed") {
        let [expected, protocol, old, new] = &block[..] else {
            panic!("{block:?}")
        };
        let text = |types: &str| format!("{protocol} {}", types.trim_start_matches('-'));
        let (ours, theirs) = (compiled(&text(old)), compiled(&text(new)));
        let change = Change::between(view(&ours), view(&theirs));
        let renamed = change.renamed.as_ref().map(|renamed| renamed.what);
        assert!(change.old_client.is_empty(), "{old} | {new}");
        assert_eq!(renamed.unwrap_or("-"), expected, "{old} | {new}");
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
