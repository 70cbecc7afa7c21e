//! Free slots for a run that has wrapped around the ring.
//!
//! The receiver reports in the credit word which segment it has emptied, and the sender reads it only where a segment
//! begins that it has filled before in this run. A turn proves that the whole ring is empty, so a dialogue never needs
//! this.
//!
//! # Short laps and long laps
//!
//! A stream is faster the more messages are in flight. But a receiver that keeps up needs only a few lines, which then
//! stay in the caches, and a session that uses only a few lines takes little memory. So a lap may end at one of two
//! early ends, or go through the whole ring; up to each of these three ends there are two more segments. Before the
//! last line up to an early end, the sender decides whether the lap ends there. It does if the receiver has emptied the
//! first of the two segments up to that end and, at the first early end, if in addition the receiver was seen to sleep
//! in this lap or the one before. A receiver that does not sleep is fast, and with such a short lap the credit word
//! would move between the caches all the time.
//!
//! The sender records its decision next to the ring before it publishes anything in that line, and does not change it
//! for this end before the receiver has reported that line's segment. So the receiver reads the decision for this lap
//! when it has taken that line's last message.
//!
//! A report is the epoch of the lap, which counts the laps, and the number of the segment. At the end of a lap, it is
//! always the same number, larger than the others, because the lap is empty then. Before segment *s* of a lap, the
//! sender needs the report of segment *s* of the lap before, or a later one. If that lap had no segment *s*, the sender
//! has, in this lap, passed the last segment of the lap before. For this it needed the report of the end of the lap
//! before, and nothing else is in segment *s*: segments that an earlier, longer lap has filled were emptied before. So
//! there is never more than a lap between the two sides, and where a sender waits for the report of a segment, that is
//! the next one to come.
//!
//! Lines that short laps skip keep their stamps, and an epoch must not meet its own number there (see `position`):
//! lines that were skipped for `TOO_OLD` laps in a row are cleared before the next lap that has them.
//!
//! # The credit word
//!
//! Both sides change it only by read-modify-writes:
//!
//! - `WAITS` is set by a sender that waits for space; a receiver that reports a segment or disconnects clears it and
//!   wakes the sender;
//! - `LEAVING` is set by a receiver that is consuming its last messages and will then be gone: the sender gets no more
//!   space;
//! - `ORPHANED` is set by a sender that disconnects while the ring is full. The receiver finds it when it reports the
//!   segment that the sender would have entered next, and writes `CLOSED` there on behalf of the sender.

use std::cell::UnsafeCell;
use std::mem;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Pipe, CLOSED, WAITS};
use crate::cell::Cell;
use crate::layout::{Layout, EARLY_ENDS};
use crate::position::{EPOCHS, EPOCH_SHIFT, RENEWAL};
use crate::sync::{AtomicBool, AtomicU64};
use crate::wait::Waiter;
use crate::watched::Watched;

const LEAVING: u64 = 2;
const ORPHANED: u64 = 4;

/// How many segment numbers an epoch has: more than a lap has segments, and a power of two, so that the numbers
/// continue where epochs wrap around.
const NUMBERS: u64 = 8;
/// The bits of a segment number over all epochs.
const ALL_NUMBERS: u64 = EPOCHS as u64 * NUMBERS - 1;
/// The last segment number of an epoch, which reports a whole lap.
const LAST: u64 = NUMBERS - 1;
const NUMBER_SHIFT: u32 = 8;

/// Lines that this many laps have skipped are cleared before the next lap that has them, because an epoch could meet
/// its own number in a stamp there. Turns alone do not let a stamp grow older than `RENEWAL`. Laps that end early can
/// count twice, in a run before the turns and in one after them: a lap that continues past the early end, and turns
/// before it reaches the lines, ends the count but leaves the stamps. So both counts together are at most half of
/// `RENEWAL`.
const TOO_OLD: u32 = RENEWAL / 4;

/// What the sender of a run records about its laps.
pub(crate) struct Laps {
    /// What the sender decided last: whether laps continue past each of their early ends. The receiver reads this.
    go_on: [AtomicBool; EARLY_ENDS],
    /// How many laps in a row have skipped the lines between each early end and the next one, or `TOO_OLD` if these
    /// lines are not initialised.
    pub(super) skipped: UnsafeCell<[u32; EARLY_ENDS]>,
    /// Whether the sender has woken the receiver since it last reached the first early end.
    woke: UnsafeCell<bool>,
}

impl Laps {
    /// For a block in which only the near lines are initialised.
    pub(crate) fn new() -> Laps {
        Laps {
            go_on: [AtomicBool::new(false), AtomicBool::new(false)],
            skipped: UnsafeCell::new([TOO_OLD; EARLY_ENDS]),
            woke: UnsafeCell::new(false),
        }
    }
}

/// How often laps have ended at each early end, and how often they have continued there, so that models can check what
/// they explore.
#[cfg(duologue_loom)]
static DECIDED: [[std::sync::atomic::AtomicUsize; 2]; EARLY_ENDS] =
    [const { [const { std::sync::atomic::AtomicUsize::new(0) }; 2] }; EARLY_ENDS];

