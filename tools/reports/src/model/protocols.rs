//! Protocols, their states and messages, and instances.

use super::names::{ByTarget, MessageNamesModel, NamesOf, StateNamesModel};
use super::types::{EntryModel, ParameterModel, SizeModel, TypeUse};
use super::{Context, HeadModel, SpanModel, docs};
use duologue::endpoint::{Activity, Edge, Endpoint, next};
use duologue::fingerprint::Fingerprint;
use duologue::graph::{StateGraph, Way};
use duologue::protocol::{
    Accepted, Direction, Lengths, Message, Next, Protocol, ProtocolId, Side, State, StateId,
};
use duologue::relation::{View, canonical};
use duologue::wire::Encoding;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct ProtocolModel {
    #[serde(flatten)]
    head: HeadModel,
    is_generic: bool,
    /// The side that sends first.
    first: Option<&'static str>,
    capacity: CapacityModel,
    /// The protocols that it declares to be the dual of.
    dual_of: Vec<usize>,
    accepts: Vec<AcceptedModel>,
    #[serde(flatten)]
    wire: WireModel,
    names: ByTarget<Option<String>>,
    /// The first is the start.
    states: Vec<StateModel>,
}

/// The most messages in flight; `null` if there is no bound.
#[derive(Debug, Serialize)]
struct CapacityModel {
    to_server: Option<u32>,
    to_client: Option<u32>,
}

/// An older fingerprint that a side accepts.
#[derive(Debug, Serialize)]
struct AcceptedModel {
    side: &'static str,
    fingerprint: String,
}

impl AcceptedModel {
    fn all(accepts: &[Accepted]) -> Vec<AcceptedModel> {
        let all = accepts.iter().map(|accepted| AcceptedModel {
            side: accepted.side.word(),
            fingerprint: Fingerprint(accepted.fingerprint).to_string(),
        });
        all.collect()
    }
}

/// What two processes compare.
#[derive(Debug, Serialize)]
struct WireModel {
    /// `null` for a protocol with type parameters: each instance has its own.
    fingerprint: Option<String>,
    /// The text that the fingerprint is computed from.
    canonical: Option<String>,
    /// What confines the protocol to one process.
    obstacle: Option<String>,
}

impl WireModel {
    fn of(view: View<'_>) -> WireModel {
        let canonical = canonical(view);
        WireModel {
            fingerprint: Some(Fingerprint::of_text(&canonical).to_string()),
            obstacle: canonical.obstacle.map(|obstacle| obstacle.to_string()),
            canonical: Some(canonical.text),
        }
    }

    const NONE: WireModel = WireModel {
        fingerprint: None,
        canonical: None,
        obstacle: None,
    };
}

#[derive(Debug, Serialize)]
struct StateModel {
    name: String,
    docs: String,
    /// The name.
    span: SpanModel,
    /// The whole declaration.
    declaration: SpanModel,
    /// As it is written: `send` or `recv`, seen by the client; `null` in a terminal state.
    direction: Option<&'static str>,
    /// The side that sends.
    active: Option<&'static str>,
    client: SideModel,
    server: SideModel,
    parameters: Vec<ParameterModel>,
    /// How long the receiver waits between processes, in milliseconds.
    within: Option<u64>,
    is_reachable: bool,
    /// The end of a shortest dialogue from the start; `null` if there is none.
    here: Option<HereModel>,
    /// The beginning of a shortest dialogue to the end of the session; `null` if there is none.
    out: Option<OutModel>,
    names: ByTarget<Option<StateNamesModel>>,
    messages: Vec<MessageModel>,
}

#[derive(Debug, Serialize)]
struct SideModel {
    activity: &'static str,
    /// Whether many senders can share the endpoint.
    can_be_shared: bool,
}

#[derive(Debug, Serialize)]
struct HereModel {
    length: usize,
    /// The last message; `null` at the start. The rest is the way to its state.
    last: Option<StepModel>,
}

#[derive(Debug, Serialize)]
struct StepModel {
    state: usize,
    message: usize,
}

#[derive(Debug, Serialize)]
struct OutModel {
    length: usize,
    /// The position of the first message; `null` if the session is over.
    first: Option<usize>,
}

#[derive(Debug, Serialize)]
struct MessageModel {
    name: String,
    docs: String,
    span: SpanModel,
    /// Its position in the state, which is its tag between processes.
    position: u8,
    entries: Vec<EntryModel>,
    /// How many bytes the payload takes between processes, as far as it follows from the types.
    bytes: SizeModel,
    /// The largest payload that bounds and `at_most` allow, if that is less.
    limit: Option<u64>,
    /// `at_most` of the message, its state or its protocol.
    at_most: Option<u64>,
    /// `null` if the session ends.
    next: Option<NextModel>,
    /// `stay` if the same side sends next, `turn` if the other does, `end` if the session is over.
    edge: &'static str,
    names: ByTarget<Option<MessageNamesModel>>,
}

#[derive(Debug, Serialize)]
struct NextModel {
    state: usize,
    name: String,
    arguments: Vec<TypeUse>,
    /// Where it is written.
    span: SpanModel,
}

