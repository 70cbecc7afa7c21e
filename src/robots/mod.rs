//! What robots need to know about a protocol, for all targets: the states with their type arguments, where each message leads, and
//! which values can be made.

mod makeable;

pub use makeable::Makeable;

use crate::check::instantiations;
use crate::fingerprint::Fingerprint;
use crate::protocol::text::type_text;
use crate::protocol::{Message, Protocol, Side, State, StateId, Type};
use crate::relation::View;
use std::collections::{HashMap, VecDeque};

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
    /// Its messages, in the order written.
    pub edges: Vec<Edge>,
    /// The last message of a shortest dialogue that robots can have to here, with the node in which it is sent.
    before: Option<(usize, usize)>,
}

/// A message of a node.
#[derive(Clone, Copy, Debug)]
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
        let (program, protocol) = (view.program, view.description());
        let is_open = view.instance.is_none() && protocol.is_generic();
        if is_open || protocol.start().direction.is_none() {
            return Err(Absent::Nothing);
        }
        let arguments = view.arguments().unwrap_or_default().to_vec();
        // Those without messages are no nodes.
        let mut reached = instantiations(protocol, (StateId::new(0), arguments), 2 * MOST_NODES);
        let has_all = reached.len() <= 2 * MOST_NODES;
        reached.retain(|(state, _)| protocol.state(*state).direction.is_some());
        if reached.len() > MOST_NODES || !has_all {
            return Err(Absent::TooLarge);
        }
        let positions: HashMap<_, usize> = reached.iter().zip(0..).collect();
        let nodes = reached.iter().map(|(id, arguments)| {
            let state = protocol.state(*id);
            let text = |ty: &Type| type_text(program, &[], ty);
            let words: Vec<String> = arguments.iter().map(text).collect();
            let edge = |message: &Message| {
                let mut entries = message.entries.iter();
                let next = message.next.with(arguments);
                Edge {
                    next: next.and_then(|next| positions.get(&next).copied()),
                    is_makeable: entries.all(|entry| makeable.is(&entry.ty.substitute(arguments))),
                    is_coverable: false,
                }
            };
            Node {
                state: *id,
                arguments: arguments.clone(),
                name: match words.as_slice() {
                    [] => state.name.to_string(),
                    words => format!("{}<{}>", state.name, words.join(", ")),
                },
                sender: state.active_side().unwrap_or(Side::Client),
                edges: state.messages.iter().map(edge).collect(),
                before: None,
            }
        });
        let mut plan = Plan {
            protocol,
            name: program.full_name(view.file(), view.name().text()),
            fingerprint: Fingerprint::of(view).to_string(),
            nodes: nodes.collect(),
        };
        plan.find_ways();
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

    /// The messages of a shortest dialogue to a node that robots can have, each with the node in which it is sent. None are needed to
    /// the start, and none lead where robots cannot get.
    #[must_use]
    pub fn way_to(&self, node: usize) -> Vec<(usize, usize)> {
        let before = |(node, _): &(usize, usize)| self.nodes[*node].before;
        let mut way: Vec<_> = std::iter::successors(self.nodes[node].before, before).collect();
        way.reverse();
        way
    }

    /// Breadth first from the start, by messages that robots can make.
    fn find_ways(&mut self) {
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            for position in 0..self.nodes[at].edges.len() {
                let edge = &mut self.nodes[at].edges[position];
                edge.is_coverable = edge.is_makeable;
                if let Some(next) = edge.next.filter(|next| edge.is_makeable && *next != 0)
                    && self.nodes[next].before.is_none()
                {
                    self.nodes[next].before = Some((at, position));
                    queue.push_back(next);
                }
            }
        }
    }
}
