//! Queries about a protocol's states and transitions, in this crate's own terms; the only module that uses petgraph. Graphs in the
//! languages of other programs are in [`diagram`] and [`promela`].
//!
//! All queries are linear in states plus transitions.

pub mod diagram;
pub mod promela;

use crate::protocol::{Direction, Protocol, StateId};
use petgraph::Direction as Along;
use petgraph::algo::kosaraju_scc;
use petgraph::dot::{Config, Dot};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Bfs, EdgeRef, Reversed};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// How many messages can be in flight in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capacity {
    /// Never more than this many.
    Bounded(u32),
    /// Any number, because a cycle stays in one direction.
    Unbounded,
}

impl Capacity {
    /// The most messages; `None` if there is no bound.
    #[must_use]
    pub fn most(self) -> Option<u32> {
        match self {
            Capacity::Bounded(messages) => Some(messages),
            Capacity::Unbounded => None,
        }
    }

    /// How many messages there can be, in words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Capacity::Bounded(1) => "at most 1 message".to_owned(),
            Capacity::Bounded(most) => format!("at most {most} messages"),
            Capacity::Unbounded => "any number of messages".to_owned(),
        }
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Capacity::Bounded(messages) => messages.fmt(f),
            Capacity::Unbounded => f.write_str("unbounded"),
        }
    }
}

/// The states of one protocol with its transitions as edges; all `-> !` lead to one additional node, the end.
#[derive(Debug)]
pub struct StateGraph {
    /// Node `i` is state `i`, the last node is the end. An edge carries the position of its message in the state.
    graph: DiGraph<Option<Direction>, u32>,
}

/// One step of a dialogue: the message at a position in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The state in which it is sent.
    pub state: StateId,
    /// Its position among the messages of the state.
    pub message: usize,
}

/// A shortest dialogue, of which only one step is kept, so that the ways of all states take little memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The number of messages.
    pub length: usize,
    /// One of its steps; `None` if there are none.
    pub step: Option<Step>,
}

fn step(edge: petgraph::graph::EdgeReference<'_, u32>) -> Step {
    Step {
        state: StateId::new(edge.source().index()),
        message: *edge.weight() as usize,
    }
}

impl StateGraph {
    /// The graph of a resolved protocol.
    #[must_use]
    pub fn of(protocol: &Protocol) -> StateGraph {
        let edges = protocol.messages().count();
        let mut graph = DiGraph::with_capacity(protocol.states.len() + 1, edges);
        for state in &protocol.states {
            graph.add_node(state.direction);
        }
        let end = graph.add_node(None);
        for (from, state) in protocol.states.iter().enumerate() {
            for (position, message) in state.messages.iter().enumerate() {
                let to = message.next.state();
                let to = to.map_or(end, |to| NodeIndex::new(to.index()));
                let position = u32::try_from(position).expect("fewer than 2^32 messages");
                graph.add_edge(NodeIndex::new(from), to, position);
            }
        }
        StateGraph { graph }
    }

    /// The graph without the transitions from and to a state.
    #[must_use]
    pub fn without(&self, state: StateId) -> StateGraph {
        let node = NodeIndex::new(state.index());
        let mut graph = self.graph.clone();
        graph.retain_edges(|graph, edge| {
            let ends = graph.edge_endpoints(edge);
            ends.is_some_and(|(from, to)| from != node && to != node)
        });
        StateGraph { graph }
    }

    fn states(&self) -> usize {
        self.graph.node_count() - 1
    }

    fn is_over(&self, node: NodeIndex) -> bool {
        self.graph[node].is_none()
    }

    /// For each state, whether a session can reach it from the start.
    #[must_use]
    pub fn reachable(&self) -> Vec<bool> {
        let mut reached = vec![false; self.graph.node_count()];
        let mut walk = Bfs::new(&self.graph, NodeIndex::new(0));
        while let Some(node) = walk.next(&self.graph) {
            reached[node.index()] = true;
        }
        reached.truncate(self.states());
        reached
    }

    /// For each state, whether a terminal can still be reached from it: `!`, or a state without a direction.
    #[must_use]
    pub fn can_finish(&self) -> Vec<bool> {
        self.leads_to(|_| false)
    }

    /// For each state, whether a terminal or a goal state can be reached from it.
    #[must_use]
    pub fn leads_to(&self, is_goal: impl Fn(StateId) -> bool) -> Vec<bool> {
        let mut leading = vec![false; self.graph.node_count()];
        let backward = Reversed(&self.graph);
        let mut walk = Bfs {
            stack: self
                .graph
                .node_indices()
                .filter(|node| self.is_over(*node) || is_goal(StateId::new(node.index())))
                .collect(),
            discovered: petgraph::visit::Visitable::visit_map(&self.graph),
        };
        for node in &walk.stack {
            walk.discovered.insert(node.index());
        }
        while let Some(node) = walk.next(backward) {
            leading[node.index()] = true;
        }
        leading.truncate(self.states());
        leading
    }

