//! What the template of a protocol's module is given: finished text, one state at a time.

use super::derive::Derivable;
use super::docs::{alternatives, comment, with_sentence};
use super::layout::{Piece, chain, definition, head, signature};
use super::spelling::{Here, parameter_names, prelude, type_name, value_name};
use crate::check::CheckedProtocol;
use crate::endpoint::{Activity, Endpoint};
use crate::graph::Capacity;
use crate::protocol::{Direction, Message, Next, Protocol, Side, State, StateId, Type};
use crate::target::Options;
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
}

/// The states of a protocol, from which the views of single states are made when the template comes to them.
#[derive(Clone, Copy)]
struct States<'a> {
    checked: CheckedProtocol<'a>,
    here: Here<'a>,
    derivable: &'a Derivable,
}

struct InitView {
    signature: String,
    slot: Vec<String>,
    is_over: bool,
    pair: String,
}

struct SideView<'a> {
    name: &'static str,
    states: States<'a>,
    side: Side,
}

/// The enum of a state's messages.
struct MessagesView {
    docs: String,
    is_debug: bool,
    name: String,
    variants: Vec<VariantView>,
}

struct VariantView {
    docs: String,
    text: String,
}

/// One side's endpoint in a state.
struct EndpointView {
    docs: String,
    /// For a sending endpoint the newtype, otherwise the alias.
    declaration: String,
    is_sending: bool,
    methods_head: String,
    methods: Vec<MethodView>,
    name: String,
}

struct MethodView {
    docs: String,
    signature: String,
    body: String,
}

/// A state and its messages as the runtime sees them.
struct StateView {
    declaration: String,
    is_terminal: bool,
    head: String,
    message: String,
    name: String,
    arms: Vec<ArmView>,
}

struct ArmView {
    index: usize,
    names: String,
    value: String,
    head: String,
    payload: String,
    next: String,
}

impl<'a> ProtocolView<'a> {
    /// The module of a checked protocol. `taken` are the names that its states take.
    pub fn of(
        checked: CheckedProtocol<'a>,
        options: &'a Options,
        derivable: &'a Derivable,
        taken: &'a BTreeSet<String>,
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
            states,
        }
    }
}

