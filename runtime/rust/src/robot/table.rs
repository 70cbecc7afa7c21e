//! What robots know about a protocol: generated code has one table for each.

use std::collections::VecDeque;

/// The states and transitions of a protocol.
#[derive(Debug)]
pub struct Table {
    /// The name of the protocol or instance, with its package.
    pub protocol: &'static str,
    /// Its fingerprint, as 32 hexadecimal digits.
    pub fingerprint: &'static str,
    /// Its states, each with type arguments, the start first.
    pub nodes: &'static [Node],
}

/// A state with type arguments.
#[derive(Debug)]
pub struct Node {
    /// Its name, with its type arguments.
    pub state: &'static str,
    /// Whether the client sends in it.
    pub client_sends: bool,
    /// Its messages, in the order written.
    pub edges: &'static [Edge],
}

/// A message of a state.
#[derive(Debug)]
pub struct Edge {
    /// Its name.
    pub message: &'static str,
    /// The position of the next state in the table; -1 at the end of the protocol.
    pub next: i32,
    /// Whether robots can make its values.
    pub is_makeable: bool,
    /// Whether it is makeable, and robots can get to its state.
    pub is_coverable: bool,
}

impl Table {
    /// The first message of a shortest way from a state to where `goal` finds a message. Of messages that lead there equally fast, it is
    /// the first.
    pub(crate) fn way(
        &self,
        start: usize,
        goal: impl Fn(&Node, usize) -> Option<usize>,
    ) -> Option<usize> {
        let mut first: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let node = &self.nodes[at];
            if let Some(edge) = goal(node, at) {
                return first[at].or(Some(edge));
            }
            for edge in node.makeable() {
                let through = first[at].or(Some(edge));
                match usize::try_from(node.edges[edge].next) {
                    Ok(next) if next != start && first[next].is_none() => {
                        first[next] = through;
                        queue.push_back(next);
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// The first message of a shortest way to the end.
    pub(crate) fn way_out(&self, start: usize) -> Option<usize> {
        self.way(start, |node, _| {
            node.makeable().find(|edge| node.edges[*edge].next < 0)
        })
    }
}

impl Node {
    /// The positions of the messages that robots can send.
    pub(crate) fn makeable(&self) -> impl Iterator<Item = usize> + '_ {
        let edges = self.edges.iter().enumerate();
        edges.filter_map(|(at, edge)| edge.is_makeable.then_some(at))
    }
}
