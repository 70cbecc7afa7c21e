//! Which transitions of a protocol robots have seen.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;

use super::table::Table;

/// Which transitions of a protocol robots have seen, and how often. Clones share their counts, so both robots of a session and the
/// robots of several sessions can have the same one, also on several threads.
#[derive(Clone, Debug)]
pub struct Coverage(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    table: &'static Table,
    /// For each state and each of its messages, how often it was sent and received.
    edges: Vec<Vec<[AtomicU64; 2]>>,
    sessions: AtomicU64,
    /// 1 if a robot was the client, plus 2 if one was the server.
    sides: AtomicU8,
}

impl Coverage {
    /// Nothing of a protocol has been seen. Its module `robots` has the table.
    pub fn new(table: &'static Table) -> Coverage {
        let none = |_| [AtomicU64::new(0), AtomicU64::new(0)];
        let edges = table.nodes.iter();
        let edges = edges.map(|node| node.edges.iter().map(none).collect());
        Coverage(Arc::new(Counts {
            table,
            edges: edges.collect(),
            sessions: AtomicU64::new(0),
            sides: AtomicU8::new(0),
        }))
    }

    pub(crate) fn is_of(&self, table: &'static Table) -> bool {
        std::ptr::eq(self.0.table, table)
    }

    pub(crate) fn begin(&self, is_client: bool) {
        self.0.sessions.fetch_add(1, Ordering::Relaxed);
        let side = if is_client { 1 } else { 2 };
        self.0.sides.fetch_or(side, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, node: usize, edge: usize, is_received: bool) {
        let count = &self.0.edges[node][edge][usize::from(is_received)];
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a transition has been seen. Not the sum: of two robots that share a coverage, one counts what it receives while the
    /// other goes on sending, so the sum would depend on their threads.
    fn seen(&self, node: usize, edge: usize) -> u64 {
        let [sent, received] = &self.0.edges[node][edge];
        sent.load(Ordering::Relaxed)
            .max(received.load(Ordering::Relaxed))
    }

    /// How many transitions have been seen, of those that robots can get to, and how many of these there are.
    pub fn covered(&self) -> (usize, usize) {
        let (mut seen, mut all) = (0, 0);
        for (at, node) in self.0.table.nodes.iter().enumerate() {
            for (edge, description) in node.edges.iter().enumerate() {
                if description.is_coverable {
                    all += 1;
                    seen += usize::from(self.seen(at, edge) > 0);
                }
            }
        }
        (seen, all)
    }

    /// `covered 5/8 transitions`, and a line for each transition that is missing.
    pub fn report(&self) -> String {
        let (seen, all) = self.covered();
        let mut text = format!("covered {seen}/{all} transitions\n");
        for (at, node) in self.0.table.nodes.iter().enumerate() {
            for (edge, description) in node.edges.iter().enumerate() {
                if description.is_coverable && self.seen(at, edge) == 0 {
                    let side = if node.client_sends {
                        "client"
                    } else {
                        "server"
                    };
                    let (message, state) = (description.message, node.state);
                    let _ = writeln!(text, "missing {side}: {message} ({state})");
                }
            }
        }
        text
    }

    /// The report as a line of JSON without a line break, for `duologue robots report`.
    pub fn json(&self) -> String {
        let table = self.0.table;
        let side = match self.0.sides.load(Ordering::Relaxed) {
            1 => "client",
            2 => "server",
            _ => "both",
        };
        let sessions = self.0.sessions.load(Ordering::Relaxed);
        let mut text = format!(
            "{{\"version\":1,\"protocol\":\"{}\",\"fingerprint\":\"{}\",\"language\":\"rust\",\"side\":\"{side}\",\
             \"sessions\":{sessions},\"transitions\":[",
            table.protocol, table.fingerprint
        );
        for (at, node) in table.nodes.iter().enumerate() {
            for (edge, description) in node.edges.iter().enumerate() {
                let [sent, received] = &self.0.edges[at][edge];
                let comma = if at == 0 && edge == 0 { "" } else { "," };
                let _ = write!(
                    text,
                    "{comma}{{\"state\":\"{}\",\"message\":\"{}\",\"sent\":{},\"received\":{}}}",
                    node.state,
                    description.message,
                    sent.load(Ordering::Relaxed),
                    received.load(Ordering::Relaxed)
                );
            }
        }
        text.push_str("]}");
        text
    }

    /// The first message of the shortest way from a state to a transition that has not been seen.
    pub(crate) fn steer(&self, start: usize) -> Option<usize> {
        self.0.table.way(start, |node, at| {
            let edges = 0..node.edges.len();
            let sum = edges.fold(0_u64, |sum, edge| sum.saturating_add(self.seen(at, edge)));
            // A peer that never sends some message must not be asked for it forever.
            let is_tried = sum >= 8 * node.edges.len() as u64;
            let mut makeable = node.makeable().filter(|_| !is_tried);
            makeable.find(|edge| self.seen(at, *edge) == 0)
        })
    }
}
