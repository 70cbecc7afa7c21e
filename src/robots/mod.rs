//! What robots need to know about a protocol, for all targets: the states with their type arguments, where each message leads, the
//! shortest ways to the end, and which values can be made.

mod makeable;
mod payloads;

pub use makeable::Makeable;
pub(crate) use payloads::{PayloadType, PayloadTypes, builtin_word};

use crate::fingerprint::Fingerprint;
use crate::protocol::text::type_text;
use crate::protocol::{Message, Next, Program, Protocol, Side, State, StateId, Type};
use crate::relation::View;
use std::collections::{BTreeMap, VecDeque};

/// Robots are generated for protocols with at most this many nodes.
pub const MOST_NODES: usize = 1_000;

/// A protocol without type parameters, or an instance, as robots play it.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The name with its package.
    pub name: String,
    /// The fingerprint of what it says, as text.
    pub fingerprint: String,
    /// The states that sessions can be in, breadth first from the start.
    pub nodes: Vec<Node>,
}

/// A state with its type arguments.
#[derive(Debug)]
pub struct Node {
    /// The state; it has messages that a side sends.
    pub state: StateId,
    /// The arguments of its type parameters.
    pub arguments: Vec<Type>,
    /// The name of the state, with its arguments.
    pub name: String,
    /// The side that sends.
    pub sender: Side,
    /// The first edge of a shortest way to the end, if there is one.
    pub way_out: Option<usize>,
    /// Its messages, in the order written.
    pub edges: Vec<Edge>,
}

/// A message of a node.
#[derive(Debug)]
pub struct Edge {
    /// The node that it leads to; `None` if the session is over.
    pub next: Option<usize>,
    /// Whether robots can make its values.
    pub is_makeable: bool,
    /// Whether robots can also get to its node.
    pub is_coverable: bool,
}

/// Why there are no robots for a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It has no messages, or only its instances have robots.
    Nothing,
    /// It has more than [`MOST_NODES`] nodes.
    TooLarge,
}

impl Absent {
    /// A note for users on a protocol without robots, if that may surprise them.
    #[must_use]
    pub fn note(self, language: &str, name: &str) -> Option<String> {
        match self {
            Absent::Nothing => None,
            Absent::TooLarge => Some(format!(
                "{language}: `{name}` has no robots: it has more than {MOST_NODES} states"
            )),
        }
    }
}

impl<'a> Plan<'a> {
    /// The plan of a protocol of a checked program, or of an instance.
    ///
    /// # Errors
    ///
    /// Why there are no robots.
    pub fn of(view: View<'a>, makeable: &Makeable) -> Result<Plan<'a>, Absent> {
        let protocol = view.description();
        let is_open = view.instance.is_none() && protocol.is_generic();
        if is_open || protocol.start().direction.is_none() {
            return Err(Absent::Nothing);
        }
        let file = view
            .instance
            .map_or(protocol.file, |instance| instance.file);
        let arguments = view.instance.map(|instance| instance.arguments.clone());
        let mut plan = Plan {
            protocol,
            name: view.program.full_name(file, view.name().text()),
            fingerprint: Fingerprint::of(view).to_string(),
            nodes: Vec::new(),
        };
        plan.nodes = nodes(
            view.program,
            protocol,
            arguments.unwrap_or_default(),
            makeable,
        )?;
        plan.find_ways_out();
        plan.find_coverable();
        Ok(plan)
    }

    /// The state of a node.
    #[must_use]
    pub fn state(&self, node: &Node) -> &'a State {
        self.protocol.state(node.state)
    }

