//! What robots know about a protocol: generated code has one table for each.

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
    /// The position of the first message of a shortest way to the end, or -1.
    pub way_out: i32,
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

impl Node {
    /// The positions of the messages that robots can send.
    pub(crate) fn makeable(&self) -> impl Iterator<Item = usize> + '_ {
        let edges = self.edges.iter().enumerate();
        edges.filter_map(|(at, edge)| edge.is_makeable.then_some(at))
    }
}
