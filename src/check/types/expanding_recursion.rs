//! Type arguments must not grow without bound.
//!
//! Consider a graph with one node for each type parameter of each state of each protocol. Where a state passes its parameter `T` on,
//! as an argument of the next state or of an endpoint type that it mentions, an edge leads from `T` to the parameter that receives
//! the argument. The edge *grows* if `T` is only a part of the argument, as in `[T]`. A finite program produces infinitely many
//! arguments exactly if some growing edge lies on a cycle, which the strongly connected components show.
//!
//! Without such a cycle the number of arguments is finite, but may still be far too large. So all versions of states that result
//! from passing parameters on are counted, up to a limit: first within each protocol, whatever arguments it may be given, then in
//! the whole program, where endpoint types lead from one protocol to others.

use crate::check::findings::{Case, Findings, Subject};
use crate::check::wording::type_text;
use crate::diagnostic::Diagnostic;
use crate::graph::loops;
use crate::protocol::limits::{ARGUMENT_PARTS, MORE_VERSIONS};
use crate::protocol::{Message, Next, ProtocolId, State, StateId, Type};
use crate::source::Span;
use std::collections::HashSet;

rule! {
    "expanding-recursion", error,
    "a type argument grows on every iteration of a loop"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let is_generic = |state: &State| !state.parameters.is_empty();
    let mut states = subject.program.protocols.iter().flat_map(|p| &p.states);
    if !states.any(is_generic) {
        return;
    }
    let flow = Flow::of(subject);
    let mut endless: HashSet<ProtocolId> = HashSet::new();
    for edge in flow.endless_edges() {
        endless.insert(edge.protocol);
        findings.error(flow.tell(subject, edge));
    }
    for case in subject.cases() {
        let is_generic = case.protocol.states.iter().any(is_generic);
        if is_generic && endless.is_empty() {
            count_versions(case, findings);
        }
    }
    if !findings.has_any(&[RULE.name]) {
        count_all(subject, findings);
    }
}

/// One parameter that is passed on.
struct Edge<'a> {
    from: usize,
    to: usize,
    protocol: ProtocolId,
    state: &'a State,
    parameter: u32,
    argument: &'a Type,
    at: Span,
    grows: bool,
    is_by_endpoint: bool,
}

struct Flow<'a> {
    /// For each protocol and state, the node of its first parameter.
    first: Vec<Vec<usize>>,
    nodes: usize,
    edges: Vec<Edge<'a>>,
}

