//! Shared senders: generated code for endpoints with several senders.

use super::docs::{alternatives, blocks, comment, with_sentence};
use super::layout::{Document, chain, head, signature};
use super::methods::{FORMS, Form, MethodView, Way, free, method_names};
use super::spelling::{prelude, type_name};
use super::states::{States, payload, words};
use crate::endpoint::Endpoint;
use crate::languages::limits::message_docs;
use crate::protocol::{Side, State, StateId};
use std::collections::BTreeSet;

/// The shared sender of one endpoint.
pub(super) struct SharedView {
    pub(super) docs: String,
    pub(super) declaration: String,
    pub(super) methods_head: String,
    pub(super) methods: Vec<MethodView>,
    /// The arguments of the macro that generates the rest.
    pub(super) common: String,
}

/// The name of a state's shared sender; `taken` contains the names of all states.
pub(super) fn shared_name(state: &State, taken: &BTreeSet<String>) -> String {
    free(format!("Shared{}", type_name(&state.name)), taken)
}

impl States<'_> {
    /// The shared sender of a side's endpoint, if it can be shared.
    pub(super) fn shared(self, id: StateId, side: Side) -> Option<SharedView> {
        if !Endpoint::of(self.protocol(), side).can_be_shared(id) {
            return None;
        }
        let state = self.protocol().state(id);
        let (names, own) = (self.parameters(state), type_name(&state.name));
        let shared = shared_name(state, self.scope.taken);
        let ty = Document::angle(shared.as_str(), words(&names)).flat();
        let marker = Document::angle(format!("super::state::{own}"), words(&names));
        let inner = Document::angle("::duologue::SharedSender", vec![marker.clone()]);
        let declaration = Document::round(format!("pub struct {ty}"), vec![inner]);
        let messages: Vec<&str> = state
            .messages
            .iter()
            .map(|message| message.name.text())
            .collect();
        let sentence = format!(
            "Sends {}. Each clone is a sender, and dropping the last one closes the session.",
            alternatives(&messages)
        );
        let implementation = format!("{} {ty}", Document::angle("impl", words(&names)).flat());
        let mut methods = Vec::new();
        for (index, own) in method_names(state).iter().enumerate() {
            let [_, for_tasks, _] = own;
            for (form, name) in FORMS.iter().zip(own) {
                let called = (name.as_str(), for_tasks.as_str());
                methods.push(self.shared_method(state, index, form, called, &names, &marker));
            }
        }
        let end = Document::angle(own, words(&names));
        let common = match names.as_slice() {
            [] => {
                let both = vec![Document::word(shared), end];
                Document::call("::duologue::generated::shared!", both).laid_out(4, 4, 1)
            }
            // This is not an expression, so rustfmt leaves it alone.
            _ => format!("::duologue::generated::shared!({shared}, {})", end.flat()),
        };
        Some(SharedView {
            docs: comment(4, "///", [sentence.as_str()]),
            declaration: declaration.laid_out(4, 4, 1) + ";",
            methods_head: head(
                4,
                &implementation,
                &self.bounds(state, self.scope.inside(1)),
            ),
            methods,
            common: common + ";",
        })
    }

    /// A method that sends a message, and what the method that does so in tasks is called. A shared sender may always have to
    /// wait: every message of its state keeps the direction.
    fn shared_method(
        self,
        state: &State,
        index: usize,
        form: &Form,
        (name, for_tasks): (&str, &str),
        names: &[String],
        marker: &Document,
    ) -> MethodView {
        let message = &state.messages[index];
        let (values, parameters, types) = self.values("&self", message, names);
        let payload = payload(types);
        let result = |error: &str| {
            let error = Document::angle(format!("::duologue::{error}"), vec![payload.clone()]);
            Document::angle(
                prelude("Result", self.scope.taken),
                vec![Document::word("()"), error],
            )
        };
        let (call, result) = match form.way {
            Way::Waits => ("send", result("SendError")),
            Way::Awaits => {
                let parts = vec![
                    Document::word("'_"),
                    marker.clone(),
                    Document::word(index.to_string()),
                ];
                (
                    "send_async",
                    Document::angle("::duologue::SharedSend", parts),
                )
            }
            Way::Tries => ("try_send", result("TrySendError")),
        };
        let warning = blocks(for_tasks);
        let own = message_docs(self.scope.program, state, message);
        let docs: Vec<&str> = match form.way {
            Way::Waits => with_sentence(&own, &warning),
            Way::Tries => vec!["The same, but never waits: fails if no slot is free."],
            Way::Awaits => vec![
                "The same for tasks.",
                "",
                "# Cancel safety",
                "",
                "Dropping the future drops the unsent payload.",
            ],
        };
        let call = Document::call(format!(".{call}::<{index}>"), vec![values]);
        MethodView {
            docs: comment(8, "///", docs),
            signature: signature(8, &format!("pub fn {name}"), &parameters, &result, &[]),
            body: chain(12, "self.0", &[call]),
        }
    }
}
