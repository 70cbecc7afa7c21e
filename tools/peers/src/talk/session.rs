//! A session that is played message by message.

use super::reader::Reader;
use super::value::{Fault, Value};
use duologue::diagnostic::joined;
use duologue::protocol::{Message, Program, Protocol, Side, State, StateId, Type};
use duologue::relation::View;
use std::fmt::{self, Display, Formatter};

/// A session of which both sides are known.
#[derive(Clone, Debug)]
pub struct Talk<'p> {
    program: &'p Program,
    protocol: &'p Protocol,
    now: Now,
    /// What has happened, with what was before it.
    events: Vec<(Now, Event)>,
}

/// Where a session is.
#[derive(Clone, Debug)]
pub(super) enum Now {
    /// In a state, with arguments for its type parameters.
    In(StateId, Vec<Type>),
    /// The protocol has reached its end.
    Over,
    /// A side has left.
    Left,
}

impl Now {
    /// The types of the payload of the message at this position, in which type parameters have their arguments.
    pub(super) fn types(&self, protocol: &Protocol, position: usize) -> Vec<Type> {
        let Now::In(state, arguments) = self else {
            return Vec::new();
        };
        let entries = protocol.state(*state).messages[position].entries.iter();
        entries
            .map(|entry| entry.ty.substitute(arguments))
            .collect()
    }
}

/// What has happened in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A side has sent a message.
    Message {
        /// The side that sent it.
        from: Side,
        /// The state it was sent in.
        state: StateId,
        /// Its position among the messages of the state.
        position: usize,
        /// Its name.
        name: Box<str>,
        /// Its payload.
        values: Vec<Value>,
    },
    /// A side has left before the end.
    Left(Side),
}

impl Display for Event {
    /// The line of a transcript, in which the receiver is named.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Event::Message {
                from, name, values, ..
            } => {
                write!(out, "{} <- {name}", from.dual().word())?;
                for (index, value) in values.iter().enumerate() {
                    let open = if index == 0 { "(" } else { ", " };
                    write!(out, "{open}{value}")?;
                }
                out.write_str(if values.is_empty() { "" } else { ")" })
            }
            Event::Left(side) => write!(out, "{} <- closed", side.dual().word()),
        }
    }
}

impl<'p> Talk<'p> {
    /// A new session of a protocol. A generic protocol needs an instance; without one, values of its type parameters are taken as they
    /// are written.
    #[must_use]
    pub fn new(view: View<'p>) -> Talk<'p> {
        let (program, protocol) = (view.program, view.program.protocol(view.protocol));
        let arguments = match view.instance {
            Some(instance) => instance.arguments.clone(),
            None => protocol.start().own_arguments(),
        };
        let mut talk = Talk {
            program,
            protocol,
            now: Now::Over,
            events: Vec::new(),
        };
        talk.now = talk.enter(StateId::new(0), arguments);
        talk
    }

    /// A session that is where this one is, without what has happened before.
    #[must_use]
    pub fn fork(&self) -> Talk<'p> {
        Talk {
            now: self.now.clone(),
            events: Vec::new(),
            ..*self
        }
    }

    /// A session is over in a state without messages.
    fn enter(&self, state: StateId, arguments: Vec<Type>) -> Now {
        match self.protocol.state(state).direction {
            Some(_) => Now::In(state, arguments),
            None => Now::Over,
        }
    }