impl<'a> Flow<'a> {
    fn of(subject: &'a Subject<'_>) -> Flow<'a> {
        let mut nodes = 0;
        let mut first = Vec::with_capacity(subject.program.protocols.len());
        for protocol in &subject.program.protocols {
            let states = protocol.states.iter().map(|state| {
                let own = nodes;
                nodes += state.parameters.len();
                own
            });
            first.push(states.collect());
        }
        let mut flow = Flow {
            first,
            nodes,
            edges: Vec::new(),
        };
        for case in subject.cases() {
            for (index, state) in case.protocol.states.iter().enumerate() {
                if !state.parameters.is_empty() {
                    let place = (case.id, StateId::new(index));
                    for message in &state.messages {
                        flow.message(place, state, message);
                    }
                }
            }
        }
        flow
    }

    fn message(&mut self, place: (ProtocolId, StateId), state: &'a State, message: &'a Message) {
        for entry in &message.entries {
            self.endpoints(place, state, &entry.ty, entry.ty_span);
        }
        if let Next::State {
            state: next,
            arguments,
        } = &message.next
        {
            let at = message.next_span;
            self.pass(place, state, (place.0, *next), arguments, (at, false));
            for argument in arguments {
                self.endpoints(place, state, argument, message.next_span);
            }
        }
    }

    /// Adds the edges for the arguments of the endpoint types inside a type.
    fn endpoints(
        &mut self,
        place: (ProtocolId, StateId),
        state: &'a State,
        ty: &'a Type,
        at: Span,
    ) {
        for endpoint in ty.endpoints() {
            let to = (endpoint.protocol, endpoint.state);
            self.pass(place, state, to, &endpoint.arguments, (at, true));
        }
    }

    fn pass(
        &mut self,
        place: (ProtocolId, StateId),
        state: &'a State,
        to: (ProtocolId, StateId),
        arguments: &'a [Type],
        (at, is_by_endpoint): (Span, bool),
    ) {
        let node = |(protocol, state): (ProtocolId, StateId)| {
            let states = &self.first[protocol.index()];
            states.get(state.index()).copied()
        };
        let (Some(own), Some(taking)) = (node(place), node(to)) else {
            return;
        };
        for (position, argument) in arguments.iter().enumerate() {
            let edges = &mut self.edges;
            argument.walk(&mut |part| {
                if let Type::Parameter(parameter) = part {
                    edges.push(Edge {
                        from: own + *parameter as usize,
                        to: taking + position,
                        protocol: place.0,
                        state,
                        parameter: *parameter,
                        argument,
                        at,
                        grows: !matches!(argument, Type::Parameter(_)),
                        is_by_endpoint,
                    });
                }
            });
        }
    }

    /// For each cycle, or group of connected cycles, that contains growing edges: the first of them.
    fn endless_edges(&self) -> Vec<&Edge<'a>> {
        let edges = self.edges.iter().map(|edge| (edge.from, edge.to));
        let mut group_of = vec![None; self.nodes];
        for (index, group) in loops(self.nodes, edges).into_iter().enumerate() {
            for node in group {
                group_of[node] = Some(index);
            }
        }
        let mut told = HashSet::new();
        let edges = self.edges.iter().filter(|edge| {
            let group = group_of[edge.from];
            edge.grows && group.is_some() && group == group_of[edge.to] && told.insert(group)
        });
        edges.collect()
    }

    fn tell(&self, subject: &Subject<'_>, edge: &Edge<'_>) -> Diagnostic {
        let Edge { state, at, .. } = edge;
        let text = |ty| type_text(subject.program, &state.parameters, ty);
        let argument = text(edge.argument);
        let own = &state.parameters[edge.parameter as usize];
        let parameter = &own.name;
        let twice = replaced(edge.argument, edge.parameter);
        let twice = text(&twice);
        let (headline, help) = if edge.is_by_endpoint {
            (
                format!("`{parameter}` grows without bound in endpoints that carry endpoints"),
                format!(
                    "pass `{parameter}` itself on, or an endpoint that does not lead back here"
                ),
            )
        } else {
            (
                format!(
                    "`{parameter}` grows each time a session returns to state `{}`",
                    state.name
                ),
                format!(
                    "pass `{parameter}` itself on, or lead to a state from which no dialogue leads back"
                ),
            )
        };
        RULE.finding(*at, headline)
            .label(format!("`{parameter}` is passed on as `{argument}`"))
            .related(
                parameter.span,
                format!("first `{parameter}`, then `{argument}`, then `{twice}` ..."),
            )
            .note("every iteration of the loop would need yet another type")
            .help(help)
    }
}

/// The argument with the parameter replaced by the argument itself, which is the argument in the next iteration.
fn replaced(argument: &Type, parameter: u32) -> Type {
    argument.replaced(&|part| (*part == Type::Parameter(parameter)).then(|| argument.clone()))
}

/// Visits all versions of all states: from the start, and from each state not reached so far, each with its own parameters.
/// Whatever arguments a session or an endpoint type supplies, there are no more versions than that.
fn count_versions(case: Case<'_>, findings: &mut Findings) {
    let protocol = case.protocol;
    let mut is_reached = vec![false; protocol.states.len()];
    let mut versions = Versions::default();
    let most = protocol.states.len() + MORE_VERSIONS;
    for source in protocol.state_ids() {
        if is_reached[source.index()] {
            continue;
        }
        let own = 0..protocol.state(source).parameters.len();
        let own = own.map(|index| Type::Parameter(u32::try_from(index).expect("few parameters")));
        versions.add((case.id, source, own.collect()));
        while let Some((_, id, own)) = versions.next.pop() {
            is_reached[id.index()] = true;
            let sizes = sizes(&own);
            for message in &protocol.state(id).messages {
                let Next::State { state, arguments } = &message.next else {
                    continue;
                };
                let Some(arguments) = passed_on(arguments, &own, &sizes) else {
                    findings.error(too_big(protocol.state(*state), message.next_span));
                    return;
                };
                versions.add((case.id, *state, arguments));
            }
            if versions.seen.len() > most {
                findings.error(too_many(case));
                return;
            }
        }
    }
}

/// A state with the arguments that it is reached with.
type Version = (ProtocolId, StateId, Vec<Type>);

/// The versions found so far, and those whose messages have not been followed.
#[derive(Default)]
struct Versions {
    seen: HashSet<Version>,
    next: Vec<Version>,
}

impl Versions {
    fn add(&mut self, version: Version) {
        if !self.seen.contains(&version) {
            self.seen.insert(version.clone());
            self.next.push(version);
        }
    }
}

/// The number of parts of each argument.
fn sizes(own: &[Type]) -> Vec<usize> {
    own.iter().map(|ty| parts(ty, &[])).collect()
}

