//! Numbers sent between processes, which the header sends and receives without a call.

use super::ctype::CType;
use super::view::UnitView;
use crate::endpoint::Edge;
use crate::protocol::{Builtin, Entry, Message};

/// The header checks for at most this many messages of a state that reverse the direction; the library finds the others.
const MOST_SINGLE_LINE_TURNS: usize = 4;

impl UnitView<'_> {
    fn is_number(&self, index: usize, entry: &Entry) -> bool {
        let ty = self.entry_type(index, entry);
        matches!(
            self.types.underlying(&ty),
            CType::Builtin(Builtin::U64 | Builtin::I64 | Builtin::F64)
        )
    }

    /// Whether a message is an 8-byte number that leads back to its state, in a protocol that can be used between processes.
    pub fn is_lane(&self, index: usize, message: &Message) -> bool {
        let [only] = message.entries.as_slice() else {
            return false;
        };
        self.has_lanes
            && message.at_most.is_none_or(|limit| limit.most >= 8)
            && self.is_number(index, only)
            && self.next(index, message) == Some(index)
    }

    /// Whether a state has such a message.
    pub fn has_lane(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.is_lane(index, message))
    }

    /// The messages of a state that the runtime may put into a lane.
    pub fn lanes(&self, index: usize) -> Vec<&Message> {
        let messages = self.state(index).messages.iter();
        messages
            .filter(|message| {
                self.next(index, message) == Some(index) && !message.entries.is_empty()
            })
            .collect()
    }

    /// Whether a message consists only of 8-byte numbers, at most as many as fit in a line, and reverses the direction, in a
    /// protocol that can be used in shared memory.
    pub fn is_single_line_turn(&self, index: usize, message: &Message) -> bool {
        let mut entries = message.entries.iter();
        let size = 8 * message.entries.len() as u64;
        self.has_single_line_turns
            && message.entries.len() <= 7
            && message.at_most.is_none_or(|limit| limit.most >= size)
            && self.edge(index, message) == Edge::Turn
            && entries.all(|entry| self.is_number(index, entry))
    }

    /// Such messages of a state, as many as the header checks for.
    pub fn single_line_turns(&self, index: usize) -> Vec<&Message> {
        let messages = self.state(index).messages.iter();
        messages
            .filter(|message| self.is_single_line_turn(index, message))
            .take(MOST_SINGLE_LINE_TURNS)
            .collect()
    }
}
