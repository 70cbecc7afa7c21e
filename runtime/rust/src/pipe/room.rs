//! Room in the ring for a run that has come round it.
//!
//! The receiver reports in the credit word which segment it has emptied, and the sender looks there only where a
//! segment begins that it has filled before in this run. A turn proves that the whole ring is empty, so a dialogue
//! never comes here.
//!
//! # Short laps and long ones
//!
//! A stream is faster the more messages are on their way, but a receiver that keeps up needs few lines, which then stay
//! in the caches; and a session that only ever touches few takes little memory. So a lap has two segments or four.
//! Before its last line of the second segment the sender decides: if the receiver has emptied the first, this lap
//! ends there, and otherwise goes on. It says so beside the ring before it publishes anything in that line, and does not
//! change it before the receiver has reported that line's segment, so the receiver reads what is meant when it has taken
//! that line's last message.
//!
//! A report is the epoch of the lap, which counts them, and which of four segments it is; at the end of a short lap it is
//! the last one, as the lap is empty then. Before segment *s* of a lap the sender needs the report of segment *s* of the
//! lap before, or a later one. If that lap was short and *s* one of its first two, that is right; if *s* is one of the
//! others, the sender has passed segment 1, for which it needed the report of the end of that short lap, and nothing else
//! lies there: segments that an earlier long lap has filled were emptied before. So there is never more than a lap
//! between the two sides, and where a sender waits for the report of a segment, that is the next one to come.
//!
//! Lines that short laps leave out keep their stamps, and an epoch must not meet its own number there (see
//! `position`): after so many short laps in a row that this could be, they are cleared before the next long one.
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
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Pipe, CLOSED, WAITS};
use crate::cell::Cell;
use crate::layout::Layout;
use crate::position::{EPOCH_SHIFT, RENEWAL};
use crate::sync::{AtomicBool, AtomicU64};
use crate::wait::Waiter;
use crate::watched::Watched;

const LEAVING: u64 = 2;
const ORPHANED: u64 = 4;

/// Bits of the number of a segment.
const SEGMENT_NUMBERS: u64 = (1 << 24) - 1;
/// How many of them an epoch has.
const SEGMENTS: u64 = 4;
/// The last of them.
const LAST: u64 = SEGMENTS - 1;
const NUMBER_SHIFT: u32 = 8;

/// After so many short laps the lines that they leave out are cleared before a long one: an epoch could meet its own number
/// in a stamp there. Turns alone do not let a stamp grow older than `RENEWAL`, and this is half as much.
const TOO_OLD: u32 = RENEWAL / 2;

/// What the sender of a run knows of its laps.
pub(crate) struct Laps {
    /// What it decided last. The receiver looks here.
    is_long: AtomicBool,
    /// How many laps in a row have left out the lines that are not near, or `TOO_OLD` if these are not ready.
    pub(super) skipped: UnsafeCell<u32>,
}

impl Laps {
    /// Those of a block in which only the near lines are ready.
    pub(crate) fn new() -> Laps {
        Laps {
            is_long: AtomicBool::new(false),
            skipped: UnsafeCell::new(TOO_OLD),
        }
    }
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
        self.at.begins_used_line() && layout.segment_at(self.at.line()).is_some()
    }

    /// Whether the receiver has emptied the segment before which the sender stands, and possibly others after it.
    fn emptied_enough(&self, credit: u64) -> bool {
        let which = self.layout().segment_at(self.at.line()).unwrap_or(0);
        has_reported(credit, self.at.epoch().wrapping_sub(1), which)
    }

    /// How many lines this lap has, by what its sender decided: asked before that, behind other lines, it does not matter.
    pub(super) fn lines_of_lap(&self) -> usize {
        let layout = self.layout();
        if self.laps().is_long.load(Relaxed) {
            layout.lines()
        } else {
            layout.near()
        }
    }

    /// Decides whether the lap goes on behind the near lines, for a sender that comes to the last of them.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_lap(self) {
        let (layout, laps) = (self.layout(), self.laps());
        let keeps_up = has_reported(self.credit().load(Acquire), self.at.epoch(), 0);
        // SAFETY: only the sender looks at the count, and before it another sender, in an earlier run. Nobody looks at the
        // lines behind the near ones: what is in them has been read, and the receiver comes there again only in a lap that
        // it is told is long.
        unsafe {
            let skipped = laps.skipped.get();
            if keeps_up {
                *skipped = (*skipped).saturating_add(1);
            } else {
                if *skipped >= TOO_OLD {
                    Cell::clear_lines(self.cell, layout, layout.near()..layout.lines());
                }
                *skipped = 0;
            }
        }
        laps.is_long.store(!keeps_up, Relaxed);
    }

    /// Called by the receiver when it has taken the last message of a line: reports it if that empties a segment.
    pub(super) fn report_emptied(&self) -> Option<Waiter> {
        let layout = self.layout();
        let emptied = self.at.line() + 1;
        if emptied < self.lines_of_lap() {
            let which = layout.segment_at(emptied)?.checked_sub(1)?;
            return self.report(which, layout.start_of_segment(which));
        }
        // A sender that waits for this stands before the last segment that the lap has.
        let last = if emptied < layout.lines() {
            layout.start_of_segment(1)
        } else {
            layout.last_segment()
        };
        self.report(LAST, last)
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
    u64::from(epoch) * SEGMENTS + which
}

/// Whether the credit word reports this segment, or one less than a lap later.
fn has_reported(credit: u64, epoch: u32, which: u64) -> bool {
    (credit >> NUMBER_SHIFT).wrapping_sub(segment_number(epoch, which)) & SEGMENT_NUMBERS < SEGMENTS
}
