//! What a receiver says to a sender that stores its messages.
//!
//! The flags of a side are written by that side as a receiver, and changed by the other as a sender. A value is one of
//! those below, with the position that it is about (see `Position::key`) and perhaps `TASK`:
//!
//! | value | written by | meaning |
//! | --- | --- | --- |
//! | 0 | either | nothing to say |
//! | `WAITING` | receiver | a waiter is in its place until the message at this position comes |
//! | `LEAVING` | receiver | it is about to leave unless the message at this position is there, or the sender leaves as well |
//! | `GONE` | receiver, after `LEAVING` | it has left; the session is the sender's |
//! | `CLAIMED` | sender, after `LEAVING` | the message is taken back and the sender has left; the session is the receiver's |
//! | `ENDING` | sender | its last message, or its leaving, is about to be published at this position |
//!
//! Each step from one value to the next is a compare-and-swap, except that nobody else changes 0. The position makes
//! a value that the sender read late harmless: it answers only to the position at which it has just published.

use crate::position::KEY;

pub(crate) const WAITING: u64 = 1 << 26;
pub(crate) const LEAVING: u64 = 1 << 27;
pub(crate) const GONE: u64 = 1 << 28;
pub(crate) const CLAIMED: u64 = 1 << 29;
pub(crate) const ENDING: u64 = 1 << 30;

/// Whoever waits here is a task, which does not run the barrier each time. Stays until the end of the session.
pub(crate) const TASK: u64 = 1 << 31;

/// Whether the flags are about the position with this key.
pub(crate) fn is_about(flags: u64, key: u64) -> bool {
    flags & KEY == key
}

/// Flags that say nothing any more.
pub(crate) fn quiet(flags: u64) -> u64 {
    flags & TASK
}

/// Flags that say this about the position with this key.
pub(crate) fn say(flags: u64, what: u64, key: u64) -> u64 {
    quiet(flags) | what | key
}
