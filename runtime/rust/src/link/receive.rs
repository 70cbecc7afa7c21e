//! How a message that was found is taken.

use std::sync::atomic::Ordering::Relaxed;

use super::pipe::Pipe;
use crate::floor::layout::Layout;
use crate::ring::line_word::LineWord;
use crate::ring::position::Position;

impl Pipe {
    /// The position of this side after a message that keeps the direction; `None` if that message may empty a segment,
    /// which the receiver has to report.
    #[inline(always)]
    pub(crate) fn next_in_segment(&self, layout: &Layout) -> Option<Position> {
        if let Some(at) = self.at().next_slot(layout.per_line()) {
            return Some(at);
        }
        let emptied = self.at().line() + 1;
        let may_be_last = layout.may_begin_segment(emptied) || emptied == layout.lines();
        (!may_be_last).then(|| self.at().following_line())
    }

    /// Like [`Pipe::next_in_segment`], where the message may empty a segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_segment(self) -> Position {
        self.at().next_line(self.copy().lines_of_lap())
    }

    /// Reports that the message here was taken, which may have emptied a segment. Wakes a sender that waits for space.
    #[cold]
    #[inline(never)]
    pub(crate) fn report_segment(self) {
        if let Some(waiter) = self.report_emptied() {
            waiter.wake();
        }
    }

    /// Takes the payload of the message that was found here, which keeps the direction, and advances to `next`. If that
    /// is [`Pipe::next_segment`], the caller then has to report the segment: the sender may be waiting for it.
    ///
    /// # Safety
    /// [`Pipe::find`] found a message, its payload is a `P`, and the layout is the session's.
    #[inline(always)]
    pub(crate) unsafe fn take_in_run<P>(&self, layout: &Layout, next: Position) -> (P, Pipe) {
        // SAFETY: by the caller; the load that found the message acquired its payload.
        (unsafe { self.read(layout) }, self.moved(next))
    }

    /// Takes the payload of the message that was found in this word, which does not keep the direction. Returns the
    /// pipe of this side, which sends next, or `None` if the session is over.
    ///
    /// # Safety
    /// As for [`Pipe::take_in_run`], and `turns` says what follows the message.
    #[inline(always)]
    pub(crate) unsafe fn take_last<P>(
        self,
        layout: &Layout,
        word: LineWord,
        turns: bool,
    ) -> (P, Option<Pipe>) {
        // SAFETY: by the caller.
        let payload = unsafe { self.read(layout) };
        if !turns {
            self.free();
            return (payload, None);
        }
        let own = self.private_of(1 - layout.sender_or(self.peer()));
        own.turned_by.store(word, Relaxed);
        let next = self.moved(self.at().turned());
        if self.at().renews() {
            next.clear();
        }
        (payload, Some(next))
    }
}
