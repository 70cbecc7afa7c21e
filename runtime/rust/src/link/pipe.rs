//! One side of a session without its types.

use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::floor::barrier;
use crate::floor::layout::Layout;
use crate::floor::wait_slot::{PendingWake, WaitSlot, Waiter};
use crate::ring::block::StateInfo;
use crate::ring::driver::Why;
use crate::ring::flags::Report;
use crate::ring::position::Position;
use crate::ring::view::Ring;

/// What follows a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The same side sends again.
    Stay,
    /// The other side sends next.
    Turn,
    /// The session is over.
    End,
}

/// One side of a session, at one position. Its owner may use it as the typed endpoints allow: exactly one side holds
/// the sending part. It has no `Drop`; it ends with `leave`, `free` or the last message.
pub struct Pipe(Ring);

impl Deref for Pipe {
    type Target = Ring;

    #[inline(always)]
    fn deref(&self) -> &Ring {
        &self.0
    }
}

/// Both sides of a new session: side 0, side 1.
#[inline(always)]
pub(crate) fn pair(layout: Layout) -> (Pipe, Pipe) {
    let (first, second) = Ring::pair(layout, !barrier::is_there());
    (Pipe(first), Pipe(second))
}

/// Like [`pair`], for a session that may get a driver.
pub(crate) fn pair_to_drive(layout: Layout) -> (Pipe, Pipe) {
    let (first, second) = Ring::pair(layout, true);
    (Pipe(first), Pipe(second))
}

impl Pipe {
    /// The pipe of this side.
    #[inline(always)]
    pub(crate) fn of(ring: Ring) -> Pipe {
        Pipe(ring)
    }

    /// Begins to receive in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn receiving(self, layout: &Layout, state: &'static StateInfo, stays: bool) -> Pipe {
        self.set_state(1 - layout.sender_or(self.peer()), state);
        self.sending(stays)
    }

    /// Begins to send in a state that has messages that keep the direction (`stays`) or has none.
    #[inline(always)]
    pub(crate) fn sending(self, stays: bool) -> Pipe {
        self.moved(self.at().in_state(stays))
    }

    /// A copy of this pipe, for a function that is not inlined: a reference would force the pipe into memory where it
    /// could stay in registers.
    #[inline(always)]
    pub(crate) fn copy(&self) -> Pipe {
        self.moved(self.at())
    }

    #[inline(always)]
    pub(super) fn moved(&self, at: Position) -> Pipe {
        Pipe(self.0.moved(at))
    }

    /// Why the session is closed, which the caller knows it is.
    pub(crate) fn why(&self) -> Why {
        self.driver().map_or(Why::Left, |driver| driver.why())
    }

    /// Destroys the message that was found here, and with it the endpoint that follows.
    pub(crate) fn discard(self) {
        self.0.discard();
    }

    /// Fetches the peer's waiter.
    ///
    /// # Safety
    /// The caller lowered the peer's flag.
    pub(super) unsafe fn waiter_of_peer(&self) -> Option<Waiter> {
        // SAFETY: by the caller.
        unsafe { WaitSlot::take(self.slot_of_peer()) }
    }

    /// The peer, which waited for what was just published.
    ///
    /// # Safety
    /// The caller lowered the peer's flag, and uses the result.
    #[inline]
    pub(super) unsafe fn pending_wake(&self) -> PendingWake {
        // SAFETY: by the caller.
        unsafe { PendingWake::in_slot(self.slot_of_peer()) }
    }

    /// Ends the session, for a receiver that found it closed or any other side that is alone with it.
    #[inline]
    pub(crate) fn free(self) {
        // SAFETY: the peer is gone, except that it may still be fetching this side's waiter.
        unsafe {
            if (*self.slot()).is_busy() {
                return self.settle();
            }
            self.0.end();
        }
    }

    /// Like [`Pipe::free`], where this side's waiter slot is in use: waits until the peer has fetched the waiter, or
    /// takes back a waiter that the peer has not seen.
    #[cold]
    #[inline(never)]
    fn settle(self) {
        let _stopped = self.stops_waiting_in_flags();
        // SAFETY: as above.
        unsafe {
            (*self.slot()).settle();
            self.0.end();
        }
    }

    /// Takes back the waiter that this side registered in its flags, if it was not woken. A task that yielded there may
    /// have its message and, according to its flags, still wait: the sender need not have seen the flags.
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn stops_waiting_in_flags(&self) -> Option<Waiter> {
        let own = self.own_flags();
        let flags = own.load(Relaxed);
        if !flags.report(Report::Waiting) {
            return None;
        }
        own.compare_exchange(flags, flags.quiet(), AcqRel, Relaxed)
            .ok()?;
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { WaitSlot::take(self.slot()) }
    }
}
