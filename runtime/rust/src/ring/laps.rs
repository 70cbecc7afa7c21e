//! What the sender of a run records about its laps: see `link::lap`.

use std::cell::UnsafeCell;

use super::position::RENEWAL;
use crate::floor::sync::AtomicBool;

/// Lines that this many laps have skipped are cleared before the next lap that has them, because a stamp there could
/// match a later epoch. Turns alone do not let a stamp grow older than `RENEWAL`. Laps that end early can count twice,
/// in a run before the turns and in one after them: a lap that continues past the early end, and turns before it
/// reaches the lines, ends the count but leaves the stamps. So both counts together are at most half of `RENEWAL`.
pub(crate) const TOO_OLD: u32 = RENEWAL / 4;

/// What the sender of a run records about its laps.
pub(crate) struct Laps {
    /// What the sender decided last: whether a lap continues past the early end. The receiver reads this.
    pub(crate) go_on: AtomicBool,
    /// How many laps in a row have skipped the lines after the early end, or `TOO_OLD` if these lines are not
    /// initialized. Only the sender accesses it.
    pub(crate) skipped: UnsafeCell<u32>,
}

impl Laps {
    /// For a block in which only the near lines are initialized.
    pub(crate) fn new() -> Laps {
        Laps {
            go_on: AtomicBool::new(false),
            skipped: UnsafeCell::new(TOO_OLD),
        }
    }
}