/// How often laps have ended at this early end, and how often they have continued there.
#[cfg(duologue_loom)]
#[doc(hidden)]
pub fn model_laps(end: usize) -> [usize; 2] {
    [0, 1].map(|goes_on| DECIDED[end][goes_on].load(Relaxed))
}

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

    /// Whether there is space for the sender's next message.
    #[inline]
    pub(crate) fn room(&self) -> Room {
        if !self.at.begins_used_line() || !self.layout().may_begin_segment(self.at.line()) {
            return Room::Free;
        }
        self.again().room_of_segment()
    }

    /// Like [`Pipe::room`], where a segment may begin.
    #[inline(never)]
    fn room_of_segment(self) -> Room {
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

    /// Whether a sender may write into its next line. If the sender is about to enter a segment that it has used
    /// before, waits until it may. If it may not, the peer is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn has_room(self) -> bool {
        let is_free = || matches!(self.room(), Room::Free);
        is_free() || {
            // The pipe is all that is left of the endpoint here, and a waker that this replaces may panic.
            let leaves = LeavesInPanic(self.again());
            crate::park::until(Watched::for_room(&self), None);
            mem::forget(leaves);
            is_free()
        }
    }

    /// Whether the sender is about to enter a segment that it has filled before in this run.
    fn needs_room(&self, layout: &Layout) -> bool {
        self.at.begins_used_line() && layout.segment_at(self.at.line()).is_some()
    }

    /// Whether the receiver has emptied the segment that the sender is about to enter, and possibly others after it.
    fn emptied_enough(&self, credit: u64) -> bool {
        let which = self.layout().segment_at(self.at.line()).unwrap_or(0);
        has_reported(credit, self.at.epoch().wrapping_sub(1), which as u64)
    }

    /// How many lines this lap has. If it may end after the current line, the sender's decision says whether it does.
    #[inline(never)]
    pub(super) fn lines_of_lap(self) -> usize {
        let (layout, behind) = (self.layout(), self.at.line() + 1);
        for (which, goes_on) in self.laps().go_on.iter().enumerate() {
            if behind == layout.early_end(which) && !goes_on.load(Relaxed) {
                return behind;
            }
        }
        layout.lines()
    }

    /// Remembers that the receiver slept, for a sender that has woken it and continues to send.
    pub(super) fn note_waking(&self) {
        // SAFETY: only the sender accesses it, and it stays the sender.
        unsafe { *self.laps().woke.get() = true };
    }

    /// Decides whether the lap continues past an early end, for a sender that reaches the last line before it.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_lap(self, which: usize) {
        let (layout, laps) = (self.layout(), self.laps());
        let first = 2 * which as u64;
        let keeps_up = has_reported(self.credit().load(Acquire), self.at.epoch(), first);
        // SAFETY: only the sender accesses these two, and before it the sender of an earlier run.
        let (skipped, woke) = unsafe { (&mut *laps.skipped.get(), &mut *laps.woke.get()) };
        // Conversations in which the receiver sleeps and keeps up are too long for models.
        let ends = keeps_up && (which > 0 || *woke || cfg!(duologue_loom));
        if which == 0 {
            *woke = false;
        }
        if ends {
            for skipped in &mut skipped[which..] {
                *skipped = skipped.saturating_add(1);
            }
        } else {
            if skipped[which] >= TOO_OLD {
                let left_out = layout.early_end(which)..layout.next_end(which);
                // SAFETY: nobody accesses these lines. The receiver has read what was in them, or the lap before would
                // have had them; and it reaches them again only in a lap that is recorded to continue past this end.
                unsafe { Cell::clear_lines(self.cell, layout, left_out) };
            }
            skipped[which] = 0;
        }
        laps.go_on[which].store(!ends, Relaxed);
        #[cfg(duologue_loom)]
        DECIDED[which][usize::from(!ends)].fetch_add(1, Relaxed);
    }

    /// Called by the receiver when it has taken the last message of a line: reports the segment if that empties one.
    pub(super) fn report_emptied(&self) -> Option<Waiter> {
        let layout = self.layout();
        let emptied = self.at.line() + 1;
        if emptied == self.again().lines_of_lap() {
            // A sender that waits for this is about to enter the last segment that the lap has.
            return self.report(LAST, layout.last_segment(emptied));
        }
        let which = layout.segment_at(emptied)?.checked_sub(1)?;
        self.report(which as u64, layout.start_of_segment(which))
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
            // The sender stopped before this segment, one lap later, and is gone: the line belongs to this side alone.
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

    /// If the ring is full, leaves it to the receiver's report to close the session, and returns true.
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

    /// Announces to a sender that is still connected that no more messages are wanted, so that it does not feed a
    /// receiver that is disconnecting. If the sender waits for space, the caller has to wake it.
    #[must_use]
    pub(crate) fn announce_leaving(&self) -> Option<Waiter> {
        let mut credit = self.credit().load(Relaxed);
        while credit & LEAVING == 0 {
            let leaving = (credit & !WAITS) | LEAVING;
            match self
                .credit()
                .compare_exchange(credit, leaving, AcqRel, Relaxed)
            {
                Ok(old) => return self.sender_of(old),
                Err(now) => credit = now,
            }
        }
        None
    }
}

/// A sender that disconnects if what it calls panics.
struct LeavesInPanic(Pipe);

impl Drop for LeavesInPanic {
    fn drop(&mut self) {
        self.0.again().leave();
    }
}

/// Numbers the segments of a ring over all epochs.
fn segment_number(epoch: u32, which: u64) -> u64 {
    u64::from(epoch) * NUMBERS + which
}

/// Whether the credit word reports this segment, or one that is less than a lap later.
fn has_reported(credit: u64, epoch: u32, which: u64) -> bool {
    (credit >> NUMBER_SHIFT).wrapping_sub(segment_number(epoch, which)) & ALL_NUMBERS < NUMBERS
}
