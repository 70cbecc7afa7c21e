//! Protocols as tables: what may be sent in a state and what follows, found by number.

use duologue::graph::{StateGraph, Step, Way};
use duologue::protocol::{Protocol, Side, StateId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// The state of a session that is over.
pub(super) const OVER: u32 = u32::MAX;

/// The number of a message's name. Names that the protocol does not have get numbers from this one on.
pub(super) const UNKNOWN: u32 = 1 << 31;

/// One protocol.
#[derive(Debug)]
pub struct Table<'p> {
    /// The name that reports show.
    pub name: String,
    /// The protocol.
    pub protocol: &'p Protocol,
    states: Vec<State>,
    numbers: HashMap<&'p str, u32>,
    names: Vec<&'p str>,
    transitions: usize,
    ways: OnceLock<Vec<Option<Way>>>,
}

#[derive(Debug)]
struct State {
    active: Option<Side>,
    /// The number of the first message among all transitions.
    first: usize,
    /// The number of the name, and the state that follows.
    messages: Vec<(u32, u32)>,
}

/// Why a message cannot be sent in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The session is over.
    Over,
    /// The side has left the session.
    Left,
    /// It is the other side's turn.
    Turn,
    /// The state does not have the message.
    State,
}

/// A message that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transition {
    /// Its number among all transitions.
    pub number: usize,
    /// The state that follows.
    pub next: u32,
}

impl<'p> Table<'p> {
    /// The table of a checked protocol, under the name that reports show.
    #[must_use]
    pub fn of(name: String, protocol: &'p Protocol) -> Table<'p> {
        let short =
            |index: usize| u32::try_from(index).expect("fewer than 2^31 states and messages");
        let mut numbers = HashMap::new();
        let mut names = Vec::new();
        let mut transitions = 0;
        let states = protocol.states.iter().map(|state| {
            let first = transitions;
            transitions += state.messages.len();
            let messages = state.messages.iter().map(|message| {
                let name = message.name.text();
                let number = *numbers.entry(name).or_insert_with(|| {
                    names.push(name);
                    short(names.len() - 1)
                });
                let next = message.next.state();
                let next = next.filter(|next| protocol.state(*next).direction.is_some());
                (number, next.map_or(OVER, |next| short(next.index())))
            });
            let mut messages: Vec<_> = messages.collect();
            messages.shrink_to_fit();
            State {
                active: state.active_side(),
                first,
                messages,
            }
        });
        let states = states.collect();
        Table {
            name,
            protocol,
            states,
            numbers,
            names,
            transitions,
            ways: OnceLock::new(),
        }
    }

    /// The state in which sessions begin.
    pub(super) fn start(&self) -> u32 {
        match self.states.first() {
            Some(state) if state.active.is_some() => 0,
            _ => OVER,
        }
    }

    /// The number of a message's name, which is the same whenever it is asked for.
    pub(super) fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or_else(|| {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            let [.., a, b, c, d] = hasher.finish().to_be_bytes();
            u32::from_be_bytes([a, b, c, d]) | UNKNOWN
        })
    }

