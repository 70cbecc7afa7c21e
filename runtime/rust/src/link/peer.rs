//! Whether the peer is still there.
//!
//! # Where messages can be forgotten
//!
//! If no payload of a session has a destructor, a program cannot observe whether an unread message is destroyed at
//! once or never. So a receiver that disconnects saves the barrier, which takes microseconds if other threads are
//! running. The receiver may then disconnect without having seen what the sender stored a moment before. The sender
//! finds [`Report::Leaving`] or [`Report::Gone`] later, for a position earlier than its own: with its next message, or
//! when it ends. (If the position is later than its own, they do not matter: the receiver had read this message when
//! it disconnected.) The sender must not miss them
//!
//! - before it sleeps until there is an answer or space, or disconnects while it waits for an answer: it runs a full
//!   fence and then reads the flags. By the order of the two fences (the receiver accesses the flags, then the word;
//!   the sender the word, then the flags), either the receiver sees the messages, or the sender sees the report. As
//!   long as the sender does not sleep, it reads the flags whenever it finds neither an answer nor space;
//! - when it ends: ending is a read-modify-write of the flags.
//!
//! A sender that then disconnects as a receiver reads the peer's flags after the fence that follows its own
//! [`Report::Leaving`]. Otherwise both sides could be gone, each relying on the other. What the receiver did not read
//! is forgotten by the side that ends the session.

use std::sync::atomic::Ordering::Acquire;

use crate::floor::waiting::Backoff;
use crate::ring::driver::Why;
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::{Key, PeerFlags, Report};

impl Pipe {
    /// Whether the peer has announced that it disconnects, or has disconnected.
    #[inline]
    pub(crate) fn peer_may_be_gone(&self) -> bool {
        self.flags_of_peer().load(Acquire).is_leaving_or_gone()
    }

    /// Whether the peer disconnected without having read what this side has sent, which may be all that it had to read
    /// before it answers or frees slots. It may also have disconnected later, after its answer: then the answer is
    /// visible at this point. Waits for a peer that is about to decide, a few instructions away: if this is false, the
    /// caller may sleep.
    pub(crate) fn was_forgotten(&self) -> bool {
        if !self.layout().forgets() {
            return false;
        }
        let mut backoff = Backoff::new();
        loop {
            let flags = self.flags_of_peer().load(Acquire);
            if !flags.report(Report::Leaving) {
                return flags.report(Report::Gone);
            }
            backoff.pass();
        }
    }

    /// Whether what the receiver reports concerns a sender at the position with this key.
    #[inline]
    pub(super) fn concerns(&self, flags: PeerFlags, key: Key) -> bool {
        let leaves = || self.layout().forgets() && flags.is_leaving_or_gone();
        flags.key() == key || leaves() && self.at().is_after(flags.key())
    }

    /// Why the session is closed, which the caller knows it is.
    pub(crate) fn why(&self) -> Why {
        if self.watched().is_some_and(|watched| watched.is_stopped()) {
            return Why::Stopped;
        }
        self.driver().map_or(Why::Left, |driver| driver.why())
    }

    /// Checks the next slot and, if there is nothing, whether the peer will ever write there.
    pub(crate) fn find(&self) -> Found {
        let found = self.find_in(self.layout());
        if !matches!(found, Found::Nothing(_)) || !self.was_forgotten() {
            return found;
        }
        // What the peer sent before it disconnected, if anything, is visible at this point.
        match self.find_in(self.layout()) {
            Found::Nothing(_) => Found::Closed,
            found @ (Found::Message(_) | Found::Closed) => found,
        }
    }
}
