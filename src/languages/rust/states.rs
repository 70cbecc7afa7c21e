//! A state of a protocol and its messages, as the templates see them.

use super::derive::Derivable;
use super::docs::Docs;
use super::names::fields;
use super::names::methods::{method_names, shared_name};
use super::names::spelling::{
    NameScope, generics, parameter_names, tuple, turbofish, type_name, value_name,
};
use super::remote;
use crate::check::CheckedProtocol;
use crate::endpoint::{self, Edge, Endpoint, Series};
use crate::languages::limits::{message_docs, time_limit};
use crate::protocol::{Entry, Message, Next, Protocol, Side, State, StateId, Type};
use crate::wire::{Encoding, Plan, Sizes};
use std::collections::BTreeSet;

/// A sentence lists at most this many messages.
const MANY: usize = 8;

/// The states of a protocol, and where its module is.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) checked: CheckedProtocol<'a>,
    pub(super) scope: NameScope<'a>,
    pub(super) derivable: &'a Derivable,
    /// If the protocol can leave the process.
    pub(super) plan: Option<Plan>,
    /// The sizes of payloads, if anything can leave the process.
    pub(super) sizes: Option<&'a Sizes>,
}

/// A state. A type in it is named from the modules inside the protocol's module, unless it says `outer`.
pub(super) struct StateView {
    /// The name in the protocol, and with package and protocol.
    pub(super) text: String,
    pub(super) path: String,
    pub(super) docs: Docs,
    /// The sentence about its time limit, and the limit in milliseconds.
    pub(super) limit: Option<String>,
    pub(super) within: Option<u64>,
    /// `Totals`, `<K, V>` and `Totals<K, V>`.
    pub(super) name: String,
    pub(super) generics: String,
    pub(super) ty: String,
    /// The generics of the enum with its messages, which has only the parameters that it uses: Rust rejects others.
    pub(super) enum_generics: String,
    /// Its parameters as one type.
    pub(super) tuple: String,
    pub(super) parameters: Vec<ParameterView>,
    /// The side that sends and the one that receives; empty in a terminal state.
    pub(super) sender: &'static str,
    pub(super) receiver: &'static str,
    /// Whether its messages can be written for debugging.
    pub(super) is_debug: bool,
    /// Whether a send may have to wait, and so has a method that does not.
    pub(super) waits: bool,
    /// Whether a message may be followed by another in the same direction.
    pub(super) stays: bool,
    /// The shared sender, if there may be several senders.
    pub(super) shared: Option<String>,
    /// What its sessions start with, if that is always the same.
    pub(super) session: Option<SessionView>,
    pub(super) series: Option<Series>,
    /// Whether sessions between processes reach it, and whether they can begin in it.
    pub(super) leaves: bool,
    pub(super) opens: bool,
    pub(super) messages: Vec<MessageView>,
    /// How many messages there are, whether these are too many for a sentence, and whether each index that a byte can hold is that
    /// of one.
    pub(super) count: usize,
    pub(super) has_many: bool,
    pub(super) is_full: bool,
    pub(super) is_terminal: bool,
}

pub(super) struct ParameterView {
    pub(super) name: String,
    pub(super) bounds: String,
    pub(super) outer_bounds: String,
    /// Whether a message from here on carries values of it. The argument for any other may be a type without an encoding.
    pub(super) is_carried: bool,
}

pub(super) struct SessionView {
    /// The arguments of the function that creates the slot, with `::`.
    pub(super) turbofish: String,
    /// Whether the side that sends here also sends first.
    pub(super) is_first: bool,
}

pub(super) struct MessageView {
    pub(super) index: usize,
    /// The name in the protocol.
    pub(super) text: String,
    pub(super) docs: Docs,
    /// The variant of the enum.
    pub(super) variant: String,
    /// The methods that send it: one that blocks the thread, one for tasks, and one that never waits.
    pub(super) method: String,
    pub(super) async_method: String,
    pub(super) try_method: String,
    pub(super) entries: Vec<EntryView>,
    /// Whether the fields of the variant have names.
    pub(super) is_named: bool,
    /// The payload: its type, the parameters of the methods and the fields of the variant.
    pub(super) payload: String,
    pub(super) values: String,
    pub(super) fields: String,
    /// The fields of the variant, with that of the next endpoint.
    pub(super) parts: Vec<String>,
    /// The endpoint that follows; `None` at the end of the protocol.
    pub(super) next: Option<NextView>,
    /// Its name and its type at the same side.
    pub(super) next_name: String,
    pub(super) next_ty: String,
    /// Whether the same side sends the next message, and whether the other one does.
    pub(super) stays: bool,
    pub(super) turns: bool,
    /// How a far end encodes the payload, if that has bounds.
    pub(super) limit: Option<remote::Limit>,
}

