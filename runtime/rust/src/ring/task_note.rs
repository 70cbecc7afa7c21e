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
/// How many times it has waited there without the barrier: a three-bit number.
const RECHECKS_SHIFT: u32 = 29;
const RECHECKS: u64 = 7 << RECHECKS_SHIFT;

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
        TaskNote(self.0 & !RECHECKS) == TaskNote::deferred(key)
    }

    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }

    /// How many times the side has waited here without the barrier, up to 7.
    pub(crate) fn rechecks(self) -> u32 {
        ((self.0 & RECHECKS) >> RECHECKS_SHIFT) as u32
    }

    /// The same after one more wait without the barrier.
    pub(crate) fn rechecked(self) -> TaskNote {
        let more = u64::from(self.rechecks() + 1) << RECHECKS_SHIFT;
        TaskNote(self.0 & !RECHECKS | more.min(RECHECKS))
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    #[test]
    fn rechecks_are_counted_up_to_seven() {
        let key = Key::from_bits(!0);
        let mut note = TaskNote::deferred(key);
        for count in 1..=9 {
            note = note.rechecked();
            assert_eq!(note.rechecks(), count.min(7));
            assert!(note.is_deferred_at(key) && note.key() == key && !note.is_known());
        }
    }
}
