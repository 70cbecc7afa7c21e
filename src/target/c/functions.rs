//! The functions of a header: what can be done in each state. The templates show them; here are the names that go into them.

use super::names::{OfState, OfUnit, Own};
use super::shared::SharedView;
use super::spelling;
use super::types::Facts;
use super::view::{UnitView, handle, render};
use crate::endpoint::Activity;
use crate::protocol::{Message, Side};
use askama::Template;

/// Functions that are finished text.
#[derive(Template)]
#[template(path = "c/functions.h.jinja")]
pub struct FunctionsView {
    pub functions: Vec<FunctionView>,
}

/// A function that is defined in a header.
pub struct FunctionView {
    pub comment: String,
    pub head: String,
    pub body: Vec<String>,
}

/// An endpoint that a function takes or returns.
struct EndpointName {
    ty: String,
    handle: &'static str,
}

/// The functions that start a session.
#[derive(Template)]
#[template(path = "c/start.h.jinja")]
struct StartView {
    init: String,
    protocol: String,
    server: EndpointName,
    client: EndpointName,
    /// Whether the protocol has no messages.
    is_over: bool,
    /// For sessions in the caller's memory.
    memory: Option<MemoryView>,
}

struct MemoryView {
    init: String,
    tag: String,
    name: String,
    capacity: String,
    payload: String,
    messages: usize,
}

/// A function that sends a message.
#[derive(Template)]
#[template(path = "c/send.h.jinja")]
struct SendView<'a> {
    docs: String,
    /// The name of the message in the protocol.
    message: &'a str,
    name: String,
    endpoint: String,
    peer: &'static str,
    is_try: bool,
    is_within: bool,
    /// Whether the sender may have to wait, and for what.
    may_wait: bool,
    full: &'static str,
    leaves: bool,
    checks: bool,
    spreads: bool,
    moves: bool,
    entries: Vec<EntryView>,
    /// The type that the peer receives, and the message's member in it.
    received: String,
    member: String,
    position: usize,
    has_next: bool,
    next_type: String,
    next: String,
    /// The path without the library; `None` if there is none.
    inline: Option<InlineView>,
    send: &'static str,
    table: String,
    wait: &'static str,
}

/// What a header needs to send a message without the library.
struct InlineView {
    role: &'static str,
    edge: &'static str,
    shape: String,
    begins: bool,
    stays: bool,
    /// What the values must fulfil.
    conditions: Vec<String>,
    lane: Option<LaneView>,
    is_single_line_turn: bool,
}

/// A number that may follow one like it, between processes.
struct LaneView {
    /// The message, or `NULL` if its state has no other that could be in a lane.
    of: String,
    number: String,
}

/// An entry of a message that is sent.
pub struct EntryView {
    pub ty: String,
    pub parameter: String,
    pub member: String,
}

/// What can be done with an endpoint besides sending and receiving.
#[derive(Template)]
#[template(path = "c/endpoint.h.jinja")]
struct EndpointFunctionsView {
    handle: &'static str,
    endpoint: String,
    peer: &'static str,
    close: String,
    /// The function that takes it out of a message, if it can be in one.
    take: Option<String>,
    table: String,
}

#[derive(Template)]
#[template(path = "c/free.h.jinja")]
struct FreeView {
    free: String,
    received: String,
    table: String,
    owns: bool,
}

/// Filters of the templates.
pub mod filters {
    use crate::target::c::spelling;
    use askama::{Result, Values};
    use std::fmt::Display;

    /// Sentences, one or more a line, as a block comment's lines after its first ` * `.
    #[askama::filter_fn]
    pub fn fill(text: impl Display, _: &dyn Values) -> Result<String> {
        Ok(spelling::filled(&text.to_string()))
    }
}

/// How long a function waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Forever,
    /// Up to a limit that the caller sets.
    Within,
    AtOnce,
}

impl Waiting {
    fn sending(self) -> &'static str {
        match self {
            Waiting::Forever => "send",
            Waiting::Within => "send_within",
            Waiting::AtOnce => "try_send",
        }
    }

    pub fn receiving(self) -> &'static str {
        match self {
            Waiting::Forever => "recv",
            Waiting::Within => "recv_within",
            Waiting::AtOnce => "try_recv",
        }
    }

    /// The argument that the runtime takes.
    pub fn argument(self) -> &'static str {
        match self {
            Waiting::Forever => "DUO_FOREVER",
            Waiting::Within => "nanoseconds",
            Waiting::AtOnce => "DUO_AT_ONCE",
        }
    }
}

/// The runtime's name of a side.
pub fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "DUO_CLIENT",
        Side::Server => "DUO_SERVER",
    }
}

/// Appends functions, with their long lines broken.
pub fn render_functions(view: &impl Template, text: &mut String) {
    let mut functions = String::new();
    render(view, &mut functions);
    spelling::break_lines(&functions, text);
}

