//! One side of a protocol: what it may do in each state, and what follows. Targets query this module and do not derive
//! it themselves.

use crate::graph::{Capacity, StateGraph};
use crate::protocol::{Direction, Message, Next, Protocol, Side, State, StateId};

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

/// Which side is active after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The same side: its run continues.
    Stay,
    /// The other side.
    Turn,
    /// Neither: the session is over.
    End,
}

impl Edge {
    /// Which side is active after a message of `state` that leads to `next`; `None` stands for `!`.
    #[must_use]
    pub fn of(state: &State, next: Option<&State>) -> Edge {
        match next.and_then(State::active_side) {
            None => Edge::End,
            after if after == state.active_side() => Edge::Stay,
            Some(_) => Edge::Turn,
        }
    }
}

/// The side that receives the messages of a state. A terminal state has none; for it this is the client.
#[must_use]
pub fn receiver(state: &State) -> Side {
    state.active_side().map_or(Side::Client, Side::dual)
}

/// One side of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The side.
    pub side: Side,
}

impl<'a> Endpoint<'a> {
    /// The side of `protocol` that `side` names.
    #[must_use]
    pub fn of(protocol: &'a Protocol, side: Side) -> Endpoint<'a> {
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
        Activity::of(self.protocol.state(state).direction, self.side)
    }

    /// Whether many senders can share this side's endpoint of a state: it sends there, and the endpoint that follows is
    /// always the same.
    #[must_use]
    pub fn can_be_shared(&self, state: StateId) -> bool {
        self.activity(state) == Activity::Sends && self.protocol.always_returns(state)
    }
}

/// The state that follows a message; `None` if that is `!`.
#[must_use]
pub fn next<'a>(protocol: &'a Protocol, next: &Next) -> Option<&'a State> {
    next.state().map(|state| protocol.state(state))
}

/// Whether a message of a state may be followed by another in the same direction.
#[must_use]
pub fn may_stay(protocol: &Protocol, state: &State) -> bool {
    let mut messages = state.messages.iter();
    messages.any(|message| Edge::of(state, next(protocol, &message.next)) == Edge::Stay)
}

/// The messages of a state in which one side sends values, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The message that carries a value and leads back to the state.
    pub item: usize,
    /// The message without a value that ends the session, if there is one.
    pub end: Option<usize>,
}

/// The messages of a state that has no others than those of a series.
#[must_use]
pub fn series(protocol: &Protocol, id: StateId) -> Option<Series> {
    let state = protocol.state(id);
    let is_item = |message: &Message| !message.entries.is_empty() && message.returns_to(id);
    let is_end = |message: &Message| {
        let edge = Edge::of(state, next(protocol, &message.next));
        message.entries.is_empty() && edge == Edge::End
    };
    let (item, end) = match state.messages.as_slice() {
        [item] if is_item(item) => (0, None),
        [item, end] if is_item(item) && is_end(end) => (0, Some(1)),
        [end, item] if is_item(item) && is_end(end) => (1, Some(0)),
        _ => return None,
    };
    Some(Series { item, end })
}

/// The states of a protocol in which a sender may find that no slot is free; none if all runs are bounded, because then the ring has
/// a slot for each of their messages. `always_fit` is how many messages of an unbounded run always fit.
#[must_use]
pub fn may_wait(protocol: &Protocol, always_fit: u32) -> Vec<bool> {
    let graph = StateGraph::of(protocol);
    let count = protocol.states.len();
    let (to_server, to_client) = graph.capacities();
    if to_server.max(to_client) != Capacity::Unbounded {
        return vec![false; count];
    }
    let is_reached = graph.reachable();
    let reached: Vec<usize> = (0..count).filter(|index| is_reached[*index]).collect();
    let run = |index: usize| {
        let state = &protocol.states[index];
        let messages = state.messages.iter();
        messages.filter_map(move |message| {
            let next = message.next.state()?;
            let follows = Edge::of(state, Some(protocol.state(next))) == Edge::Stay;
            follows.then(|| next.index())
        })
    };
    let mut waits = waiting_states(count, &reached, always_fit, run);
    for (waits, is_reached) in waits.iter_mut().zip(is_reached) {
        *waits &= is_reached;
    }
    waits
}

/// The states of a new version in which a send may have to wait, as it could not in the state of that name of the old version.
#[must_use]
pub fn waits_more<'a>(old: &Protocol, new: &'a Protocol) -> Vec<&'a State> {
    // A run that always fits in one language may not in another. None is as long as the longest one that fits everywhere.
    let waiting = |protocol| may_wait(protocol, u32::MAX);
    let (before, now) = (waiting(old), waiting(new));
    let waited = |state: &State| {
        let mut olds = old.states.iter().zip(&before);
        olds.any(|(old, waits)| old.name.text() == state.name.text() && !waits)
    };
    let states = new.states.iter().zip(now).filter(|(_, waits)| *waits);
    states
        .map(|(state, _)| state)
        .filter(|state| waited(state))
        .collect()
}

/// The states in which a sender may find that no slot is free: those on a cycle in one direction or after one, and those that a run
/// of at least `always_fit` messages leads to. `states` are the ones that sessions reach, of `count` in all, and `run` gives for
/// each the states that continue its run.
#[must_use]
pub fn waiting_states<I: Iterator<Item = usize>>(
    count: usize,
    states: &[usize],
    always_fit: u32,
    run: impl Fn(usize) -> I,
) -> Vec<bool> {
    // States without a predecessor in their run are removed one after the other; those that remain are on a cycle or after one.
    let mut before = vec![0usize; count];
    for state in states {
        run(*state).for_each(|next| before[next] += 1);
    }
    let mut sent = vec![0u32; count];
    let mut waits = vec![true; count];
    let mut free = states.to_vec();
    free.retain(|state| before[*state] == 0);
    while let Some(state) = free.pop() {
        waits[state] = sent[state] >= always_fit;
        for next in run(state) {
            sent[next] = sent[next].max(sent[state].saturating_add(1));
            before[next] -= 1;
            if before[next] == 0 {
                free.push(next);
            }
        }
    }
    waits
}
