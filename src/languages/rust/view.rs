//! The module of a protocol, as the templates see it.

use super::derive::Derivable;
use super::docs::Docs;
use super::names::spelling::{NameScope, parameter_names, prelude, tuple, turbofish, type_name};
use super::remote::StartView;
use super::states::{StateView, States};
use crate::check::CheckedProtocol;
use crate::protocol::{Side, Type};
use crate::relation::View;
use crate::wire::{Plan, Sizes, accepted};
use askama::Template;
use std::collections::BTreeSet;

/// The module of one protocol.
#[derive(Template)]
#[template(path = "rust/protocol.rs.jinja")]
pub struct ProtocolView {
    source: String,
    name: String,
    docs: Docs,
    file_docs: Docs,
    /// How many messages can be in flight, if that is bounded.
    capacity: Option<u32>,
    /// The name of `Result` here.
    result: &'static str,
    sides: [SideView; 2],
    states: Vec<StateView>,
    /// The type arguments with which `init` calls the function that creates the slot.
    turbofish: String,
    /// The payloads that a session can carry, and the largest number of messages in one state.
    payloads: Vec<String>,
    choices: usize,
    /// How sessions begin between processes, if they do.
    start: Option<StartView>,
    /// The text of the module with robots.
    pub(super) robots: Option<String>,
}

/// A side, and whether it receives in some state.
struct SideView {
    name: &'static str,
    receives: bool,
}

impl ProtocolView {
    /// The module of a checked protocol, whose position in the tree is `scope`.
    pub fn of(
        checked: CheckedProtocol,
        scope: NameScope,
        derivable: &Derivable,
        plan: Option<Plan>,
        sizes: Option<&Sizes>,
    ) -> ProtocolView {
        let (program, protocol) = (scope.program, checked.protocol());
        let file = program.file(protocol.file);
        let names = parameter_names(protocol.start(), scope.taken);
        let states = States {
            checked,
            scope,
            derivable,
            plan,
            sizes,
        };
        let start = |plan| {
            let view = View::of(program, checked.id());
            let name = program.full_name(protocol.file, protocol.name.text());
            let state = type_name(&protocol.start().name);
            let accepts = |side| accepted(view, side);
            StartView::of(plan, name, "state".to_owned(), state, &[], accepts)
        };
        let reached = protocol.state_ids().filter(|id| checked.is_reachable(*id));
        let choices = reached.map(|id| protocol.state(id).messages.len());
        ProtocolView {
            source: file.path.clone(),
            name: protocol.name.text().to_owned(),
            docs: Docs::of_module(&protocol.docs),
            file_docs: Docs::of_module(&file.docs),
            capacity: checked.capacity().most(),
            result: prelude("Result", scope.taken),
            sides: Side::BOTH.map(|side| SideView {
                name: side.word(),
                receives: (protocol.states.iter())
                    .any(|state| state.active_side() == Some(side.dual())),
            }),
            states: states.views(),
            turbofish: turbofish(&names),
            payloads: states.payloads(&names),
            choices: choices.max().unwrap_or_default(),
            start: plan.and_then(start),
            robots: None,
        }
    }
}

impl States<'_> {
    /// Every payload type that a session can carry, in terms of the start state's parameters.
    fn payloads(self, names: &[String]) -> Vec<String> {
        let scope = self.scope.inside(1);
        let mut payloads = Vec::new();
        let mut seen = BTreeSet::new();
        for (state, arguments) in self.checked.instantiations() {
            for message in &self.protocol().state(state).messages {
                let types = message.entries.iter();
                let types: Vec<Type> = types.map(|entry| entry.ty.substitute(&arguments)).collect();
                let payload = tuple(&scope.types(&types, names));
                if !types.is_empty() && seen.insert(payload.clone()) {
                    payloads.push(payload);
                }
            }
        }
        payloads
    }
}
