//! `expanding-recursion` checked against the arguments that actually occur.

use super::{one, rules};
use crate::support::choices::Choices;
use std::collections::HashSet;
use std::fmt::Write as _;

/// An argument: which parameter of the state it is, and how many lists it is nested in.
type Argument = (usize, usize);

/// For each state, its messages: the next state and its two arguments.
type States = Vec<Vec<(usize, [Argument; 2])>>;

fn random(dice: &mut Choices) -> States {
    let states = 1 + dice.below(4);
    let argument = |dice: &mut Choices| (dice.below(2), usize::from(dice.below(6) == 0));
    let message = |dice: &mut Choices| (dice.below(states), [argument(dice), argument(dice)]);
    let state = |dice: &mut Choices| (0..1 + dice.below(2)).map(|_| message(dice)).collect();
    (0..states).map(|_| state(dice)).collect()
}

fn text(states: &States) -> String {
    let mut text = "#[allow(all)]\nproto! p {\n".to_owned();
    for (index, messages) in states.iter().enumerate() {
        let _ = write!(text, "s{index}:send<A, B> {{ end(A, B) -> !, ");
        for (position, (next, arguments)) in messages.iter().enumerate() {
            let spell = |(parameter, lists): &Argument| {
                format!(
                    "{}{}{}",
                    "[".repeat(*lists),
                    ["A", "B"][*parameter],
                    "]".repeat(*lists)
                )
            };
            let arguments = arguments.each_ref().map(spell).join(", ");
            let _ = write!(text, "m{position} -> s{next}<{arguments}>, ");
        }
        text.push_str("}\n");
    }
    text + "}\n"
}

/// Whether, from some state with its own parameters, arguments occur that are nested deeper than any path without a cycle could
/// nest them.
fn grows(states: &States) -> bool {
    let deepest = 2 * states.len() + 1;
    (0..states.len()).any(|start| {
        let first = (start, [(0, 0), (1, 0)]);
        let mut seen = HashSet::from([first]);
        let mut open = vec![first];
        while let Some((state, own)) = open.pop() {
            for (next, arguments) in &states[state] {
                let arguments = arguments
                    .map(|(parameter, lists)| (own[parameter].0, own[parameter].1 + lists));
                if arguments.iter().any(|(_, lists)| *lists > deepest) {
                    return true;
                }
                if seen.insert((*next, arguments)) {
                    open.push((*next, arguments));
                }
            }
        }
        false
    })
}

#[test]
fn only_arguments_that_grow_without_end_are_rejected() {
    let mut dice = Choices::new(2011);
    let (mut growing, mut finite) = (0, 0);
    for _ in 0..800 {
        let states = random(&mut dice);
        let source = text(&states);
        let found = one(&source);
        if grows(&states) {
            let is_refused = rules(&found)
                .iter()
                .all(|rule| *rule == "expanding-recursion");
            assert!(is_refused && found.checked.is_none(), "{source}");
            growing += 1;
        } else {
            assert_eq!(rules(&found), Vec::<&str>::new(), "{source}");
            let checked = found.checked.expect("nothing was found");
            let protocol = checked.protocols().next().expect("one protocol");
            assert!(!protocol.instantiations().is_empty());
            finite += 1;
        }
    }
    assert!(
        growing > 80 && finite > 80,
        "{growing} growing, {finite} finite"
    );
}
