//! What sessions with other processes need: how the payloads of all states are encoded.

use super::names::object_scope::ObjectScope;
use super::payload::number;
use super::wire::{Codec, long};
use crate::check::{CheckedProgram, CheckedProtocol};
use crate::graph::Capacity;
use crate::protocol::{Builtin, Message, Side, StateId, Type};
use crate::relation::{Obstacle, View};
use crate::wire::{Encoding, Plan, Size, Sizes, accepted};
use std::collections::BTreeMap;

/// If there are more values than this, each message of a state is encoded by a method of its own,
/// because the JVM limits the size of a method.
const VALUES_IN_ONE_METHOD: usize = 400;

/// How the messages of a protocol or an instance are encoded.
pub struct RemoteView {
    /// With its package.
    pub name: String,
    pub fingerprint: String,
    pub capacity: usize,
    pub accepts: Vec<AcceptsView>,
    pub states: Vec<WireStateView>,
}

/// The older fingerprints that a side accepts.
pub struct AcceptsView {
    pub is_client: bool,
    pub older: Vec<String>,
}

pub struct WireStateView {
    pub name: String,
    pub is_clients: bool,
    pub messages: Vec<WireMessageView>,
    pub has_limits: bool,
    /// How long the state may last, in milliseconds.
    pub within: Option<u64>,
}

pub struct WireMessageView {
    pub name: String,
    /// The size of its payload; -1 if it has no bound.
    pub least: i64,
    pub most: i64,
    /// The position of the next state, or -1.
    pub next: i64,
    pub limit: Option<i64>,
    pub payload: WirePayload,
    /// Whether methods of its own encode it.
    pub is_apart: bool,
    pub is_number: bool,
}

pub enum WirePayload {
    Nothing,
    Number(Builtin),
    Object {
        ty: String,
        codec: Codec,
        /// Whether a decoded value is no object yet.
        is_primitive: bool,
    },
}

impl RemoteView {
    /// `None` if there are no messages, or only the instances of the protocol can leave the process.
    pub fn of(
        scope: &mut ObjectScope,
        view: View,
        checked: &CheckedProgram,
        sizes: &Sizes,
    ) -> Result<Option<RemoteView>, Obstacle> {
        let plan = Plan::of(view)?;
        let (Some(fingerprint), Some(_)) = (plan.fingerprint, plan.first) else {
            return Ok(None);
        };
        scope.hide(std::iter::empty());
        let protocol = checked.protocol(view.protocol);
        let reached = match view.instance {
            Some(instance) => {
                protocol.instantiations_from(StateId::new(0), instance.arguments.clone())
            }
            None => protocol.instantiations(),
        };
        let states = reached.iter().map(|(id, given)| (*id, given));
        let states = states.map(|(id, given)| (id, protocol.protocol().state(id), given));
        let states = states.filter(|(_, state, _)| state.direction.is_some());
        let states: Vec<_> = states.collect();
        let positions = states.iter().zip(0i64..);
        let positions = positions.map(|((id, _, given), at)| ((*id, (*given).clone()), at));
        let positions = positions.collect();
        let views = states.iter().map(|(_, state, given)| {
            let messages = sizes.messages(state, given).zip(&state.messages);
            let values = state.messages.iter().map(|message| message.entries.len());
            let is_large = values.sum::<usize>() > VALUES_IN_ONE_METHOD;
            let messages = messages.map(|(encoding, message)| WireMessageView {
                is_apart: is_large && !message.entries.is_empty(),
                ..message_view(scope, sizes, message, given, &encoding, &positions)
            });
            let messages: Vec<WireMessageView> = messages.collect();
            WireStateView {
                name: state.name.text().to_owned(),
                is_clients: state.active_side() == Some(Side::Client),
                has_limits: messages.iter().any(|message| message.limit.is_some()),
                messages,
                within: state.within.map(|limit| limit.most),
            }
        });
        let states = views.collect();
        let accepts = Side::BOTH.map(|side| AcceptsView {
            is_client: side == Side::Client,
            older: accepted(view, side)
                .iter()
                .map(|it| it.to_string())
                .collect(),
        });
        let file = view.file();
        Ok(Some(RemoteView {
            name: view.program.full_name(file, view.name().text()),
            fingerprint: fingerprint.to_string(),
            capacity: capacity(protocol),
            accepts: accepts
                .into_iter()
                .filter(|it| !it.older.is_empty())
                .collect(),
            states,
        }))
    }
}

/// The longest run of a protocol, or 0 if a run is unbounded.
pub fn capacity(protocol: CheckedProtocol) -> usize {
    match protocol.capacity() {
        Capacity::Bounded(messages) => messages.max(1) as usize,
        Capacity::Unbounded => 0,
    }
}

fn message_view(
    scope: &ObjectScope,
    sizes: &Sizes,
    message: &Message,
    given: &[Type],
    encoding: &Encoding,
    positions: &BTreeMap<(StateId, Vec<Type>), i64>,
) -> WireMessageView {
    let next = message.next.with(given);
    let next = next.and_then(|next| positions.get(&next).copied());
    let types = message
        .entries
        .iter()
        .map(|entry| entry.ty.substitute(given));
    let types: Vec<Type> = types.collect();
    let declared = message.entries.iter().map(|entry| &entry.ty);
    let codec = |(ty, at): (_, usize)| Codec::of(scope, sizes, ty, &message.entries[at].lengths);
    // A value of a type parameter is an object in the ring, whatever the argument is.
    let payload = match (types.as_slice(), number(scope.whole, declared)) {
        ([], _) => WirePayload::Nothing,
        (_, Some(builtin)) => WirePayload::Number(builtin),
        (types, None) => WirePayload::Object {
            ty: scope.payload(types),
            is_primitive: number(scope.whole, types).is_some(),
            codec: match types {
                [only] => codec((only, 0)),
                several => Codec::of_tuple(several.iter().zip(0..).map(codec)),
            },
        },
    };
    let Size { least, most } = encoding.size;
    WireMessageView {
        name: message.name.text().to_owned(),
        least: long(least),
        most: most.map_or(-1, long),
        next: next.unwrap_or(-1),
        limit: encoding.limit.map(long),
        is_number: matches!(payload, WirePayload::Number(_)),
        payload,
        is_apart: false,
    }
}
