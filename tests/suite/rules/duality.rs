//! `#[dual_of]` checked against a search that does not use union-find.

use super::{one, rules};
use crate::support::choices::Choices;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const TYPES: [&str; 3] = ["u8", "str", "[u8]"];

/// A state: whether the client sends, and for each message its name, type and next state; `None` ends.
type States = Vec<(bool, Vec<(usize, usize, Option<usize>)>)>;

fn random(dice: &mut Choices) -> States {
    let states = 1 + dice.below(6);
    let state = |dice: &mut Choices| {
        let first = dice.below(NAMES.len());
        let messages = (0..1 + dice.below(3)).map(|index| {
            let next = dice.below(states + 1);
            let name = (first + index) % NAMES.len();
            (
                name,
                dice.below(TYPES.len()),
                (next < states).then_some(next),
            )
        });
        let messages = messages.collect();
        (dice.below(2) == 0, messages)
    };
    (0..states).map(|_| state(dice)).collect()
}

/// The dual, with every state twice and the messages in another order.
fn unfolded_dual(states: &States, dice: &mut Choices) -> States {
    let copies = states.iter().chain(states);
    let copies = copies.map(|(sends, messages)| {
        let mut messages: Vec<_> = messages
            .iter()
            .map(|(name, ty, next)| {
                (
                    *name,
                    *ty,
                    next.map(|next| next + states.len() * dice.below(2)),
                )
            })
            .collect();
        let by = dice.below(messages.len());
        messages.rotate_left(by);
        (!sends, messages)
    });
    copies.collect()
}

fn change(states: &mut States, dice: &mut Choices) {
    let count = states.len();
    let at = dice.below(count);
    let (sends, messages) = &mut states[at];
    let message = dice.below(messages.len());
    match dice.below(4) {
        0 => *sends = !*sends,
        1 => messages[message].1 = (messages[message].1 + 1) % TYPES.len(),
        2 => messages[message].2 = Some(dice.below(count)),
        _ => messages[message].2 = None,
    }
}

fn text(name: &str, states: &States) -> String {
    let mut text = format!("proto! {name} {{\n");
    for (index, (sends, messages)) in states.iter().enumerate() {
        let direction = if *sends { "send" } else { "recv" };
        let _ = write!(text, "s{index}:{direction} {{ ");
        for (name, ty, next) in messages {
            let next = next.map_or("!".to_owned(), |next| format!("s{next}"));
            let _ = write!(text, "{}({}) -> {next}, ", NAMES[*name], TYPES[*ty]);
        }
        text.push_str("}\n");
    }
    text + "}\n"
}

/// How many messages the shortest dialogue has on which two protocols disagree: breadth first over all pairs.
fn shortest_disagreement(own: &States, other: &States) -> Option<usize> {
    let mut queue = VecDeque::from([(Some(0), Some(0), 0)]);
    let mut seen = HashSet::from([(Some(0), Some(0))]);
    let mut shortest: Option<usize> = None;
    let mut found =
        |length: usize| shortest = Some(shortest.map_or(length, |old: usize| old.min(length)));
    while let Some((one, two, depth)) = queue.pop_front() {
        let (one, two) = match (one, two) {
            (None, None) => continue,
            (Some(one), Some(two)) => (&own[one], &other[two]),
            (Some(_), None) | (None, Some(_)) => {
                found(depth);
                continue;
            }
        };
        if one.0 == two.0 {
            found(depth);
            continue;
        }
        let of =
            |messages: &[(usize, usize, Option<usize>)]| -> HashMap<usize, (usize, Option<usize>)> {
                messages
                    .iter()
                    .map(|(name, ty, next)| (*name, (*ty, *next)))
                    .collect()
            };
        let (one, two) = (of(&one.1), of(&two.1));
        for name in 0..NAMES.len() {
            match (one.get(&name), two.get(&name)) {
                (None, None) => {}
                (Some((ty, next)), Some((other_ty, other_next))) if ty == other_ty => {
                    if seen.insert((*next, *other_next)) {
                        queue.push_back((*next, *other_next, depth + 1));
                    }
                }
                _ => found(depth + 1),
            }
        }
    }
    shortest
}

#[test]
fn disagreements_are_shown_by_the_shortest_dialogue() {
    let mut dice = Choices::new(1993);
    let (mut duals, mut others) = (0, 0);
    for _ in 0..600 {
        let own = random(&mut dice);
        let mut other = unfolded_dual(&own, &mut dice);
        for _ in 0..dice.below(3) {
            change(&mut other, &mut dice);
        }
        let source = format!(
            "{}#[allow(all)] #[dual_of(p)]\n{}",
            text("p", &own),
            text("q", &other)
        );
        let found = one(&source.replacen("proto!", "#[allow(all)] proto!", 1));
        match shortest_disagreement(&own, &other) {
            None => {
                assert_eq!(rules(&found), Vec::<&str>::new(), "{source}");
                duals += 1;
            }
            Some(length) => {
                assert_eq!(rules(&found), ["not-dual"], "{source}");
                let note = &found.diagnostics[0].notes[0];
                assert_eq!(note.matches("\n  ").count(), length, "{source}{note}");
                others += 1;
            }
        }
    }
    assert!(duals > 80 && others > 80, "{duals} duals, {others} others");
}

#[test]
fn payloads_are_compared_by_what_they_are_made_of() {
    let types = "type a1 = [b1]; struct b1 { x: a1, y: money } type money = f64;\n\
                 type a2 = [b2]; struct b2 { x: [b3], y: f64 } type b3 = b2;\n\
                 struct c1 { x: a1, z: money }\n";
    let dual = |left: &str, right: &str| {
        let text = format!(
            "{types} proto! p {{ s:send {{ m({left}) -> ! }} }}\n#[dual_of(p)] proto! q {{ s:recv {{ m({right}) -> ! }} }}"
        );
        !rules(&one(&text)).contains(&"not-dual")
    };
    assert!(dual("b1", "b2"));
    assert!(dual("a1, u8?", "other: a2, u8?"));
    assert!(dual("[a1]", "[[b3]]"));
    assert!(!dual("b1", "c1"));
    assert!(!dual("b1", "b1, u8"));
    assert!(!dual("[u8]", "bytes"));
    assert!(dual("p::client::s", "p::client::s"));
    assert!(!dual("p::client::s", "p::server::s"));
}

#[test]
fn type_parameters_correspond_from_the_start_on() {
    let dual = |p: &str, q: &str| {
        let text = format!(
            "#[allow(all)] proto! p {{ {p} }}\n#[allow(all)] #[dual_of(p)] proto! q {{ {q} }}"
        );
        rules(&one(&text)).is_empty()
    };
    let p = "s:send<A, B> { swap(A) -> s<B, A>, end -> ! }";
    assert!(dual(
        p,
        "s:recv<X, Y> { swap(X) -> t<X, Y>, end -> ! } t:recv<X, Y> { swap(Y) -> s<X, Y>, end -> ! }"
    ));
    assert!(!dual(p, "s:recv<X, Y> { swap(X) -> s<X, Y>, end -> ! }"));
    assert!(!dual(p, "s:recv<X> { swap(X) -> s<X>, end -> ! }"));
}
