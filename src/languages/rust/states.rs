//! What the views of a protocol's states are built from.

use super::derive::Derivable;
use super::layout::Document;
use super::spelling::{NameScope, parameter_names, type_name};
use crate::check::CheckedProtocol;
use crate::protocol::{Message, Next, Protocol, State, StateId, Type};
use crate::wire::{Plan, Sizes};
use std::collections::BTreeSet;

/// The states of a protocol, and where its module is.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) checked: CheckedProtocol<'a>,
    pub(super) scope: NameScope<'a>,
    pub(super) derivable: &'a Derivable,
    /// For each state, whether a send may have to wait.
    pub(super) waits: &'a [bool],
    /// If the protocol can leave the process.
    pub(super) plan: Option<Plan>,
    /// The sizes of payloads, if anything can leave the process.
    pub(super) sizes: Option<&'a Sizes>,
}

impl<'a> States<'a> {
    pub(super) fn protocol(self) -> &'a Protocol {
        self.checked.protocol()
    }

    pub(super) fn ids(self) -> impl Iterator<Item = StateId> + use<'a> {
        self.protocol().state_ids()
    }

    pub(super) fn parameters(self, state: &State) -> Vec<String> {
        parameter_names(state, self.scope.taken)
    }

    /// `T: Send` and so on, one string per parameter.
    pub(super) fn bounds(self, state: &State, scope: NameScope) -> Vec<String> {
        let bounds = state
            .parameters
            .iter()
            .map(|parameter| scope.bounds(parameter));
        let named = self.parameters(state).into_iter().zip(bounds);
        named
            .map(|(name, bounds)| format!("{name}: {bounds}"))
            .collect()
    }

    /// The enum of a state with the parameters that it uses: Rust rejects unused ones.
    pub(super) fn enum_name(self, state: &State, names: &[String]) -> String {
        Document::angle(
            type_name(&state.name),
            words(used_parameters(state).map(|at| &names[at])),
        )
        .flat()
    }

    pub(super) fn entries(
        self,
        message: &Message,
        names: &[String],
        scope: NameScope,
    ) -> Vec<Document> {
        message
            .entries
            .iter()
            .map(|entry| scope.ty(&entry.ty, names))
            .collect()
    }

    /// The endpoint after a message, preceded by the path to its side's module; `None` after the last message.
    pub(super) fn next(
        self,
        message: &Message,
        names: &[String],
        scope: NameScope,
        path: &str,
    ) -> Option<Document> {
        let Next::State { state, arguments } = &message.next else {
            return None;
        };
        let next = type_name(&self.protocol().state(*state).name);
        Some(Document::angle(
            format!("{path}{next}"),
            scope.types(arguments, names),
        ))
    }
}

/// The function that creates the slot of a session whose start state has these arguments, without the parentheses of the call.
pub(super) fn slot_of(path: &str, arguments: &[String]) -> Document {
    match arguments {
        [] => Document::word(path),
        _ => Document::angle(format!("{path}::"), words(arguments)),
    }
}

/// The positions of the parameters that a state's messages mention.
pub fn used_parameters(state: &State) -> impl Iterator<Item = usize> + use<> {
    let mut used = BTreeSet::new();
    let mut note = |ty: &Type| {
        if let Type::Parameter(index) = ty {
            used.insert(*index as usize);
        }
    };
    for message in &state.messages {
        message
            .entries
            .iter()
            .for_each(|entry| entry.ty.walk(&mut note));
        if let Next::State { arguments, .. } = &message.next {
            arguments.iter().for_each(|ty| ty.walk(&mut note));
        }
    }
    used.into_iter()
}

/// The payload type: `()`, the only value's type, or a tuple.
pub(super) fn payload(mut types: Vec<Document>) -> Document {
    match types.len() {
        0 => Document::word("()"),
        1 => types.remove(0),
        _ => Document::round("", types),
    }
}

pub(super) fn words<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<Document> {
    names
        .into_iter()
        .map(|name| Document::word(name.as_ref()))
        .collect()
}
