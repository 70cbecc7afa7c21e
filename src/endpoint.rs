//! One side of a checked protocol: what it may do in each state.

use crate::check::CheckedProtocol;
use crate::protocol::{Direction, Side, StateId};

/// What a side does in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It sends one of the state's messages.
    Sends,
    /// It receives one of the state's messages.
    Receives,
    /// The session is over.
    Over,
}

impl Activity {
    /// What a side does in a state of this direction; a state without one is terminal.
    #[must_use]
    pub fn of(direction: Option<Direction>, side: Side) -> Activity {
        match direction.map(Direction::active_side) {
            Some(active) if active == side => Activity::Sends,
            Some(_) => Activity::Receives,
            None => Activity::Over,
        }
    }
}

/// One side of a checked protocol.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// The protocol.
    pub protocol: CheckedProtocol<'a>,
    /// The side.
    pub side: Side,
}

impl<'a> Endpoint<'a> {
    /// The side of `protocol` that `side` names.
    #[must_use]
    pub fn of(protocol: CheckedProtocol<'a>, side: Side) -> Endpoint<'a> {
        Endpoint { protocol, side }
    }

    /// The endpoint facing this one: it sends where this one receives. `e.dual().dual()` is `e`.
    #[must_use]
    pub fn dual(self) -> Endpoint<'a> {
        Endpoint {
            side: self.side.dual(),
            ..self
        }
    }

    /// What this side does in a state.
    #[must_use]
    pub fn activity(&self, state: StateId) -> Activity {
        Activity::of(self.protocol.protocol().state(state).direction, self.side)
    }

    /// Whether many senders can share this side's endpoint of a state: it sends there, and the endpoint that follows is
    /// always the same.
    #[must_use]
    pub fn can_be_shared(&self, state: StateId) -> bool {
        self.activity(state) == Activity::Sends && self.protocol.protocol().always_returns(state)
    }
}
