//! How long a lap of a large block is. In a small one, all laps have the same length.
//!
//! A stream is faster the more messages are in flight. But a receiver that keeps up needs only a few lines, which then
//! stay in the caches, and a session that uses only a few lines takes little memory. So a lap may end at an early end,
//! after the near lines, or go through the whole ring; up to each of these two ends there are two more segments. Before
//! the last near line, the sender decides whether the lap ends there. It does if the receiver has emptied the first
//! segment, and so is at most about half a short lap behind.
//!
//! The sender records its decision next to the ring before it publishes anything in that line, and does not change it
//! before the receiver has reported that line's segment. So the receiver reads the decision for this lap when it has
//! taken that line's last message.
//!
//! Lines that short laps skip keep their stamps, and an old stamp must not match a later epoch (see `position`):
//! lines that were skipped for [`TOO_OLD`] laps in a row are cleared before the next lap that has them.

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::floor::layout::{Layout, Part};
use crate::ring::block::TOO_OLD;
use crate::ring::pipe::Pipe;
use crate::ring::words::Segment;

/// How many laps have ended early, and how many have continued, so that models can check what they explore.
#[cfg(duologue_loom)]
static DECIDED: [std::sync::atomic::AtomicUsize; 2] =
    [const { std::sync::atomic::AtomicUsize::new(0) }; 2];

/// How many laps have ended early, and how many have continued past the early end.
#[cfg(duologue_loom)]
#[doc(hidden)]
pub fn model_laps() -> [usize; 2] {
    [0, 1].map(|goes_on: usize| DECIDED[goes_on].load(Relaxed))
}

impl Pipe {
    /// How many lines this lap has. If it may end after the current line, the sender's decision says whether it does.
    #[inline(never)]
    pub(super) fn lines_of_lap(self) -> usize {
        let (layout, next) = (self.layout(), self.at().line() + 1);
        if next == layout.near() && !self.laps().go_on.load(Relaxed) {
            next
        } else {
            layout.lines()
        }
    }

    /// How many lines this lap has, as far as that matters after the current line, for the sender. Decides it before
    /// the last line up to the early end.
    #[inline(always)]
    pub(super) fn end_of_lap(&self, layout: &Layout) -> usize {
        let next = self.at().line() + 1;
        if layout.grows() && next == layout.small() && self.at().part() == Part::Small {
            return next;
        }
        if layout.near() < layout.lines() {
            if next + 1 == layout.near() {
                self.copy().decide_lap();
            } else if next == layout.near() {
                return self.copy().lines_of_lap();
            }
        }
        layout.lines()
    }

    /// Decides whether the lap continues past the early end, for a sender that reaches the last line before it.
    #[cold]
    #[inline(never)]
    fn decide_lap(self) {
        let (layout, laps) = (self.layout(), self.laps());
        let first = Segment::of(self.at().epoch(), 0);
        let keeps_up = self.credit().load(Acquire).has_reported(first);
        // SAFETY: only the sender accesses it, and before it the sender of an earlier run.
        let skipped = unsafe { &mut *laps.skipped.get() };
        if keeps_up {
            *skipped = skipped.saturating_add(1);
        } else {
            if *skipped >= TOO_OLD {
                // SAFETY: neither side accesses these lines. The receiver has read what was in them, or the lap before
                // would have had them; and it reaches them again only in a lap that is recorded to continue past this
                // end.
                unsafe { self.clear_lines(layout, layout.near()..layout.lines()) };
            }
            *skipped = 0;
        }
        laps.go_on.store(!keeps_up, Relaxed);
        #[cfg(duologue_loom)]
        DECIDED[usize::from(!keeps_up)].fetch_add(1, Relaxed);
    }
}
