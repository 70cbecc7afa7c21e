//! Whether a receiver waits as long in a state as its sender may take.
//!
//! `#[within(...)]` limits how long a side waits for the peer's message, and is not part of the fingerprint. A sender knows only its
//! own limit, so a receiver of another version may end the session although the sender keeps to what it was compiled with.

use super::shape::{Node, Origin, Shapes};
use crate::diagnostic::{Label, duration};
use crate::protocol::{Direction, Program, State};

/// Whether there is such a limit anywhere in a program.
pub fn has_waits(program: &Program) -> bool {
    let states = program.protocols.iter();
    let mut states = states.flat_map(|protocol| &protocol.states);
    states.any(|state| state.within.is_some())
}

/// The states of a left and a right node, if the side that waits there waits less long than the other may take.
pub fn shorter<'a>(
    shapes: &Shapes<'a>,
    left: Node,
    right: Node,
    turn: Direction,
) -> Option<(&'a State, &'a State)> {
    let states = (shapes.state(left)?, shapes.state(right)?);
    let (sender, receiver) = match turn {
        Direction::Send => (states.0, states.1),
        Direction::Recv => (states.1, states.0),
    };
    let waits = receiver.within?.most;
    let is_enough = sender.within.is_some_and(|takes| takes.most <= waits);
    (!is_enough).then_some(states)
}

/// What the attribute of a state says, for the side that it concerns there.
pub fn label(state: &State, origin: Origin, turn: Direction) -> Label {
    let is_sender = matches!(
        (turn, origin),
        (Direction::Send, Origin::Left) | (Direction::Recv, Origin::Right)
    );
    let (verb, unlimited) = match is_sender {
        true => ("may take", "may take any amount of time"),
        false => ("waits", "waits indefinitely"),
    };
    let side = match is_sender {
        true => turn.active_side(),
        false => turn.active_side().dual(),
    };
    let side = side.word();
    match state.within {
        Some(limit) => Label::new(
            limit.span,
            format!("the {side} {verb} {} here", duration(limit.most)),
        ),
        None => Label::new(state.name.span, format!("the {side} {unlimited} here")),
    }
}
