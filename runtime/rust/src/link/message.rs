//! How a message is published, by a swap or by a store (see [`super`]), and how one that was found is taken.

mod apart;
mod grow;

use std::mem::{self, needs_drop, ManuallyDrop};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

#[cfg(duologue_loom)]
pub use grow::model_growth;

use super::drop_queue;
use super::leave::Ending;
use super::peer::Space;
use super::wait::{self, Wait};
use crate::floor::barrier::{self, Cpu};
use crate::floor::layout::{Layout, Part};
use crate::floor::waiting::{with_each, PendingWake, Waiter};
use crate::ring::driver::Why;
use crate::ring::observer::Names;
use crate::ring::pipe::Pipe;
use crate::ring::position::Position;
use crate::ring::words::{Awaitable, LineWord, PeerFlags, Report};

/// What follows a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The same side sends again.
    Stay,
    /// The other side sends next.
    Turn,
    /// The session is over.
    End,
}

/// A message without its payload.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Its index among those of its state.
    pub(crate) index: u8,
    pub(crate) then: Then,
    /// What it is called, for observers.
    pub(crate) names: &'static Names,
}

/// Which code calls the driver of a session to forward what was stored inside a run (see `link::message::apart`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forwards {
    /// The sender itself, before it publishes.
    Sender,
    /// The caller, after the message is published and no lock is held: [`Pipe::driver_at_segment`].
    Caller,
}

/// The outcome of sending a message.
pub(crate) enum Sent<P> {
    /// It is published, and the receiver was not waiting: the sender's next pipe.
    Published(Pipe),
    /// Anything else. This is a separate variant so that the result for a published message stays in registers.
    Noticed(Noticed<P>),
}

/// The outcome of sending a message outside of the fast path: the sender's next pipe, and the receiver if it waits; or
/// the payload, because the receiver is gone.
pub(crate) type Noticed<P> = Result<(Pipe, Option<PendingWake>), Unsent<P>>;

/// A message that was not sent because the receiver is gone or disconnecting.
pub(crate) struct Unsent<P> {
    pub(crate) payload: P,
    pub(crate) left: Left,
}

/// How to end the session of a sender whose receiver is gone or disconnecting. The caller has to do that where it holds
/// no lock: it may wake the other side, or drop a waker that is still registered.
#[must_use = "a session that is not ended is leaked, and its receiver may wait forever"]
pub(crate) enum Left {
    /// The receiver ends it.
    Nothing,
    /// The sender has to disconnect as well.
    Leaving(Pipe),
    /// The session belongs to the sender alone.
    Alone(Pipe),
    /// The sender would have to wait beyond its time limit, and has to disconnect.
    Late(Pipe),
    /// The observer does not allow the message, so the sender has to disconnect.
    Stopped(Pipe),
}

impl Left {
    /// Why the session was closed.
    pub(crate) fn why(&self) -> Why {
        match self {
            Left::Nothing => Why::Left,
            Left::Leaving(pipe) | Left::Alone(pipe) => pipe.why(),
            Left::Late(_) => Why::Late,
            Left::Stopped(_) => Why::Stopped,
        }
    }

    /// Returns why the session was closed.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(self) -> Why {
        let why = self.why();
        match self {
            Left::Nothing => {}
            Left::Leaving(pipe) | Left::Late(pipe) | Left::Stopped(pipe) => pipe.leave(),
            Left::Alone(pipe) => pipe.free(),
        }
        why
    }
}

