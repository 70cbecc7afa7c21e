//! Two versions with other limits, with the verdict worked out by hand.

use super::{compiled, program, rows, turned};
use duologue::relation::{Fate, Rollout, Travel, versions};

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

#[test]
fn a_receiver_accepts_what_the_limits_of_its_sender_allow() {
    for (question, old, new, expected) in rows("limits") {
        let (old, new) = (text(&old), text(&new));
        for travel in [Travel::Names, Travel::Positions] {
            assert_eq!(verdict(&old, &new, travel), expected, "{question}");
            let back = verdict(&new, &old, travel);
            assert_eq!(back, turned(expected), "{question}, back");
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

/// Rings that are entered everywhere give more pairs than states at once. From then on, states that behave alike are not compared, but those
/// at the end of a chain still are: they have other limits.
#[test]
fn limits_behind_many_pairs() {
    let text = |length: usize, entrance: &dyn Fn(usize) -> usize, most: usize| {
        let entrances = (0..97).map(|at| format!("m{at} -> x{}, ", entrance(at)));
        let entrances: String = entrances.collect();
        let ring = (0..length).map(|at| {
            let next = (at + 1) % length;
            format!("x{at}:send {{ turn -> x{next}, stop -> ! }}\n")
        });
        let ring: String = ring.collect();
        let chain = (0..50).map(|at| format!("r{at}:send {{ step -> r{} }}\n", at + 1));
        let chain: String = chain.collect();
        let last = format!("r50:send {{ #[at_most({most} B)] last(str) -> ! }}");
        format!("proto! p {{ start:send {{ {entrances}go -> r0 }}\n{ring}{chain}{last} }}")
    };
    let old = text(97, &|at| at, 9);
    let new = |most| text(101, &|_| 0, most);
    assert_eq!(verdict(&old, &new(9), Travel::Names), Rollout::AnyOrder);
    assert_eq!(verdict(&old, &new(8), Travel::Names), Rollout::ClientFirst);
}

/// `state` writes a state with its number, that of the next one, and its limit.
fn compare_loops(state: &dyn Fn(usize, usize, usize) -> String) {
    let ring = |length: usize, most: &dyn Fn(usize) -> usize, more: &str| {
        let state = |at: usize| state(at, (at + 1) % length, most(at));
        let states: String = (0..length).map(state).collect();
        format!("proto! p {{ start:send {{ go -> r0{more} }}\n{states} }}")
    };
    let old = ring(1_511, &|_| 9, "");
    let same = ring(1_523, &|_| 9, ", leave -> !");
    assert_eq!(verdict(&old, &same, Travel::Names), Rollout::ServerFirst);
    let last = ring(101, &|at| if at == 100 { 8 } else { 9 }, ", leave -> !");
    assert_eq!(verdict(&old, &last, Travel::Names), Rollout::Incompatible);
}
