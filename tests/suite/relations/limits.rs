//! Two versions with other limits, with the verdict worked out by hand.

use super::{compiled, program};
use crate::support::program::Scratch;
use duologue::relation::{Fate, Rollout, Travel, versions};
use insta::assert_snapshot;

/// The question, the old and the new version of a protocol `p`, and the verdict.
type Row = (&'static str, &'static str, &'static str, Rollout);

const ROWS: &[Row] = {
    use Rollout::{AnyOrder, ClientFirst, Incompatible, Same, ServerFirst};
    &[
        (
            "a client may send longer text",
            "s:send { a(str<8>) -> ! }",
            "s:send { a(str<9>) -> ! }",
            ServerFirst,
        ),
        (
            "a client may send shorter text",
            "s:send { a(str<9>) -> ! }",
            "s:send { a(str<8>) -> ! }",
            ClientFirst,
        ),
        (
            "a server may send more items",
            "s:recv { a([u8; 8]) -> ! }",
            "s:recv { a([u8; 9]) -> ! }",
            ClientFirst,
        ),
        (
            "a server may send fewer items",
            "s:recv { a([u8; 9]) -> ! }",
            "s:recv { a([u8; 8]) -> ! }",
            ServerFirst,
        ),
        (
            "a state has a time limit",
            "s:send { a -> ! }",
            "#[within(5s)] s:send { a -> ! }",
            ClientFirst,
        ),
        (
            "a time limit of a server is gone",
            "#[within(5s)] s:recv { a -> ! }",
            "s:recv { a -> ! }",
            ClientFirst,
        ),
        (
            "a client may take longer",
            "#[within(5s)] s:send { a -> ! }",
            "#[within(5001ms)] s:send { a -> ! }",
            ServerFirst,
        ),
        (
            "a server may take less time",
            "#[within(1h)] s:recv { a -> ! }",
            "#[within(59min)] s:recv { a -> ! }",
            ServerFirst,
        ),
        (
            "a time limit in another unit",
            "#[within(60s)] s:recv { a -> ! }",
            "#[within(1min)] s:recv { a -> ! }",
            Same,
        ),
        (
            "both sides may take longer",
            "#[within(5s)] s:send { a -> t } #[within(5s)] t:recv { b -> ! }",
            "#[within(6s)] s:send { a -> t } #[within(6s)] t:recv { b -> ! }",
            Incompatible,
        ),
        (
            "a time limit of a session that stays in its process",
            "s:send { a(buffer) -> ! }",
            "#[within(5s)] s:send { a(buffer) -> ! }",
            Same,
        ),
        (
            "a limit is new",
            "s:send { a(bytes) -> ! }",
            "#[at_most(8 B)] s:send { a(bytes) -> ! }",
            ClientFirst,
        ),
        (
            "a limit is gone",
            "s:send { #[at_most(8 B)] a(bytes) -> ! }",
            "s:send { a(bytes) -> ! }",
            ServerFirst,
        ),
        (
            "limits in both directions",
            "s:send { a(str<9>) -> t } t:recv { b(str<9>) -> ! }",
            "s:send { a(str<8>) -> t } t:recv { b(str<8>) -> ! }",
            Incompatible,
        ),
        (
            "one message may be longer and one must be shorter",
            "s:send { a(str<9>) -> !, b(str<9>) -> ! }",
            "s:send { a(str<8>) -> !, b(str<10>) -> ! }",
            Incompatible,
        ),
        (
            "a limit moves from the message to its state",
            "s:send { #[at_most(8 B)] a(bytes) -> ! }",
            "#[at_most(8 B)] s:send { a(bytes) -> ! }",
            Same,
        ),
        (
            "a limit that the types keep anyway",
            "s:send { a(str<9>) -> ! }",
            "s:send { #[at_most(10 B)] a(str<9>) -> ! }",
            Same,
        ),
        (
            "a limit that the types may exceed by a byte",
            "s:send { a(str<10>) -> ! }",
            "s:send { #[at_most(10 B)] a(str<10>) -> ! }",
            ClientFirst,
        ),
        (
            "a bound in place of a limit that allows the same",
            "s:send { #[at_most(10 B)] a(u8, str) -> ! }",
            "s:send { a(u8, str<8>) -> ! }",
            Same,
        ),
        (
            "a bound in place of a limit that allows more",
            "s:send { #[at_most(11 B)] a(u8, str) -> ! }",
            "s:send { a(u8, str<8>) -> ! }",
            ClientFirst,
        ),
        (
            "items of eight bytes in place of a limit",
            "s:send { #[at_most(24 B)] a([u64]) -> ! }",
            "s:send { a([u64; 2]) -> ! }",
            Same,
        ),
        (
            "an alias of a bounded type",
            "s:send { a(v: short) -> ! }",
            "s:send { a(v: str<8>) -> ! }",
            Same,
        ),
        (
            "a text in a struct in a list",
            "s:send { a([strict]) -> ! }",
            "s:send { a([loose]) -> ! }",
            ServerFirst,
        ),
        (
            "a text in a variant",
            "s:send { a(choice) -> ! }",
            "s:send { a(bound_choice) -> ! }",
            ClientFirst,
        ),
        (
            "types that contain themselves",
            "s:send { a(tree) -> ! }",
            "s:send { a(bound_tree) -> ! }",
            ClientFirst,
        ),
        (
            "an item of a tuple in an option",
            "s:recv { a((u8, str<8>)?) -> ! }",
            "s:recv { a((u8, str<9>)?) -> ! }",
            ClientFirst,
        ),
        (
            "a bound of the items of an argument",
            "s:send { a -> t<strict> } t:send<T: send> { b(T) -> ! }",
            "s:send { a -> t<loose> } t:send<T: send> { b(T) -> ! }",
            ServerFirst,
        ),
        (
            "a limit with the name of a state",
            "s:send { #[at_most(9 B)] a(str) -> t } t:recv { b -> ! }",
            "s:send { #[at_most(9 B)] a(str) -> u } u:recv { b -> ! }",
            AnyOrder,
        ),
        (
            "a protocol that stays in its process",
            "s:send { a(str<8>, buffer) -> ! }",
            "s:send { a(str<9>, buffer) -> ! }",
            Same,
        ),
        (
            "a longer text and a message at the end",
            "s:send { a(str<8>) -> ! }",
            "s:send { a(str<9>) -> !, b -> ! }",
            ServerFirst,
        ),
        (
            "a shorter text and a message at the end",
            "s:send { a(str<9>) -> ! }",
            "s:send { a(str<8>) -> !, b -> ! }",
            Incompatible,
        ),
    ]
};

/// Declarations that both versions share.
const SHARED: &str = "
    type short = str<8>;
    struct strict { n: u8, text: str<8> }
    struct loose { n: u8, text: str<9> }
    enum choice { no, yes(why: str) }
    enum bound_choice { no, yes(why: str<8>) }
    struct tree { name: str, children: [tree] }
    struct bound_tree { name: str<8>, children: [bound_tree] }
    extern type buffer;
";

fn text(states: &str) -> String {
    format!("proto! p {{ {states} }} {SHARED}")
}

fn verdict(old: &str, new: &str, travel: Travel) -> Rollout {
    let (old, new) = (compiled(old), compiled(new));
    let found = versions(program(&old), program(&new), travel);
    let mut found = found.iter().filter(|versions| versions.name == "p");
    match found.next().map(|versions| &versions.fate) {
        Some(Fate::Kept(_, _, change)) => change.rollout(),
        Some(Fate::Added | Fate::Removed(..)) | None => panic!("it is in both"),
    }
}

fn turned(rollout: Rollout) -> Rollout {
    match rollout {
        Rollout::ServerFirst => Rollout::ClientFirst,
        Rollout::ClientFirst => Rollout::ServerFirst,
        Rollout::Same | Rollout::AnyOrder | Rollout::Incompatible => rollout,
    }
}

#[test]
fn a_receiver_accepts_what_the_limits_of_its_sender_allow() {
    for (question, old, new, expected) in ROWS {
        let (old, new) = (text(old), text(new));
        for travel in [Travel::Names, Travel::Positions] {
            assert_eq!(verdict(&old, &new, travel), *expected, "{question}");
            let back = verdict(&new, &old, travel);
            assert_eq!(back, turned(*expected), "{question}, back");
        }
    }
}

/// Loops whose lengths have no common divisor: states are compared once for each two that behave alike and have the same limits.
#[test]
fn limits_in_long_loops() {
    compare_loops(&|at, next, most| {
        format!("r{at}:send {{ #[at_most({most} B)] turn(str) -> r{next}, stop -> ! }}\n")
    });
    compare_loops(&|at, next, most| {
        format!("#[within({most}s)] r{at}:send {{ turn -> r{next}, stop -> ! }}\n")
    });
}

/// `state` writes a state with its number, that of the next one, and its limit.
fn compare_loops(state: &dyn Fn(usize, usize, usize) -> String) {
    let ring = |length: usize, most: &dyn Fn(usize) -> usize, more: &str| {
        let state = |at: usize| state(at, (at + 1) % length, most(at));
        let states: String = (0..length).map(state).collect();
        format!("proto! p {{ start:send {{ go -> r0{more} }}\n{states} }}")
    };
    let old = ring(3_011, &|_| 9, "");
    let same = ring(3_013, &|_| 9, ", leave -> !");
    assert_eq!(verdict(&old, &same, Travel::Names), Rollout::ServerFirst);
    let last = ring(101, &|at| if at == 100 { 8 } else { 9 }, ", leave -> !");
    assert_eq!(verdict(&old, &last, Travel::Names), Rollout::Incompatible);
}

#[test]
fn limits_are_reported_where_they_are_written() {
    let old = "\
struct entry { title: str<80>, tags: [str<20>; 5] }

proto! journal {
    open:send { append(entry) -> open, attach(bytes) -> open, find(str<9>) -> found, close -> ! }
    found:recv { found([entry; 100]) -> open }
}

#[at_most(1 KiB)]
proto! notes { open:send { note(str) -> asked } asked:recv { text(str) -> open } }
";
    let new = old
        .replace("str<20>", "str<30>")
        .replace("attach", "#[at_most(64 KiB)] attach");
    let scratch = Scratch::with(
        "breaking-limits",
        &[
            ("old/journal.proto", old),
            ("longer/journal.proto", &old.replace("str<9>", "str<10>")),
            ("both/journal.proto", &new),
            ("half/journal.proto", &old.replace("1 KiB", "512 B")),
        ],
    );
    assert_snapshot!(scratch.transcript("breaking longer --against old --ascii"));
    assert_snapshot!(scratch.transcript("breaking both --against old --ascii"));
    assert_snapshot!(scratch.transcript("breaking half --against old --ascii"));
}

#[test]
fn time_limits_are_reported_where_they_are_written() {
    let old = "\
#[allow(never-ends)]
proto! poll {
    #[within(30s)]
    open:send { ask -> asked }
    asked:recv { answer(str) -> open, wait -> asked }
}
";
    let scratch = Scratch::with(
        "breaking-times",
        &[
            ("old/poll.proto", old),
            ("shorter/poll.proto", &old.replace("30s", "10s")),
            (
                "both/poll.proto",
                &old.replace("asked:recv", "#[within(1min)] asked:recv")
                    .replace("30s", "10s"),
            ),
        ],
    );
    assert_snapshot!(scratch.transcript("breaking shorter --against old --ascii"));
    assert_snapshot!(scratch.transcript("breaking both --against old --ascii"));
}
