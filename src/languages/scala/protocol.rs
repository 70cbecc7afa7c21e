//! The file of a protocol: the classes of its messages, and those of both sides' endpoints.

use super::names::object_scope::{ObjectScope, nested, tuple_paths, type_arguments};
use super::names::spelling::{self, entry_name, method_name, type_name};
use super::payload::{Check, Moved, check, is_object, moved, number};
use super::remote::{RemoteView, WirePayload, capacity};
use super::view::{Head, Parameters, docs};
use super::wire::Codec;
use crate::check::CheckedProtocol;
use crate::endpoint::{self, Activity, Edge, Endpoint, receiver};
use crate::languages::limits::{message_docs, state_docs};
use crate::protocol::{Builtin, Message, Next, Protocol, Side, State, Type};
use askama::Template;

/// A method of the JVM has at most 64 KiB of code, and taking a value out of a payload needs about 16 bytes of it. A state with
/// more values than this has one method per [`MESSAGES_IN_ONE_METHOD`] messages, none of which has more than a hundred values.
const VALUES_IN_ONE_METHOD: usize = 1_500;
const MESSAGES_IN_ONE_METHOD: usize = 16;

#[derive(Template)]
#[template(path = "scala/protocol.scala.jinja")]
pub struct ProtocolView<'a> {
    head: Head<'a>,
    docs: Vec<String>,
    object: String,
    /// The name as it is written.
    name: &'a str,
    /// The version of the runtime, so that compiling against another one fails.
    runtime: &'static str,
    /// The class of the first endpoints, and its type parameters.
    start: String,
    parameters: String,
    is_over: bool,
    client_speaks: bool,
    capacity: usize,
    states: Vec<StateView>,
    sides: [SideView<'a>; 2],
    group_size: usize,
    /// What a method returns after which the session is over.
    unit: String,
    /// Whether the objects of instances need a way to create the first endpoints.
    is_opened: bool,
    remote: Option<RemoteView>,
    /// The text of the object with robots.
    robots: Option<String>,
}

/// The messages of a state.
struct StateView {
    docs: Vec<String>,
    name: String,
    parameters: String,
    messages: Vec<MessageView>,
}

struct MessageView {
    docs: Vec<String>,
    name: String,
    is_object: bool,
    fields: Parameters,
    /// The object of the protocol, as the class refers to it.
    this: String,
}

/// The endpoints of a side.
struct SideView<'a> {
    name: &'static str,
    is_client: bool,
    endpoints: Vec<EndpointView<'a>>,
}

struct EndpointView<'a> {
    docs: Vec<String>,
    name: String,
    parameters: String,
    /// The object in which endpoints can be created, unless something else there has the same name.
    owner: Option<String>,
    /// The state.
    written: &'a str,
    /// The names of the messages; empty if there are none, or too many for a class file.
    messages: String,
    kind: EndpointKind,
}

enum EndpointKind {
    Over,
    Sends {
        is_shareable: bool,
        methods: Vec<MethodView>,
    },
    Receives {
        received: String,
        /// Whether the method delegates to one for each group.
        is_split: bool,
        groups: Vec<GroupView>,
    },
}

/// How one message is sent.
struct MethodView {
    docs: Vec<String>,
    name: String,
    fields: Parameters,
    /// The runtime's method, by the side that is active afterwards.
    then: &'static str,
    checks: Vec<Check>,
    is_moving: bool,
    payload: PayloadView,
    /// The class of the next endpoint.
    next: Option<String>,
}

enum PayloadView {
    Nothing,
    Number { builtin: Builtin, value: String },
    Object(Moved),
}

/// Received messages that one method builds.
struct GroupView {
    takes_payload: bool,
    takes_number: bool,
    arms: Vec<ArmView>,
}

/// How one message is built from a received payload.
struct ArmView {
    index: usize,
    class: String,
    is_object: bool,
    /// The type of the payload if it is a tuple.
    tuple: Option<String>,
    values: Vec<ValueView>,
    next: Option<String>,
}

enum ValueView {
    /// A number, with the other name that its type may have.
    Number {
        builtin: Builtin,
        distinct: Option<String>,
    },
    /// The whole payload.
    Object(String),
    /// A part of the tuple.
    Part(String),
}

