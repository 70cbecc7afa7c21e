//! The functions that send a message.

use crate::languages::c::names::Waiting;
use crate::languages::c::names::{OfState, Own, handle};
use crate::languages::c::spelling::filters;
use crate::languages::c::spelling::{self, role};
use crate::languages::c::types::Facts;
use crate::languages::c::types::inline;
use crate::languages::c::view::UnitView;
use crate::protocol::{Message, Side};
use askama::Template;

/// A function that sends a message.
#[derive(Template)]
#[template(path = "c/send.h.jinja")]
pub struct SendView<'a> {
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
    checks: bool,
    spreads: bool,
    moves: bool,
    is_too_large: bool,
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
    /// The conditions that the values must meet.
    conditions: Vec<String>,
    lane: Option<LaneView>,
    is_single_line_turn: bool,
}

/// A message that is one number and may be in a lane, between processes.
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
    /// The function that copies a view into the message; `None` if the value is assigned.
    pub set: Option<String>,
}

impl UnitView<'_> {
    /// The function that sends a message.
    pub fn send(
        &self,
        index: usize,
        position: usize,
        side: Side,
        waiting: Waiting,
    ) -> SendView<'_> {
        let message = &self.state(index).messages[position];
        let facts = self.facts(index, message);
        let next = self.next(index, message);
        let entries = self.entries(index, message);
        let inline = match waiting {
            Waiting::Forever | Waiting::AtOnce => self.inline(index, position, side),
            // The cost of a call does not matter to a caller that sets a time limit.
            Waiting::Within => None,
        };
        let sends = OfState::Send(side, waiting.sending(), message);
        SendView {
            docs: spelling::comment_start(&self.message_docs(index, message)),
            message: message.name.text(),
            name: self.unit.of_state(index, sends),
            endpoint: self.endpoint_type(index, side),
            peer: side.dual().word(),
            is_try: waiting == Waiting::AtOnce,
            is_within: waiting == Waiting::Within,
            may_wait: self.leaves || self.may_wait[index],
            full: self.full(index),
            checks: facts.checks,
            spreads: facts.spreads,
            moves: facts.moves,
            is_too_large: self.may_be_too_large(facts, &entries),
            entries,
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
        let entries = message.entries.iter().map(|entry| {
            let ty = self.entry_type(index, entry);
            let (ty, set) = match inline::taken_as(self.types, &ty, Some(self.id)) {
                Some((view, set)) => (view.to_owned(), Some(set)),
                None => (self.types.name(&ty, Some(self.id)), None),
            };
            EntryView {
                ty,
                parameter: self.types.parameter(entry.name.text()),
                member: spelling::entry(entry.name.text()),
                set,
            }
        });
        entries.collect()
    }

    /// Whether a message may be refused for its size: text or bytes for their bound, or everything between processes.
    pub fn may_be_too_large(&self, facts: Facts, entries: &[EntryView]) -> bool {
        facts.spreads && self.leaves || entries.iter().any(|entry| entry.set.is_some())
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
