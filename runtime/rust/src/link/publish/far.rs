//! How a message is published to a far end that checks the ring itself (see `link::collect`).

use std::mem::{self, needs_drop, ManuallyDrop};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use super::{Forwards, LeavesInPanic, Left, Noticed, Step, Then, Unsent};
use crate::floor::barrier;
use crate::floor::layout::Layout;
use crate::floor::waiting::PendingWake;
use crate::link::leave::Ending;
use crate::ring::driver::Ahead;
use crate::ring::pipe::Pipe;
use crate::ring::words::{Awaitable, LineWord, PeerFlags};

/// What became of a message to a far end.
enum Collected {
    /// It is published: the sender's next pipe, and the far end if it waits.
    Published(Pipe, Option<PendingWake>),
    /// It is published, and the far end has reported something in its flags.
    Reported,
    /// The far end is gone. The session belongs to the sender.
    Alone,
    /// The far end is disconnecting and ends the session.
    Claimed,
}

impl Pipe {
    /// Publishes what was written here, if that is all there is to do for most messages of a run to a far end. The result
    /// stays in registers. `Err`: whether it is published, and the far end has reported something.
    #[cold]
    #[inline(never)]
    pub(super) fn store_for_far(
        self,
        index: u8,
        then: Then,
        owns_memory: bool,
    ) -> Result<Pipe, bool> {
        let layout = *self.layout();
        if then != Then::Stay || !self.collects_in(&layout) || self.forwards_at_line(owns_memory) {
            return Err(false);
        }
        let stamp = self.stamp(&layout, index, then);
        match self.store_stamp(&layout, stamp) {
            true => Ok(self.stepped(&layout, then)),
            false => Err(true),
        }
    }

    /// Publishes what was written here by a store. Returns whether the far end has reported nothing.
    #[inline(always)]
    fn store_stamp(&self, layout: &Layout, stamp: LineWord) -> bool {
        self.word_in(layout).store(stamp, Release);
        barrier::light();
        self.flags_of_peer().load(Acquire) == PeerFlags::NONE
    }

    /// Publishes what was written here, in a session that is observed, or whose other side is a far end that checks the ring
    /// itself (see `link::collect`).
    ///
    /// # Safety
    /// A `P` was written here, and belongs to the sender.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn send_apart<P>(self, step: &Step, forwards: Forwards) -> Noticed<P> {
        let Step { index, then, .. } = *step;
        if self.at().is_observed() {
            if !self.is_allowed(step) {
                // SAFETY: by the caller; it was not published.
                let payload = unsafe { self.read::<P>(self.layout()) };
                let left = Left::Stopped(self);
                return Err(Unsent { payload, left });
            }
            let published = self.copy().publish_observed(step, forwards);
            // SAFETY: the receiver is gone, and by the caller a `P` was written here.
            return published.ok_or_else(|| unsafe { self.taken_back() });
        }
        // This function owns the payload while the driver is called, which may panic.
        // SAFETY: by the caller.
        let payload = unsafe { self.read::<P>(self.layout()) };
        if !(self.copy()).forward_before(then, needs_drop::<P>(), forwards) {
            let left = Left::Late(self);
            return Err(Unsent { payload, left });
        }
        // From here on the ring owns it, unless it was not published. A far end that has claimed the session may end
        // it, so then only this copy can be returned.
        let payload = ManuallyDrop::new(payload);
        let left = match self.copy().publish_collected(index, then) {
            Collected::Published(next, pending) => return Ok((next, pending)),
            Collected::Reported => return self.noticed(then, false),
            Collected::Alone => Left::Alone(self),
            Collected::Claimed => Left::Nothing,
        };
        let payload = ManuallyDrop::into_inner(payload);
        Err(Unsent { payload, left })
    }

    /// Has the driver forward what was sent before in this run, if that has to be done before this message is published
    /// and the caller does not do it. Returns false if the message must not be published: this side is late, and what it has
    /// sent waits for the connection.
    fn forward_before(self, then: Then, owns_memory: bool, forwards: Forwards) -> bool {
        let is_stored = then == Then::Stay && self.collects_in(self.layout());
        let stays = is_stored && !self.forwards_at_line(owns_memory);
        if stays || !self.is_inside_collected_run() {
            return true;
        }
        if self.is_late() && self.driver().is_some_and(|driver| driver.holds_back(None)) {
            return false;
        }
        if forwards == Forwards::Caller {
            return true;
        }
        // As in `has_room`: a transport of the program's own may panic.
        let leaves = LeavesInPanic(self.copy());
        if let Some(driver) = self.driver() {
            driver.collected(match then {
                Then::Stay => {
                    driver.catch_up();
                    Ahead::More
                }
                Then::Turn | Then::End => Ahead::Last,
            });
        }
        mem::forget(leaves);
        true
    }

    /// Publishes what was written here, as the table in `link::collect` says.
    fn publish_collected(self, index: u8, then: Then) -> Collected {
        let layout = *self.layout();
        let stamp = self.stamp(&layout, index, then);
        let mut waits = false;
        if then == Then::End && self.is_inside_collected_run() {
            waits = match self.announce_end() {
                Ending::Alone => return Collected::Alone,
                Ending::Claimed => return Collected::Claimed,
                Ending::Last { waits, .. } => waits,
            };
        } else if self.collects_in(&layout) {
            return match self.store_stamp(&layout, stamp) {
                true => Collected::Published(self.stepped(&layout, then), None),
                false => Collected::Reported,
            };
        }
        let old = self.word_in(&layout).swap(stamp, AcqRel);
        if old.is_dead() {
            return Collected::Alone;
        }
        waits |= old.is_awaited();
        // SAFETY: the swap lowered the peer's flag, or `announce_end` did.
        let pending = waits.then(|| unsafe { self.pending_wake() });
        Collected::Published(self.stepped(&layout, then), pending)
    }
}
