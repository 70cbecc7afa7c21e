//! The view for the template of a protocol's module: finished text, one state at a time.

use super::derive::Derivable;
use super::docs::{comment, with_sentence};
use super::endpoints::SideView;
use super::layout::{Piece, signature};
use super::spelling::{Here, parameter_names, type_name};
use super::table::StateView;
use crate::check::CheckedProtocol;
use crate::graph::Capacity;
use crate::protocol::{Message, Next, Protocol, Side, State, StateId, Type};
use crate::target::Options;
use crate::wire::Plan;
use askama::Template;
use std::collections::BTreeSet;

/// The module of one protocol.
#[derive(Template)]
#[template(path = "rust/protocol.rs.jinja")]
pub struct ProtocolView<'a> {
    header: String,
    docs: String,
    capacity: String,
    init: InitView,
    sides: [SideView<'a>; 2],
    states: States<'a>,
    /// How sessions begin between processes, or nothing.
    start: String,
}

/// The states of a protocol. The view of each state is created when the template reaches it.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) checked: CheckedProtocol<'a>,
    pub(super) here: Here<'a>,
    derivable: &'a Derivable,
    /// If the protocol can leave the process.
    pub(super) plan: Option<Plan>,
}

pub(super) struct InitView {
    signature: String,
    /// The largest number of messages in one state.
    choices: usize,
    slot: Vec<String>,
    slot_head: String,
    slot_call: String,
    is_over: bool,
    pair: String,
}

/// The enum of a state's messages.
pub(super) struct MessagesView {
    docs: String,
    is_debug: bool,
    name: String,
    variants: Vec<VariantView>,
}

pub(super) struct VariantView {
    docs: String,
    text: String,
}

impl<'a> ProtocolView<'a> {
    /// The module of a checked protocol. `taken` contains the names of its states.
    pub fn of(
        checked: CheckedProtocol<'a>,
        options: &'a Options,
        derivable: &'a Derivable,
        taken: &'a BTreeSet<String>,
        plan: Option<Plan>,
    ) -> ProtocolView<'a> {
        let (program, protocol) = (checked.program(), checked.protocol());
        let file = program.file(protocol.file);
        let here = Here {
            program,
            options,
            file: protocol.file,
            depth: 1,
            taken,
        };
        let states = States {
            checked,
            here,
            derivable,
            plan,
        };
        let capacity = match checked.capacity() {
            Capacity::Bounded(longest) => format!("Bounded({longest})"),
            Capacity::Unbounded => "Unbounded".to_owned(),
        };
        let sentence = match checked.capacity() {
            Capacity::Bounded(1) => "At most one message is in flight, so a send never waits.".to_owned(),
            Capacity::Bounded(longest) => {
                format!("At most {longest} messages are in flight, so a send never waits.")
            }
            Capacity::Unbounded => {
                "Any number of messages may follow each other, so a send may have to wait for the peer.".to_owned()
            }
        };
        let mut lines = with_sentence(&protocol.docs, &sentence);
        if !file.docs.is_empty() {
            lines.push("");
            lines.extend(file.docs.iter().map(AsRef::as_ref));
        }
        let side = |side: Side| SideView {
            name: side.word(),
            states,
            side,
        };
        ProtocolView {
            header: super::header(&file.path),
            docs: comment(0, "//!", lines),
            capacity,
            init: states.init(),
            sides: [side(Side::Client), side(Side::Server)],
            start: states.remote_start(),
            states,
        }
    }
}