#[derive(Debug, Serialize)]
pub struct InstanceModel {
    #[serde(flatten)]
    head: HeadModel,
    protocol: usize,
    arguments: Vec<TypeUse>,
    accepts: Vec<AcceptedModel>,
    #[serde(flatten)]
    wire: WireModel,
    names: ByTarget<Option<String>>,
}

pub fn protocols(context: &Context<'_>) -> Vec<ProtocolModel> {
    let ids = (0..context.program.protocols.len()).map(ProtocolId::new);
    ids.map(|id| protocol(context, id)).collect()
}

fn protocol(context: &Context<'_>, id: ProtocolId) -> ProtocolModel {
    let program = context.program;
    let protocol = program.protocol(id);
    let checked = context.checked.protocol(id);
    let names = context.names.of_protocol(id.index());
    let graph = StateGraph::of(protocol);
    let mut here = graph.ways_here().into_iter();
    let mut out = graph.ways_out().into_iter();
    let states = protocol.state_ids().map(|state| {
        let ways = [here.next().flatten(), out.next().flatten()];
        let is_reachable = checked.is_reachable(state);
        context.state(protocol, state, is_reachable, ways, &names)
    });
    ProtocolModel {
        head: context.head(&protocol.name, protocol.file, &protocol.docs),
        is_generic: protocol.is_generic(),
        first: protocol.start().active_side().map(Side::word),
        capacity: CapacityModel {
            to_server: checked.capacity_to_server().most(),
            to_client: checked.capacity_to_client().most(),
        },
        dual_of: protocol.dual_of.iter().map(|(id, _)| id.index()).collect(),
        accepts: AcceptedModel::all(&protocol.accepts),
        wire: match protocol.is_generic() {
            true => WireModel::NONE,
            false => WireModel::of(View::of(program, id)),
        },
        names: names.itself(),
        states: states.collect(),
    }
}

pub fn instances(context: &Context<'_>) -> Vec<InstanceModel> {
    let program = context.program;
    let instances = program.instances.iter().enumerate();
    let instances = instances.map(|(index, instance)| {
        let arguments = instance.arguments.iter();
        InstanceModel {
            head: context.head(&instance.name, instance.file, &instance.docs),
            protocol: instance.protocol.index(),
            arguments: arguments
                .map(|ty| context.type_use(ty, Lengths::NONE, &[]))
                .collect(),
            accepts: AcceptedModel::all(&instance.accepts),
            wire: WireModel::of(View::instance(program, instance)),
            names: context.names.of_instance(index).itself(),
        }
    });
    instances.collect()
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

impl Context<'_> {
    fn state(
        &self,
        protocol: &Protocol,
        id: StateId,
        is_reachable: bool,
        [here, out]: [Option<Way>; 2],
        names: &NamesOf<'_>,
    ) -> StateModel {
        let state = protocol.state(id);
        let side = |side| {
            let endpoint = Endpoint::of(protocol, side);
            SideModel {
                activity: activity(endpoint.activity(id)),
                can_be_shared: endpoint.can_be_shared(id),
            }
        };
        let encodings = self.sizes.messages(state, &[]);
        let messages = encodings.zip(&state.messages);
        let messages = messages.map(|(encoding, message)| {
            let position = usize::from(encoding.tag);
            let names = names.of_message(id.index(), position);
            self.message(protocol, state, message, encoding, names)
        });
        StateModel {
            name: state.name.to_string(),
            docs: docs(&state.docs),
            span: self.span(state.name.span),
            declaration: self.span(state.span),
            direction: state.direction.map(Direction::word),
            active: state.active_side().map(Side::word),
            client: side(Side::Client),
            server: side(Side::Server),
            parameters: self.parameters(&state.parameters),
            within: state.within.map(|limit| limit.most),
            is_reachable,
            here: here.map(|way| HereModel {
                length: way.length,
                last: way.step.map(|step| StepModel {
                    state: step.state.index(),
                    message: step.message,
                }),
            }),
            out: out.map(|way| OutModel {
                length: way.length,
                first: way.step.map(|step| step.message),
            }),
            names: names.of_state(id.index()),
            messages: messages.collect(),
        }
    }

    fn message(
        &self,
        protocol: &Protocol,
        state: &State,
        message: &Message,
        encoding: Encoding,
        names: ByTarget<Option<MessageNamesModel>>,
    ) -> MessageModel {
        let edge = match Edge::of(state, next(protocol, &message.next)) {
            Edge::Stay => "stay",
            Edge::Turn => "turn",
            Edge::End => "end",
        };
        let next = match &message.next {
            Next::End | Next::Error => None,
            Next::State {
                state: next,
                arguments,
            } => {
                let arguments = arguments.iter();
                let arguments =
                    arguments.map(|ty| self.type_use(ty, Lengths::NONE, &state.parameters));
                Some(NextModel {
                    state: next.index(),
                    name: protocol.state(*next).name.to_string(),
                    arguments: arguments.collect(),
                    span: self.span(message.next_span),
                })
            }
        };
        MessageModel {
            name: message.name.to_string(),
            docs: docs(&message.docs),
            span: self.span(message.name.span),
            position: encoding.tag,
            entries: self.entries(&message.entries, &state.parameters),
            bytes: SizeModel::from(encoding.size),
            limit: encoding.limit,
            at_most: message.at_most.map(|limit| limit.most),
            next,
            edge,
            names,
        }
    }
}
