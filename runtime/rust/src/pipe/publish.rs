//! How a message is published, by a swap or by a store (see [`super`]).

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Pipe, Then, DEAD, INDEXES, INDEXES_SHIFT, WAITS};
use crate::flags::TASK;
use crate::layout::{Layout, EARLY_ENDS};
use crate::position::Position;
use crate::wait::Waiter;
use crate::{barrier, processor};

/// What became of a message.
pub(crate) enum Sent<P> {
    /// It is published, and nobody was waiting: the sender's next pipe.
    Published(Pipe),
    /// Anything else. It has a variant of its own so that what is published stays in registers.
    Noticed(Result<(Pipe, Option<Waiter>), P>),
}

impl Pipe {
    /// Publishes a message and steps on; or gives the payload back because the peer is gone.
    ///
    /// Waits while the ring is full. The waiter, if there is one, is for the caller to wake once it has the next
    /// endpoint in hand. The layout is this session's, and the payload must fit (see [`Layout::fits`]).
    ///
    /// In a run the payload is given to nothing that is not inlined, so that it goes from where it was made straight into
    /// its place. On a detour over the stack it would be read there with wider loads than it was stored with, and such a
    /// load waits until all stores before it are in memory, which in a stream is never soon.
    #[inline(always)]
    pub(crate) fn send<P>(self, layout: &Layout, index: u8, payload: P, then: Then) -> Sent<P> {
        if self.at.is_in_multiple(layout.segment()) || !self.at.is_plain() {
            // Where a run or a segment may begin, or a session is not plain.
            if self.at.begins_used_line()
                && layout.may_begin_segment(self.at.line())
                && !self.again().has_room()
            {
                self.leave();
                return Sent::Noticed(Err(payload));
            }
            let swaps = self.swaps();
            let is_task = || !self.at.is_plain() || self.at.begins_run() && self.peer_is_task();
            if swaps || then != Then::End && is_task() {
                // SAFETY: as below; and what was written is published as what it is.
                return unsafe {
                    self.write(layout, payload);
                    if swaps {
                        self.exchange(layout, index, then)
                    } else {
                        Sent::Noticed(self.exchange_in_run(index, then))
                    }
                };
            }
        }
        if then == Then::End {
            return Sent::Noticed(self.finish(index, payload));
        }
        // SAFETY: the place is free (there is room), it is the sender's, and the payload fits.
        unsafe { self.write(layout, payload) };
        let stamp = self.stamp(layout, index, then);
        self.word_in(layout).store(stamp, Release);
        barrier::light();
        let receiver = 1 - layout.sender_or(self.at.side());
        if self.flags(receiver).load(Acquire) == 0 {
            return Sent::Published(self.stepped(layout, then));
        }
        Sent::Noticed(self.noticed(then, None))
    }

    /// Publishes what was written here by a swap, where the peer would wait, or have died, in the word.
    ///
    /// # Safety
    /// A `P` was written here.
    #[inline(always)]
    unsafe fn exchange<P>(self, layout: &Layout, index: u8, then: Then) -> Sent<P> {
        let stamp = self.stamp(layout, index, then);
        let old = self.word_in(layout).swap(stamp, AcqRel);
        if old & (WAITS | DEAD) == 0 {
            return Sent::Published(self.stepped(layout, then));
        }
        // SAFETY: the swap published what was written here.
        Sent::Noticed(match unsafe { self.again().answered(old, then) } {
            Ok(waiter) => Ok((self.stepped(layout, then), waiter)),
            Err(payload) => Err(payload),
        })
    }

    /// After a swap that found flags: the peer's waiter, or the payload because the peer is gone.
    ///
    /// # Safety
    /// The swap replaced `old` by a message with a payload of this type.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn answered<P>(self, old: u64, then: Then) -> Result<Option<Waiter>, P> {
        if old & DEAD != 0 {
            // SAFETY: the receiver is gone, so the payload that was just written is nobody else's.
            let payload = unsafe { self.read(self.layout()) };
            self.again().free();
            return Err(payload);
        }
        if then == Then::Stay {
            self.note_waking();
        }
        // SAFETY: the swap lowered the peer's flag. Until `take` returns, the peer does not end the session.
        Ok(unsafe { self.waiter_of_peer() })
    }

    /// Publishes what was written here by a swap, in a run: the peer may have left a flag in the word or in its flags.
    ///
    /// # Safety
    /// A `P` was written here.
    #[inline(never)]
    unsafe fn exchange_in_run<P>(
        mut self,
        index: u8,
        then: Then,
    ) -> Result<(Pipe, Option<Waiter>), P> {
        self.at = self.at.knowing_task();
        let layout = self.layout();
        let stamp = self.stamp(layout, index, then);
        let old = self.word_in(layout).swap(stamp, AcqRel);
        let waiter = if old & (WAITS | DEAD) == 0 {
            None
        } else {
            // SAFETY: as in `exchange`.
            unsafe { self.again().answered(old, then) }?
        };
        barrier::light();
        if self.flags(self.peer()).load(Acquire) & !TASK == 0 {
            return Ok((self.stepped(layout, then), waiter));
        }
        self.noticed(then, waiter)
    }

    /// The word that publishes the message at this position after those before it in its line.
    #[inline(always)]
    pub(super) fn stamp(&self, layout: &Layout, index: u8, then: Then) -> u64 {
        let mut word = self.at.with();
        let place = self.at.place();
        if layout.has_indexes() && place > 0 {
            // What this side itself wrote; the flags of the peer are not repeated.
            word |= self.word_in(layout).load(Relaxed) & INDEXES;
        }
        if index > 0 {
            word |= u64::from(index) << (INDEXES_SHIFT + layout.index_shift(place));
        }
        if then == Then::Turn {
            word |= processor::stamp();
        }
        word
    }

    #[inline(always)]
    pub(super) fn stepped(&self, layout: &Layout, then: Then) -> Pipe {
        let at = match then {
            Then::Stay => self.stayed(layout),
            Then::Turn => self.at.turned(),
            Then::End => self.at,
        };
        self.moved(at)
    }

    #[inline(always)]
    fn stayed(&self, layout: &Layout) -> Position {
        match self.at.next_place(layout.per_line()) {
            Some(at) => at,
            None => self.at.next_line(self.end_of_lap(layout)),
        }
    }

    /// How many lines this lap has, as far as that matters behind the line here. Decides it before the last line up to an
    /// early end.
    #[inline(always)]
    fn end_of_lap(&self, layout: &Layout) -> usize {
        let next = self.at.line() + 1;
        for which in 0..EARLY_ENDS {
            let end = layout.early_end(which);
            if end == layout.lines() {
                break;
            }
            if next + 1 == end {
                self.again().decide_lap(which);
            } else if next == end {
                return self.again().lines_of_lap();
            }
        }
        layout.lines()
    }
}