impl<'a> States<'a> {
    pub(super) fn protocol(self) -> &'a Protocol {
        self.checked.protocol()
    }

    pub(super) fn ids(self) -> impl Iterator<Item = StateId> + use<'a> {
        self.protocol().state_ids()
    }

    /// The enums of all states that have a direction.
    pub(super) fn messages(self) -> impl Iterator<Item = MessagesView> + use<'a> {
        let states = self.protocol().states.iter();
        states.filter_map(move |state| Some(self.enum_of(state, state.active_side()?.dual())))
    }

    pub(super) fn tables(self) -> impl Iterator<Item = StateView> + use<'a> {
        let states = self.protocol().states.iter().zip(self.starts());
        states.map(move |(state, starts)| self.table(state, starts))
    }

    pub(super) fn parameters(self, state: &State) -> Vec<String> {
        parameter_names(state, self.here.taken)
    }

    /// `T: Send` and so on, one string per parameter.
    pub(super) fn bounds(self, state: &State, here: Here) -> Vec<String> {
        let bounds = state
            .parameters
            .iter()
            .map(|parameter| here.bounds(parameter));
        let named = self.parameters(state).into_iter().zip(bounds);
        named
            .map(|(name, bounds)| format!("{name}: {bounds}"))
            .collect()
    }

    fn init(self) -> InitView {
        let start = self.protocol().start();
        let names = self.parameters(start);
        let name = Piece::angle("pub fn init", words(&names)).flat();
        let end = |side: Side| {
            let path = format!("{}::{}", side.word(), type_name(&start.name));
            Piece::angle(path, words(&names))
        };
        let result = Piece::round("", vec![end(Side::Server), end(Side::Client)]);
        let pair = match start.active_side() {
            Some(Side::Client) => format!("(second, client::{}(first))", type_name(&start.name)),
            Some(Side::Server) => format!("(server::{}(first), second)", type_name(&start.name)),
            None => String::new(),
        };
        InitView {
            signature: signature(0, &name, &[], &result, &self.bounds(start, self.here)),
            choices: self
                .ids()
                .filter(|id| self.checked.is_reachable(*id))
                .map(|id| self.protocol().state(id).messages.len())
                .max()
                .unwrap_or_default(),
            slot: self.payloads(&names),
            slot_head: signature(
                4,
                &Piece::angle("pub const fn slot", words(&names)).flat(),
                &[],
                &Piece::word("::duologue::generated::Slot"),
                &self.bounds(start, self.here.inside(1)),
            ),
            slot_call: slot_of("state::slot", &names).laid_out(4, 15, 3),
            is_over: start.active_side().is_none(),
            pair,
        }
    }

    /// The statements that fit the slot to every payload type that a session can carry, in terms of the start state's parameters.
    fn payloads(self, names: &[String]) -> Vec<String> {
        let here = self.here.inside(1);
        let mut seen = BTreeSet::new();
        let mut all: Vec<Piece> = Vec::new();
        for (state, arguments) in self.checked.instantiations() {
            for message in &self.protocol().state(state).messages {
                let types = message.entries.iter();
                let types: Vec<Type> = types.map(|entry| entry.ty.substitute(&arguments)).collect();
                let payload = payload(here.types(&types, names));
                if !types.is_empty() && seen.insert(payload.flat()) {
                    all.push(Piece::angle("slot.fit::", vec![payload]));
                }
            }
        }
        let last = all.len().saturating_sub(1);
        let all = all.iter().enumerate();
        let line = |(at, fit): (usize, &Piece)| match at == last {
            true => fit.laid_out(8, 8, 2) + "()",
            false => format!("let slot = {}();", fit.laid_out(8, 19, 3)),
        };
        all.map(line).collect()
    }

    fn enum_of(self, state: &State, receiver: Side) -> MessagesView {
        let names = self.parameters(state);
        let sentence = format!(
            "What the {} receives in state `{}`.",
            receiver.word(),
            state.name
        );
        let variant = |message: &Message| {
            let mut fields = self.entries(message, &names, self.here);
            fields.extend(self.next(
                message,
                &names,
                self.here,
                &format!("{}::", receiver.word()),
            ));
            let text = Piece::round(type_name(&message.name), fields);
            VariantView {
                docs: comment(4, "///", message.docs.iter().map(AsRef::as_ref)),
                text: text.laid_out(4, 4, 1),
            }
        };
        let mut entries = state.messages.iter().flat_map(|message| &message.entries);
        MessagesView {
            docs: comment(0, "///", with_sentence(&state.docs, &sentence)),
            is_debug: entries.all(|entry| self.derivable.is_debug(&entry.ty)),
            name: self.enum_name(state, &names),
            variants: state.messages.iter().map(variant).collect(),
        }
    }

    /// The enum of a state with the parameters that it uses: Rust rejects unused ones.
    pub(super) fn enum_name(self, state: &State, names: &[String]) -> String {
        Piece::angle(
            type_name(&state.name),
            words(used_parameters(state).map(|at| &names[at])),
        )
        .flat()
    }

    pub(super) fn entries(self, message: &Message, names: &[String], here: Here) -> Vec<Piece> {
        message
            .entries
            .iter()
            .map(|entry| here.ty(&entry.ty, names))
            .collect()
    }

    /// The endpoint after a message, preceded by the path to its side's module; `None` after the last message.
    pub(super) fn next(
        self,
        message: &Message,
        names: &[String],
        here: Here,
        path: &str,
    ) -> Option<Piece> {
        let Next::State { state, arguments } = &message.next else {
            return None;
        };
        let next = type_name(&self.protocol().state(*state).name);
        Some(Piece::angle(
            format!("{path}{next}"),
            here.types(arguments, names),
        ))
    }
}

/// The function that creates the slot of a session whose start state has these arguments, without the parentheses of the call.
pub(super) fn slot_of(path: &str, arguments: &[String]) -> Piece {
    match arguments {
        [] => Piece::word(path),
        _ => Piece::angle(format!("{path}::"), words(arguments)),
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
pub(super) fn payload(mut types: Vec<Piece>) -> Piece {
    match types.len() {
        0 => Piece::word("()"),
        1 => types.remove(0),
        _ => Piece::round("", types),
    }
}

pub(super) fn words<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<Piece> {
    names
        .into_iter()
        .map(|name| Piece::word(name.as_ref()))
        .collect()
}