impl<'a> ProtocolView<'a> {
    pub fn of(
        checked: CheckedProtocol<'a>,
        scope: &mut ObjectScope<'a>,
        remote: Option<RemoteView>,
        robots: Option<String>,
    ) -> ProtocolView<'a> {
        let whole = scope.whole;
        let protocol = checked.protocol();
        let object = spelling::object_name(protocol.name.text());
        let sides = Side::BOTH;
        let names = sides.map(|side| whole.side_object(checked.id(), side));
        let mut writer = Writer {
            scope,
            protocol,
            object: object.clone(),
            sides: names,
        };
        let states = protocol.states.iter();
        let states = states.filter(|state| state.active_side().is_some());
        let states = states.map(|state| writer.messages(state)).collect();
        let sides = sides.map(|side| SideView {
            name: names[usize::from(side == Side::Server)],
            is_client: side == Side::Client,
            endpoints: writer.endpoints(side),
        });
        let start = protocol.start();
        writer.scope.enter(start);
        let parameters = writer.scope.parameter_list();
        ProtocolView {
            head: Head::of(whole, protocol.file),
            docs: docs(&protocol.docs),
            object,
            name: protocol.name.text(),
            runtime: concat!(
                env!("CARGO_PKG_VERSION_MAJOR"),
                "_",
                env!("CARGO_PKG_VERSION_MINOR")
            ),
            start: type_name(start.name.text()),
            is_over: start.direction.is_none(),
            client_speaks: start.active_side() == Some(Side::Client),
            capacity: capacity(checked),
            states,
            sides,
            group_size: MESSAGES_IN_ONE_METHOD,
            unit: writer.scope.standard("Unit"),
            is_opened: whole.options.remote && !parameters.is_empty(),
            parameters,
            remote,
            robots,
        }
    }
}

/// One protocol, while the views of its parts are made.
struct Writer<'s, 'a> {
    scope: &'s mut ObjectScope<'a>,
    protocol: &'a Protocol,
    object: String,
    /// The objects with the endpoints of the client and the server.
    sides: [&'static str; 2],
}

impl<'a> Writer<'_, 'a> {
    /// The object, as code inside of it refers to it.
    fn this(&self) -> String {
        self.scope.object(self.scope.file, &self.object)
    }

    fn fields(&self, message: &Message) -> Vec<(String, String)> {
        let entries = message.entries.iter();
        let field = |name, ty| (entry_name(name), self.scope.payload_type(ty));
        entries
            .map(|entry| field(entry.name.text(), &entry.ty))
            .collect()
    }

    /// The class of the endpoint that follows a message, without the side.
    fn next(&self, message: &Message) -> Option<String> {
        let Next::State { state, arguments } = &message.next else {
            return None;
        };
        let arguments = arguments.iter().map(|ty| self.scope.payload_type(ty));
        let name = type_name(self.protocol.state(*state).name.text());
        Some(name + &type_arguments(&arguments.collect::<Vec<_>>()))
    }

    fn messages(&mut self, state: &'a State) -> StateView {
        self.scope.enter(state);
        let messages = state.messages.iter();
        StateView {
            docs: docs(&state_docs(state)),
            name: type_name(state.name.text()),
            messages: messages.map(|one| self.message(state, one)).collect(),
            parameters: self.scope.parameter_list(),
        }
    }

    /// The class of one message. The next endpoint in it belongs to the side that receives the message.
    fn message(&mut self, state: &State, message: &Message) -> MessageView {
        let names = message.entries.iter();
        let names = names.map(|entry| entry_name(entry.name.text()));
        self.scope.hide(names);
        let this = self.this();
        let mut fields = self.fields(message);
        if let Some(next) = self.next(message) {
            let side = self.sides[usize::from(receiver(state) == Side::Server)];
            let is_hidden = fields.iter().any(|(name, _)| name == side);
            let path = if is_hidden {
                format!("{this}.{side}.{next}")
            } else {
                format!("{side}.{next}")
            };
            fields.push(("next".to_owned(), path));
        }
        MessageView {
            docs: docs(&message_docs(self.scope.whole.program, state, message)),
            name: type_name(message.name.text()),
            is_object: is_object(message, !self.scope.parameters.is_empty()),
            fields: Parameters::of(fields.into_iter()),
            this,
        }
    }