impl<'a> States<'a> {
    fn protocol(self) -> &'a Protocol {
        self.checked.protocol()
    }

    fn ids(self) -> impl Iterator<Item = StateId> + use<'a> {
        self.protocol().state_ids()
    }

    /// The enums of all states that have a direction.
    fn messages(self) -> impl Iterator<Item = MessagesView> + use<'a> {
        let states = self.protocol().states.iter();
        states.filter_map(move |state| Some(self.enum_of(state, state.direction?)))
    }

    fn tables(self) -> impl Iterator<Item = StateView> + use<'a> {
        self.protocol()
            .states
            .iter()
            .map(move |state| self.table(state))
    }

    fn parameters(self, state: &State) -> Vec<String> {
        parameter_names(state, self.here.taken)
    }

    /// `T: Send` and so on, one text per parameter.
    fn bounds(self, state: &State, here: Here) -> Vec<String> {
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
        let name = Piece::angle("init", words(&names)).flat();
        let end = |side: Side| {
            let path = format!("{}::{}", side.word(), type_name(&start.name));
            Piece::angle(path, words(&names))
        };
        let result = Piece::round("", vec![end(Side::Server), end(Side::Client)]);
        let pair = match start.direction {
            Some(Direction::Send) => format!("(second, client::{}(first))", type_name(&start.name)),
            Some(Direction::Recv) => format!("(server::{}(first), second)", type_name(&start.name)),
            None => String::new(),
        };
        InitView {
            signature: signature(0, &name, &[], &result, &self.bounds(start, self.here)),
            slot: self.payloads(&names),
            is_over: start.direction.is_none(),
            pair,
        }
    }

    /// Every payload type that a session can carry, in terms of the start's parameters.
    fn payloads(self, names: &[String]) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for (state, arguments) in self.checked.instantiations() {
            for message in &self.protocol().state(state).messages {
                let types = message.entries.iter();
                let types: Vec<Type> = types.map(|entry| entry.ty.substitute(&arguments)).collect();
                let payload = payload(self.here.types(&types, names)).flat();
                if !types.is_empty() && seen.insert(payload.clone()) {
                    all.push(payload);
                }
            }
        }
        all
    }

    fn enum_of(self, state: &State, direction: Direction) -> MessagesView {
        let receiver = match direction {
            Direction::Send => Side::Server,
            Direction::Recv => Side::Client,
        };
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
            let text = call(type_name(&message.name), fields);
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

    /// The enum of a state with the parameters that it uses: Rust wants no others.
    fn enum_name(self, state: &State, names: &[String]) -> String {
        Piece::angle(
            type_name(&state.name),
            words(used_parameters(state).map(|at| &names[at])),
        )
        .flat()
    }

    fn entries(self, message: &Message, names: &[String], here: Here) -> Vec<Piece> {
        message
            .entries
            .iter()
            .map(|entry| here.ty(&entry.ty, names))
            .collect()
    }

    /// The endpoint after a message, behind the path to its side's module; `None` after the last message.
    fn next(self, message: &Message, names: &[String], here: Here, path: &str) -> Option<Piece> {
        let Next::State { state, arguments } = &message.next else {
            return None;
        };
        let next = type_name(&self.protocol().state(*state).name);
        Some(Piece::angle(
            format!("{path}{next}"),
            here.types(arguments, names),
        ))
    }

    fn table(self, state: &State) -> StateView {
        let here = self.here.inside(1);
        let (names, bounds) = (self.parameters(state), self.bounds(state, here));
        let own = type_name(&state.name);
        let ty = Piece::angle(own.as_str(), words(&names)).flat();
        let declaration = if names.is_empty() {
            format!("pub enum {own} {{}}")
        } else {
            let all = payload(words(&names)).flat();
            let marker = Piece::word(format!("::std::marker::PhantomData<fn({all}) -> {all}>"));
            Piece::round(format!("pub struct {ty}"), vec![marker]).laid_out(4, 4, 1) + ";"
        };
        let implementation = Piece::angle("impl", words(&names)).flat();
        let arm = |(index, message): (usize, &Message)| {
            let transition = format!("{implementation} ::duologue::Transition<{index}> for {ty}");
            self.arm(index, message, state, &names, head(4, &transition, &bounds))
        };
        let file = self.here.program.file(self.protocol().file);
        let path = file.package.iter().map(|segment| segment.text());
        let path = path.chain([self.protocol().name.text(), state.name.text()]);
        let name = format!("\"{}\"", path.collect::<Vec<_>>().join("."));
        let message = Piece::word(format!("super::{}", self.enum_name(state, &names)));
        StateView {
            declaration,
            is_terminal: state.direction.is_none(),
            head: head(
                4,
                &format!("{implementation} ::duologue::State for {ty}"),
                &bounds,
            ),
            message: definition(8, "type Message", &message),
            name: definition(8, "const NAME: &'static str", &Piece::word(name)),
            arms: state.messages.iter().enumerate().map(arm).collect(),
        }
    }

    fn arm(
        self,
        index: usize,
        message: &Message,
        state: &State,
        names: &[String],
        head: String,
    ) -> ArmView {
        let here = self.here.inside(1);
        let receiver = match state.direction {
            Some(Direction::Send) => Side::Server,
            Some(Direction::Recv) | None => Side::Client,
        };
        let payloads = self.entries(message, names, here);
        let mut fields: Vec<Piece> = match payloads.len() {
            0 => Vec::new(),
            1 => vec![Piece::word("with")],
            count => (0..count)
                .map(|at| Piece::word(format!("with.{at}")))
                .collect(),
        };
        let with = if fields.is_empty() { "()" } else { "with" };
        let (next, follows) = match &message.next {
            Next::End => ("()", Piece::word("::duologue::End")),
            Next::State {
                state: id,
                arguments,
            } => {
                let to = self.protocol().state(*id);
                let kind = match to.direction {
                    None => "Finish",
                    same if same == state.direction => "Stay",
                    _ => "Turn",
                };
                let endpoint = Endpoint::of(self.checked, receiver);
                fields.push(match endpoint.activity(*id) {
                    Activity::Sends => {
                        let wrap = format!("super::{}::{}", receiver.word(), type_name(&to.name));
                        Piece::round(wrap, vec![Piece::word("next")])
                    }
                    Activity::Receives | Activity::Over => Piece::word("next"),
                });
                let to = Piece::angle(type_name(&to.name), here.types(arguments, names));
                (
                    "next",
                    Piece::angle(format!("::duologue::{kind}"), vec![to]),
                )
            }
        };
        let variant = format!(
            "super::{}::{}",
            type_name(&state.name),
            type_name(&message.name)
        );
        ArmView {
            index,
            names: format!("({with}, {next})"),
            value: call(variant, fields).laid_out(20, 20, 0),
            head,
            payload: definition(8, "type Payload", &payload(payloads)),
            next: definition(8, "type Next", &follows),
        }
    }
}

