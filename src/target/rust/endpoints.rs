//! The endpoints of one side, in the form that the template of a protocol's module takes.

use super::docs::{alternatives, comment, linked_alternatives, with_sentence};
use super::layout::{Piece, chain, definition, head, signature};
use super::methods::MethodView;
use super::shared::SharedView;
use super::spelling::{prelude, type_name, value_name};
use super::states::{States, payload, words};
use crate::endpoint::{Activity, Endpoint};
use crate::protocol::{Message, Next, Side, StateId};

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
        let ty = Piece::angle(own.as_str(), words(&names)).flat();
        let marker = Piece::angle(format!("super::state::{own}"), words(&names));
        let messages: Vec<&str> = state
            .messages
            .iter()
            .map(|message| message.name.text())
            .collect();
        let activity = Endpoint::of(self.protocol(), side).activity(id);
        let (sentence, declaration) = match activity {
            Activity::Sends => {
                let inner = Piece::angle("pub(super) ::duologue::Sender", vec![marker]);
                let newtype = Piece::round(format!("pub struct {ty}"), vec![inner]);
                let sentence = format!("Sends {}.", alternatives(&messages));
                // If a message is out of turn, rustc shows the line with the declaration.
                let declaration = newtype.laid_out(4, 4, 1) + "; // " + &sentence;
                (sentence, declaration)
            }
            Activity::Receives => {
                let inner = Piece::angle("::duologue::Receiver", vec![marker]);
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
            opens: self.opens(id),
            methods_head: head(4, &implementation, &self.bounds(state, scope)),
            methods: methods
                .map(|(index, message)| self.method(index, message, side, &names))
                .collect(),
            name: ty,
            shared: self.shared(id, side),
        }
    }

    fn method(self, index: usize, message: &Message, side: Side, names: &[String]) -> MethodView {
        let (sent, parameters, types) = self.values("self", message, names);
        let scope = self.scope.inside(1);
        let next = self.next(message, names, scope, "");
        let result = vec![
            next.unwrap_or(Piece::word("()")),
            Piece::angle("::duologue::SendError", vec![payload(types)]),
        ];
        let result = Piece::angle(prelude("Result", self.scope.taken), result);
        let send = Piece::call(format!(".send::<{index}>"), vec![sent]);
        let mut calls = vec![send];
        if let Next::State { state, .. } = &message.next
            && Endpoint::of(self.protocol(), side).activity(*state) == Activity::Sends
        {
            let wrap = type_name(&self.protocol().state(*state).name);
            calls.push(Piece::call(".map", vec![Piece::word(wrap)]));
        }
        MethodView {
            docs: comment(8, "///", message.docs.iter().map(AsRef::as_ref)),
            signature: signature(
                8,
                &format!("pub fn {}", value_name(&message.name)),
                &parameters,
                &result,
                &[],
            ),
            body: chain(12, "self.0", &calls),
        }
    }
}