    fn endpoints(&mut self, side: Side) -> Vec<EndpointView<'a>> {
        let own = Endpoint::of(self.protocol, side);
        let views = self.protocol.state_ids().map(|id| {
            let state = self.protocol.state(id);
            self.scope.enter(state);
            self.scope.hide(std::iter::empty());
            let kind = match own.activity(id) {
                Activity::Over => EndpointKind::Over,
                Activity::Receives => {
                    let groups = self.groups(state);
                    EndpointKind::Receives {
                        received: self.received(state),
                        is_split: groups.len() > 1,
                        groups,
                    }
                }
                Activity::Sends => {
                    let messages = state.messages.iter();
                    EndpointKind::Sends {
                        is_shareable: own.can_be_shared(id),
                        methods: messages.map(|one| self.method(state, one)).collect(),
                    }
                }
            };
            self.endpoint(state, kind)
        });
        views.collect()
    }

    fn endpoint(&self, state: &'a State, kind: EndpointKind) -> EndpointView<'a> {
        let name = type_name(state.name.text());
        // Inside `object client`, `private[client]` would refer to that object, which does not contain `init`.
        let is_nearer = self.object == name || self.sides.contains(&self.object.as_str());
        let messages: Vec<&str> = state.messages.iter().map(|one| one.name.text()).collect();
        // A class file has no longer text than 65,535 bytes.
        let messages = Some(messages.join(" ")).filter(|names| names.len() <= 60_000);
        EndpointView {
            docs: docs(&state_docs(state)),
            name,
            parameters: self.scope.parameter_list(),
            owner: (!is_nearer).then(|| self.object.clone()),
            written: state.name.text(),
            messages: messages.unwrap_or_default(),
            kind,
        }
    }

    fn method(&mut self, state: &State, message: &Message) -> MethodView {
        let whole = self.scope.whole;
        let name = |message: &Message| method_name(message.name.text());
        let fields = message.entries.iter();
        let fields: Vec<String> = fields.map(|entry| entry_name(entry.name.text())).collect();
        let methods = state.messages.iter().map(name);
        self.scope.hide(methods.chain(fields.iter().cloned()));
        let entries = || message.entries.iter().zip(&fields);
        let checks =
            entries().flat_map(|(entry, field)| check(whole, &entry.ty, entry.name.text(), field));
        let values = entries().map(|(entry, field)| moved(whole, &entry.ty, field));
        let payload = match (fields.as_slice(), self.number(message)) {
            ([], _) => PayloadView::Nothing,
            ([value], Some(builtin)) => PayloadView::Number {
                builtin,
                value: value.clone(),
            },
            ([_], None) => values.map(PayloadView::Object).next().expect("it has one"),
            _ => PayloadView::Object(nested(values.collect(), &Moved::Tuple)),
        };
        MethodView {
            docs: docs(&message_docs(whole.program, state, message)),
            name: name(message),
            then: match Edge::of(state, endpoint::next(self.protocol, &message.next)) {
                Edge::End => "end",
                Edge::Stay => "stay",
                Edge::Turn => "turn",
            },
            checks: checks.collect(),
            is_moving: entries().any(|(entry, _)| whole.holds_endpoints(&entry.ty)),
            payload,
            fields: Parameters::of(self.fields(message).into_iter()),
            next: self.next(message),
        }
    }

    fn number(&self, message: &Message) -> Option<Builtin> {
        number(
            self.scope.whole,
            message.entries.iter().map(|entry| &entry.ty),
        )
    }

    /// What `recv` returns: the message itself if there is only one, so that no match is needed.
    fn received(&self, state: &State) -> String {
        let (this, name) = (self.this(), type_name(state.name.text()));
        let parameters = self.scope.parameter_list();
        match state.messages.as_slice() {
            [only] => {
                let is_object = is_object(only, !parameters.is_empty());
                let tail = if is_object { ".type" } else { &parameters };
                format!("{this}.{name}.{}{tail}", type_name(only.name.text()))
            }
            _ => format!("{this}.{name}{parameters}"),
        }
    }

    /// The methods that build received messages: one, or those to which it delegates in large states.
    fn groups(&self, state: &State) -> Vec<GroupView> {
        let values = state.messages.iter().map(|message| message.entries.len());
        let size = if values.sum::<usize>() > VALUES_IN_ONE_METHOD {
            MESSAGES_IN_ONE_METHOD
        } else {
            state.messages.len()
        };
        let messages: Vec<_> = state.messages.iter().enumerate().collect();
        let rest = messages.is_empty().then_some(&[][..]);
        let groups = messages.chunks(size.max(1)).chain(rest).map(|group| {
            let is_number = |message| self.number(message).is_some();
            // A private method must not have a parameter that it does not use.
            GroupView {
                takes_payload: (group.iter())
                    .any(|(_, message)| !message.entries.is_empty() && !is_number(message)),
                takes_number: group.iter().any(|(_, message)| is_number(message)),
                arms: (group.iter())
                    .map(|(index, message)| self.arm(state, *index, message))
                    .collect(),
            }
        });
        groups.collect()
    }

    fn arm(&self, state: &State, index: usize, message: &Message) -> ArmView {
        let types: Vec<&Type> = message.entries.iter().map(|entry| &entry.ty).collect();
        let payload = self.scope.payload(types.iter().copied());
        let parameters = self.scope.parameter_list();
        let values = match (types.as_slice(), self.number(message)) {
            ([only], Some(builtin)) => vec![ValueView::Number {
                builtin,
                distinct: self.scope.distinct(only),
            }],
            ([_], None) => vec![ValueView::Object(payload.clone())],
            _ => tuple_paths(types.len())
                .into_iter()
                .map(ValueView::Part)
                .collect(),
        };
        let (state, name) = (type_name(state.name.text()), type_name(message.name.text()));
        ArmView {
            index,
            class: format!("{}.{state}.{name}{parameters}", self.this()),
            is_object: is_object(message, !parameters.is_empty()),
            tuple: (types.len() > 1).then_some(payload),
            values,
            next: self.next(message),
        }
    }
}