impl<'a> SideView<'a> {
    fn docs(&self) -> String {
        let protocol = &self.states.protocol().name;
        comment(
            0,
            "///",
            [format!("The {}'s endpoints of `{protocol}`.", self.name).as_str()],
        )
    }

    fn endpoints(&self) -> impl Iterator<Item = EndpointView> + use<'a> {
        let (states, side) = (self.states, self.side);
        states.ids().map(move |id| states.endpoint(id, side))
    }
}

impl States<'_> {
    fn endpoint(self, id: StateId, side: Side) -> EndpointView {
        let state = self.protocol().state(id);
        let here = self.here.inside(1);
        let (names, own) = (self.parameters(state), type_name(&state.name));
        let ty = Piece::angle(own.as_str(), words(&names)).flat();
        let marker = Piece::angle(format!("super::state::{own}"), words(&names));
        let messages: Vec<&str> = state
            .messages
            .iter()
            .map(|message| message.name.text())
            .collect();
        let activity = Endpoint::of(self.checked, side).activity(id);
        let (sentence, declaration) = match activity {
            Activity::Sends => {
                let inner = Piece::angle("pub(super) ::duologue::Sender", vec![marker]);
                let newtype = Piece::round(format!("pub struct {ty}"), vec![inner]);
                (
                    format!("Sends {}.", alternatives(&messages)),
                    newtype.laid_out(4, 4, 1) + ";",
                )
            }
            Activity::Receives => {
                let inner = Piece::angle("::duologue::Receiver", vec![marker]);
                let alias = definition(4, &format!("pub type {ty}"), &inner);
                (format!("Waits for {}.", alternatives(&messages)), alias)
            }
            Activity::Over => {
                let inner = Piece::angle("::duologue::Finished", vec![marker]);
                (
                    "The session is over.".to_owned(),
                    definition(4, &format!("pub type {ty}"), &inner),
                )
            }
        };
        let is_sending = activity == Activity::Sends;
        let sent = if is_sending {
            state.messages.as_slice()
        } else {
            &[]
        };
        let methods = sent.iter().enumerate();
        let implementation = format!("{} {ty}", Piece::angle("impl", words(&names)).flat());
        EndpointView {
            docs: comment(4, "///", with_sentence(&state.docs, &sentence)),
            declaration,
            is_sending,
            methods_head: head(4, &implementation, &self.bounds(state, here)),
            methods: methods
                .map(|(index, message)| self.method(index, message, side, &names))
                .collect(),
            name: ty,
        }
    }

    fn method(self, index: usize, message: &Message, side: Side, names: &[String]) -> MethodView {
        let here = self.here.inside(1);
        let types = self.entries(message, names, here);
        let values: Vec<String> = message
            .entries
            .iter()
            .map(|entry| value_name(&entry.name))
            .collect();
        let mut parameters = vec!["self".to_owned()];
        let typed = values.iter().zip(&types);
        parameters.extend(typed.map(|(name, ty)| {
            let start = format!("{name}: ");
            let column = 12 + start.len();
            start + &ty.laid_out(12, column, 1)
        }));
        let next = self.next(message, names, here, "");
        let result = vec![
            next.unwrap_or(Piece::word("()")),
            Piece::angle("::duologue::SendError", vec![payload(types)]),
        ];
        let result = Piece::angle(prelude("Result", self.here.taken), result);
        let send = Piece::round(format!(".send::<{index}>"), vec![payload(words(&values))]);
        let mut calls = vec![send];
        if let Next::State { state, .. } = &message.next {
            if Endpoint::of(self.checked, side).activity(*state) == Activity::Sends {
                let wrap = type_name(&self.protocol().state(*state).name);
                calls.push(Piece::round(".map", vec![Piece::word(wrap)]));
            }
        }
        MethodView {
            docs: comment(8, "///", message.docs.iter().map(AsRef::as_ref)),
            signature: signature(8, &value_name(&message.name), &parameters, &result, &[]),
            body: chain(12, "self.0", &calls),
        }
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

/// What travels: `()`, the only value, or a tuple.
fn payload(mut types: Vec<Piece>) -> Piece {
    match types.len() {
        0 => Piece::word("()"),
        1 => types.remove(0),
        _ => Piece::round("", types),
    }
}

/// `head(fields)`, or only `head` without fields.
fn call(head: String, fields: Vec<Piece>) -> Piece {
    if fields.is_empty() {
        Piece::word(head)
    } else {
        Piece::round(head, fields)
    }
}

fn words<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<Piece> {
    names
        .into_iter()
        .map(|name| Piece::word(name.as_ref()))
        .collect()
}