    /// The name with this number; `None` if the protocol does not have it.
    pub(super) fn named(&self, number: u32) -> Option<&'p str> {
        self.names.get(number as usize).copied()
    }

    /// The side that sends in a state.
    pub(super) fn active(&self, state: u32) -> Option<Side> {
        self.states.get(state as usize)?.active
    }

    /// What follows if a side sends a message in a state. An unknown sender is the side whose turn it is.
    pub(super) fn step(
        &self,
        state: u32,
        message: u32,
        from: Option<Side>,
    ) -> Result<Transition, Refusal> {
        let row = self.states.get(state as usize).ok_or(Refusal::Over)?;
        if from.is_some() && from != row.active {
            return Err(Refusal::Turn);
        }
        let mut messages = row.messages.iter();
        let at = messages.position(|(number, _)| *number == message);
        let at = at.ok_or(Refusal::State)?;
        Ok(Transition {
            number: row.first + at,
            next: row.messages[at].1,
        })
    }

    /// The side that sends a message, in whatever state; `None` if that can be either, or the protocol does not have it.
    pub(super) fn sender(&self, message: u32) -> Option<Side> {
        let has = |state: &&State| state.messages.iter().any(|(number, _)| *number == message);
        let mut senders = self.states.iter().filter(has).map(|state| state.active);
        let first = senders.next()??;
        senders.all(|other| other == Some(first)).then_some(first)
    }

    /// The names of the messages that may be sent in a state.
    pub(super) fn allowed(&self, state: u32) -> impl Iterator<Item = &'p str> + use<'_, 'p> {
        let row = self.states.get(state as usize);
        let messages = row.map_or(&[][..], |row| &row.messages);
        messages
            .iter()
            .map(|(number, _)| self.names[*number as usize])
    }

    /// The name of a state.
    pub(super) fn state_name(&self, state: u32) -> &'p str {
        let state = self.protocol.states.get(state as usize);
        state.map_or("!", |state| state.name.text())
    }

    /// How many transitions there are.
    pub(super) fn transitions(&self) -> usize {
        self.transitions
    }

    /// All transitions in the order of their numbers.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + use<'_> {
        let states = self.states.iter().enumerate();
        states.flat_map(|(index, state)| {
            let messages = 0..state.messages.len();
            messages.map(move |message| Step {
                state: StateId::new(index),
                message,
            })
        })
    }

    /// The shortest dialogue to a state; `None` if no session reaches it.
    pub(super) fn dialogue(&self, state: usize) -> Option<Vec<Step>> {
        let ways = self
            .ways
            .get_or_init(|| StateGraph::of(self.protocol).ways_here());
        let mut way = (*ways.get(state)?)?;
        let mut steps = Vec::with_capacity(way.length);
        while let Some(step) = way.step {
            steps.push(step);
            way = ways[step.state.index()].unwrap_or_default();
        }
        steps.reverse();
        Some(steps)
    }
}

/// All protocols that events can belong to.
#[derive(Debug)]
pub struct Tables<'p> {
    list: Vec<Table<'p>>,
    names: HashMap<String, Option<u32>>,
    /// The protocol of sessions that do not name theirs.
    usual: Option<u32>,
}

impl<'p> Tables<'p> {
    /// The tables, with the names that events can use for each. A name that two of them have stands for none.
    #[must_use]
    pub fn new(list: Vec<(Table<'p>, Vec<String>)>, usual: Option<usize>) -> Tables<'p> {
        let mut names = HashMap::new();
        let mut tables = Vec::new();
        for (index, (table, own)) in list.into_iter().enumerate() {
            let index = u32::try_from(index).expect("fewer than 2^32 protocols");
            for name in own {
                names
                    .entry(name)
                    .and_modify(|known| {
                        if *known != Some(index) {
                            *known = None;
                        }
                    })
                    .or_insert(Some(index));
            }
            tables.push(table);
        }
        // A name with the package is that of one protocol, also where there is no package.
        for (index, table) in (0_u32..).zip(&tables) {
            names.insert(table.name.clone(), Some(index));
        }
        let usual = match (usual, tables.len()) {
            (Some(index), _) => u32::try_from(index).ok(),
            (None, 1) => Some(0),
            (None, _) => None,
        };
        Tables {
            list: tables,
            names,
            usual,
        }
    }

    /// The protocol that an event names, or the usual one if it names none.
    pub(super) fn find(&self, name: Option<&str>) -> Result<u32, String> {
        match name {
            None => self.usual.ok_or_else(|| {
                "the event does not name its protocol: add `protocol`, or use `--protocol`"
                    .to_owned()
            }),
            Some(name) => match self.names.get(name) {
                Some(Some(index)) => Ok(*index),
                Some(None) => Err(format!(
                    "several protocols are called `{name}`: add the package"
                )),
                None => Err(format!("there is no protocol `{name}`")),
            },
        }
    }

    /// Whether a name stands for a protocol.
    pub(super) fn is(&self, name: &str, index: u32) -> bool {
        self.list[index as usize].name == name || self.names.get(name) == Some(&Some(index))
    }

    /// A protocol.
    pub(super) fn get(&self, index: u32) -> &Table<'p> {
        &self.list[index as usize]
    }

    /// All protocols.
    #[must_use]
    pub fn list(&self) -> &[Table<'p>] {
        &self.list
    }
}
