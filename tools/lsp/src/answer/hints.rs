//! Hints in the text: which side sends in a state, and how many messages are in flight.

use super::Snapshot;
use duologue::graph::{Capacity, StateGraph};
use std::ops::Range;

/// A text that an editor shows between characters of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The byte before which it is shown.
    pub at: usize,
    /// What it says.
    pub text: String,
    /// More about it.
    pub tooltip: String,
}

/// The hints in a range.
#[must_use]
pub fn hints(snapshot: &Snapshot, within: &Range<usize>) -> Vec<Hint> {
    let program = snapshot.program();
    let Some(file) = snapshot.file() else {
        return Vec::new();
    };
    let is_inside = |at: usize| within.contains(&at) || at == within.end;
    let mut hints = Vec::new();
    for id in &program.file(file).protocols {
        let protocol = program.protocol(*id);
        let at = protocol.name.span.end as usize;
        if is_inside(at) && !protocol.states.is_empty() {
            let (to_server, to_client) = StateGraph::of(protocol).capacities();
            let text = match to_server.max(to_client) {
                Capacity::Bounded(most) => format!("at most {most} in flight"),
                Capacity::Unbounded => "any number in flight".to_owned(),
            };
            hints.push(Hint {
                at,
                text,
                tooltip: format!("to the server: {to_server}, to the client: {to_client}"),
            });
        }
        for state in &protocol.states {
            let at = state.direction_span.end as usize;
            if let Some(side) = state.active_side().filter(|_| is_inside(at)) {
                hints.push(Hint {
                    at,
                    text: format!("{} sends", side.word()),
                    tooltip: format!("the {} receives", side.dual().word()),
                });
            }
        }
    }
    hints.sort_by_key(|hint| hint.at);
    hints
}
