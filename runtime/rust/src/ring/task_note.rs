//! What a side records about being a task: see `link::arming::task`. Only this side accesses it.

use super::position::Key;
use super::word::word;

/// What a side records about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskNote(u64);

word!(TaskNote);

/// The side announced that it is a task, and the sender has seen that after this position. The bits are those that a
/// [`Key`] leaves free.
const KNOWN: u64 = 1 << 26;
/// It announced, at this position, that it is a task.
const ANNOUNCED: u64 = 1 << 27;
/// It then yielded there, instead of waiting.
const DEFERRED: u64 = 1 << 28;

impl TaskNote {
    /// The side has announced nothing.
    pub(crate) const NONE: TaskNote = TaskNote(0);

    /// The sender has seen the announcement after this position.
    pub(crate) fn known(key: Key) -> TaskNote {
        TaskNote(KNOWN | key.bits())
    }

    /// The side announces, at this position, that it is a task.
    pub(crate) fn announced(key: Key) -> TaskNote {
        TaskNote(ANNOUNCED | key.bits())
    }

    /// The side announces this and yields instead of waiting.
    pub(crate) fn deferred(key: Key) -> TaskNote {
        TaskNote(ANNOUNCED | DEFERRED | key.bits())
    }

    pub(crate) fn is_known(self) -> bool {
        self.0 & KNOWN != 0
    }

    pub(crate) fn is_announced(self) -> bool {
        self.0 & ANNOUNCED != 0
    }

    /// Whether the side yielded at this position instead of waiting.
    pub(crate) fn is_deferred_at(self, key: Key) -> bool {
        self == TaskNote::deferred(key)
    }

    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }
}
