//! A protocol as the templates see it: finished text and plain booleans. States are rendered one at a time, so that each view is
//! dropped once its text is written.

use super::names::{Header, OfState, OfUnit, Own, handle};
use super::spelling;
use super::spelling::render;
use super::types::Types;
use super::types::copies;
use super::types::ctype::CType;
use super::types::declarations::Declarations;
use super::units::{Unit, UnitKind, canonical};
use super::{ALWAYS_FIT, VERSION};
use crate::check::CheckedProgram;
use crate::endpoint::{self, Activity, Edge, Endpoint};
use crate::graph::Capacity;
use crate::languages::limits::{instance_docs, message_docs, time_limit};
use crate::protocol::{Docs, Entry, Message, Next, Protocol, Side, State};
use askama::Template;
use std::collections::BTreeSet;

/// A header and source under construction.
pub struct UnitView<'a> {
    pub types: &'a Types<'a>,
    pub id: usize,
    pub unit: &'a Unit,
    pub protocol: &'a Protocol,
    pub capacity: Capacity,
    /// For each state, the number of messages in the states before it.
    pub starts: Vec<usize>,
    /// For each state, whether sessions that start in this unit reach it. They do not reach states of other instances.
    pub begun: Vec<bool>,
    /// For each state, whether a sender may find the ring full.
    pub may_wait: Vec<bool>,
    /// Whether its sessions can be between processes.
    pub leaves: bool,
    /// Whether the header sends and receives numbers between processes without a call.
    pub has_lanes: bool,
    /// Whether it does so for numbers that each reverse the direction: in memory that two processes share.
    pub has_single_line_turns: bool,
    /// The size in bytes of a ring with unbounded runs; `None` if that is left to the runtime.
    pub ring: Option<u32>,
}

#[derive(Template)]
#[template(path = "c/protocol.h.jinja")]
struct HeadView {
    source: String,
    version: &'static str,
    guard: String,
    owner: String,
    /// Whether further headers of the runtime are needed.
    has_parts: bool,
    parts: Vec<&'static str>,
    has_includes: bool,
    includes: Vec<String>,
    name: String,
    name_macro: String,
    comment: String,
    capacity_name: String,
    capacity: u32,
    prefix: String,
    /// Why it cannot be used without an allocator.
    refusal: Option<String>,
    tables: [String; 3],
}

#[derive(Template)]
#[template(path = "c/foot.h.jinja")]
pub struct FootView {
    has_includes: bool,
    includes: Vec<String>,
}

impl FootView {
    /// Writes the end of a header, which includes the headers of these protocols after its own types.
    pub fn write(protocols: BTreeSet<String>, text: &mut String) {
        let foot = FootView {
            has_includes: !protocols.is_empty(),
            includes: protocols.into_iter().collect(),
        };
        text.push('\n');
        render(&foot, text);
        text.push('\n');
    }
}

#[derive(Template)]
#[template(path = "c/endpoints.h.jinja")]
struct EndpointsView {
    endpoints: Vec<EndpointView>,
}

struct EndpointView {
    comment: String,
    name: String,
    handle: &'static str,
    /// Whether other headers declare it too.
    travels: bool,
    /// The type of the shared endpoint, if there is one.
    shared: Option<String>,
}

#[derive(Template)]
#[template(path = "c/message.h.jinja")]
struct StateView {
    comment: String,
    name: String,
    tag: String,
    /// Whether the state has no messages; C requires a constant in every enum nevertheless.
    is_silent: bool,
    silence: String,
    messages: Vec<MessageView>,
}

struct MessageView {
    comment: String,
    constant: String,
    name: String,
    members: Vec<String>,
}

