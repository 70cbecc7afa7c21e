//! Small protocols as plain data: generated at random, changed at random, and written out as text.

use crate::support::choices::Choices;
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Client,
    Server,
    Nobody,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub name: &'static str,
    pub payload: &'static str,
    /// `None` for `!`.
    pub next: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct State {
    pub turn: Turn,
    pub messages: Vec<Message>,
}

/// A protocol; state 0 is the start.
#[derive(Clone, Debug)]
pub struct Machine(pub Vec<State>);

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Machine {
    pub fn any(chance: &mut Choices, most: usize) -> Machine {
        let states = 1 + chance.below(most);
        let state = |chance: &mut Choices| {
            let turn = match chance.below(9) {
                0 => Turn::Nobody,
                1..5 => Turn::Client,
                _ => Turn::Server,
            };
            let mut state = State {
                turn,
                messages: Vec::new(),
            };
            for name in NAMES {
                if turn != Turn::Nobody && chance.once_in(2) {
                    let message = Machine::message(chance, name, states);
                    state.messages.push(message);
                }
            }
            state
        };
        Machine((0..states).map(|_| state(chance)).collect())
    }

    fn message(chance: &mut Choices, name: &'static str, states: usize) -> Message {
        let next = chance.below(states + 1);
        Message {
            name,
            payload: if chance.once_in(5) { "u8" } else { "" },
            next: (next < states).then_some(next),
        }
    }

    /// The machine with up to three changes.
    pub fn changed(&self, chance: &mut Choices) -> Machine {
        let mut machine = self.clone();
        for _ in 0..chance.below(4) {
            machine.change(chance);
        }
        machine
    }

    fn change(&mut self, chance: &mut Choices) {
        let states = self.0.len();
        let at = chance.below(states);
        let kind = chance.below(8);
        if kind == 7 {
            // Splits a state: the copy behaves the same, and some messages now lead to it.
            let copy = self.0[at].clone();
            self.0.push(copy);
            for message in self.0.iter_mut().flat_map(|state| &mut state.messages) {
                if message.next == Some(at) && chance.once_in(2) {
                    message.next = Some(states);
                }
            }
            return;
        }
        let state = &mut self.0[at];
        let known = state.messages.len();
        match kind {
            0 if state.turn != Turn::Nobody => {
                state.turn = match state.turn {
                    Turn::Client => Turn::Server,
                    Turn::Server | Turn::Nobody => Turn::Client,
                }
            }
            1 if known > 0 => {
                state.messages.remove(chance.below(known));
            }
            2 | 3 if known > 0 => {
                let message = chance.below(known);
                let name = state.messages[message].name;
                state.messages[message] = Machine::message(chance, name, states);
            }
            4 => state.messages.reverse(),
            _ if state.turn != Turn::Nobody => {
                let name = NAMES[chance.below(NAMES.len())];
                if state.messages.iter().all(|message| message.name != name) {
                    state.messages.push(Machine::message(chance, name, states));
                }
            }
            _ => {}
        }
    }

    /// The same from the other side.
    pub fn turned(&self) -> Machine {
        let mut machine = self.clone();
        for state in &mut machine.0 {
            state.turn = match state.turn {
                Turn::Client => Turn::Server,
                Turn::Server => Turn::Client,
                Turn::Nobody => Turn::Nobody,
            };
        }
        machine
    }

    pub fn text(&self, name: &str, prefix: &str) -> String {
        let mut text = format!("proto! {name} {{\n");
        for (index, state) in self.0.iter().enumerate() {
            let direction = match state.turn {
                Turn::Client => ":send",
                Turn::Server => ":recv",
                Turn::Nobody => "",
            };
            let messages = state.messages.iter().map(|message| {
                let payload = match message.payload {
                    "" => String::new(),
                    payload => format!("({payload})"),
                };
                let next = match message.next {
                    None => "!".to_owned(),
                    Some(next) => format!("{prefix}{next}"),
                };
                format!("{}{payload} -> {next}", message.name)
            });
            let messages = messages.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "    {prefix}{index}{direction} {{ {messages} }}");
        }
        text + "}\n"
    }
}