    /// The protocol.
    #[must_use]
    pub fn protocol(&self) -> &'p Protocol {
        self.protocol
    }

    /// What has happened so far.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> + ExactSizeIterator {
        self.events.iter().map(|(_, event)| event)
    }

    /// The state, unless the session has ended.
    #[must_use]
    pub fn state(&self) -> Option<&'p State> {
        match &self.now {
            Now::In(state, _) => Some(self.protocol.state(*state)),
            Now::Over | Now::Left => None,
        }
    }

    pub(super) fn state_id(&self) -> Option<StateId> {
        match &self.now {
            Now::In(state, _) => Some(*state),
            Now::Over | Now::Left => None,
        }
    }

    /// The side that may send.
    #[must_use]
    pub fn active(&self) -> Option<Side> {
        self.state()?.active_side()
    }

    /// Whether the protocol has reached its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.now, Now::Over)
    }

    /// The messages that may be sent.
    #[must_use]
    pub fn allowed(&self) -> &'p [Message] {
        self.state().map_or(&[], |state| &state.messages)
    }

    /// The type arguments of the state.
    pub(super) fn arguments(&self) -> &[Type] {
        match &self.now {
            Now::In(_, arguments) => arguments,
            Now::Over | Now::Left => &[],
        }
    }

    pub(super) fn program(&self) -> &'p Program {
        self.program
    }

    /// The types of the payload of the message at this position of those that may be sent.
    pub(super) fn types(&self, position: usize) -> Vec<Type> {
        self.now.types(self.protocol, position)
    }

    /// The last event, and what was before it.
    pub(super) fn last(&self) -> Option<&(Now, Event)> {
        self.events.last()
    }

    /// Sends a message as the side whose turn it is. The text is as in a transcript, `login("holk", "1234")`; entries may have their
    /// names, `login(username: "holk", password: "1234")`.
    ///
    /// # Errors
    /// Why the text is not a message that may be sent, and from where on. The session has not changed.
    pub fn send(&mut self, text: &str) -> Result<&Event, Fault> {
        let (position, values) = self.read(text)?;
        Ok(self.take(position, values))
    }

    /// Sends the message at this position of those that may be sent, with values of the right types.
    ///
    /// # Panics
    /// If the session is over, or there is no such message.
    pub fn take(&mut self, position: usize, values: Vec<Value>) -> &Event {
        let Now::In(id, arguments) = &self.now else {
            unreachable!("messages are read in states only")
        };
        let (id, state) = (*id, self.protocol.state(*id));
        let message = &state.messages[position];
        let next = message.next.with(arguments);
        let next = next.map_or(Now::Over, |(state, given)| self.enter(state, given));
        let event = Event::Message {
            from: state.active_side().unwrap_or(Side::Client),
            state: id,
            position,
            name: message.name.text().into(),
            values,
        };
        let before = std::mem::replace(&mut self.now, next);
        self.events.push((before, event));
        &self.events[self.events.len() - 1].1
    }

    fn read(&self, text: &str) -> Result<(usize, Vec<Value>), Fault> {
        let Now::In(id, arguments) = &self.now else {
            return Err(Fault::new(0, "the session is over"));
        };
        let state = self.protocol.state(*id);
        let mut reader = Reader::new(self.program, text);
        let name = reader.word();
        let mut messages = state.messages.iter();
        let Some(position) = messages.position(|message| message.name.text() == name) else {
            return Err(self.unknown(&mut reader, state, name));
        };
        let values = reader.payload(&state.messages[position].entries, arguments)?;
        if reader.peek().is_some() {
            let words = format!("expected the end after the message, not {}", reader.found());
            return Err(Fault::new(reader.at, words));
        }
        Ok((position, values))
    }

    /// The fault of a message that the state does not have.
    fn unknown(&self, reader: &mut Reader<'_>, state: &State, name: &str) -> Fault {
        let names = || state.messages.iter().map(|message| message.name.text());
        let shown: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        let side = state.active_side().map_or("nobody", Side::word);
        let may = format!(
            "in the state `{}` the {side} may send {}",
            state.name,
            joined(&shown, "or")
        );
        let elsewhere = || {
            let mut states = self.protocol.states.iter();
            let other = states.find(|other| {
                let mut messages = other.messages.iter();
                messages.any(|message| message.name.text() == name)
            })?;
            let side = other.active_side()?.word();
            Some(match state.active_side() == other.active_side() {
                true => format!(
                    "the {side} sends `{name}` in the state `{}`; {may}",
                    other.name
                ),
                false => format!("`{name}` is too early: {may}"),
            })
        };
        let message = match duologue::name::nearest(name, names()) {
            _ if name.is_empty() && reader.peek() == Some('{') => format!(
                "expected a message, not JSON: a script has the lines of a transcript; {may}"
            ),
            _ if name.is_empty() => format!("expected a message, not {}; {may}", reader.found()),
            Some(near) => format!("there is no message `{name}` here; did you mean `{near}`?"),
            None => elsewhere().unwrap_or_else(|| format!("there is no message `{name}`; {may}")),
        };
        Fault {
            at: reader.at - name.len(),
            message,
            words: names().map(str::to_owned).collect(),
        }
    }

    /// Ends the session early, as a side that closes its endpoint does. Without effect after the end.
    pub fn leave(&mut self, side: Side) -> Option<&Event> {
        let Now::In(..) = self.now else { return None };
        let before = std::mem::replace(&mut self.now, Now::Left);
        self.events.push((before, Event::Left(side)));
        self.events.last().map(|(_, event)| event)
    }

    /// Takes the last event back, and returns it.
    pub fn undo(&mut self) -> Option<Event> {
        let (before, event) = self.events.pop()?;
        self.now = before;
        Some(event)
    }

    /// What may follow at the end of an unfinished text, and the byte where it begins.
    #[must_use]
    pub fn complete(&self, text: &str) -> (usize, Vec<String>) {
        let messages = self.allowed().iter();
        let is_name = text
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_');
        if is_name {
            let fitting = messages.filter(|message| message.name.text().starts_with(text));
            let shown = fitting.map(|message| match message.entries.is_empty() {
                true => message.name.text().to_owned(),
                false => format!("{}(", message.name),
            });
            return (0, shown.collect());
        }
        let Err(fault) = self.read(text) else {
            return (text.len(), Vec::new());
        };
        let typed = text.get(fault.at..).unwrap_or_default();
        let mut words = fault.words;
        words.retain(|word| word.starts_with(typed));
        (fault.at, words)
    }
}