impl<'a> UnitView<'a> {
    /// The view of a unit.
    pub fn of(checked: &'a CheckedProgram, types: &'a Types<'a>, id: usize) -> UnitView<'a> {
        let unit = &types.units.units[id];
        let protocol = types.program.protocol(unit.protocol);
        let mut starts = vec![0];
        for state in &unit.states {
            let messages = protocol.state(state.state).messages.len();
            starts.push(starts[starts.len() - 1] + messages);
        }
        let mut view = UnitView {
            types,
            id,
            unit,
            protocol,
            capacity: checked.protocol(unit.protocol).capacity(),
            starts,
            begun: vec![false; unit.states.len()],
            may_wait: vec![false; unit.states.len()],
            leaves: false,
            has_lanes: false,
            has_single_line_turns: false,
            ring: None,
        };
        if unit.kind != UnitKind::Mentioned {
            view.begun = view.begun_states();
        }
        if view.capacity == Capacity::Unbounded {
            let own: Vec<usize> = view.own_states().collect();
            let run = |index| view.run_after(index);
            view.may_wait = endpoint::waiting_states(unit.states.len(), &own, ALWAYS_FIT, run);
        }
        view
    }

    /// The states that can be reached from the first.
    fn begun_states(&self) -> Vec<bool> {
        let mut begun = vec![false; self.unit.states.len()];
        let mut open = vec![0];
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut begun[index], true) {
                let messages = self.state(index).messages.iter();
                open.extend(messages.filter_map(|message| self.next(index, message)));
            }
        }
        begun
    }

    /// The states that continue the run of a state.
    pub fn run_after(&self, index: usize) -> impl Iterator<Item = usize> + use<'_> {
        let messages = self.state(index).messages.iter();
        let staying = messages.filter(move |own| self.edge(index, own) == Edge::Stay);
        staying.filter_map(move |own| self.next(index, own))
    }

    /// Which side is active after a message.
    pub fn edge(&self, index: usize, message: &Message) -> Edge {
        let next = self.next(index, message);
        Edge::of(self.state(index), next.map(|next| self.state(next)))
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let mut declarations = Declarations::new(self.types, None, Some(self.id));
        for index in 0..self.unit.states.len() {
            for message in &self.state(index).messages {
                message
                    .entries
                    .iter()
                    .for_each(|entry| declarations.need(&self.entry_type(index, entry)));
            }
        }
        declarations.finish();
        let messages = self.starts[self.unit.states.len()];
        let mut text =
            String::with_capacity(2_000 + 1_800 * self.unit.states.len() + 600 * messages);
        render(&self.head(&declarations), &mut text);
        for index in 0..self.unit.states.len() {
            let endpoints = [Side::Client, Side::Server].map(|side| self.endpoint(index, side));
            render(
                &EndpointsView {
                    endpoints: endpoints.into(),
                },
                &mut text,
            );
        }
        text.push_str(&declarations.text);
        copies::of_inner(self.types, &declarations.inner, Some(self.id), &mut text);
        for index in 0..self.unit.states.len() {
            if let Some(active) = self.state(index).active_side() {
                render(
                    &self.message_type(index, active.dual(), &declarations),
                    &mut text,
                );
                self.message_texts(index, &mut text);
            }
        }
        text.push_str(&self.payload_union());
        if self.unit.kind != UnitKind::Mentioned {
            text.push_str(&self.shape());
            self.start(&mut text);
        }
        for index in 0..self.unit.states.len() {
            self.functions(index, &mut text);
        }
        FootView::write(declarations.protocols, &mut text);
        text
    }

    pub fn state(&self, index: usize) -> &'a State {
        self.protocol.state(self.unit.states[index].state)
    }

    /// The type of an entry, with the state's arguments filled in.
    pub fn entry_type(&self, index: usize, entry: &Entry) -> CType {
        let arguments = &self.unit.states[index].arguments;
        if arguments.is_empty() {
            return self.types.stored(&entry.ty, &entry.lengths);
        }
        // Arguments have no bounds, so those that are written apply to the same parts.
        let ty = entry.ty.substitute(arguments);
        self.types.stored(&ty, &entry.lengths)
    }

    /// Whether several senders can share the sending endpoint of a state.
    pub fn can_be_shared(&self, index: usize) -> bool {
        let id = self.unit.states[index].state;
        let active = self.state(index).active_side();
        active.is_some_and(|side| Endpoint::of(self.protocol, side).can_be_shared(id))
    }

    /// The type of a received message.
    pub fn received(&self, index: usize) -> String {
        self.unit.of_state(index, OfState::Received)
    }

    /// The type of a side's endpoint.
    pub fn endpoint_type(&self, index: usize, side: Side) -> String {
        self.unit.of_state(index, OfState::Endpoint(side))
    }

    /// The state that a message leads to, unless it ends the session.
    pub fn next(&self, index: usize, message: &Message) -> Option<usize> {
        match &message.next {
            Next::End | Next::Error => None,
            Next::State { state, arguments } => {
                let own = &self.unit.states[index].arguments;
                let arguments = arguments
                    .iter()
                    .map(|ty| canonical(self.types.program, ty).substitute(own));
                self.unit.position(*state, &arguments.collect::<Vec<_>>())
            }
        }
    }

    /// The protocol's name.
    pub fn protocol_name(&self) -> &str {
        match self.unit.kind {
            UnitKind::Instance(id) => self.types.program.instance(id).name.text(),
            UnitKind::Protocol | UnitKind::Mentioned => self.protocol.name.text(),
        }
    }

    /// The protocol's name with its package, which peers write to their logs: at most 255 bytes of it.
    pub fn name(&self) -> String {
        let package = self.types.program.file(self.unit.file).package.iter();
        let mut words: Vec<&str> = package.map(|segment| segment.text()).collect();
        words.push(self.protocol_name());
        let mut name = words.join(".");
        name.truncate(255);
        name
    }

    pub fn capacity_name(&self) -> String {
        self.unit.own(OfUnit::Capacity)
    }

    fn head(&self, declarations: &Declarations) -> HeadView {
        let program = self.types.program;
        let mut docs = match self.unit.kind {
            UnitKind::Instance(id) => {
                let title = format!("`{}`", self.protocol.name);
                instance_docs(program, program.instance(id), &title)
            }
            UnitKind::Protocol | UnitKind::Mentioned => self.protocol.docs.clone(),
        };
        if !docs.is_empty() {
            docs.push("".into());
        }
        let capacity = match self.capacity {
            Capacity::Bounded(0) => "No message is ever in flight.".to_owned(),
            Capacity::Bounded(1) => {
                "At most one message is in flight, so a send never waits.".to_owned()
            }
            Capacity::Bounded(most) => {
                format!("At most {most} messages are in flight, so a send never waits.")
            }
            Capacity::Unbounded => {
                "Some runs have no bound: at least this many messages fit before a send may have to wait.".to_owned()
            }
        };
        docs.push(capacity.into());
        let mut parts = Vec::new();
        if self.has_lanes {
            parts.push("lane");
        }
        if (0..self.unit.states.len()).any(|index| self.can_be_shared(index)) {
            parts.push("shared");
        }
        HeadView {
            source: spelling::harmless(&program.file(self.unit.file).path),
            version: VERSION,
            guard: self.unit.guard(Header::Own),
            owner: self.owner(),
            has_parts: !parts.is_empty(),
            parts,
            has_includes: !declarations.includes.is_empty(),
            includes: declarations.includes.iter().cloned().collect(),
            name: self.name(),
            name_macro: self.unit.own(OfUnit::Name),
            comment: spelling::comment(&docs, ""),
            capacity_name: self.capacity_name(),
            capacity: match self.capacity {
                Capacity::Bounded(most) => most,
                // Small messages leave space for more.
                Capacity::Unbounded => ALWAYS_FIT,
            },
            prefix: self.unit.prefix.clone(),
            refusal: self.refusal(),
            tables: [Own::Protocol, Own::States, Own::Messages].map(|own| self.unit.ours(own)),
        }
    }

    /// A macro that no header of another protocol with the same name defines. The guards of two such headers are equal, so the
    /// second header would otherwise be skipped silently.
    pub fn owner(&self) -> String {
        self.unit.owner(&self.types.owner_of(self.unit.file))
    }

    fn endpoint(&self, index: usize, side: Side) -> EndpointView {
        let state = self.state(index);
        let activity = Activity::of(state.direction, side);
        let handle = handle(state.direction, side);
        let does = match activity {
            Activity::Sends | Activity::Receives => format!("it {handle}."),
            Activity::Over => "the session is over.".to_owned(),
        };
        let mut docs = state.docs.clone();
        docs.push(format!("The {} in state `{}`: {does}", side.word(), state.name).into());
        docs.extend(time_limit(state).map(String::into));
        EndpointView {
            comment: spelling::comment(&docs, ""),
            name: self.endpoint_type(index, side),
            handle,
            travels: self.unit.states[index].travels,
            shared: (activity == Activity::Sends && self.can_be_shared(index))
                .then(|| self.unit.of_state(index, OfState::Shared(side))),
        }
    }

    fn message_type(&self, index: usize, receiver: Side, declarations: &Declarations) -> StateView {
        let state = self.state(index);
        let messages = state
            .messages
            .iter()
            .enumerate()
            .map(|(position, message)| {
                let mut members: Vec<String> = Vec::new();
                for entry in &message.entries {
                    let ty = self.entry_type(index, entry);
                    members.push(declarations.member(&spelling::entry(entry.name.text()), &ty));
                }
                if let Some(next) = self.next(index, message) {
                    members.push(format!("{} next", self.endpoint_type(next, receiver)));
                }
                if members.is_empty() {
                    members.push("char unused".to_owned());
                }
                let first = if position == 0 { " = 1" } else { "" };
                MessageView {
                    comment: spelling::comment(&self.message_docs(index, message), "    "),
                    constant: self.constant(index, message) + first,
                    name: spelling::member(message.name.text()),
                    members,
                }
            });
        StateView {
            comment: format!(
                "/** What the {} receives in state `{}`. */\n",
                receiver.word(),
                state.name
            ),
            tag: self.unit.of_state(index, OfState::Tag),
            is_silent: state.messages.is_empty(),
            silence: self.unit.of_state(index, OfState::Nothing) + " = 1",
            messages: messages.collect(),
            name: self.received(index),
        }
    }

    /// The documentation of a message of a state, with its limits.
    pub fn message_docs(&self, index: usize, message: &Message) -> Docs {
        message_docs(self.types.program, self.state(index), message)
    }

    pub fn table(&self, index: usize) -> String {
        format!("&{}[{index}]", self.unit.ours(Own::States))
    }
}
