//! The classes of the endpoints: how messages are sent, and how received payloads become messages.

use super::layout::{Document, declaration, docs, fits};
use super::object_scope::{GENERATED, nested, tuple_paths};
use super::payload::{Number, check, moved, number, tuple};
use super::spelling;
use super::three;
use super::view::Writer;
use crate::endpoint::{self, Activity, Edge};
use crate::languages::limits::state_docs;
use crate::protocol::{Message, Next, Side, State, StateId, Type};
use askama::Template;

/// A sending endpoint.
#[derive(Template)]
#[template(path = "scala/sender.scala.jinja")]
pub struct SenderView {
    class: ClassView,
    methods: Vec<MethodView>,
}

/// A receiving endpoint.
#[derive(Template)]
#[template(path = "scala/receiver.scala.jinja")]
pub struct ReceiverView {
    class: ClassView,
    openers: Vec<OpenerView>,
}

/// A method that builds a message from a received payload.
struct OpenerView {
    signature: String,
    arms: Vec<ArmView>,
}

/// A method of the JVM has at most 64 KiB of code, and taking a value out of a payload needs about 16 bytes of it. A state with
/// more values than this has one method per [`MESSAGES_IN_ONE_METHOD`] messages, none of which has more than a hundred values.
const VALUES_IN_ONE_METHOD: usize = 1_500;
const MESSAGES_IN_ONE_METHOD: usize = 16;

/// An endpoint of a session that is over.
#[derive(Template)]
#[template(path = "scala/done.scala.jinja")]
pub struct DoneView {
    class: ClassView,
}

/// What the classes of all endpoints have in common.
pub struct ClassView {
    docs: String,
    name: String,
    parameters: String,
    access: String,
    base: String,
    state: String,
    /// The names of the messages as a literal; empty if there are none.
    messages: String,
    /// The name of the constructor parameter for the previous endpoint.
    previous: &'static str,
    /// Whether a shared sender can be created from it.
    is_shareable: bool,
}

/// The names of a state's messages as a literal. A class file has no longer text than 65,535 bytes.
fn messages(state: &State) -> String {
    let names: Vec<&str> = state.messages.iter().map(|one| one.name.text()).collect();
    let names = names.join(" ");
    if names.is_empty() || names.len() > 60_000 {
        return String::new();
    }
    spelling::literal(&names)
}

/// How one message is sent.
pub struct MethodView {
    docs: String,
    signature: String,
    is_short: bool,
    statements: Vec<String>,
}

/// How one message is built from a received payload.
pub struct ArmView {
    pattern: String,
    /// The type to which the payload is cast first, if it is a tuple.
    tuple: Option<String>,
    is_short: bool,
    message: String,
}

