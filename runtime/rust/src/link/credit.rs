//! Free slots for a run that has wrapped around the ring.
//!
//! The receiver reports in the credit word which segment it has emptied, and the sender reads it only where a segment
//! begins that it has filled before in this run. A turn proves that the whole ring is empty, so a dialogue never needs
//! this.
//!
//! A report is the epoch of the lap, which counts the laps, and the number of the segment. At the end of a lap, it is
//! always the same number, larger than the others, because the lap is empty then. Before segment *s* of a lap, the
//! sender needs the report of segment *s* of the lap before, or a later one. If that lap had no segment *s*, the sender
//! has, in this lap, passed the last segment of the lap before. For this it needed the report of the end of the lap
//! before, and nothing else is in segment *s*: segments that an earlier, longer lap has filled were emptied before. So
//! there is never more than a lap between the two sides, and where a sender waits for the report of a segment, that is
//! the next one to come.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crate::floor::layout::Layout;
use crate::floor::waiting::Waiter;
use crate::ring::pipe::Pipe;
use crate::ring::words::{Awaitable, Credit, Segment};

/// Whether the sender may write into its next line.
pub(crate) enum Space {
    Free,
    Full(Credit),
    Leaving,
}

impl Pipe {
    /// Whether there is space for the sender's next message.
    #[inline]
    pub(crate) fn space(&self) -> Space {
        if !self.at().begins_used_line() || !self.layout().may_begin_segment(self.at().line()) {
            return Space::Free;
        }
        self.copy().space_of_segment()
    }

    /// Like [`Pipe::space`], where a segment may begin.
    #[inline(never)]
    fn space_of_segment(self) -> Space {
        if !self.needs_space(self.layout()) {
            return Space::Free;
        }
        let credit = self.credit().load(Acquire);
        if credit.is_leaving() {
            Space::Leaving
        } else if self.emptied_enough(credit) {
            Space::Free
        } else {
            Space::Full(credit)
        }
    }

    /// Whether the sender is about to enter a segment that it has filled before in this run.
    fn needs_space(&self, layout: &Layout) -> bool {
        self.at().begins_used_line() && layout.segment_at(self.at().line()).is_some()
    }

    /// Whether the receiver has emptied the segment that the sender is about to enter, and possibly others after it.
    fn emptied_enough(&self, credit: Credit) -> bool {
        let which = self.layout().segment_at(self.at().line()).unwrap_or(0);
        credit.has_reported(Segment::of(self.at().epoch().wrapping_sub(1), which))
    }

    /// Called by the receiver when it has taken the last message of a line: reports the segment if that empties one.
    pub(crate) fn report_emptied(&self) -> Option<Waiter> {
        let (layout, epoch) = (self.layout(), self.at().epoch());
        let emptied = self.at().line() + 1;
        if emptied == self.copy().lines_of_lap() {
            // A sender that waits for this is about to enter the last segment that the lap has.
            return self.report(Segment::last_of(epoch), layout.last_segment(emptied));
        }
        let which = layout.segment_at(emptied)?.checked_sub(1)?;
        self.report(Segment::of(epoch, which), layout.start_of_segment(which))
    }

    /// Reports a segment. A sender that waits for this is about to write into the line `start`.
    fn report(&self, segment: Segment, start: usize) -> Option<Waiter> {
        let reporting = |credit: Credit| Some(credit.reporting(segment));
        let old = self.credit().update(AcqRel, reporting)?;
        if old.is_orphaned() {
            // The sender stopped before this segment, one lap later, and is gone: the line belongs to this side alone.
            let closed = self.at().in_next_lap().beginning_line().closed();
            self.word_of(self.layout(), start).store(closed, Release);
        }
        self.sender_of(old)
    }

    /// The sender's waiter, if the change of the credit word from `old` lowered the sender's flag.
    fn sender_of(&self, old: Credit) -> Option<Waiter> {
        if !old.is_awaited() {
            return None;
        }
        // SAFETY: the caller's change lowered the flag.
        unsafe { self.pending_wake() }.fetch()
    }

    /// If the ring is full, leaves it to the receiver's report to close the session, and returns true.
    pub(super) fn is_orphaned(&self) -> bool {
        while self.needs_space(self.layout()) {
            let credit = self.credit().load(Acquire);
            if self.emptied_enough(credit) {
                return false;
            }
            let orphaned =
                (self.credit()).compare_exchange(credit, credit.orphaned(), AcqRel, Acquire);
            if orphaned.is_ok() {
                return true;
            }
        }
        false
    }

    /// Announces to a sender that is still connected that no more messages are wanted, so that it does not feed a
    /// receiver that is disconnecting. If the sender waits for space, the caller has to wake it.
    #[must_use]
    pub(crate) fn announce_leaving(&self) -> Option<Waiter> {
        let leaving = |credit: Credit| (!credit.is_leaving()).then(|| credit.leaving());
        let old = self.credit().update(AcqRel, leaving)?;
        self.sender_of(old)
    }
}