    /// The maximum number of messages that can be in flight towards the server and towards the client, over all reachable states:
    /// the longest run in each direction, by the capacity theorem (a party sends only after it has read everything sent to it).
    #[must_use]
    pub fn capacities(&self) -> (Capacity, Capacity) {
        let reachable = self.reachable();
        (
            self.longest_run(&reachable, Direction::Send),
            self.longest_run(&reachable, Direction::Recv),
        )
    }

    /// Whether a node is a reachable state of a direction.
    fn takes_part(&self, node: NodeIndex, reachable: &[bool], direction: Direction) -> bool {
        reachable.get(node.index()) == Some(&true) && self.graph[node] == Some(direction)
    }

    /// The longest run of messages in one direction over the reachable states: the longest path in the condensation of the
    /// states of that direction, or unbounded where one of its components is a cycle.
    fn longest_run(&self, reachable: &[bool], direction: Direction) -> Capacity {
        let takes_part = |node| self.takes_part(node, reachable, direction);
        let single = petgraph::visit::NodeFiltered::from_fn(&self.graph, takes_part);
        let mut runs = vec![0u32; self.graph.node_count()];
        let mut longest = 0;
        for component in kosaraju_scc(&single) {
            let node = component[0];
            let loops_here = |node| self.graph.edges(node).any(|edge| edge.target() == node);
            if component.len() > 1 || loops_here(node) {
                return Capacity::Unbounded;
            }
            let behind = self.graph.neighbors_directed(node, Along::Outgoing);
            let behind = behind
                .filter(|next| takes_part(*next))
                .map(|next| runs[next.index()]);
            let speaks = u32::from(self.graph.edges(node).next().is_some());
            runs[node.index()] = speaks + behind.max().unwrap_or(0);
            longest = longest.max(runs[node.index()]);
        }
        Capacity::Bounded(longest)
    }

    /// The reachable loops that stay in one direction: groups of states each of which can reach the others, and itself, without a
    /// change of direction.
    #[must_use]
    pub fn one_way_loops(&self) -> Vec<Vec<StateId>> {
        let reachable = self.reachable();
        let mut loops = Vec::new();
        for direction in [Direction::Send, Direction::Recv] {
            let takes_part = |node| self.takes_part(node, &reachable, direction);
            let single = petgraph::visit::NodeFiltered::from_fn(&self.graph, takes_part);
            for component in kosaraju_scc(&single) {
                let node = component[0];
                let loops_here = self.graph.edges(node).any(|edge| edge.target() == node);
                if component.len() > 1 || loops_here {
                    let mut states: Vec<_> = component
                        .into_iter()
                        .map(|node| StateId::new(node.index()))
                        .collect();
                    states.sort_unstable();
                    loops.push(states);
                }
            }
        }
        loops.sort_unstable();
        loops
    }

    /// Why any number of messages can be in flight in a direction: a shortest loop that stays in it, through the first state that is
    /// in one; `None` if there is none.
    #[must_use]
    pub fn one_way_loop(&self, direction: Direction) -> Option<Vec<Step>> {
        let mut loops = self.one_way_loops().into_iter();
        let stays = |states: &Vec<StateId>| {
            self.graph[NodeIndex::new(states[0].index())] == Some(direction)
        };
        let inside = loops.find(stays)?;
        let steps = shortest_loop(inside[0].index(), |at| {
            let edges = self.graph.edges(NodeIndex::new(at));
            let edges = edges.map(|edge| (edge.target().index(), step(edge)));
            let mut edges: Vec<_> = edges
                .filter(|(to, _)| inside.binary_search(&StateId::new(*to)).is_ok())
                .collect();
            edges.sort_by_key(|(_, step)| step.message);
            edges
        });
        Some(steps)
    }

