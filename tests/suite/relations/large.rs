//! Protocols of tens of thousands of states, for which the work must not grow with the square of their number.

use super::versions::SHARED;
use super::{compiled, view};
use duologue::relation::{self, Change, Rollout, View};

/// A cycle of states in one version against a cycle of another length in the other: equality needs no more steps than there are
/// states, although there are as many pairs as the product.
#[test]
fn large_cycles_are_equal_quickly() {
    let cycle = |length: usize| {
        let states = (0..length).map(|state| {
            let next = (state + 1) % length;
            format!("s{state}:send {{ a -> s{next} }} ")
        });
        format!("proto! p {{ {} }}", states.collect::<String>())
    };
    let (one, other) = (compiled(&cycle(8_009)), compiled(&cycle(8_011)));
    assert!(relation::difference(view(&one), view(&other)).is_none());
    let rollout = Change::between(view(&one), view(&other)).rollout();
    assert_eq!(rollout, Rollout::AnyOrder);
}

/// No recursion: a chain as long as this would overflow the stack.
#[test]
#[ignore = "slow: large protocols"]
fn long_chains_differ_at_their_ends() {
    let chain = |last: &str| {
        let states = (0..30_000).map(|state| format!("s{state}:send {{ a -> s{} }} ", state + 1));
        let states = states.collect::<String>();
        format!("proto! p {{ {states} s30000:recv {{ {last} -> ! }} }}")
    };
    let (old, new) = (compiled(&chain("b")), compiled(&chain("b -> !, c")));
    let change = Change::between(view(&old), view(&new));
    assert_eq!(change.rollout(), Rollout::ClientFirst);
    let found = change
        .old_client
        .into_iter()
        .next()
        .expect("old clients do not know `c`");
    assert_eq!(found.dialogue.len(), 30_001);
    let view: View<'_> = view(&old);
    assert!(relation::not_dual(view, view.turned()).is_none());
}

/// A loop of `length` states, which a session enters after `go`; the start may have more messages, and so may each state.
fn ring(length: usize, at_start: &str, in_state: impl Fn(usize) -> bool) -> String {
    let state = |at: usize| {
        let next = (at + 1) % length;
        let more = if in_state(at) { ", shout -> !" } else { "" };
        format!("r{at}:send {{ turn(point, loops::client::s) -> r{next}, stop -> !{more} }}\n")
    };
    let states: String = (0..length).map(state).collect();
    format!("proto! rings {{ start:send {{ go -> r0{at_start} }}\n{states} }} {SHARED}")
}

/// Loops whose lengths have no common divisor meet in as many pairs of states as the product of their lengths: 900 million here.
#[test]
#[ignore = "slow: large protocols"]
fn states_that_behave_alike_are_compared_once() {
    let old = compiled(&ring(30_011, "", |_| false));
    let new = compiled(&ring(30_013, ", leave -> !", |_| false));
    let change = Change::between(view(&old), view(&new));
    assert_eq!(change.rollout(), Rollout::ServerFirst);
    let failure = change
        .old_server
        .into_iter()
        .next()
        .expect("old servers do not know `leave`");
    assert_eq!(failure.dialogue.len(), 1);
    assert!(relation::misfit(view(&old), view(&new)).is_none());
}

/// The client may shout in every eleventh state, and the server does not expect it in every thirteenth, so they differ in the
/// 143rd. The client's loop is twice as long as necessary, and the reported state is the one that the dialogue reaches.
#[test]
fn a_dialogue_leads_to_the_states_themselves_and_not_to_others_like_them() {
    let client = compiled(&ring(22, "", |at| at % 11 == 10));
    let server = compiled(&ring(13, "", |at| at != 12));
    let failure = relation::misfit(view(&client), view(&server)).expect("`shout` is unexpected");
    assert_eq!(failure.dialogue.len(), 1 + 142 + 1);
    let (relation::Position::State(left), relation::Position::State(right)) =
        (failure.left, failure.right)
    else {
        panic!("nothing has ended: {:?}", failure.clash);
    };
    assert_eq!([left.name.text(), right.name.text()], ["r10", "r12"]);
}
