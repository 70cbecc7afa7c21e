//! Room in the ring for a run that has come round it.
//!
//! The receiver reports in the credit word which segment it has emptied, and the sender looks there only where a
//! segment begins that it has filled before in this run. A turn proves that the whole ring is empty, so a dialogue
//! never comes here.
//!
//! # Short laps and long ones
//!
//! A stream is faster the more messages are on their way, but a receiver that keeps up needs few lines, which then stay
//! in the caches; and a session that only ever touches few takes little memory. So a lap may end at either of two early
//! ends, or go through the whole ring; up to each of these three ends it has two segments more. Before the last line up to
//! an early end the sender decides whether the lap ends there: if the receiver has emptied the first of the two segments up
//! to that end, and, at the first one, if in this lap or the one before the receiver was seen to sleep. One that does not is fast, and
//! as short a lap would move the credit word between the caches all the time.
//!
//! The sender says so beside the ring before it publishes anything in that line, and does not change what it has said of this
//! end before the receiver has reported that line's segment, so the receiver reads what is meant when it has taken
//! that line's last message.
//!
//! A report is the epoch of the lap, which counts them, and which of the segments it is; at the end of a lap it is always the same
//! number, larger than the others, as the lap is empty then. Before segment *s* of a lap the sender needs the report of segment *s*
//! of the lap before, or a later one. If that lap had no segment *s*, the sender has passed, in this lap, the last segment
//! which that lap had, for which it needed the report of its end, and nothing else
//! lies there: segments that an earlier, longer lap has filled were emptied before. So there is never more than a lap
//! between the two sides, and where a sender waits for the report of a segment, that is the next one to come.
//!
//! Lines that short laps leave out keep their stamps, and an epoch must not meet its own number there (see
//! `position`): after so many laps in a row without them that this could be, they are cleared before the next lap that has them.
//!
//! # The credit word
//!
//! Both sides change it by read-modify-writes only:
//!
//! - `WAITS`, by a sender that waits for room; whoever reports or leaves takes it back and wakes the sender;
//! - `LEAVING`, by a receiver that is consuming its last messages and will then be gone: no more room is given;
//! - `ORPHANED`, by a sender that leaves while the ring is full. The receiver finds it when it reports the segment
//!   before which the sender stood, and writes `CLOSED` there in the sender's name.

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

/// How many numbers of segments an epoch has: more than a lap has segments, and a power of two, so that they go on where
/// epochs wrap.
const NUMBERS: u64 = 8;
/// The bits of such a number.
const ALL_NUMBERS: u64 = EPOCHS as u64 * NUMBERS - 1;
/// The last of them, which reports a whole lap.
const LAST: u64 = NUMBERS - 1;
const NUMBER_SHIFT: u32 = 8;

/// After so many laps without them lines are cleared before the next lap that has them: an epoch could meet its own number
/// in a stamp there. Turns alone do not let a stamp grow older than `RENEWAL`. Laps that end early can count twice, in a run before
/// the turns and in one after them: a lap that goes on, and turns before it comes to the lines, ends the count and leaves the stamps.
/// So these are half as much together.
const TOO_OLD: u32 = RENEWAL / 4;

/// What the sender of a run knows of its laps.
pub(crate) struct Laps {
    /// What it decided last: whether laps go on behind each of their early ends. The receiver looks here.
    go_on: [AtomicBool; EARLY_ENDS],
    /// How many laps in a row have left out the lines between each early end and the next one, or `TOO_OLD` if these are
    /// not ready.
    pub(super) skipped: UnsafeCell<[u32; EARLY_ENDS]>,
    /// Whether it has woken the receiver since it last came to the first early end.
    woke: UnsafeCell<bool>,
}

impl Laps {
    /// Those of a block in which only the near lines are ready.
    pub(crate) fn new() -> Laps {
        Laps {
            go_on: [AtomicBool::new(false), AtomicBool::new(false)],
            skipped: UnsafeCell::new([TOO_OLD; EARLY_ENDS]),
            woke: UnsafeCell::new(false),
        }
    }
}

