//! How a message is found where it may still have to arrive from another process, and how one that was found is taken.

use std::mem::needs_drop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Instant;

use super::drop_queue;
use crate::floor::layout::{Layout, Part};
use crate::floor::waiting::{with_each, Waiter};
use crate::ring::pipe::{Found, Pipe};
use crate::ring::position::Position;
use crate::ring::words::LineWord;

impl Pipe {
    /// Like [`Pipe::find`], but if there is nothing and the peer is in another process, also checks what has arrived
    /// from there.
    pub(crate) fn find_driven(&self) -> Found {
        let found = self.find();
        match (found, self.driver()) {
            (Found::Nothing(_), Some(driver)) => {
                // Not whether the side is ready, which one that is late always is: what has arrived is received all the same.
                let has_come = || !matches!(self.find(), Found::Nothing(_));
                driver.wait(&has_come, Some(Instant::now()));
                self.find()
            }
            (found, _) => found,
        }
    }

    /// The position of this side after a message that keeps the direction; `None` if that message may empty a segment,
    /// which the receiver has to report, or a small block, which it has to leave if the sender has.
    #[inline(always)]
    pub(crate) fn next_in_segment(&self, layout: &Layout) -> Option<Position> {
        let (at, per_line) = (self.at(), layout.per_line());
        let is_last =
            at.next_slot(per_line).is_none() && layout.may_end_segment(at.line() + 1, at.part());
        (!is_last).then(|| at.stayed(per_line))
    }

    /// Takes the messages with this index that are published here and after it in the current line, as long as `take`
    /// accepts them. Their payloads have no destructor. Leaves the last message of a segment, which the receiver has to
    /// report. Returns the position after what was taken.
    #[inline(always)]
    pub(crate) fn take_line<P>(
        &self,
        layout: &Layout,
        index: u8,
        mut take: impl FnMut(&P) -> bool,
    ) -> Position {
        debug_assert!(!needs_drop::<P>());
        let mut at = self.at();
        let word = self.word_in(layout).load(Acquire);
        let mut count = match at.is_in(word) {
            true => at.ahead(word),
            false => 0,
        };
        while count > 0 && word.index(layout, at.slot()) == index {
            let Some(next) = self.moved(at).next_in_segment(layout) else {
                break;
            };
            // SAFETY: the word says that the message at this position is published, with the index that the caller has
            // found in a message of the same state.
            let payload = unsafe { self.moved(at).read::<P>(layout) };
            at = next;
            if !take(&payload) {
                break;
            }
            count -= 1;
        }
        at
    }

    /// The pipe of this side after the message that was found in this word, where [`Pipe::next_in_segment`] is `None`.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_segment(self, word: LineWord) -> Pipe {
        let lines = match self.at().part() {
            Part::Small => match self.larger(word) {
                Some(large) => {
                    self.enter_large(&large);
                    drop_queue::continue_in(&self, &large);
                    return large;
                }
                None => self.layout().small(),
            },
            Part::Large => self.copy().lines_of_lap(),
        };
        self.moved(self.at().next_line(lines))
    }

    /// Reports that the message was taken that was found here in this word, and may have emptied a segment or a small block,
    /// once the caller holds what follows. Wakes a sender that waits for space.
    #[cold]
    #[inline(never)]
    pub(crate) fn report_segment(self, word: LineWord) {
        if self.at().part() == Part::Small {
            return self.leave_small_block(word);
        }
        if let Some(waiter) = self.report_emptied() {
            // There may be messages in flight all the same, so the sender would seem to wait until it sends.
            #[cfg(feature = "registry")]
            self.note_waking();
            waiter.wake();
        }
    }

    /// Ends the small block if both sides have left it for the large one.
    fn leave_small_block(self, word: LineWord) {
        let Some(large) = self.larger(word) else {
            return;
        };
        let sender = match self.credit().load(Relaxed).is_leaving() {
            true => large.announce_leaving(),
            false => None,
        };
        // The sender is woken even if it panics to end the block, which drops wakers, and the other way round.
        with_each([Some(sender), None], |step| match step {
            Some(sender) => sender.into_iter().for_each(Waiter::wake),
            None => {
                self.forget_larger();
                self.copy().free();
            }
        });
    }

    /// The pipe of this side, which sends next, after the message that was found in this word and reverses the direction.
    #[inline(always)]
    pub(crate) fn after_turn(self, layout: &Layout, word: LineWord) -> Pipe {
        let own = self.private_of(1 - layout.sender_or(self.peer()));
        own.turned_by.store(word, Relaxed);
        let next = self.moved(self.at().turned());
        if self.at().renews() {
            next.clear();
        }
        next
    }
}