    /// The groups of states that can reach each other by at least one message, and each remaining state alone; targets of
    /// transitions come in earlier groups than their sources.
    #[must_use]
    pub fn components(&self) -> Vec<Vec<StateId>> {
        let groups = kosaraju_scc(&self.graph).into_iter();
        let states = self.states();
        let groups = groups.map(|group| {
            let states = group
                .into_iter()
                .map(NodeIndex::index)
                .filter(|index| *index < states);
            states.map(StateId::new).collect::<Vec<_>>()
        });
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// The shortest dialogue from the start to a state, or `None` if it cannot be reached.
    #[must_use]
    pub fn shortest_dialogue(&self, to: StateId) -> Option<Vec<Step>> {
        let here = self.ways_here();
        let mut way = here[to.index()]?;
        let mut steps = Vec::new();
        while let Some(step) = way.step {
            steps.push(step);
            way = here[step.state.index()].expect("the way leads through states that are reached");
        }
        steps.reverse();
        Some(steps)
    }

    /// For each state, the end of a shortest dialogue from the start, or `None` if it cannot be reached. The dialogue to the state
    /// of its step is the rest. Among dialogues of the same length, the one whose messages are written first.
    #[must_use]
    pub fn ways_here(&self) -> Vec<Option<Way>> {
        let mut ways: Vec<Option<Way>> = vec![None; self.graph.node_count()];
        let mut queue = VecDeque::from([0usize]);
        ways[0] = Some(Way::default());
        while let Some(node) = queue.pop_front() {
            let length = ways[node].map_or(0, |way| way.length) + 1;
            let mut edges: Vec<_> = self.graph.edges(NodeIndex::new(node)).collect();
            edges.sort_by_key(|edge| *edge.weight());
            for edge in edges {
                let target = edge.target().index();
                if ways[target].is_none() {
                    let step = Some(step(edge));
                    ways[target] = Some(Way { length, step });
                    queue.push_back(target);
                }
            }
        }
        ways.truncate(self.states());
        ways
    }

    /// For each state, the beginning of a shortest dialogue to the end of the session, or `None` if there is none. Among dialogues of
    /// the same length, the one whose first message is written first.
    #[must_use]
    pub fn ways_out(&self) -> Vec<Option<Way>> {
        let over = self.graph.node_indices().filter(|node| self.is_over(*node));
        let mut queue: VecDeque<NodeIndex> = over.collect();
        let mut lengths: Vec<Option<usize>> = vec![None; self.graph.node_count()];
        for node in &queue {
            lengths[node.index()] = Some(0);
        }
        while let Some(node) = queue.pop_front() {
            let length = lengths[node.index()].map(|length| length + 1);
            for before in self.graph.neighbors_directed(node, Along::Incoming) {
                if lengths[before.index()].is_none() {
                    lengths[before.index()] = length;
                    queue.push_back(before);
                }
            }
        }
        let way = |node: usize| {
            let length = lengths[node]?;
            let edges = self.graph.edges(NodeIndex::new(node));
            let nearer = edges
                .filter(|edge| lengths[edge.target().index()].map(|rest| rest + 1) == Some(length));
            let step = nearer.map(step).min_by_key(|step| step.message);
            Some(Way { length, step })
        };
        (0..self.states()).map(way).collect()
    }

    /// A shortest dialogue from a state to the end of the session, or `None` if there is none.
    #[must_use]
    pub fn dialogue_out(&self, from: StateId) -> Option<Vec<Step>> {
        let ways = self.ways_out();
        ways[from.index()]?;
        let mut steps = Vec::new();
        let mut at = NodeIndex::new(from.index());
        while let Some(next) = ways.get(at.index()).and_then(|way| (*way)?.step) {
            let edge = self.graph.edges(at).find(|edge| step(*edge) == next);
            at = edge.expect("a step is an edge").target();
            steps.push(next);
        }
        Some(steps)
    }

    /// The graph in the DOT language, without the `digraph { }` around it. `node` gives the attributes of a state, or of the
    /// end if a message leads to it; `edge` those of a message.
    #[must_use]
    pub fn dot(
        &self,
        node: &dyn Fn(Option<StateId>) -> String,
        edge: &dyn Fn(Step) -> String,
    ) -> String {
        let end = NodeIndex::new(self.states());
        let is_led_to = self.graph.edges_directed(end, Along::Incoming).next();
        let is_led_to = is_led_to.is_some();
        let shown =
            petgraph::visit::NodeFiltered::from_fn(&self.graph, |node| node != end || is_led_to);
        let node_attributes = |_, (index, _): (NodeIndex, &Option<Direction>)| {
            node((index != end).then(|| StateId::new(index.index())))
        };
        let edge_attributes =
            |_, reference: petgraph::graph::EdgeReference<'_, u32>| edge(step(reference));
        let config = [
            Config::GraphContentOnly,
            Config::NodeNoLabel,
            Config::EdgeNoLabel,
        ];
        let dot = Dot::with_attr_getters(&shown, &config, &edge_attributes, &node_attributes);
        format!("{dot:?}")
    }
}

/// Among items numbered from 0, the groups of items that can reach each other and the single items that lead to themselves.
#[must_use]
pub fn loops(things: usize, leads_to: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<(), ()>::with_capacity(things, 0);
    for _ in 0..things {
        graph.add_node(());
    }
    let mut to_themselves = HashSet::new();
    for (from, to) in leads_to {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
        if from == to {
            to_themselves.insert(from);
        }
    }
    let groups = kosaraju_scc(&graph).into_iter();
    let groups = groups.map(|group| group.into_iter().map(NodeIndex::index).collect::<Vec<_>>());
    groups
        .filter(|group| group.len() > 1 || to_themselves.contains(&group[0]))
        .collect()
}

/// The edges of a shortest way from a node back to itself; none if there is no way. `edges` gives the nodes after a node, each with the edge
/// that leads to it.
pub fn shortest_loop<E: Copy>(first: usize, edges: impl Fn(usize) -> Vec<(usize, E)>) -> Vec<E> {
    let mut came_by: HashMap<usize, (usize, E)> = HashMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        for (to, edge) in edges(at) {
            if to == first {
                let mut way = vec![edge];
                let mut at = at;
                while at != first {
                    let (from, edge) = came_by[&at];
                    way.push(edge);
                    at = from;
                }
                way.reverse();
                return way;
            }
            came_by.entry(to).or_insert_with(|| {
                queue.push_back(to);
                (at, edge)
            });
        }
    }
    Vec::new()
}