/// How often laps have ended at each early end, and how often they have gone on there, for models to see what they explore.
#[cfg(duologue_loom)]
static DECIDED: [[std::sync::atomic::AtomicUsize; 2]; EARLY_ENDS] =
    [const { [const { std::sync::atomic::AtomicUsize::new(0) }; 2] }; EARLY_ENDS];

/// How often laps have ended at this early end, and how often they have gone on there.
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

    /// Whether there is room for the sender's next message.
    #[inline]
    pub(crate) fn room(&self) -> Room {
        if !self.at.begins_used_line() || !self.layout().may_begin_segment(self.at.line()) {
            return Room::Free;
        }
        self.again().room_of_segment()
    }

    /// The same where a segment may begin.
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

    /// Whether a sender may write into its next line, once it has waited for that if it stands before a segment which it
    /// has used. If not the peer is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn has_room(self) -> bool {
        let is_free = || matches!(self.room(), Room::Free);
        is_free() || {
            // The pipe is all that there is of the endpoint here, and a waker that this replaces may panic.
            let leaves = LeavesInPanic(self.again());
            crate::park::until(Watched::for_room(&self), None);
            mem::forget(leaves);
            is_free()
        }
    }

    /// Whether the sender stands before a segment that it has filled before in this run.
    fn needs_room(&self, layout: &Layout) -> bool {
        self.at.begins_used_line() && layout.segment_at(self.at.line()).is_some()
    }

    /// Whether the receiver has emptied the segment before which the sender stands, and possibly others after it.
    fn emptied_enough(&self, credit: u64) -> bool {
        let which = self.layout().segment_at(self.at.line()).unwrap_or(0);
        has_reported(credit, self.at.epoch().wrapping_sub(1), which as u64)
    }

    /// How many lines this lap has: if it may end behind the line here, by what its sender decided.
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

    /// Remembers that the receiver slept, for a sender that has woken it and goes on sending.
    pub(super) fn note_waking(&self) {
        // SAFETY: only the sender looks there, and it stays the sender.
        unsafe { *self.laps().woke.get() = true };
    }

    /// Decides whether the lap goes on behind an early end, for a sender that comes to the last line before it.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_lap(self, which: usize) {
        let (layout, laps) = (self.layout(), self.laps());
        let first = 2 * which as u64;
        let keeps_up = has_reported(self.credit().load(Acquire), self.at.epoch(), first);
        // SAFETY: only the sender looks at these two, and before it another sender, in an earlier run.
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
                // SAFETY: nobody looks at these lines. The receiver has read what was in them, or the lap before would have
                // had them; and it comes there again only in a lap of which it is told that it goes on.
                unsafe { Cell::clear_lines(self.cell, layout, left_out) };
            }
            skipped[which] = 0;
        }
        laps.go_on[which].store(!ends, Relaxed);
        #[cfg(duologue_loom)]
        DECIDED[which][usize::from(!ends)].fetch_add(1, Relaxed);
    }

    /// Called by the receiver when it has taken the last message of a line: reports it if that empties a segment.
    pub(super) fn report_emptied(&self) -> Option<Waiter> {
        let layout = self.layout();
        let emptied = self.at.line() + 1;
        if emptied == self.again().lines_of_lap() {
            // A sender that waits for this stands before the last segment that the lap has.
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

    /// Tells a sender that lives that nobody wants more, so that it does not feed a receiver that is leaving. If it waits for room,
    /// the caller has to wake it.
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

/// A sender that leaves if what it calls panics.
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

/// Whether the credit word reports this segment, or one less than a lap later.
fn has_reported(credit: u64, epoch: u32, which: u64) -> bool {
    (credit >> NUMBER_SHIFT).wrapping_sub(segment_number(epoch, which)) & ALL_NUMBERS < NUMBERS
}
