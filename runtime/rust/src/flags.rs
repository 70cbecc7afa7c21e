//! What a receiver reports to a sender that stores its messages.
//!
//! The flags of a side are written by that side when it receives, and changed by the other side when it sends. A value
//! is one of those below, with the position that it refers to (see `Position::key`) and possibly `TASK`:
//!
//! | value | written by | meaning |
//! | --- | --- | --- |
//! | 0 | either | nothing to report |
//! | `WAITING` | receiver | a waiter is in its slot until the message at this position arrives |
//! | `LEAVING` | receiver | it is about to disconnect unless the message at this position is there, or the sender disconnects as well |
//! | `GONE` | receiver, after `LEAVING` | it has disconnected; the session belongs to the sender |
//! | `CLAIMED` | sender, after `LEAVING` | the message is taken back and the sender has disconnected; the session belongs to the receiver |
//! | `ENDING` | sender | its last message, or that it disconnects, is about to be published at this position |
//!
//! Each step from one value to the next is a compare-and-swap, except from 0 at positions where the other side never
//! changes it. The position makes it harmless for the sender to read a value late: it responds only to the position at
//! which it has just published.

use crate::position::KEY;

pub(crate) const WAITING: u64 = 1 << 26;
pub(crate) const LEAVING: u64 = 1 << 27;
pub(crate) const GONE: u64 = 1 << 28;
pub(crate) const CLAIMED: u64 = 1 << 29;
pub(crate) const ENDING: u64 = 1 << 30;

/// The side that waits here is a task, which does not run the barrier each time. Stays set until the end of the
/// session.
pub(crate) const TASK: u64 = 1 << 31;

/// Whether the flags refer to the position with this key.
pub(crate) fn is_about(flags: u64, key: u64) -> bool {
    flags & KEY == key
}

/// The flags without anything left to report.
pub(crate) fn quiet(flags: u64) -> u64 {
    flags & TASK
}

/// Flags that report this for the position with this key.
pub(crate) fn say(flags: u64, what: u64, key: u64) -> u64 {
    quiet(flags) | what | key
}