/// These arguments where the parameters have been replaced by `own`, types of these sizes; `None` if one would be too large.
fn passed_on(arguments: &[Type], own: &[Type], sizes: &[usize]) -> Option<Vec<Type>> {
    let is_small = |ty: &Type| parts(ty, sizes) <= ARGUMENT_PARTS;
    let substituted = arguments.iter().map(|ty| ty.substitute(own));
    arguments
        .iter()
        .all(is_small)
        .then(|| substituted.collect())
}

/// The endpoint types that are written in a type, as versions in terms of the parameters around it.
fn endpoints_in(ty: &Type) -> Vec<Version> {
    let endpoints = ty.endpoints().into_iter();
    let versions = endpoints.map(|of| (of.protocol, of.state, of.arguments.clone()));
    versions.collect()
}

/// Visits all versions that the program uses: those of the states that have no parameters, of instances and of endpoint types, and
/// all that follow from them. A target without generic types has code for each of them.
fn count_all(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    let mut most = MORE_VERSIONS;
    let mut first: Vec<Version> = Vec::new();
    for case in subject.cases() {
        most += case.protocol.states.len();
        let ids = case.protocol.state_ids();
        let plain = ids.filter(|id| case.protocol.state(*id).parameters.is_empty());
        first.extend(plain.map(|id| (case.id, id, Vec::new())));
    }
    for instance in &program.instances {
        let protocol = program.protocol(instance.protocol);
        most += protocol.states.len();
        if let Some(start) = protocol.state_ids().next() {
            first.push((instance.protocol, start, instance.arguments.clone()));
        }
        first.extend(instance.arguments.iter().flat_map(endpoints_in));
    }
    let declared = program.types.iter().flat_map(|ty| ty.definition.parts());
    first.extend(declared.flat_map(endpoints_in));
    let is_known = |version: &Version| subject.is_known(version.0);
    first.retain(is_known);
    let mut versions = Versions::default();
    first.into_iter().for_each(|version| versions.add(version));
    while let Some((id, state, own)) = versions.next.pop() {
        let protocol = program.protocol(id);
        let sizes = sizes(&own);
        for message in &protocol.state(state).messages {
            let mut mentioned = Vec::new();
            for entry in &message.entries {
                let found = endpoints_in(&entry.ty).into_iter();
                mentioned.extend(found.map(|version| (version, entry.ty_span)));
            }
            if let Next::State { state, arguments } = &message.next {
                let found = arguments.iter().flat_map(endpoints_in);
                let found = found.chain([(id, *state, arguments.clone())]);
                mentioned.extend(found.map(|version| (version, message.next_span)));
            }
            mentioned.retain(|(version, _)| is_known(version));
            for ((to, state, arguments), at) in mentioned {
                let Some(arguments) = passed_on(&arguments, &own, &sizes) else {
                    findings.error(too_big(program.protocol(to).state(state), at));
                    return;
                };
                versions.add((to, state, arguments));
            }
        }
        if versions.seen.len() > most {
            if let Some(case) = subject.cases().find(|case| case.id == id) {
                findings.error(too_many(case));
            }
            return;
        }
    }
}

/// How many parts a type has once its parameters are replaced by types of these sizes.
fn parts(ty: &Type, sizes: &[usize]) -> usize {
    let mut sum: usize = 0;
    ty.walk(&mut |part| {
        let own = match part {
            Type::Parameter(index) => sizes.get(*index as usize).copied().unwrap_or(1),
            Type::Builtin(_)
            | Type::List(_)
            | Type::Option(_)
            | Type::Tuple(_)
            | Type::Named(_)
            | Type::Endpoint(_)
            | Type::Error => 1,
        };
        sum = sum.saturating_add(own);
    });
    sum
}

fn too_big(next: &State, at: Span) -> Diagnostic {
    RULE.finding(
        at,
        format!(
            "the type arguments of state `{}` become too large",
            next.name
        ),
    )
    .label(format!(
        "more than {ARGUMENT_PARTS} parts, counted from the start of the protocol"
    ))
    .help("name a part of the type with a `struct`, or pass smaller types on")
}

fn too_many(case: Case<'_>) -> Diagnostic {
    let name = &case.protocol.name;
    RULE.finding(name.span,
        format!("protocol `{name}` has too many versions of its states"),
    )
    .label(format!(
        "more than {MORE_VERSIONS}, not counting one for each state"
    ))
    .note("each different list of type arguments that a state is reached with creates another version of it")
    .help("pass fewer type parameters on, or pass them on in the same order")
}
