//! How a message of an observed session is published (see `ring::observer`).

use std::sync::atomic::Ordering::AcqRel;
use std::sync::Arc;

use super::{Forwards, Step, Then};
use crate::floor::waiting::{guarded, PendingWake};
use crate::ring::pipe::Pipe;
#[cfg(feature = "registry")]
use crate::ring::usage::{Owner, Usage};
use crate::ring::words::Awaitable;

impl Pipe {
    /// Whether the session's observer allows this message.
    pub(super) fn is_allowed(&self, step: &Step) -> bool {
        let watched = self.watched();
        watched.is_none_or(|watched| watched.allows(self.at().side(), step.names))
    }

    /// Publishes what was written here, by a swap, and reports it. Returns the sender's next pipe, and the receiver if the
    /// caller has to wake it; `None` if the receiver is gone.
    ///
    /// The observer is called after the receiver was woken. It may wait for a lock that the receiver's thread holds while
    /// it waits for the message, such as that of the standard output.
    pub(super) fn publish_observed(
        self,
        step: &Step,
        forwards: Forwards,
    ) -> Option<(Pipe, Option<PendingWake>)> {
        let Step { index, then, names } = *step;
        // After the last message, the receiver may end the session at any time.
        let watched = self.watched().map(Arc::clone)?;
        let layout = *self.layout();
        let stamp = self.stamp(&layout, index, then);
        // Before the receiver can report that it has the message.
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::Sends(Owner::current(), names.next));
        let publish = || {
            let old = self.word_in(&layout).swap(stamp, AcqRel);
            (!old.is_dead()).then_some(old)
        };
        let is_turn = then != Then::Stay;
        let old = watched.publish(self.at().side(), names, is_turn, publish)?;
        let next = self.stepped(&layout, then);
        // SAFETY: the swap lowered the peer's flag.
        let pending = (old.is_awaited()).then(|| unsafe { self.pending_wake() });
        if forwards == Forwards::Caller {
            // It wakes the receiver and delivers, once it holds no lock.
            return Some((next, pending));
        }
        if let Some(receiver) = pending.and_then(PendingWake::fetch) {
            guarded(|| receiver.wake());
        }
        watched.deliver();
        Some((next, None))
    }
}
