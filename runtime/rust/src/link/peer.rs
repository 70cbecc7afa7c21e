//! What a side learns of its peer: whether it is still there, and which slots it has freed.
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
//!
//! # Free slots
//!
//! For a run that has wrapped around the ring, the receiver reports in the credit word which segment it has emptied, and the sender reads it only where a segment
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
//!
//! # Laps
//!
//! In a small block, all laps have the same length. In a large one, a stream is faster the more messages are in flight. But a receiver that keeps up needs only a few lines, which then
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

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::floor::layout::{Layout, Part};
use crate::floor::waiting::{Backoff, Waiter};
use crate::ring::block::TOO_OLD;
use crate::ring::driver::Why;
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::{Awaitable, Credit, Key, PeerFlags, Report, Segment};

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
