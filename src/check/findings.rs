//! The input of the rules, and the collection of their findings.

use super::levels::{Levels, Location};
use super::{Rule, Spell};
use crate::diagnostic::{Diagnostic, Level};
use crate::graph::StateGraph;
use crate::protocol::{
    Known, LevelAttribute, Message, Program, Protocol, ProtocolId, State, StateId,
};
use crate::source::Span;
use std::collections::{BTreeSet, HashSet};

/// The program being checked, with the data that several rules need.
pub struct Subject<'a> {
    pub program: &'a Program,
    pub spell: &'a Spell<'a>,
    /// One for each protocol; `None` for those of which a part is missing.
    pub shapes: Vec<Option<Shape>>,
}

/// The behavior of one protocol, as far as it is known.
pub struct Shape {
    pub known: Known,
    pub graph: StateGraph,
    pub reachable: Vec<bool>,
}

/// One protocol of which no part is missing: it has at least one state.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub id: ProtocolId,
    pub protocol: &'a Protocol,
    pub shape: &'a Shape,
}

impl<'a> Subject<'a> {
    pub fn new(program: &'a Program, spell: &'a Spell<'a>) -> Subject<'a> {
        let shapes = program.protocols.iter().map(|protocol| {
            let known = protocol.known()?;
            let graph = StateGraph::of(protocol);
            let reachable = graph.reachable();
            Some(Shape {
                known,
                graph,
                reachable,
            })
        });
        Subject {
            program,
            spell,
            shapes: shapes.collect(),
        }
    }

    /// The protocols of which everything is known.
    pub fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.cases_of(Known::All)
    }

    /// Whether everything about a protocol is known.
    pub fn is_known(&self, id: ProtocolId) -> bool {
        let shape = self.shapes[id.index()].as_ref();
        shape.is_some_and(|shape| shape.known == Known::All)
    }

    /// The protocols of which at least this much is known.
    pub fn cases_of(&self, least: Known) -> impl Iterator<Item = Case<'_>> {
        let all = self.program.protocols.iter().zip(&self.shapes).enumerate();
        all.filter_map(move |(index, (protocol, shape))| {
            Some(Case {
                id: ProtocolId::new(index),
                protocol,
                shape: shape.as_ref().filter(|shape| shape.known >= least)?,
            })
        })
    }
}

impl<'a> Case<'a> {
    /// The states that a session can reach, the start first.
    pub fn reachable_states(self) -> impl Iterator<Item = (StateId, &'a State)> {
        let states = self.protocol.states.iter().enumerate();
        let states = states.filter(move |(index, _)| self.shape.reachable[*index]);
        states.map(|(index, state)| (StateId::new(index), state))
    }

    /// The states to which dialogues lead from a state, in order, through those only for which `is_new` holds.
    pub fn behind(self, first: StateId, is_new: &mut dyn FnMut(StateId) -> bool) -> Vec<StateId> {
        let mut behind = Vec::new();
        let mut next = vec![first];
        while let Some(id) = next.pop() {
            for message in &self.protocol.state(id).messages {
                if let Some(state) = message.next.state().filter(|state| is_new(*state)) {
                    behind.push(state);
                    next.push(state);
                }
            }
        }
        behind.sort();
        behind
    }

    /// For each state, the first message in source order that leads to it from another state.
    pub fn first_entrances(self) -> Vec<Option<&'a Message>> {
        let mut entrances = vec![None; self.protocol.states.len()];
        for (from, state) in self.protocol.states.iter().enumerate() {
            for message in &state.messages {
                if let Some(to) = message.next.state()
                    && to.index() != from
                    && entrances[to.index()].is_none()
                {
                    entrances[to.index()] = Some(message);
                }
            }
        }
        entrances
    }

    /// For each state, the locations at which messages lead to it if there are at most `limit` of them; otherwise none.
    pub fn few_entrances(self, limit: usize) -> Vec<Vec<Span>> {
        let mut entrances = vec![Vec::new(); self.protocol.states.len()];
        for message in self.protocol.messages() {
            if let Some(state) = message.next.state()
                && entrances[state.index()].len() <= limit
            {
                entrances[state.index()].push(message.next_span);
            }
        }
        for places in &mut entrances {
            if places.len() > limit {
                places.clear();
            }
        }
        entrances
    }
}

/// What was found, and the levels that decide what is kept.
pub struct Findings {
    levels: Levels,
    pub list: Vec<Diagnostic>,
    /// The spans of the attributes that set the level of a finding.
    heeded: HashSet<Span>,
    /// The rules of the errors that earlier stages reported.
    reported: BTreeSet<&'static str>,
}

impl Findings {
    pub fn new(levels: Levels, reported: &[Diagnostic]) -> Findings {
        Findings {
            levels,
            list: Vec::new(),
            heeded: HashSet::new(),
            reported: reported.iter().map(|found| found.rule).collect(),
        }
    }

    /// Adds an error.
    pub fn error(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Whether one of these errors or rules was found.
    pub fn has_any(&self, names: &[&str]) -> bool {
        self.list
            .iter()
            .any(|diagnostic| names.contains(&diagnostic.rule))
    }

    /// Whether an earlier stage reported errors. If so, nothing follows from a name being unused.
    pub fn is_incomplete(&self) -> bool {
        !self.reported.is_empty()
    }

    /// Whether a text, or a part of one, could not be read.
    pub fn lacks_text(&self) -> bool {
        let unread = ["syntax", "unresolved-import", "import-cycle"];
        unread.iter().any(|rule| self.reported.contains(rule))
    }

    /// Whether a finding of a rule at a location would be reported.
    pub fn hears(&mut self, rule: &Rule, location: Location<'_>) -> bool {
        self.level(rule, location) > Level::Allow
    }

    /// Whether a rule is enabled outside of all attributes, or an attribute of the protocol, a state or a message names it. If
    /// not, an expensive rule can be skipped.
    pub fn is_asked_for(&self, rule: &Rule, protocol: &Protocol) -> bool {
        let states = protocol.states.iter();
        let inner = states.flat_map(|state| {
            let messages = state.messages.iter().flat_map(|message| &message.levels);
            state.levels.iter().chain(messages)
        });
        let mut attributes = protocol.levels.iter().chain(inner);
        self.levels.of(rule, Location::outside()) > Level::Allow
            || attributes.any(|found| [rule.name, "all"].contains(&found.rule.text()))
    }

    /// Whether an attribute has set the level of a finding.
    pub fn is_heeded(&self, attribute: &LevelAttribute) -> bool {
        self.heeded.contains(&attribute.rule.span)
    }

    fn level(&mut self, rule: &Rule, location: Location<'_>) -> Level {
        if let Some(attribute) = location.attribute(rule) {
            self.heeded.insert(attribute.rule.span);
        }
        self.levels.of(rule, location)
    }

    /// Adds a finding of a rule at the level in force at a location, if that is above allow.
    pub fn report(
        &mut self,
        rule: &Rule,
        location: Location<'_>,
        make: impl FnOnce() -> Diagnostic,
    ) {
        let level = self.level(rule, location);
        if level > Level::Allow {
            let item = location.item();
            self.list.push(Diagnostic {
                level,
                item,
                ..make()
            });
        }
    }
}
