//! The functions that receive a message.

use crate::languages::c::names::Waiting;
use crate::languages::c::names::{OfState, handle};
use crate::languages::c::protocol::paths::Plain;
use crate::languages::c::spelling::filters;
use crate::languages::c::spelling::{self, role};
use crate::languages::c::view::UnitView;
use crate::protocol::{Message, Side};
use askama::Template;

/// The header checks for at most this many messages of plain bytes; the library finds the others.
const MOST_PLAIN: usize = 4;

/// A function that receives a message.
#[derive(Template)]
#[template(path = "c/recv.h.jinja")]
pub struct RecvView<'a> {
    name: String,
    state: &'a str,
    endpoint: String,
    peer: &'static str,
    is_try: bool,
    is_within: bool,
    leaves: bool,
    spreads: bool,
    /// Whether some message of the state owns something, leads to another state, or is the last.
    owns: bool,
    may_continue: bool,
    may_end: bool,
    received: String,
    wait: &'static str,
    /// The function with a time limit, if this function only calls it.
    calls_within: Option<String>,
    has_cursor: bool,
    role: &'static str,
    has_lane: bool,
    /// The message in the lane, if there is only one.
    lane: Option<ArrivedView>,
    /// The memory layout of its sessions, if that is known.
    shape: String,
    /// The only message of the state, if it consists of plain bytes.
    plain: Option<PlainView>,
    /// The messages of plain bytes, if the state has several messages.
    plains: Vec<PlainView>,
    turns: Vec<ArrivedView>,
    /// Whether the caller's pointer is not passed on, so that the message can be kept in registers.
    stays_in_registers: bool,
    table: String,
}

/// A message of plain bytes that is not the last.
struct PlainView {
    edge: &'static str,
    stays: bool,
    arrived: ArrivedView,
}

/// A message that has arrived.
struct ArrivedView {
    constant: String,
    member: String,
    entries: Vec<String>,
    handle: &'static str,
}

impl UnitView<'_> {
    /// A function that receives a message in a state.
    pub fn recv(&self, index: usize, side: Side, waiting: Waiting) -> RecvView<'_> {
        let state = self.state(index);
        let name = |verb| self.unit.of_state(index, OfState::Function(side, verb));
        let facts = self.facts_of_all(index);
        let (plain, plains) = match state.messages.as_slice() {
            [only] => (self.plain_view(index, side, only), Vec::new()),
            several => {
                let plains = several
                    .iter()
                    .filter_map(|message| self.plain_view(index, side, message));
                (None, plains.take(MOST_PLAIN).collect())
            }
        };
        let is_seen = plain.is_some() || !plains.is_empty();
        let is_within = waiting == Waiting::Within;
        let calls_within = (is_seen && !is_within).then(|| name("recv_within"));
        let turns = self.single_line_turns(index);
        let messages = state.messages.iter();
        let followed = messages.map(|message| self.next(index, message).is_some());
        let has_lane = self.has_lane(index);
        let lane = match self.lanes(index).as_slice() {
            [only] if has_lane => Some(self.arrived(index, side, only)),
            _ => None,
        };
        RecvView {
            name: name(waiting.receiving()),
            state: state.name.text(),
            endpoint: self.endpoint_type(index, side),
            peer: side.dual().word(),
            is_try: waiting == Waiting::AtOnce,
            is_within,
            leaves: self.leaves,
            spreads: facts.spreads,
            owns: !facts.is_plain(),
            may_continue: followed.clone().any(|is_followed| is_followed),
            may_end: followed.clone().any(|is_followed| !is_followed),
            received: self.received(index),
            wait: waiting.argument(),
            calls_within,
            has_cursor: is_seen || has_lane || !turns.is_empty(),
            role: role(side),
            has_lane,
            lane,
            stays_in_registers: plain.is_some() || has_lane,
            turns: turns
                .iter()
                .map(|message| self.arrived(index, side, message))
                .collect(),
            shape: self.shape_of(index),
            plain,
            plains,
            table: self.table(index),
        }
    }

    fn plain_view(&self, index: usize, side: Side, message: &Message) -> Option<PlainView> {
        let Plain { edge, stays, .. } = self.plain(index, message)?;
        Some(PlainView {
            edge,
            stays,
            arrived: self.arrived(index, side, message),
        })
    }

    fn arrived(&self, index: usize, side: Side, message: &Message) -> ArrivedView {
        let entries = message.entries.iter();
        let next = self.next(index, message);
        ArrivedView {
            constant: self.constant(index, message),
            member: spelling::member(message.name.text()),
            entries: entries
                .map(|entry| spelling::entry(entry.name.text()))
                .collect(),
            handle: next.map_or("over", |next| handle(self.state(next).direction, side)),
        }
    }

    /// The enumerator of a message.
    pub fn constant(&self, index: usize, message: &Message) -> String {
        self.unit.of_state(index, OfState::Constant(message))
    }
}
