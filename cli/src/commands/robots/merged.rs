//! The coverage of a protocol that several reports have together.

use duologue::diagnostic::{Diagnostic, Level};
use duologue::robots::{Node, Plan};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The name of the finding that a transition is missing.
const MISSING: &str = "robots-missing";

/// How many such findings a protocol has at most.
const MOST: usize = 1_000;

/// What reports say about a protocol together.
#[derive(Debug, Default)]
pub struct Merged {
    pub sessions: u64,
    pub languages: Vec<String>,
    pub sides: Vec<String>,
    /// For each node and edge, how often it was sent and received.
    pub counts: BTreeMap<(usize, usize), [u64; 2]>,
}

impl Merged {
    fn seen(&self, at: usize, edge: usize) -> bool {
        let counts = self.counts.get(&(at, edge));
        counts.is_some_and(|[sent, received]| sent.saturating_add(*received) > 0)
    }

    /// How many of the transitions that robots can get to were seen, and how many there are.
    pub fn covered(&self, plan: &Plan<'_>) -> (usize, usize) {
        let (mut seen, mut all) = (0, 0);
        for (at, node) in plan.nodes.iter().enumerate() {
            for (edge, description) in node.edges.iter().enumerate() {
                all += usize::from(description.is_coverable);
                seen += usize::from(description.is_coverable && self.seen(at, edge));
            }
        }
        (seen, all)
    }

    pub fn text(&self, plan: &Plan<'_>) -> String {
        let (seen, all) = self.covered(plan);
        let word = if self.sessions == 1 {
            "session"
        } else {
            "sessions"
        };
        let mut text = format!("{}: {} {word}", plan.name, self.sessions);
        if !self.languages.is_empty() {
            let _ = write!(text, " in {}", self.languages.join(", "));
        }
        let _ = write!(text, "\n    covered {seen}/{all} transitions\n");
        for (at, node) in plan.nodes.iter().enumerate() {
            let way = way(plan, at);
            for (edge, (message, description)) in plan.messages(node).enumerate() {
                let name = &message.name;
                let (side, state) = (node.sender.word(), &node.name);
                if !description.is_coverable {
                    let _ = writeln!(text, "    no robot gets to {side}: {name} ({state})");
                } else if !self.seen(at, edge) {
                    let _ = writeln!(text, "    missing {side}: {name} ({state}) {way}");
                }
            }
        }
        text
    }

    /// The transitions that no robot has seen, as findings: the first of them, if there are very many.
    pub fn missing(&self, plan: &Plan<'_>, level: Level) -> Vec<Diagnostic> {
        let mut list = Vec::new();
        for (at, node) in plan.nodes.iter().enumerate() {
            let (steps, way) = (plan.way_to(at), way(plan, at));
            for (edge, (message, description)) in plan.messages(node).enumerate() {
                if !description.is_coverable || self.seen(at, edge) || list.len() == MOST {
                    continue;
                }
                let (side, state) = (node.sender.word(), &node.name);
                let words = format!(
                    "no robot has seen the {side} of `{}` send `{}` in the state `{state}`",
                    plan.name, message.name
                );
                let mut found = Diagnostic::error(MISSING, message.name.span, words);
                found.level = level;
                found = found.label("never sent or received here");
                for (before, sent) in &steps {
                    let node = &plan.nodes[*before];
                    let name = &plan.state(node).messages[*sent].name;
                    found = found.step(
                        name.span,
                        format!("the {} sends `{name}`", node.sender.word()),
                    );
                }
                list.push(found.note(format!("robots get there {way}")));
            }
        }
        list
    }

    /// The merged coverage in the form of a report, so that it can be merged again.
    pub fn json(&self, plan: &Plan<'_>) -> String {
        let transition = |at: usize, edge: usize, node: &Node, message: &str| {
            let counts = self.counts.get(&(at, edge));
            let [sent, received] = counts.copied().unwrap_or_default();
            serde_json::json!({
                "state": node.name, "message": message, "sent": sent, "received": received
            })
        };
        let nodes = plan.nodes.iter().enumerate();
        let transitions = nodes.flat_map(|(at, node)| {
            let messages = plan.messages(node).enumerate();
            let all = messages
                .map(move |(edge, (message, _))| transition(at, edge, node, message.name.text()));
            all.collect::<Vec<_>>()
        });
        let side = match self.sides.as_slice() {
            [only] => only,
            _ => "both",
        };
        let (covered, coverable) = self.covered(plan);
        let value = serde_json::json!({
            "version": 1,
            "protocol": plan.name,
            "fingerprint": plan.fingerprint,
            "language": self.languages.join(","),
            "side": side,
            "sessions": self.sessions,
            "covered": covered,
            "coverable": coverable,
            "transitions": transitions.collect::<Vec<_>>(),
        });
        format!("{value}\n")
    }
}

/// The shortest dialogue to a state.
fn way(plan: &Plan<'_>, node: usize) -> String {
    let way = plan.way_to(node);
    if way.is_empty() {
        return "at the start".to_owned();
    }
    let names = way.iter().map(|(at, edge)| {
        let state = plan.state(&plan.nodes[*at]);
        format!("`{}`", state.messages[*edge].name)
    });
    format!("after {}", names.collect::<Vec<_>>().join(", "))
}
