//! Room in the ring for a run that has come round it.
//!
//! The receiver reports in the credit word which segment it has emptied, and the sender looks there only where a
//! segment begins that it has filled before in this run. A turn proves that the whole ring is empty, so a dialogue
//! never comes here. Both sides change the credit word by read-modify-writes only:
//!
//! - `WAITS`, by a sender that waits for room; whoever reports or leaves takes it back and wakes the sender;
//! - `LEAVING`, by a receiver that is consuming its last messages and will then be gone: no more room is given;
//! - `ORPHANED`, by a sender that leaves while the ring is full. The receiver finds it when it reports the segment
//!   before which the sender stood, and writes `CLOSED` there in the sender's name.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Pipe, CLOSED, WAITS};
use crate::layout::Layout;
use crate::position::EPOCH_SHIFT;
use crate::sync::AtomicU64;
use crate::wait::Waiter;
use crate::watched::Watched;

const LEAVING: u64 = 2;
const ORPHANED: u64 = 4;

/// Bits of the number of a segment.
const SEGMENT_NUMBERS: u64 = (1 << 23) - 1;
const NUMBER_SHIFT: u32 = 8;

/// Whether the sender may write into its next line.
pub(crate) enum Room {
    Free,
    Full(u64),
    Leaving,
}

impl Pipe {
    pub(crate) fn credit(&self) -> &AtomicU64 {
        self.lives();
        // SAFETY: as for the accessors of `Pipe`.
        unsafe { &*std::ptr::addr_of!((*self.cell.as_ptr()).credit) }
    }

    pub(crate) fn room(&self) -> Room {
        if !self.needs_room(self.layout()) {
            return Room::Free;
        }
        let credit = self.credit().load(Acquire);
        if credit & LEAVING != 0 {
            Room::Leaving
        } else if self.emptied_enough(credit) {
            Room::Free
        } else {
            Room::Full(credit)
        }
    }

    /// Whether a sender that stands before a segment which it has used may write there, once it has waited for that. If
    /// not the peer is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn has_room(self) -> bool {
        let is_free = || matches!(self.room(), Room::Free);
        is_free() || {
            crate::park::until(Watched::for_room(&self), None);
            is_free()
        }
    }

    /// Whether the sender stands before a segment that it has filled before in this run.
    #[inline(always)]
    pub(super) fn needs_room(&self, layout: &Layout) -> bool {
        let line = self.at.line();
        self.at.begins_used_line() && (line == 0 || line == layout.segment())
    }

    /// Whether the receiver has emptied the segment before which the sender stands, and possibly the one after it.
    fn emptied_enough(&self, credit: u64) -> bool {
        let which = u64::from(self.at.line() != 0);
        let needed = segment_number(self.at.epoch().wrapping_sub(1), which);
        (credit >> NUMBER_SHIFT).wrapping_sub(needed) & SEGMENT_NUMBERS < 2
    }

    /// Called by the receiver when it has emptied a segment.
    pub(super) fn report_emptied(&self, layout: &Layout) -> Option<Waiter> {
        if self.at.line() + 1 == layout.segment() {
            self.report(0, 0)
        } else {
            self.report(1, layout.segment())
        }
    }

    fn report(&self, which: u64, start: usize) -> Option<Waiter> {
        let number = segment_number(self.at.epoch(), which);
        let mut credit = self.credit().load(Relaxed);
        let old = loop {
            let report = (number << NUMBER_SHIFT) | (credit & LEAVING);
            match self
                .credit()
                .compare_exchange(credit, report, AcqRel, Relaxed)
            {
                Ok(old) => break old,
                Err(now) => credit = now,
            }
        };
        if old & ORPHANED != 0 {
            // The sender stopped before this segment, one lap later, and is gone: the line is this side's alone.
            let epoch = u64::from(self.at.epoch()).wrapping_add(1);
            self.word_of(self.layout(), start)
                .store((epoch << EPOCH_SHIFT) | CLOSED, Release);
        }
        self.sender_of(old)
    }

    /// The sender's waiter, if the change of the credit word from `old` lowered the sender's flag.
    fn sender_of(&self, old: u64) -> Option<Waiter> {
        if old & WAITS == 0 {
            return None;
        }
        // SAFETY: the caller's change lowered the flag.
        unsafe { self.waiter_of_peer() }
    }

    /// Leaves a full ring, if it is one, to the receiver's report.
    pub(super) fn is_orphaned(&self) -> bool {
        while self.needs_room(self.layout()) {
            let credit = self.credit().load(Acquire);
            if self.emptied_enough(credit) {
                return false;
            }
            let orphaned = (credit & !WAITS) | ORPHANED;
            if self
                .credit()
                .compare_exchange(credit, orphaned, AcqRel, Relaxed)
                .is_ok()
            {
                return true;
            }
        }
        false
    }

    /// Tells a sender that lives that nobody wants more, so that it does not feed a receiver that is leaving.
    pub(crate) fn announce_leaving(&self) {
        let mut credit = self.credit().load(Relaxed);
        while credit & LEAVING == 0 {
            let leaving = (credit & !WAITS) | LEAVING;
            match self
                .credit()
                .compare_exchange(credit, leaving, AcqRel, Relaxed)
            {
                Ok(old) => {
                    if let Some(waiter) = self.sender_of(old) {
                        waiter.wake();
                    }
                    return;
                }
                Err(now) => credit = now,
            }
        }
    }
}

/// Numbers the segments of a ring over all epochs.
fn segment_number(epoch: u32, which: u64) -> u64 {
    (u64::from(epoch) << 1) | which
}