impl Pipe {
    /// Publishes a message and advances; or returns the payload because the peer is gone.
    ///
    /// Waits while the ring is full. If the receiver waits, the caller has to wake it, once it holds the next endpoint.
    /// The layout is this session's, `stays` is what was passed to [`Pipe::sending`], and the payload must fit (see
    /// [`Layout::fits`]).
    ///
    /// In a run, the payload is passed only to functions that are inlined, so that it goes straight from where it was
    /// made into its slot. If it passed through the stack, it would be read with wider loads than it was stored with.
    /// Such a load waits until all stores before it are in memory, which in a stream always takes a while.
    #[inline(always)]
    pub(crate) fn send<P>(
        self,
        layout: &Layout,
        stays: bool,
        step: &Step,
        payload: P,
        forwards: Forwards,
    ) -> Sent<P> {
        let Step { index, then, .. } = *step;
        debug_assert!(self.at() == self.at().in_state(stays));
        if then == Then::Stay && self.at().is_inside(layout.segment(), needs_drop::<P>()) {
            // As below, with far fewer instructions for most messages of a stream.
            // SAFETY: as below; where the segment began, there was space for the whole segment.
            return unsafe { self.store(layout, index, payload, then, true) };
        }
        if then == Then::Stay
            && layout.grows()
            && self.at().ends_half(layout.half(), layout.per_line())
        {
            // SAFETY: as below; and what was written is published with its own type.
            return Sent::Noticed(unsafe {
                self.write(layout, payload);
                self.end_half::<P>(index)
            });
        }
        if !self.at().is_plain() || self.at().is_lapping() || self.at().begins_run() {
            // Where a run or a segment may begin, or a session is not plain.
            if self.at().begins_used_line()
                && layout.may_begin_segment(self.at().line())
                && !self.copy().has_room()
            {
                let left = self.left_without_space();
                return Sent::Noticed(Err(Unsent { payload, left }));
            }
            let swaps = self.at().always_swaps() || !stays && self.at().begins_run();
            let is_task = || {
                !self.at().is_plain()
                    || self.at().begins_run() && self.flags_of_peer().load(Relaxed).is_task()
            };
            if swaps || then != Then::End && is_task() {
                // SAFETY: as below; and what was written is published with its own type.
                return unsafe {
                    self.write(layout, payload);
                    if self.at().publishes_apart() {
                        return match self.copy().store_for_far(index, then, needs_drop::<P>()) {
                            Ok(next) => Sent::Published(next),
                            Err(true) => Sent::Noticed(self.noticed(then, false)),
                            Err(false) => Sent::Noticed(self.send_apart(step, forwards)),
                        };
                    }
                    self.exchange(layout, index, then, swaps)
                };
            }
        }
        if then == Then::End {
            return Sent::Noticed(self.finish(index, payload));
        }
        // SAFETY: the slot is free (there is space), it belongs to the sender, and the payload fits.
        unsafe { self.store(layout, index, payload, then, false) }
    }

    /// Publishes the messages that `next` returns, which are not the last ones and whose payloads have no destructor, in
    /// the current line, with one swap. Returns the sender's next pipe and the receiver if it waits; `None` if there are
    /// no messages, or a segment may begin here.
    #[inline(always)]
    pub(crate) fn send_line<P>(
        self,
        layout: &Layout,
        index: u8,
        next: &mut impl FnMut() -> Option<P>,
    ) -> Option<Result<(Pipe, Option<PendingWake>), Left>> {
        debug_assert!(self.at().always_swaps() && !needs_drop::<P>());
        if !layout.fits::<P>(index) || layout.may_begin_segment(self.at().line()) {
            return None;
        }
        let (mut last, mut stamp) = (self.copy(), LineWord::EMPTY);
        let mut at = Some(self.at());
        while let Some((here, payload)) = at.and_then(|at| Some((self.moved(at), next()?))) {
            // SAFETY: the slot is free, because a line does not begin a segment in which there is no space, it belongs
            // to the sender, and the payload fits.
            unsafe { here.write(layout, payload) };
            stamp = match stamp {
                LineWord::EMPTY => here.stamp(layout, index, Then::Stay),
                stamp => here.at().with().with_indexes_of(stamp),
            };
            if index > 0 {
                stamp = stamp.with_index(index, layout, here.at().slot());
            }
            at = here.at().next_slot(layout.per_line());
            last = here;
        }
        if stamp == LineWord::EMPTY {
            return None;
        }
        let old = self.word_in(layout).swap(stamp, AcqRel);
        if old.is_dead() {
            return Some(Err(Left::Alone(last)));
        }
        // SAFETY: the swap lowered the peer's flag.
        let pending = (old.is_awaited()).then(|| unsafe { last.pending_wake() });
        Some(Ok((last.stepped(layout, Then::Stay), pending)))
    }

