//! The views for the templates: finished text and plain booleans, for one piece of a file at a time.

use super::layout::{declaration, docs, extended, typed};
use super::object_scope::{GENERATED, ObjectScope, RUNTIME, type_arguments};
use super::spelling;
use crate::check::CheckedProtocol;
use crate::endpoint::{Activity, Endpoint, receiver};
use crate::graph::Capacity;
use crate::languages::limits::{message_docs, state_docs};
use crate::protocol::{Docs, Entry, Message, Next, Side, State, StateId};
use askama::Template;

/// The first lines of a file.
#[derive(Template)]
#[template(path = "scala/head.scala.jinja")]
pub struct Head<'a> {
    pub file: &'a str,
    pub docs: &'a [Box<str>],
    pub package: String,
    pub is_for_three: bool,
}

/// The object of a protocol, up to the messages.
#[derive(Template)]
#[template(path = "scala/protocol.scala.jinja")]
pub struct ProtocolView {
    docs: String,
    object: String,
    signature: String,
    start: String,
    server: String,
    client: String,
}

/// The messages of one state.
#[derive(Template)]
#[template(path = "scala/messages.scala.jinja")]
pub struct MessagesView {
    docs: String,
    head: String,
    name: String,
    messages: Vec<MessageView>,
}

/// The class of one message.
pub struct MessageView {
    docs: String,
    declaration: String,
}

/// One protocol, while its pieces are generated.
pub struct Writer<'a> {
    pub scope: ObjectScope<'a>,
    checked: CheckedProtocol<'a>,
    pub endpoint: Endpoint<'a>,
    pub object: String,
}

impl<'a> Writer<'a> {
    /// Starts with the client's side.
    pub fn new(scope: ObjectScope<'a>, checked: CheckedProtocol<'a>) -> Writer<'a> {
        let endpoint = Endpoint::of(checked.protocol(), Side::Client);
        let object = spelling::object_name(endpoint.protocol.name.text());
        Writer {
            scope,
            checked,
            endpoint,
            object,
        }
    }

    /// Moves on to one side.
    pub fn take(&mut self, side: Side) {
        self.endpoint = Endpoint::of(self.endpoint.protocol, side);
    }

    /// Moves on to one state.
    pub fn enter(&mut self, id: StateId) {
        self.scope.enter(self.state(id));
    }

    pub fn state(&self, id: StateId) -> &'a State {
        self.endpoint.protocol.state(id)
    }

    /// The object that holds a side's endpoints.
    pub fn side_object(&self, side: Side) -> &'static str {
        let id = self.checked.id();
        self.scope.whole.side_object(id, side)
    }

    /// The object, as code inside of it refers to it.
    pub fn this(&self) -> String {
        self.scope.object(self.scope.file, &self.object)
    }

    pub fn protocol(&mut self) -> ProtocolView {
        let protocol = self.endpoint.protocol;
        self.enter(StateId::new(0));
        self.scope.hide(std::iter::empty());
        let start = format!(
            "{}{}",
            spelling::type_name(protocol.start().name.text()),
            self.scope.parameter_list()
        );
        let capacity = match self.checked.capacity() {
            Capacity::Bounded(messages) => messages.max(1),
            Capacity::Unbounded => 0,
        };
        let name = spelling::literal(protocol.name.text());
        let client_speaks = self.endpoint.activity(StateId::new(0)) == Activity::Sends;
        let seats = match self.endpoint.activity(StateId::new(0)) {
            Activity::Over => format!("{RUNTIME}.over({name})"),
            Activity::Sends | Activity::Receives => {
                format!("{RUNTIME}.start({name}, {capacity}, clientSpeaks = {client_speaks})")
            }
        };
        let [client, server] = [Side::Client, Side::Server].map(|side| {
            let object = self.side_object(side);
            format!("{object}.{start}")
        });
        let result = format!(": ({server}, {client}) = {{");
        ProtocolView {
            docs: docs(&protocol.docs, 0),
            object: self.object.clone(),
            signature: declaration(
                &format!("def init{}", self.scope.parameter_list()),
                &[],
                &result,
                2,
            ),
            start: seats,
            server,
            client,
        }
    }

    pub fn messages(&mut self, id: StateId) -> MessagesView {
        let state = self.state(id);
        let messages = state
            .messages
            .iter()
            .map(|message| self.message(state, message));
        let messages = messages.collect();
        let name = spelling::type_name(state.name.text());
        let head = format!("sealed trait {name}{}", self.scope.parameter_list());
        MessagesView {
            docs: docs(&state_docs(state), 2),
            head: extended(&head, &format!("extends {GENERATED}.Message"), 2),
            name,
            messages,
        }
    }

    /// The class of one message. The next endpoint in it belongs to the side that receives the message.
    fn message(&mut self, state: &State, message: &Message) -> MessageView {
        let names = message
            .entries
            .iter()
            .map(|entry| spelling::entry_name(entry.name.text()));
        self.scope.hide(names);
        let mut fields = self.fields(message);
        if let Some(next) = self.next(message) {
            let side = self.side_object(receiver(state));
            let path = if fields
                .iter()
                .any(|field| field.starts_with(&format!("{side}: ")))
            {
                format!("{}.{side}", self.this())
            } else {
                side.to_owned()
            };
            fields.push(format!("next: {path}.{next}"));
        }
        let name = spelling::type_name(message.name.text());
        let parameters = self.scope.parameter_list();
        let base = format!(
            " extends {}.{}{parameters}",
            self.this(),
            spelling::type_name(state.name.text())
        );
        let declaration = if fields.is_empty() && parameters.is_empty() {
            format!("case object {name}{base}")
        } else {
            declaration(
                &format!("final case class {name}{parameters}"),
                &fields,
                &base,
                4,
            )
        };
        MessageView {
            docs: docs(&self.message_docs(state, message), 4),
            declaration,
        }
    }

    /// The documentation of a message of a state, with its limits.
    pub fn message_docs(&self, state: &State, message: &Message) -> Docs {
        message_docs(self.scope.whole.program, state, message)
    }

    pub fn fields(&self, message: &Message) -> Vec<String> {
        let entries = message.entries.iter();
        let field = |entry: &Entry| {
            let name = spelling::entry_name(entry.name.text());
            typed(&name, &self.scope.payload_type(&entry.ty))
        };
        entries.map(field).collect()
    }

    /// The class of the endpoint that follows a message, without the side.
    pub fn next(&self, message: &Message) -> Option<String> {
        match &message.next {
            Next::End | Next::Error => None,
            Next::State { state, arguments } => {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|ty| self.scope.payload_type(ty))
                    .collect();
                let name = spelling::type_name(self.state(*state).name.text());
                Some(format!("{name}{}", type_arguments(&arguments)))
            }
        }
    }
}

/// The text of a view.
pub fn rendered(view: &impl Template) -> String {
    view.render().expect("writing to a string cannot fail")
}
