//! What a receiver reports to a sender that stores its messages.
//!
//! The flags of a side are written by that side when it receives, and changed by the other side when it sends. They
//! hold one [`Report`] or none, the position to which the report refers, and whether the side is a task:
//!
//! | report | written by | meaning |
//! | --- | --- | --- |
//! | none | either | nothing to report |
//! | `Waiting` | receiver | a waiter is in its slot until the message at this position arrives |
//! | `Leaving` | receiver | it is about to disconnect unless the message at this position is there, or the sender disconnects as well |
//! | `Gone` | receiver, after `Leaving` | it has disconnected; the session belongs to the sender |
//! | `Claimed` | sender, after `Leaving` | the message is taken back and the sender has disconnected; the session belongs to the receiver |
//! | `Ending` | sender | its last message, or that it disconnects, is about to be published at this position |
//!
//! Each step from one value to the next is a compare-and-swap, except from nothing at positions where the other side
//! never changes it. The position makes it harmless for the sender to read a value late: it responds only to the
//! position at which it has just published.

use super::position::Key;
use super::word::word;

/// The flags of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PeerFlags(u64);

word!(PeerFlags);

/// What flags report. The bits are those that a [`Key`] leaves free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Report {
    Waiting = 1 << 26,
    Leaving = 1 << 27,
    Gone = 1 << 28,
    Claimed = 1 << 29,
    Ending = 1 << 30,
}

/// The side that waits here is a task, which does not run the barrier each time. Stays set until the end of the
/// session.
const TASK: u64 = 1 << 31;

impl PeerFlags {
    /// Nothing to report.
    pub(crate) const NONE: PeerFlags = PeerFlags(0);
    /// Nothing to report, by a task.
    pub(crate) const TASK: PeerFlags = PeerFlags(TASK);

    #[inline]
    pub(crate) fn report(self, report: Report) -> bool {
        self.0 & report as u64 != 0
    }

    /// Whether the side is about to disconnect, or has disconnected.
    #[inline]
    pub(crate) fn is_leaving_or_gone(self) -> bool {
        self.0 & (Report::Leaving as u64 | Report::Gone as u64) != 0
    }

    #[inline]
    pub(crate) fn is_task(self) -> bool {
        self.0 & TASK != 0
    }

    /// Whether there is anything in the flags apart from whether the side is a task.
    #[inline]
    pub(crate) fn is_quiet(self) -> bool {
        self.0 & !TASK == 0
    }

    #[inline]
    pub(crate) fn key(self) -> Key {
        Key::from_bits(self.0)
    }

    /// These flags without anything to report.
    #[inline]
    pub(crate) fn quiet(self) -> PeerFlags {
        PeerFlags(self.0 & TASK)
    }

    /// These flags, of a side that is a task.
    #[inline]
    pub(crate) fn of_task(self) -> PeerFlags {
        PeerFlags(self.0 | TASK)
    }

    /// Flags of the same side that report this for the position with this key.
    #[inline]
    pub(crate) fn reporting(self, report: Report, key: Key) -> PeerFlags {
        PeerFlags(self.0 & TASK | report as u64 | key.bits())
    }
}