pub(super) struct EntryView {
    /// The parameter of a method.
    pub(super) name: String,
    /// The field of the enum's variant.
    pub(super) field: String,
    pub(super) ty: String,
    pub(super) outer_ty: String,
}

pub(super) struct NextView {
    pub(super) ty: String,
    pub(super) outer_ty: String,
    /// `Finish`, `Stay` or `Turn`.
    pub(super) edge: &'static str,
}

impl<'a> States<'a> {
    pub(super) fn protocol(self) -> &'a Protocol {
        self.checked.protocol()
    }

    /// All states.
    pub(super) fn views(self) -> Vec<StateView> {
        let protocol = self.protocol();
        let waits = endpoint::may_wait(protocol, super::ALWAYS_FIT);
        let (starts, carried) = (self.starts(), remote::carried(&protocol.states));
        let view = |(id, starts): (StateId, Option<Vec<usize>>)| {
            let at = id.index();
            self.view(id, waits[at], starts, &carried[at])
        };
        protocol.state_ids().zip(starts).map(view).collect()
    }

    fn view(
        self,
        id: StateId,
        waits: bool,
        starts: Option<Vec<usize>>,
        carried: &[bool],
    ) -> StateView {
        let protocol = self.protocol();
        let state = protocol.state(id);
        let sender = state.active_side();
        let (name, inner) = (type_name(&state.name), self.scope.inside(1));
        let names = parameter_names(state, self.scope.taken);
        let parameters = state.parameters.iter().zip(&names).zip(carried);
        let parameters = parameters.map(|((parameter, name), is_carried)| ParameterView {
            name: name.clone(),
            bounds: inner.bounds(parameter),
            outer_bounds: self.scope.bounds(parameter),
            is_carried: *is_carried,
        });
        let used: Vec<String> = used_parameters(state).map(|at| names[at].clone()).collect();
        let file = self.scope.program.file(protocol.file);
        let path = file.package.iter().chain([&protocol.name, &state.name]);
        let path: Vec<&str> = path.map(|segment| segment.text()).collect();
        let mut entries = state.messages.iter().flat_map(|message| &message.entries);
        let encodings = self.sizes.map(|sizes| sizes.messages(state, &[]).collect());
        let encodings: Vec<Encoding> = encodings.unwrap_or_default();
        let messages = state.messages.iter().zip(method_names(state)).enumerate();
        let messages = messages.map(|(index, (message, methods))| {
            let encoding = encodings.get(index).copied();
            self.message(state, index, message, methods, &names, encoding)
        });
        let can_be_shared = |side| Endpoint::of(protocol, side).can_be_shared(id);
        StateView {
            text: state.name.text().to_owned(),
            path: path.join("."),
            docs: Docs::of_item(&state.docs),
            limit: time_limit(state),
            within: state.within.map(|limit| limit.most),
            ty: name.clone() + &generics(&names),
            generics: generics(&names),
            enum_generics: generics(&used),
            tuple: tuple(&names),
            parameters: parameters.collect(),
            sender: sender.map_or("", Side::word),
            receiver: sender.map_or("", |side| side.dual().word()),
            is_debug: entries.all(|entry| self.derivable.is_debug(&entry.ty)),
            waits,
            stays: endpoint::may_stay(protocol, state),
            shared: sender
                .filter(|side| can_be_shared(*side))
                .map(|_| shared_name(state, self.scope.taken)),
            session: starts.map(|starts| {
                let starts: Vec<String> = starts.into_iter().map(|at| names[at].clone()).collect();
                SessionView {
                    turbofish: turbofish(&starts),
                    is_first: sender == protocol.start().active_side(),
                }
            }),
            series: endpoint::series(protocol, id),
            leaves: self.plan.is_some() && self.checked.is_reachable(id),
            opens: self.plan.is_some() && id == StateId::new(0),
            messages: messages.collect(),
            count: state.messages.len(),
            has_many: state.messages.len() > MANY,
            is_full: state.messages.len() == 256,
            is_terminal: sender.is_none(),
            name,
        }
    }

    fn message(
        self,
        state: &State,
        index: usize,
        message: &Message,
        [method, async_method, try_method]: [String; 3],
        parameters: &[String],
        encoding: Option<Encoding>,
    ) -> MessageView {
        let (outer, inner) = (self.scope, self.scope.inside(1));
        let entries = message.entries.iter().map(|entry| EntryView {
            name: value_name(&entry.name),
            field: fields::of_entry(entry),
            ty: inner.ty(&entry.ty, parameters),
            outer_ty: outer.ty(&entry.ty, parameters),
        });
        let entries: Vec<EntryView> = entries.collect();
        let all = |part: fn(&EntryView) -> &String| -> Vec<String> {
            entries.iter().map(part).cloned().collect()
        };
        let following = endpoint::next(self.protocol(), &message.next);
        let next_name = following.map_or(String::new(), |state| type_name(&state.name));
        let edge = Edge::of(state, following);
        let next = match &message.next {
            Next::End | Next::Error => None,
            Next::State { arguments, .. } => {
                let ty = |scope: NameScope| {
                    next_name.clone() + &generics(&scope.types(arguments, parameters))
                };
                Some(NextView {
                    ty: ty(inner),
                    outer_ty: ty(outer),
                    edge: match edge {
                        Edge::End => "Finish",
                        Edge::Stay => "Stay",
                        Edge::Turn => "Turn",
                    },
                })
            }
        };
        let mut parts = all(|entry| &entry.field);
        let fields = tuple(&parts);
        parts.extend(next.iter().map(|_| fields::NEXT.to_owned()));
        MessageView {
            index,
            text: message.name.text().to_owned(),
            docs: Docs::of_item(&message_docs(self.scope.program, state, message)),
            variant: type_name(&message.name),
            method,
            async_method,
            try_method,
            is_named: Entry::are_named(&message.entries),
            next_name,
            next_ty: next
                .as_ref()
                .map_or("()".to_owned(), |next| next.ty.clone()),
            stays: edge == Edge::Stay,
            turns: edge == Edge::Turn,
            payload: tuple(&all(|entry| &entry.ty)),
            values: tuple(&all(|entry| &entry.name)),
            fields,
            parts,
            next,
            limit: remote::limit(self.scope.program, self.sizes, message, encoding),
            entries,
        }
    }

    /// For each state, the positions of the start state's parameters among the state's own. `None` if the state does not have all
    /// of them with at least the bounds of the start: then it cannot name the arguments with which its sessions started. Also
    /// `None` for a state that no session reaches.
    fn starts(self) -> Vec<Option<Vec<usize>>> {
        let mut reached = vec![Vec::new(); self.protocol().states.len()];
        for (state, arguments) in self.checked.instantiations() {
            reached[state.index()].push(arguments);
        }
        let start = &self.protocol().start().parameters;
        let place = |state: &State, all: &[Vec<Type>], parameter: usize| {
            let is_it = |ty: &Type| matches!(ty, Type::Parameter(it) if *it as usize == parameter);
            let at = all.first()?.iter().position(is_it)?;
            let is_always = all.iter().all(|arguments| is_it(&arguments[at]));
            let known = &state.parameters[at].bounds;
            let mut bounds = start[parameter].bounds.iter();
            (is_always && bounds.all(|bound| known.contains(bound))).then_some(at)
        };
        let places = |(state, all): (&State, Vec<Vec<Type>>)| {
            let is_reached = !all.is_empty();
            let all = || (0..start.len()).map(|it| place(state, &all, it)).collect();
            is_reached.then(all)?
        };
        let states = self.protocol().states.iter();
        states.zip(reached).map(places).collect()
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
    let types = state.messages.iter().flat_map(Message::types);
    types.for_each(|ty| ty.walk(&mut note));
    used.into_iter()
}
