//! How a message is published, by a swap or by a store (see [`super`]).

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Pipe, Then, DEAD, INDEXES, INDEXES_SHIFT, KNOWS, WAITS};
use crate::flags::TASK;
use crate::layout::{Layout, EARLY_ENDS};
use crate::position::Position;
use crate::wait::Awaited;
use crate::{barrier, processor};

/// What became of a message.
pub(crate) enum Sent<P> {
    /// It is published, and nobody was waiting: the sender's next pipe.
    Published(Pipe),
    /// It is published, and the receiver waits.
    Awaited(Pipe, Awaited),
    /// Anything else. It has a variant of its own so that what is published stays in registers.
    Noticed(Noticed<P>),
}

/// What a message came to that did not simply go its way: the sender's next pipe, and the receiver if it waits; or the
/// payload, because the receiver is gone.
pub(crate) type Noticed<P> = Result<(Pipe, Option<Awaited>), P>;

impl Pipe {
    /// Publishes a message and steps on; or gives the payload back because the peer is gone.
    ///
    /// Waits while the ring is full. The receiver, if it waits, is for the caller to wake once it has the next
    /// endpoint in hand. The layout is this session's, `stays` is what [`Pipe::sending`] was told, and the payload must
    /// fit (see [`Layout::fits`]).
    ///
    /// In a run the payload is given to nothing that is not inlined, so that it goes from where it was made straight into
    /// its place. On a detour over the stack it would be read there with wider loads than it was stored with, and such a
    /// load waits until all stores before it are in memory, which in a stream is never soon.
    #[inline(always)]
    pub(crate) fn send<P>(
        self,
        layout: &Layout,
        stays: bool,
        index: u8,
        payload: P,
        then: Then,
    ) -> Sent<P> {
        debug_assert!(self.at == self.at.in_state(stays));
        let inside = self.at.plain_place_inside(layout.per_line());
        if then == Then::Stay && inside.is_some() {
            // As below, for most messages of a stream by far fewer instructions.
            // SAFETY: as below; for the whole line, room was made where it began.
            return unsafe { self.store(layout, index, payload, then, inside) };
        }
        let is_rare = if then == Then::Stay {
            // In a stream most of what is left are beginnings and ends of lines, also in laps.
            self.at.is_in_multiple(layout.segment()) || !self.at.is_plain()
        } else {
            !self.at.is_plain() || self.at.is_lapping() || self.at.begins_run()
        };
        if is_rare {
            // Where a run or a segment may begin, or a session is not plain.
            if self.at.begins_used_line()
                && layout.may_begin_segment(self.at.line())
                && !self.again().has_room()
            {
                self.leave();
                return Sent::Noticed(Err(payload));
            }
            let swaps = self.at.always_swaps() || !stays && self.at.begins_run();
            let is_task = || !self.at.is_plain() || self.at.begins_run() && self.peer_is_task();
            if swaps || then != Then::End && is_task() {
                // SAFETY: as below; and what was written is published as what it is.
                return unsafe {
                    self.write(layout, payload);
                    self.exchange(layout, index, then, swaps)
                };
            }
        }
        if then == Then::End {
            return Sent::Noticed(self.finish(index, payload));
        }
        // SAFETY: the place is free (there is room), it is the sender's, and the payload fits.
        unsafe { self.store(layout, index, payload, then, None) }
    }

    /// Publishes a message that is not the last by a store. `inside`: its place in the line, if that is known and another one
    /// follows.
    ///
    /// # Safety
    /// The place is free and the sender's, the payload fits, and the layout is the session's. If there is a place `inside`, it
    /// is that of the position, and `then` is [`Then::Stay`].
    #[inline(always)]
    unsafe fn store<P>(
        self,
        layout: &Layout,
        index: u8,
        payload: P,
        then: Then,
        inside: Option<usize>,
    ) -> Sent<P> {
        let place = inside.unwrap_or(self.at.place());
        // SAFETY: by the caller.
        unsafe { self.write_to(place, layout, payload) };
        let stamp = self.stamp(layout, index, then);
        self.word_in(layout).store(stamp, Release);
        barrier::light();
        let receiver = 1 - layout.sender_or(self.at.side());
        if self.flags(receiver).load(Acquire) == 0 {
            return Sent::Published(match inside {
                Some(_) => self.moved(self.at.following_place()),
                None => self.stepped(layout, then),
            });
        }
        Sent::Noticed(self.noticed(then, false))
    }

    /// Publishes what was written here by a swap. The peer waits, or has died, in the word; or perhaps in its flags, where it
    /// is only because the peer is a task that this message is swapped (not `certainly`).
    ///
    /// # Safety
    /// A `P` was written here.
    #[inline(always)]
    unsafe fn exchange<P>(
        self,
        layout: &Layout,
        index: u8,
        then: Then,
        certainly: bool,
    ) -> Sent<P> {
        let this = if certainly {
            self
        } else {
            self.moved(self.at.knowing_task())
        };
        let mut stamp = this.stamp(layout, index, then);
        if !certainly {
            stamp |= KNOWS;
        }
        let old = this.word_in(layout).swap(stamp, AcqRel);
        if old & DEAD != 0 {
            // SAFETY: the swap published what was written here.
            return Sent::Noticed(Err(unsafe { this.taken_back() }));
        }
        let waits = old & WAITS != 0;
        if !certainly {
            barrier::light();
            if this.flags(this.peer()).load(Acquire) & !TASK != 0 {
                return Sent::Noticed(this.noticed(then, waits));
            }
        }
        let next = this.stepped(layout, then);
        if !waits {
            return Sent::Published(next);
        }
        // SAFETY: the swap lowered the peer's flag.
        Sent::Awaited(next, unsafe { this.awaited(then) })
    }

    /// Whoever waited for the message here.
    ///
    /// # Safety
    /// The caller lowered the peer's flag, and uses what comes of it.
    #[inline]
    pub(super) unsafe fn awaited(&self, then: Then) -> Awaited {
        if then == Then::Stay {
            self.note_waking();
        }
        // SAFETY: by the caller.
        unsafe { Awaited::in_place(self.place_of_peer()) }
    }

    /// Ends the session of a receiver that died before it read the message here, and gives the payload back.
    ///
    /// # Safety
    /// A `P` was written here, and the peer has gone without having seen it.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn taken_back<P>(self) -> P {
        // SAFETY: by the caller, the payload that was just written is nobody else's.
        let payload = unsafe { self.read(self.layout()) };
        self.free();
        payload
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
    pub(crate) fn stepped(&self, layout: &Layout, then: Then) -> Pipe {
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
        if !layout.may_end_about(next) {
            return layout.lines();
        }
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