impl UnitView<'_> {
    /// Writes the functions that start a session.
    pub fn start(&self, text: &mut String) {
        let direction = self.state(0).direction;
        let [server, client] = [Side::Server, Side::Client].map(|side| EndpointName {
            ty: self.endpoint_type(0, side),
            handle: handle(direction, side),
        });
        let memory = self.fits_in().then(|| MemoryView {
            init: self.unit.own(OfUnit::InitIn),
            tag: self.unit.own(OfUnit::MemoryTag),
            name: self.unit.own(OfUnit::Memory),
            capacity: self.capacity_name(),
            payload: self.unit.ours(Own::Payload),
            messages: self.most_messages(),
        });
        let view = StartView {
            init: self.unit.own(OfUnit::Init),
            protocol: self.unit.ours(Own::Protocol),
            server,
            client,
            is_over: direction.is_none(),
            memory,
        };
        render_functions(&view, text);
    }

    /// Writes the functions of a state.
    pub fn functions(&self, index: usize, text: &mut String) {
        let state = self.state(index);
        for side in [Side::Client, Side::Server] {
            let activity = Activity::of(state.direction, side);
            match activity {
                Activity::Sends => {
                    for position in 0..state.messages.len() {
                        let mut send = |waiting| {
                            render_functions(&self.send(index, position, side, waiting), text);
                        };
                        send(Waiting::Forever);
                        if self.leaves {
                            send(Waiting::Within);
                        }
                        // Between processes a sender may have to wait in any state.
                        if self.leaves || self.may_wait[index] {
                            send(Waiting::AtOnce);
                        }
                    }
                    if self.can_be_shared(index) {
                        render_functions(&SharedView::of(self, index, side), text);
                    }
                }
                Activity::Receives => {
                    for waiting in [Waiting::Within, Waiting::Forever, Waiting::AtOnce] {
                        render_functions(&self.recv(index, side, waiting), text);
                    }
                }
                Activity::Over => {}
            }
            let name = |verb| self.unit.of_state(index, OfState::Function(side, verb));
            let view = EndpointFunctionsView {
                handle: handle(state.direction, side),
                endpoint: self.endpoint_type(index, side),
                peer: side.dual().word(),
                close: name("close"),
                take: self.unit.states[index].travels.then(|| name("take")),
                table: self.table(index),
            };
            render_functions(&view, text);
        }
        if state.direction.is_some() {
            let view = FreeView {
                free: self.unit.of_state(index, OfState::Free),
                received: self.received(index),
                table: self.table(index),
                owns: !self.facts_of_all(index).is_plain(),
            };
            render_functions(&view, text);
        }
    }

    fn send(&self, index: usize, position: usize, side: Side, waiting: Waiting) -> SendView<'_> {
        let message = &self.state(index).messages[position];
        let facts = self.facts(index, message);
        let next = self.next(index, message);
        let inline = match waiting {
            Waiting::Forever | Waiting::AtOnce => self.inline(index, position, side),
            // The cost of a call does not matter to a caller that sets a time limit.
            Waiting::Within => None,
        };
        let sends = OfState::Send(side, waiting.sending(), message);
        SendView {
            docs: spelling::comment_start(&message.docs),
            message: message.name.text(),
            name: self.unit.of_state(index, sends),
            endpoint: self.endpoint_type(index, side),
            peer: side.dual().word(),
            is_try: waiting == Waiting::AtOnce,
            is_within: waiting == Waiting::Within,
            may_wait: self.leaves || self.may_wait[index],
            full: self.full(index),
            leaves: self.leaves,
            checks: facts.checks,
            spreads: facts.spreads,
            moves: facts.moves,
            entries: self.entries(index, message),
            received: self.received(index),
            member: spelling::member(message.name.text()),
            position,
            has_next: next.is_some(),
            next_type: next.map_or_else(String::new, |next| self.endpoint_type(next, side)),
            next: next.map_or_else(
                || "NULL".to_owned(),
                |next| format!("&next->{}", handle(self.state(next).direction, side)),
            ),
            send: if inline.is_some() {
                "duo_send_apart"
            } else {
                "duo_send"
            },
            inline,
            table: self.message_table(index, position),
            wait: waiting.argument(),
        }
    }

    /// What a sender waits for in a state where it may have to wait.
    pub fn full(&self, index: usize) -> &'static str {
        match (self.may_wait[index], self.leaves) {
            (true, true) => "the ring (or the region) is full",
            (false, true) => "the region is full (between processes)",
            (_, false) => "the ring is full",
        }
    }

    fn inline(&self, index: usize, position: usize, side: Side) -> Option<InlineView> {
        let message = &self.state(index).messages[position];
        let plain = self.plain(index, message)?;
        let lane = self.is_lane(index, message).then(|| LaneView {
            of: match self.lanes(index).as_slice() {
                [_] => "NULL".to_owned(),
                _ => self.message_table(index, position),
            },
            number: self.types.parameter(message.entries[0].name.text()),
        });
        Some(InlineView {
            role: role(side),
            edge: plain.edge,
            shape: self.shape_of(index),
            begins: !self.stays(index),
            stays: plain.stays,
            conditions: plain.conditions?,
            lane,
            is_single_line_turn: self.is_single_line_turn(index, message),
        })
    }

    /// The entries of a message, as a function that sends takes them.
    pub fn entries(&self, index: usize, message: &Message) -> Vec<EntryView> {
        let entries = message.entries.iter().map(|entry| EntryView {
            ty: self
                .types
                .name(&self.entry_type(index, entry), Some(self.id)),
            parameter: self.types.parameter(entry.name.text()),
            member: spelling::entry(entry.name.text()),
        });
        entries.collect()
    }

    /// A pointer to the runtime's description of a message.
    pub fn message_table(&self, index: usize, position: usize) -> String {
        format!(
            "&{}[{}]",
            self.unit.ours(Own::Messages),
            self.starts[index] + position
        )
    }

    /// The facts about the entries of a message.
    pub fn facts(&self, index: usize, message: &Message) -> Facts {
        let entries = message.entries.iter();
        entries
            .map(|entry| self.types.facts(&self.entry_type(index, entry)))
            .fold(Facts::default(), Facts::or)
    }

    /// The facts about the entries of all messages of a state.
    pub fn facts_of_all(&self, index: usize) -> Facts {
        let messages = self.state(index).messages.iter();
        messages
            .map(|message| self.facts(index, message))
            .fold(Facts::default(), Facts::or)
    }
}
