//! The view for the template of a protocol's module: finished text, one state at a time.

use super::derive::Derivable;
use super::docs::{comment, state_comment, with_sentence};
use super::endpoints::SideView;
use super::fields;
use super::layout::{Document, signature, variants};
use super::spelling::{NameScope, type_name};
use super::states::{States, payload, slot_of, words};
use super::table::{ReceivingView, StateView};
use crate::check::CheckedProtocol;
use crate::endpoint::may_wait;
use crate::graph::Capacity;
use crate::languages::Options;
use crate::languages::limits::message_docs;
use crate::protocol::{Message, Side, State, Type};
use crate::wire::{Plan, Sizes};
use askama::Template;
use std::collections::BTreeSet;

/// The module of one protocol.
#[derive(Template)]
#[template(path = "rust/protocol.rs.jinja")]
pub struct ProtocolView {
    header: String,
    docs: String,
    capacity: String,
    init: InitView,
    /// The enums of all states that have a direction.
    enums: Vec<MessagesView>,
    sides: [SideView; 2],
    /// The types of the states, by the side that receives in them.
    receiving: Vec<ReceivingView>,
    /// The states as the runtime sees them.
    states: Vec<StateView>,
    /// How sessions begin between processes, or nothing.
    start: String,
    /// The module of the robots, or nothing.
    pub(super) robots: String,
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

impl ProtocolView {
    /// The module of a checked protocol. `taken` contains the names of its states.
    pub fn of(
        checked: CheckedProtocol,
        options: &Options,
        derivable: &Derivable,
        taken: &BTreeSet<String>,
        plan: Option<Plan>,
        sizes: Option<&Sizes>,
    ) -> ProtocolView {
        let (program, protocol) = (checked.program(), checked.protocol());
        let file = program.file(protocol.file);
        let scope = NameScope {
            program,
            options,
            file: protocol.file,
            depth: 1,
            taken,
        };
        let waits = may_wait(protocol, super::ALWAYS_FIT);
        let states = States {
            checked,
            scope,
            derivable,
            waits: &waits,
            plan,
            sizes,
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
        let enums = protocol.states.iter();
        let enums =
            enums.filter_map(|state| Some(states.enum_of(state, state.active_side()?.dual())));
        let carried = states.carried();
        let tables = states.ids().zip(states.starts());
        let tables = tables.map(|(id, starts)| states.table(id, starts, &carried[id.index()]));
        ProtocolView {
            header: super::header(&file.path),
            docs: comment(0, "//!", lines),
            capacity,
            init: states.init(),
            enums: enums.collect(),
            sides: [Side::Client, Side::Server].map(|side| states.side(side)),
            receiving: [Side::Client, Side::Server]
                .into_iter()
                .filter_map(|side| states.receiving(side))
                .collect(),
            states: tables.collect(),
            start: states.remote_start(),
            robots: String::new(),
        }
    }
}

impl States<'_> {
    fn init(self) -> InitView {
        let start = self.protocol().start();
        let names = self.parameters(start);
        let name = Document::angle("pub fn init", words(&names)).flat();
        let end = |side: Side| {
            let path = format!("{}::{}", side.word(), type_name(&start.name));
            Document::angle(path, words(&names))
        };
        let result = Document::round("", vec![end(Side::Server), end(Side::Client)]);
        let pair = match start.active_side() {
            Some(Side::Client) => format!("(second, client::{}(first))", type_name(&start.name)),
            Some(Side::Server) => format!("(server::{}(first), second)", type_name(&start.name)),
            None => String::new(),
        };
        InitView {
            signature: signature(0, &name, &[], &result, &self.bounds(start, self.scope)),
            choices: self
                .ids()
                .filter(|id| self.checked.is_reachable(*id))
                .map(|id| self.protocol().state(id).messages.len())
                .max()
                .unwrap_or_default(),
            slot: self.payloads(&names),
            slot_head: signature(
                4,
                &Document::angle("pub const fn slot", words(&names)).flat(),
                &[],
                &Document::word("::duologue::generated::Slot"),
                &self.bounds(start, self.scope.inside(1)),
            ),
            slot_call: slot_of("state::slot", &names).laid_out(4, 15, 3),
            is_over: start.active_side().is_none(),
            pair,
        }
    }

    /// The statements that fit the slot to every payload type that a session can carry, in terms of the start state's parameters.
    fn payloads(self, names: &[String]) -> Vec<String> {
        let scope = self.scope.inside(1);
        let mut seen = BTreeSet::new();
        let mut all: Vec<Document> = Vec::new();
        for (state, arguments) in self.checked.instantiations() {
            for message in &self.protocol().state(state).messages {
                let types = message.entries.iter();
                let types: Vec<Type> = types.map(|entry| entry.ty.substitute(&arguments)).collect();
                let payload = payload(scope.types(&types, names));
                if !types.is_empty() && seen.insert(payload.flat()) {
                    all.push(Document::angle("slot.fit::", vec![payload]));
                }
            }
        }
        let last = all.len().saturating_sub(1);
        let all = all.iter().enumerate();
        let line = |(at, fit): (usize, &Document)| match at == last {
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
            let mut types = self.entries(message, &names, self.scope);
            types.extend(self.next(
                message,
                &names,
                self.scope,
                &format!("{}::", receiver.word()),
            ));
            let names = fields::of_message(&message.entries);
            let document = Document::variant(type_name(&message.name), names, types);
            let docs = message_docs(self.scope.program, state, message);
            let docs = docs.iter().map(AsRef::as_ref);
            (comment(4, "///", docs), document)
        };
        let variants = variants(state.messages.iter().map(variant).collect()).into_iter();
        let variants = variants.map(|(docs, text)| VariantView { docs, text });
        let mut entries = state.messages.iter().flat_map(|message| &message.entries);
        MessagesView {
            docs: state_comment(0, state, &sentence),
            is_debug: entries.all(|entry| self.derivable.is_debug(&entry.ty)),
            name: self.enum_name(state, &names),
            variants: variants.collect(),
        }
    }
}
