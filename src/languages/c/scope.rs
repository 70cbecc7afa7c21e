//! A unit with what its code depends on: where each message leads, what its payload needs, and what is generated besides.

use super::ALWAYS_FIT;
use super::ctype::CType;
use super::names::units::{Unit, UnitKind, canonical};
use super::types::Types;
use crate::check::CheckedProgram;
use crate::endpoint::{self, Edge, Endpoint};
use crate::graph::Capacity;
use crate::protocol::{Entry, Message, Next, Protocol, State};
use crate::relation::View;

/// A unit for which code is generated.
pub struct Scope<'a> {
    pub types: &'a Types<'a>,
    pub id: usize,
    pub unit: &'a Unit,
    pub protocol: &'a Protocol,
    pub capacity: Capacity,
    /// For each state, whether sessions that start in this unit reach it. They do not reach states of other instances.
    pub begun: Vec<bool>,
    /// For each state, whether a sender may find the ring full.
    pub may_wait: Vec<bool>,
    /// Whether its sessions can be between processes. Then the header sends and receives numbers between them without a call.
    pub leaves: bool,
    /// Whether it does so for numbers that each reverse the direction: in memory that two processes share.
    pub has_single_line_turns: bool,
    /// The size in bytes of a ring with unbounded runs; `None` if that is left to the runtime.
    pub ring: Option<u32>,
}

impl<'a> Scope<'a> {
    /// The scope of a unit whose sessions stay in one process.
    pub fn of(checked: &'a CheckedProgram, types: &'a Types<'a>, id: usize) -> Scope<'a> {
        let unit = &types.units.units[id];
        let mut scope = Scope {
            types,
            id,
            unit,
            protocol: types.program.protocol(unit.protocol),
            capacity: checked.protocol(unit.protocol).capacity(),
            begun: vec![false; unit.states.len()],
            may_wait: vec![false; unit.states.len()],
            leaves: false,
            has_single_line_turns: false,
            ring: None,
        };
        if unit.kind != UnitKind::Mentioned {
            scope.begun = scope.begun_states();
        }
        if scope.capacity == Capacity::Unbounded {
            let own: Vec<usize> = scope.own_states().collect();
            let run = |index| scope.run_after(index);
            scope.may_wait = endpoint::waiting_states(unit.states.len(), &own, ALWAYS_FIT, run);
        }
        scope
    }

    /// The protocol or the instance that the unit is generated for, if sessions start in it.
    pub fn whole(&self) -> Option<View<'a>> {
        let program = self.types.program;
        match self.unit.kind {
            UnitKind::Mentioned => None,
            UnitKind::Protocol => Some(View::of(program, self.unit.protocol)),
            UnitKind::Instance(id) => Some(View::instance(program, program.instance(id))),
        }
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

    /// The states that sessions of this unit can be in.
    pub fn own_states(&self) -> impl Iterator<Item = usize> {
        (0..self.unit.states.len()).filter(|index| self.is_own(*index))
    }

    pub fn is_own(&self, index: usize) -> bool {
        self.unit.kind == UnitKind::Mentioned || self.begun[index]
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

    /// Whether a state has messages that keep the direction.
    pub fn stays(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.edge(index, message) == Edge::Stay)
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

    /// The largest number of messages in a state that sessions can be in.
    pub fn most_messages(&self) -> usize {
        let messages = self
            .own_states()
            .map(|index| self.state(index).messages.len());
        messages.max().unwrap_or_default()
    }

    /// The protocol's name.
    pub fn protocol_name(&self) -> &'a str {
        match self.unit.kind {
            UnitKind::Instance(id) => self.types.program.instance(id).name.text(),
            UnitKind::Protocol | UnitKind::Mentioned => self.protocol.name.text(),
        }
    }

    /// The protocol's name with its package, which peers write to their logs: at most 255 bytes of it.
    pub fn full_name(&self) -> String {
        let package = self.types.program.file(self.unit.file).package.iter();
        let mut words: Vec<&str> = package.map(|segment| segment.text()).collect();
        words.push(self.protocol_name());
        let mut name = words.join(".");
        name.truncate(255);
        name
    }
}