    /// The messages of a node with their edges.
    pub fn messages<'p>(
        &'p self,
        node: &'p Node,
    ) -> impl Iterator<Item = (&'a Message, &'p Edge)> + use<'a, 'p> {
        self.state(node).messages.iter().zip(&node.edges)
    }

    /// The messages of a shortest dialogue to a node that robots can have, each with the node in which it is sent.
    #[must_use]
    pub fn way_to(&self, node: usize) -> Option<Vec<(usize, usize)>> {
        let mut before: Vec<Option<(usize, usize)>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            for (edge, description) in self.nodes[at].edges.iter().enumerate() {
                let next = description.next.filter(|_| description.is_makeable);
                if let Some(next) = next.filter(|next| *next != 0 && before[*next].is_none()) {
                    before[next] = Some((at, edge));
                    queue.push_back(next);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = node;
        while at != 0 {
            let step = before[at]?;
            way.push(step);
            at = step.0;
        }
        way.reverse();
        Some(way)
    }

    /// Breadth first from the end: the first edge to a node that is nearer.
    fn find_ways_out(&mut self) {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut distances: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let makeable = node.edges.iter().filter(|edge| edge.is_makeable);
            for edge in makeable {
                match edge.next {
                    Some(next) => before[next].push(index),
                    None if distances[index].is_none() => {
                        distances[index] = Some(1);
                        queue.push_back(index);
                    }
                    None => {}
                }
            }
        }
        while let Some(index) = queue.pop_front() {
            let distance = distances[index].unwrap_or_default() + 1;
            for user in &before[index] {
                if distances[*user].is_none() {
                    distances[*user] = Some(distance);
                    queue.push_back(*user);
                }
            }
        }
        for (node, distance) in self.nodes.iter_mut().zip(&distances) {
            let leads_out = |edge: &Edge| {
                let rest = edge.next.map_or(Some(0), |next| distances[next]);
                edge.is_makeable && rest.is_some_and(|rest| Some(rest + 1) == *distance)
            };
            node.way_out = node.edges.iter().position(leads_out);
        }
    }

    fn find_coverable(&mut self) {
        let mut is_reached = vec![false; self.nodes.len()];
        let mut pending = vec![0];
        while let Some(index) = pending.pop() {
            if std::mem::replace(&mut is_reached[index], true) {
                continue;
            }
            let edges = self.nodes[index].edges.iter_mut();
            for edge in edges.filter(|edge| edge.is_makeable) {
                edge.is_coverable = true;
                pending.extend(edge.next);
            }
        }
    }
}

/// The nodes, breadth first. This terminates because a checked program has no arguments that grow along a cycle.
fn nodes(
    program: &Program,
    protocol: &Protocol,
    arguments: Vec<Type>,
    makeable: &Makeable,
) -> Result<Vec<Node>, Absent> {
    let start = (StateId::new(0), arguments);
    let mut known = BTreeMap::new();
    known.insert(key(&start), 0);
    let mut open = VecDeque::from([start]);
    let mut nodes: Vec<Node> = Vec::new();
    while let Some((id, arguments)) = open.pop_front() {
        let state = protocol.state(id);
        let mut edges = Vec::new();
        for message in &state.messages {
            let mut entries = message.entries.iter();
            let mut next = None;
            if let Next::State {
                state,
                arguments: given,
            } = &message.next
                && protocol.state(*state).direction.is_some()
            {
                let given = given.iter().map(|ty| ty.substitute(&arguments)).collect();
                let place = (*state, given);
                let count = known.len();
                let number = *known.entry(key(&place)).or_insert(count);
                if number == count {
                    open.push_back(place);
                }
                next = Some(number);
            }
            edges.push(Edge {
                next,
                is_makeable: entries.all(|entry| makeable.is(&entry.ty.substitute(&arguments))),
                is_coverable: false,
            });
        }
        if known.len() > MOST_NODES {
            return Err(Absent::TooLarge);
        }
        let words: Vec<String> = arguments
            .iter()
            .map(|ty| type_text(program, &[], ty))
            .collect();
        let name = state.name.text();
        nodes.push(Node {
            state: id,
            name: match words.as_slice() {
                [] => name.to_owned(),
                words => format!("{name}<{}>", words.join(", ")),
            },
            sender: state.active_side().unwrap_or(Side::Client),
            way_out: None,
            edges,
            arguments,
        });
    }
    Ok(nodes)
}

/// A state with arguments, as something that can be compared.
fn key((state, arguments): &(StateId, Vec<Type>)) -> (StateId, String) {
    (*state, format!("{arguments:?}"))
}