    /// Publishes a message that is not the last one, by a store. `is_inside`: it stays, and [`Position::is_inside`].
    ///
    /// # Safety
    /// The slot is free and belongs to the sender, the payload fits, and the layout is the session's.
    #[inline(always)]
    unsafe fn store<P>(
        self,
        layout: &Layout,
        index: u8,
        payload: P,
        then: Then,
        is_inside: bool,
    ) -> Sent<P> {
        // SAFETY: by the caller.
        unsafe { self.write(layout, payload) };
        let stamp = self.stamp(layout, index, then);
        self.word_in(layout).store(stamp, Release);
        barrier::light();
        let receiver = 1 - layout.sender_or(self.at().side());
        if self.flags(receiver).load(Acquire) == PeerFlags::NONE {
            return Sent::Published(match is_inside {
                true => self.moved(self.at().stayed(layout.per_line())),
                false => self.stepped(layout, then),
            });
        }
        Sent::Noticed(self.noticed(then, false))
    }

    /// Publishes what was written here, by a swap. The peer waits or has disconnected in the word. If this message is
    /// swapped only because the peer is a task (not `certainly`), the peer may instead do so in its flags.
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
            self.moved(self.at().knowing_task())
        };
        let mut stamp = this.stamp(layout, index, then);
        if !certainly {
            stamp = stamp.knowing_task();
        }
        let old = this.word_in(layout).swap(stamp, AcqRel);
        if old.is_dead() {
            // SAFETY: the swap published what was written here.
            return Sent::Noticed(Err(unsafe { this.taken_back() }));
        }
        let waits = old.is_awaited();
        if !certainly {
            barrier::light();
            if !this.flags_of_peer().load(Acquire).is_quiet() {
                return Sent::Noticed(this.noticed(then, waits));
            }
        }
        if !waits {
            return Sent::Published(this.stepped(layout, then));
        }
        let next = this.moved(this.at().awaited()).stepped(layout, then);
        // SAFETY: the swap lowered the peer's flag.
        Sent::Noticed(Ok((next, Some(unsafe { this.pending_wake() }))))
    }

    /// Returns the payload of a message that the receiver did not read before it disconnected. The session belongs to
    /// the sender.
    ///
    /// # Safety
    /// A `P` was written here, and the peer has disconnected without having seen it.
    #[cold]
    #[inline(never)]
    unsafe fn taken_back<P>(self) -> Unsent<P> {
        // SAFETY: by the caller, the payload that was just written has no other owner.
        let payload = unsafe { self.read(self.layout()) };
        let left = Left::Alone(self);
        Unsent { payload, left }
    }

    /// The word that publishes the message at this position, after those that precede it in its line.
    #[inline(always)]
    pub(super) fn stamp(&self, layout: &Layout, index: u8, then: Then) -> LineWord {
        let mut word = self.at().with();
        let slot = self.at().slot();
        if layout.has_indexes() && slot > 0 {
            // This side itself wrote these bits; the peer's flags are not copied.
            word = word.with_indexes_of(self.word_in(layout).load(Relaxed));
        }
        if index > 0 {
            word = word.with_index(index, layout, slot);
        }
        if then == Then::Turn {
            word = word.with_cpu(Cpu::current());
        }
        word
    }

    #[inline(always)]
    pub(crate) fn stepped(&self, layout: &Layout, then: Then) -> Pipe {
        let at = match then {
            Then::Stay => match self.at().next_slot(layout.per_line()) {
                Some(at) => at,
                None => self.at().next_line(self.end_of_lap(layout)),
            },
            Then::Turn => self.at().turned(),
            Then::End => self.at(),
        };
        self.moved(at)
    }

    /// After a message was published in a run and before its sender advances: checks whether the receiver reported
    /// something for this position. `waits`: the caller has already found that the receiver waited, and has lowered its
    /// flag.
    #[cold]
    #[inline(never)]
    fn noticed<P>(self, then: Then, mut waits: bool) -> Noticed<P> {
        let (key, mut at) = (self.at().key(), self.at());
        let of_peer = self.flags_of_peer();
        loop {
            let flags = of_peer.load(Acquire);
            if flags.is_task() {
                at = at.knowing_task();
            }
            if !self.concerns(flags, key) {
                break;
            }
            if flags.report(Report::Gone) {
                // SAFETY: the receiver is gone, and the caller has written a payload of this type.
                return Err(unsafe { self.taken_back() });
            }
            if flags.report(Report::Leaving) {
                let claimed = flags.reporting(Report::Claimed, key);
                // SAFETY: the payload was just written; it is forgotten unless the claim succeeds.
                let payload = ManuallyDrop::new(unsafe { self.read(self.layout()) });
                if of_peer
                    .compare_exchange(flags, claimed, AcqRel, Relaxed)
                    .is_ok()
                {
                    let payload = ManuallyDrop::into_inner(payload);
                    let left = Left::Nothing;
                    return Err(Unsent { payload, left });
                }
            } else if !flags.report(Report::Waiting) {
                break;
            } else if of_peer
                .compare_exchange(flags, flags.quiet(), AcqRel, Relaxed)
                .is_ok()
            {
                waits = true;
                break;
            }
        }
        if waits {
            at = at.awaited();
        }
        // SAFETY: the compare-and-swap lowered the peer's flag, or the caller's change did.
        let pending = waits.then(|| unsafe { self.pending_wake() });
        Ok((self.moved(at).stepped(self.layout(), then), pending))
    }

    /// Publishes the last message of a session in a run.
    #[inline(never)]
    fn finish<P>(self, index: u8, payload: P) -> Noticed<P> {
        match self.announce_end() {
            Ending::Alone => {
                let left = Left::Alone(self);
                Err(Unsent { payload, left })
            }
            Ending::Claimed => {
                let left = Left::Nothing;
                Err(Unsent { payload, left })
            }
            Ending::Last { swaps, waits } => {
                // SAFETY: as in `send`.
                unsafe { self.write(self.layout(), payload) };
                let stamp = self.stamp(self.layout(), index, Then::End);
                let Some(waits) = self.publish_last(stamp, swaps, waits) else {
                    // SAFETY: the receiver is gone, and a payload of this type was written here.
                    return Err(unsafe { self.taken_back() });
                };
                // SAFETY: the swap lowered the peer's flag, or `announce_end` did.
                let pending = waits.then(|| unsafe { self.pending_wake() });
                Ok((self, pending))
            }
        }
    }

    /// How to end the session of a sender that may not write into its next line.
    #[cold]
    #[inline(never)]
    fn left_without_space(self) -> Left {
        match self.space() {
            // There may be space again since it was late.
            Space::Full(_) | Space::Free if self.is_late() => Left::Late(self),
            Space::Full(_) | Space::Free | Space::Leaving => Left::Leaving(self),
        }
    }

    /// Whether a sender may write into its next line. If the sender is about to enter a segment that it has used
    /// before, waits until it may. If it may not, the peer is gone, or the sender is late.
    #[cold]
    #[inline(never)]
    fn has_room(self) -> bool {
        let is_free = || matches!(self.space(), Space::Free);
        is_free() || {
            // The pipe is all that is left of the endpoint here, and a waker that this replaces may panic.
            let leaves = LeavesInPanic(self.copy());
            wait::until(Wait::for_room(&self), None);
            mem::forget(leaves);
            is_free()
        }
    }
}

/// A sender that disconnects if what it calls panics.
struct LeavesInPanic(Pipe);

impl Drop for LeavesInPanic {
    fn drop(&mut self) {
        self.0.copy().leave();
    }
}

impl Pipe {
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
