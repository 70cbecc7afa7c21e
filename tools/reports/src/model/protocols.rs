//! Protocols, their states and messages, and instances.

use super::{Context, Object, docs, list};
use duologue::endpoint::{Activity, Edge, Endpoint, next};
use duologue::fingerprint::Fingerprint;
use duologue::graph::{StateGraph, Way};
use duologue::languages::public_names::ProtocolNames;
use duologue::protocol::{
    Accepted, Direction, Lengths, Message, Next, Protocol, ProtocolId, Side, State, StateId,
};
use duologue::relation::{View, canonical};
use duologue::wire::{Encoding, Size};
use serde_json::Value;

pub fn protocols(context: &Context<'_>) -> Vec<Value> {
    let ids = (0..context.program.protocols.len()).map(ProtocolId::new);
    ids.map(|id| protocol(context, id).into()).collect()
}

fn protocol(context: &Context<'_>, id: ProtocolId) -> Object {
    let protocol = context.program.protocol(id);
    let checked = context.checked.protocol(id);
    let graph = StateGraph::of(protocol);
    let ways = graph.ways_here().into_iter().zip(graph.ways_out());
    let states = protocol.state_ids().zip(ways);
    let states = states.map(|(state, ways)| Value::from(context.state(id, state, ways)));
    let view = (!protocol.is_generic()).then(|| View::of(context.program, id));
    object! {
        with_wire(context.head(&protocol.name, protocol.file, &protocol.docs), view);
        "is_generic": protocol.is_generic(),
        // The side that sends first.
        "first": protocol.start().active_side().map(Side::word),
        // The most messages in flight; `null` if there is no bound.
        "capacity": object! {
            "to_server": checked.capacity_to_server().most(),
            "to_client": checked.capacity_to_client().most(),
        },
        // The protocols that it declares to be the dual of.
        "dual_of": list(&protocol.dual_of, |(id, _)| id.index()),
        "accepts": accepted(&protocol.accepts),
        "names": context.names(|names| Some(names.protocols[id.index()].as_ref()?.name.as_str())),
        // The first is the start.
        "states": states.collect::<Vec<_>>(),
    }
}

pub fn instances(context: &Context<'_>) -> Vec<Value> {
    let mut count = 0..;
    list(&context.program.instances, |instance| {
        let index = count.next().unwrap_or_default();
        let name = |names: &ProtocolNames| names.name.clone();
        let view = View::instance(context.program, instance);
        object! {
            with_wire(context.head(&instance.name, instance.file, &instance.docs), Some(view));
            "protocol": instance.protocol.index(),
            "arguments": list(&instance.arguments, |ty| context.type_use(ty, Lengths::NONE, &[])),
            "accepts": accepted(&instance.accepts),
            "names": context.names(|names| names.instances[index].as_ref().map(name)),
        }
    })
}

/// Adds what two processes compare: `null` for a protocol with type parameters, because each instance has its own.
fn with_wire(head: Object, view: Option<View<'_>>) -> Object {
    let canonical = view.map(canonical);
    let canonical = canonical.as_ref();
    let obstacle = canonical.and_then(|found| found.obstacle.as_ref());
    object! {
        head;
        "fingerprint": canonical.map(|found| Fingerprint::of_text(found).to_string()),
        // The text that the fingerprint is computed from.
        "canonical": canonical.map(|found| found.text.as_str()),
        // What confines the protocol to one process.
        "obstacle": obstacle.map(ToString::to_string),
    }
}

/// The older fingerprints that the sides accept.
fn accepted(accepts: &[Accepted]) -> Vec<Value> {
    list(accepts, |accepted| {
        object! {
            "side": accepted.side.word(),
            "fingerprint": Fingerprint(accepted.fingerprint).to_string(),
        }
    })
}

/// What a side does in a state, in a word.
#[must_use]
pub fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Sends => "sends",
        Activity::Receives => "receives",
        Activity::Over => "over",
    }
}

