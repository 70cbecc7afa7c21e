//! The endpoints of one side, in the form that the template of a protocol's module takes.

use super::docs::{
    alternatives, blocks, comment, linked_alternatives, state_comment, with_sentence,
};
use super::layout::{Document, chain, definition, head, signature};
use super::methods::{MethodView, Way, forms, method_names};
use super::shared::SharedView;
use super::spelling::{prelude, type_name};
use super::states::{States, payload, words};
use crate::endpoint::{Activity, Endpoint};
use crate::languages::limits::message_docs;
use crate::protocol::{Next, Side, State, StateId};

/// One side of a protocol.
pub(super) struct SideView {
    pub(super) docs: String,
    pub(super) name: &'static str,
    pub(super) endpoints: Vec<EndpointView>,
}

/// One side's endpoint in a state.
pub(super) struct EndpointView {
    pub(super) docs: String,
    /// The newtype of a sending endpoint, otherwise the alias.
    pub(super) declaration: String,
    pub(super) is_sending: bool,
    /// Whether it can begin a session between processes.
    pub(super) opens: bool,
    pub(super) methods_head: String,
    pub(super) methods: Vec<MethodView>,
    pub(super) name: String,
    pub(super) side: &'static str,
    /// The package, protocol and state, as a literal.
    pub(super) path: String,
    pub(super) shared: Option<SharedView>,
}

impl States<'_> {
    /// One side's endpoints.
    pub(super) fn side(self, side: Side) -> SideView {
        let (name, protocol) = (side.word(), &self.protocol().name);
        let sentence = format!("The {name}'s endpoints of `{protocol}`.");
        SideView {
            docs: comment(0, "///", [sentence.as_str()]),
            name,
            endpoints: self.ids().map(|id| self.endpoint(id, side)).collect(),
        }
    }

    fn endpoint(self, id: StateId, side: Side) -> EndpointView {
        let state = self.protocol().state(id);
        let scope = self.scope.inside(1);
        let (names, own) = (self.parameters(state), type_name(&state.name));
        let ty = Document::angle(own.as_str(), words(&names)).flat();
        let marker = Document::angle(format!("super::state::{own}"), words(&names));
        let messages: Vec<&str> = state
            .messages
            .iter()
            .map(|message| message.name.text())
            .collect();
        let activity = Endpoint::of(self.protocol(), side).activity(id);
        let (sentence, declaration) = match activity {
            Activity::Sends => {
                let inner = Document::angle("pub(super) ::duologue::Sender", vec![marker]);
                let newtype = Document::round(format!("pub struct {ty}"), vec![inner]);
                let sentence = format!("Sends {}.", alternatives(&messages));
                // If a message is out of turn, rustc shows the line with the declaration.
                let declaration = newtype.laid_out(4, 4, 1) + "; // " + &sentence;
                (sentence, declaration)
            }
            Activity::Receives => {
                let inner = Document::angle("::duologue::Receiver", vec![marker]);
                let alias = definition(4, &format!("pub type {ty}"), &inner);
                let variants = state
                    .messages
                    .iter()
                    .map(|message| type_name(&message.name));
                let named: Vec<_> = messages.iter().copied().zip(variants).collect();
                let links = linked_alternatives(&format!("super::{own}"), &named);
                (format!("Waits for {links}."), alias)
            }
            Activity::Over => {
                let inner = Document::angle("::duologue::Finished", vec![marker]);
                (
                    "The session is over.".to_owned(),
                    definition(4, &format!("pub type {ty}"), &inner),
                )
            }
        };
        let is_sending = activity == Activity::Sends;
        let waits = is_sending && self.waits[id.index()];
        let implementation = format!("{} {ty}", Document::angle("impl", words(&names)).flat());
        EndpointView {
            docs: state_comment(4, state, &sentence),
            declaration,
            is_sending,
            opens: self.opens(id),
            methods_head: head(4, &implementation, &self.bounds(state, scope)),
            methods: if is_sending {
                self.methods(state, side, &names, waits)
            } else {
                Vec::new()
            },
            name: ty,
            side: side.word(),
            path: self.path(state),
            shared: self.shared(id, side),
        }
    }

    /// The methods of a sending endpoint. `waits`: it may have to wait, so each message also has a method that does not wait.
    fn methods(self, state: &State, side: Side, names: &[String], waits: bool) -> Vec<MethodView> {
        let mut methods = Vec::new();
        for (index, own) in method_names(state).iter().enumerate() {
            let [_, for_tasks, _] = own;
            let for_tasks = waits.then_some(for_tasks.as_str());
            for (form, name) in forms(waits).iter().zip(own) {
                let form = (form.way, name.as_str());
                methods.push(self.method(state, index, side, names, form, for_tasks));
            }
        }
        methods
    }

    /// A method that sends a message. `for_tasks`: the method that does so in tasks, if a send may have to wait.
    fn method(
        self,
        state: &State,
        index: usize,
        side: Side,
        names: &[String],
        (way, name): (Way, &str),
        for_tasks: Option<&str>,
    ) -> MethodView {
        let message = &state.messages[index];
        let (sent, parameters, types) = self.values("self", message, names);
        let scope = self.scope.inside(1);
        let next = self.next(message, names, scope, "");
        let next = next.unwrap_or(Document::word("()"));
        let payload = payload(types);
        let fails = |error: Vec<Document>, kind: &str| {
            let error = Document::angle(format!("::duologue::{kind}"), error);
            Document::angle(
                prelude("Result", self.scope.taken),
                vec![next.clone(), error],
            )
        };
        let (call, result) = match way {
            Way::Waits => (
                format!(".send::<{index}>"),
                fails(vec![payload], "SendError"),
            ),
            Way::Tries => {
                let unsent = Document::round("", vec![Document::word("Self"), payload.clone()]);
                let error = vec![payload, unsent];
                (
                    format!(".try_send::<_, _, {index}>"),
                    fails(error, "TrySendError"),
                )
            }
            Way::Awaits => {
                let parts = vec![
                    Document::word("Self"),
                    next.clone(),
                    Document::word(index.to_string()),
                ];
                (
                    ".send_async".to_owned(),
                    Document::angle("::duologue::Sending", parts),
                )
            }
        };
        let mut calls = vec![Document::call(call, vec![sent])];
        if way == Way::Waits
            && let Next::State { state, .. } = &message.next
            && Endpoint::of(self.protocol(), side).activity(*state) == Activity::Sends
        {
            let wrap = type_name(&self.protocol().state(*state).name);
            calls.push(Document::call(".map", vec![Document::word(wrap)]));
        }
        let warning = for_tasks.map(blocks);
        let own = message_docs(self.scope.program, state, message);
        let docs = match (way, &warning) {
            (Way::Waits, None) => own.iter().map(AsRef::as_ref).collect(),
            (Way::Waits, Some(warning)) => with_sentence(&own, warning),
            (Way::Tries, _) => vec![
                "The same, but never waits: if no slot is free, returns the endpoint and the payload in `Full`.",
            ],
            (Way::Awaits, warning) => vec![
                match warning {
                    Some(_) => {
                        "The same for tasks: the future waits for a free slot without blocking the thread."
                    }
                    None => {
                        "The same for tasks. No send waits in this state, so the future is ready at once."
                    }
                },
                "",
                "# Cancel safety",
                "",
                "Dropping the future closes the session and drops the unsent payload. `into_inner` returns both instead.",
            ],
        };
        MethodView {
            docs: comment(8, "///", docs),
            signature: signature(8, &format!("pub fn {name}"), &parameters, &result, &[]),
            body: chain(12, "self.0", &calls),
        }
    }
}