impl Writer<'_> {
    /// One endpoint, ready to be written.
    pub fn endpoint(&mut self, id: StateId) -> Box<dyn askama::DynTemplate> {
        let state = self.state(id);
        self.scope.hide(std::iter::empty());
        match self.endpoint.activity(id) {
            Activity::Over => {
                let class = self.class(state, "DoneEndpoint".to_owned());
                Box::new(DoneView { class })
            }
            Activity::Sends => {
                let class = ClassView {
                    is_shareable: self.endpoint.can_be_shared(id),
                    ..self.class(state, "SendEndpoint".to_owned())
                };
                let methods = state.messages.iter().enumerate();
                let methods: Vec<_> = methods
                    .map(|(index, message)| self.method(state, index, message))
                    .collect();
                Box::new(SenderView { class, methods })
            }
            Activity::Receives => {
                let received = self.received(state);
                let openers = self.openers(state, &received);
                let class = self.class(state, format!("RecvEndpoint[{received}]"));
                Box::new(ReceiverView { class, openers })
            }
        }
    }

    /// The method that builds a message from a received payload. In large states it delegates to the methods that follow it.
    fn openers(&self, state: &State, received: &str) -> Vec<OpenerView> {
        let any = self.scope.standard("Any");
        let int = self.scope.standard("Int");
        let long = self.scope.standard("Long");
        let both = format!(", payload: {any}, number: {long}");
        let opener = |head: &str, parameters: &str, subject: &str, arms: Vec<ArmView>| OpenerView {
            signature: format!("{head}(index: {int}{parameters}): {received} = {subject} match {{"),
            arms,
        };
        let arm = |(index, message)| self.arm(state, index, message);
        let messages = state.messages.iter().enumerate();
        let values: usize = state
            .messages
            .iter()
            .map(|message| message.entries.len())
            .sum();
        if values <= VALUES_IN_ONE_METHOD {
            return vec![opener(
                "protected def open",
                &both,
                "index",
                messages.map(arm).collect(),
            )];
        }
        let (mut calls, mut groups) = (Vec::new(), Vec::new());
        let messages: Vec<_> = messages.collect();
        for group in messages.chunks(MESSAGES_IN_ONE_METHOD) {
            // A private method must not have a parameter that it does not use.
            let of_numbers = |(_, message): &(usize, &Message)| self.number(message).is_some();
            let of_objects = |(_, message): &(usize, &Message)| {
                !message.entries.is_empty() && self.number(message).is_none()
            };
            let (parameters, arguments) =
                match (group.iter().any(of_objects), group.iter().any(of_numbers)) {
                    (true, true) => (both.clone(), "index, payload, number"),
                    (true, false) => (format!(", payload: {any}"), "index, payload"),
                    (false, true) => (format!(", number: {long}"), "index, number"),
                    (false, false) => (String::new(), "index"),
                };
            let name = format!("open${}", groups.len());
            calls.push(ArmView {
                pattern: format!("case {} =>", groups.len()),
                tuple: None,
                is_short: true,
                message: format!("{name}({arguments})"),
            });
            let arms = group.iter().copied().map(arm).collect();
            let head = format!("private def {name}");
            groups.push(opener(&head, &parameters, "index", arms));
        }
        let group_of = format!("index / {MESSAGES_IN_ONE_METHOD}");
        let first = opener("protected def open", &both, &group_of, calls);
        std::iter::once(first).chain(groups).collect()
    }

    fn class(&self, state: &State, base: String) -> ClassView {
        let name = spelling::type_name(state.name.text());
        // Inside `object client`, `private[client]` would refer to that object, which does not contain `init`.
        let sides = [Side::Client, Side::Server].map(|side| self.side_object(side));
        let is_nearer = self.object == name || sides.contains(&self.object.as_str());
        let access = if is_nearer {
            String::new()
        } else {
            format!("private[{}] ", self.object)
        };
        let mut methods = state.messages.iter().map(|message| &message.name);
        let is_taken = methods.any(|name| spelling::method_name(name.text()) == "previous");
        ClassView {
            previous: if is_taken { "$previous" } else { "previous" },
            docs: docs(&state_docs(state), 4),
            name,
            parameters: self.scope.parameter_list(),
            access,
            base,
            state: spelling::literal(state.name.text()),
            messages: messages(state),
            is_shareable: false,
        }
    }

    /// What `recv` returns: the message itself if there is only one, so that no match is needed.
    fn received(&self, state: &State) -> String {
        let any = format!("{}.{}", self.this(), spelling::type_name(state.name.text()));
        match state.messages.as_slice() {
            [only] => {
                let name = spelling::type_name(only.name.text());
                let tail = if self.is_object(only) {
                    ".type".to_owned()
                } else {
                    self.scope.parameter_list()
                };
                format!("{any}.{name}{tail}")
            }
            _ => any + &self.scope.parameter_list(),
        }
    }

    /// Whether a message is an object, because all its values are equal.
    fn is_object(&self, message: &Message) -> bool {
        let has_parameters = !self.scope.parameter_list().is_empty();
        !has_parameters && message.entries.is_empty() && message.next == Next::End
    }

    fn method(&mut self, state: &State, index: usize, message: &Message) -> MethodView {
        let whole = self.scope.whole;
        let names: Vec<String> = message
            .entries
            .iter()
            .map(|entry| spelling::entry_name(entry.name.text()))
            .collect();
        let methods = state
            .messages
            .iter()
            .map(|message| spelling::method_name(message.name.text()));
        self.scope.hide(methods.chain(names.iter().cloned()));
        let next = self.next(message);
        let unit = self.scope.standard("Unit");
        let is_moving = message
            .entries
            .iter()
            .any(|entry| whole.holds_endpoints(&entry.ty));

        let mut statements = Vec::new();
        if is_moving {
            statements.push(format!("val $moving = new {GENERATED}.Moving"));
        }
        let entries = message.entries.iter().zip(&names);
        statements.extend(
            entries
                .clone()
                .flat_map(|(entry, name)| check(whole, &entry.ty, entry.name.text(), name)),
        );
        let number = self.number(message);
        let payload = match &number {
            Some(number) => Document::word((number.encode)(&names[0])),
            None => tuple(
                entries
                    .map(|(entry, name)| moved(whole, &entry.ty, name))
                    .collect(),
            ),
        };
        let kind = if number.is_some() { "Number" } else { "" };
        let mut arguments = vec![
            Document::word("this"),
            Document::word(index.to_string()),
            payload,
        ];
        if is_moving {
            arguments.push(Document::word("$moving"));
        }
        let send = Document::application(
            format!("{GENERATED}.{}{kind}", self.then(state, message)),
            arguments,
        );
        let head = format!("def {}", spelling::method_name(message.name.text()));
        let fields = self.fields(message);
        let result = next.as_ref().unwrap_or(&unit);
        let one_line = declaration(&head, &fields, &format!(": {result} = {}", send.flat()), 6);
        let is_short = next.is_none() && statements.is_empty() && fits(6, &one_line);
        let signature = if is_short {
            one_line
        } else {
            statements.push(send.at(8));
            statements.extend(next.as_ref().map(|next| format!("new {next}(this)")));
            declaration(&head, &fields, &format!(": {result} = {{"), 6)
        };
        MethodView {
            docs: docs(&self.message_docs(state, message), 6),
            signature,
            is_short,
            statements,
        }
    }

    /// How the message's payload is encoded as a number, if it is one.
    fn number(&self, message: &Message) -> Option<Number> {
        let types: Vec<&Type> = message.entries.iter().map(|entry| &entry.ty).collect();
        number(self.scope.whole, &types)
    }

    /// The runtime's method for a message, by which side is active after it.
    fn then(&self, state: &State, message: &Message) -> &'static str {
        let next = endpoint::next(self.endpoint.protocol, &message.next);
        match Edge::of(state, next) {
            Edge::End => "end",
            Edge::Stay => "stay",
            Edge::Turn => "turn",
        }
    }

    fn arm(&self, state: &State, index: usize, message: &Message) -> ArmView {
        let types: Vec<String> = message
            .entries
            .iter()
            .map(|entry| self.scope.payload_type(&entry.ty))
            .collect();
        let next = self
            .next(message)
            .map(|next| Document::word(format!("new {next}(this)")));
        let paths = tuple_paths(types.len());
        let mut values: Vec<Document> = match types.as_slice() {
            [] => Vec::new(),
            [only] => vec![Document::word(self.number(message).map_or_else(
                || format!("payload.asInstanceOf[{only}]"),
                |number| three::converted(&self.scope, &message.entries[0].ty, number.decode),
            ))],
            _ => paths
                .iter()
                .map(|path| Document::word(format!("values{path}")))
                .collect(),
        };
        values.extend(next);
        let path = format!(
            "{}.{}.{}",
            self.this(),
            spelling::type_name(state.name.text()),
            spelling::type_name(message.name.text())
        );
        let message = if self.is_object(message) {
            Document::Word(path)
        } else {
            Document::application(path + &self.scope.parameter_list(), values)
        };
        let pattern = format!("case {index} =>");
        let is_tuple = types.len() > 1;
        let one_line = format!("{pattern} {}", message.flat());
        let is_short = !is_tuple && fits(8, &one_line);
        let tuple = is_tuple.then(|| nested(types, &|parts| format!("({})", parts.join(", "))));
        let message = if is_short {
            message.flat()
        } else {
            message.at(10)
        };
        ArmView {
            pattern,
            tuple,
            is_short,
            message,
        }
    }
}