/// How many bytes values take; `most` is `null` if there is no bound, or none that is known.
pub fn bytes(size: Size) -> Object {
    object! { "least": size.least, "most": size.most }
}

impl Context<'_> {
    fn state(
        &self,
        of: ProtocolId,
        id: StateId,
        (here, out): (Option<Way>, Option<Way>),
    ) -> Object {
        let protocol = self.program.protocol(of);
        let state = protocol.state(id);
        let side = |side| {
            let endpoint = Endpoint::of(protocol, side);
            object! {
                "activity": activity(endpoint.activity(id)),
                // Whether many senders can share the endpoint.
                "can_be_shared": endpoint.can_be_shared(id),
            }
        };
        let encodings = self.sizes.messages(state, &[]);
        let messages = encodings.zip(&state.messages);
        let messages = messages.map(|(encoding, message)| {
            let members = self.message(protocol, state, message, encoding);
            let position = usize::from(encoding.tag);
            Value::from(object! {
                members;
                "names": self.names(|all| {
                    let names = &all.state(of, id)?.messages[position];
                    Some(object! {
                        "send": names.send.as_str(),
                        "received": names.received.as_str(),
                        "entries": names.entries.clone(),
                    })
                }),
            })
        });
        object! {
            "name": state.name.text(),
            "docs": docs(&state.docs),
            "span": self.span(state.name.span),
            // The whole declaration.
            "declaration": self.span(state.span),
            // As it is written, seen by the client, and the side that sends; `null` in a terminal state.
            "direction": state.direction.map(Direction::word),
            "active": state.active_side().map(Side::word),
            "client": side(Side::Client),
            "server": side(Side::Server),
            "parameters": self.parameters(&state.parameters),
            // How long the receiver waits between processes, in milliseconds.
            "within": state.within.map(|limit| limit.most),
            "is_reachable": self.checked.protocol(of).is_reachable(id),
            // The end of a shortest dialogue from the start, and the beginning of one to the end; `null` if there is none. The rest is
            // that of the state before or after.
            "here": here.map(|way| object! {
                "length": way.length,
                "last": way.step.map(|step| object! {
                    "state": step.state.index(),
                    "message": step.message,
                }),
            }),
            "out": out.map(|way| object! {
                "length": way.length,
                "first": way.step.map(|step| step.message),
            }),
            "names": self.names(|all| {
                let names = all.state(of, id)?;
                Some(object! {
                    "client": names.client.as_str(),
                    "server": names.server.as_str(),
                    "receive": names.receive.as_deref(),
                    "received": names.received.as_deref(),
                })
            }),
            "messages": messages.collect::<Vec<_>>(),
        }
    }

    fn message(
        &self,
        protocol: &Protocol,
        state: &State,
        message: &Message,
        encoding: Encoding,
    ) -> Object {
        let next_state = match &message.next {
            Next::End | Next::Error => None,
            Next::State {
                state: next,
                arguments,
            } => Some(object! {
                "state": next.index(),
                "name": protocol.state(*next).name.text(),
                "arguments": list(arguments, |ty| {
                    self.type_use(ty, Lengths::NONE, &state.parameters)
                }),
                "span": self.span(message.next_span),
            }),
        };
        object! {
            "name": message.name.text(),
            "docs": docs(&message.docs),
            "span": self.span(message.name.span),
            // In the state, which is its tag between processes.
            "position": encoding.tag,
            "entries": self.entries(&message.entries, &state.parameters),
            // How many bytes the payload takes between processes, as far as it follows from the types.
            "bytes": bytes(encoding.size),
            // The largest payload that bounds and `at_most` allow, if that is less.
            "limit": encoding.limit,
            // That of the message, its state or its protocol.
            "at_most": message.at_most.map(|limit| limit.most),
            // `null` if the session ends.
            "next": next_state,
            "edge": match Edge::of(state, next(protocol, &message.next)) {
                Edge::Stay => "stay",
                Edge::Turn => "turn",
                Edge::End => "end",
            },
        }
    }
}
