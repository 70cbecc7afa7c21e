//! Sessions whose messages are not published like others: those that are observed (see `ring::observer`), and runs whose
//! other side is in another process, where the far end checks the ring itself. The rest of this page is about the latter.
//!
//! A far end that had to be woken for every message of an unbounded run would cost many times what the message costs.
//! So inside such a run it is not woken unless it asks for that. In the following, *near* is the side in this process,
//! and *far* is the side that belongs to the transport. Far checks the ring
//!
//! - when near's thread calls the driver ([`Driver::collected`]): before it publishes the first message of each
//!   segment of the ring, or of each line if payloads may own memory; a message that reverses the direction or ends the
//!   session; and before near disconnects. A shared sender makes the first two of these calls after the message before,
//!   because it must hold no lock;
//! - when near waits or flushes;
//! - on a thread of the transport, a few milliseconds after one of the others, and again as long as it finds something.
//!   If it finds nothing, far waits, and the next message wakes it.
//!
//! # How each message is published
//!
//! What far sends is swapped, as in every session in which all messages are swapped. What near sends depends on the
//! position, which both sides know:
//!
//! | position | a message that stays or turns | the last message, or *closed* | far waits and disconnects |
//! | --- | --- | --- | --- |
//! | the first of the run | swapped | swapped | in the word |
//! | the first of another segment | swapped | `Ending` in the flags, then swapped | in the word |
//! | any other | stored, then the flags are read | `Ending` in the flags, then swapped | in its flags |
//!
//! [`Pipe::collects_in`] chooses the last row for near, and [`Pipe::waits_in_word`] for far: both ask
//! [`Position::is_within`]. Runs of a session that is not unbounded, and sessions that begin without the barrier, use
//! the first row everywhere.
//!
//! # The order of near's steps
//!
//! 1. Near makes sure that the slot is free. If the ring is full, its thread forwards until a segment is free
//!    ([`Driver::wait`]); for a task or a shared sender that waits, a thread of the transport does ([`Driver::armed`]).
//! 2. It writes the payload into the slot. Code that does not know that the session has a far end ends here, except
//!    inside a segment (see `Position::is_inside`): it tests one bit of the position, and everything else is in functions
//!    that are not inlined into the program.
//! 3. It calls the driver, if it has to.
//! 4. It publishes the message.
//!
//! What far does in step 3 does not depend on step 2: far reads a slot only after it has found its message in the word,
//! and the slot was free before. The payload is not published if the driver panics. Then it is destroyed while the
//! panic unwinds, after near has disconnected.
//!
//! # How much memory waits in the ring
//!
//! The ring bounds the number of messages, but the memory that their payloads own may be of any size. So if they own
//! memory, far checks the ring before each line: then the ring has the messages of one line, unless the connection accepts
//! nothing. Near waits for the connection in step 3. If near never waits there, it is not ready before the connection
//! has accepted more ([`Driver::holds_back`]), and if it sends all the same, it waits once it is far ahead
//! ([`Driver::catch_up`]). While another thread forwards, near waits for that thread, or is not ready before it has
//! forwarded. So near, or all senders that share an endpoint, are ahead of the connection by two lines of messages, and by what the
//! driver collects. In shared memory each thread that waits for the region adds a line.
//!
//! # Why no waiting far end is missed
//!
//! Far waits at the position where it reads next. Near has not published there, or far finds that when it checks.
//!
//! - *In the word, and near swaps.* The two changes of the word are ordered: see "In the word" in `link::wait`. In the
//!   second row near also sets `Ending`, which changes nothing about this.
//! - *In its flags, and near stores.* Far announces, runs the barrier and checks: see "In the flags" there. The thread that
//!   is going to publish ([`Ahead::Last`], [`Ahead::Leaves`]) needs no barrier: it announces in step 3, and stores and
//!   reads the flags in step 4, in the order of the program. If another thread replaces the announcement in the
//!   meantime, that one runs the barrier.
//! - *In its flags, and near sets `Ending`.* Both change the flags by a compare-and-swap. If far's comes first, near takes
//!   over the waiter. If near's comes first, far's fails, and far waits until the word is published, a few instructions
//!   later.
//!
//! An announcement in the flags names its position, and far withdraws it when it takes the message there without having
//! been woken. Near, if it has read the flags before that, ignores one for another position than that of its message.
//!
//! Far never announces that it is a task. So near continues to store, and the cases of a task in `link::wait` do not occur.
//!
//! # Why no disconnection is missed
//!
//! Far disconnects at the position where it reads next.
//!
//! - *In the word.* It succeeds only if nothing is published there, and near swaps there next, which finds it.
//! - *In its flags.* See "Where messages are stored" in `link::leave`: near finds it with the message that it stores
//!   there, or when it sets `Ending` there.
//! - *Where messages can be forgotten*, far may disconnect in its flags although near has published at that position and
//!   later ones. Near finds it with the next message that it stores, when it sets `Ending`, or when
//!   it waits: see `link::peer`. A swap alone does not find it. So near loses up to one more message, the first of a
//!   segment, and then stores the next, or waits for an answer. This is why the last message sets `Ending` in the second row
//!   too: near accesses nothing after it.
//!
//! If far has claimed the session with its disconnection, near no longer accesses the slot. So near copies the payload
//! before it publishes, and returns the copy.
//!
//! # Why nothing stays in the ring
//!
//! After each check that has found nothing, either far is armed where near publishes next, or the transport has to check
//! again: [`FarEnd::arm_next`] says which. `duologue-net` shows in `core::work` that it does.
//!
//! [`FarEnd::arm_next`]: crate::remote::far_end::FarEnd::arm_next
//! [`Position::is_within`]: crate::ring::position::Position::is_within

use std::mem::{self, needs_drop, ManuallyDrop};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::Arc;

use crate::floor::barrier;
use crate::floor::layout::Layout;
use crate::floor::waiting::{guarded, PendingWake};
use crate::link::leave::Ending;
use crate::link::message::{Forwards, LeavesInPanic, Left, Noticed, Step, Then, Unsent};
use crate::ring::driver::{Ahead, Driver};
use crate::ring::pipe::Pipe;
#[cfg(feature = "registry")]
use crate::ring::usage::{Owner, Usage};
use crate::ring::words::{Awaitable, LineWord, PeerFlags};

/// What became of a message to a far end.
enum Collected {
    /// It is published: the sender's next pipe, and the far end if it waits.
    Published(Pipe, Option<PendingWake>),
    /// It is published, and the far end has reported something in its flags.
    Reported,
    /// The far end is gone. The session belongs to the sender.
    Alone,
    /// The far end is disconnecting and ends the session.
    Claimed,
}

impl Pipe {
    /// Publishes what was written here, if that is all there is to do for most messages of a run to a far end. The result
    /// stays in registers. `Err`: whether it is published, and the far end has reported something.
    #[cold]
    #[inline(never)]
    pub(super) fn store_for_far(
        self,
        index: u8,
        then: Then,
        owns_memory: bool,
    ) -> Result<Pipe, bool> {
        let layout = *self.layout();
        if then != Then::Stay || !self.collects_in(&layout) || self.forwards_at_line(owns_memory) {
            return Err(false);
        }
        let stamp = self.stamp(&layout, index, then);
        match self.store_stamp(&layout, stamp) {
            true => Ok(self.stepped(&layout, then)),
            false => Err(true),
        }
    }

    /// Publishes what was written here by a store. Returns whether the far end has reported nothing.
    #[inline(always)]
    fn store_stamp(&self, layout: &Layout, stamp: LineWord) -> bool {
        self.word_in(layout).store(stamp, Release);
        barrier::light();
        self.flags_of_peer().load(Acquire) == PeerFlags::NONE
    }

    /// Publishes what was written here, in a session that is observed, or whose other side is a far end that checks the ring
    /// itself (see `link::message::apart`).
    ///
    /// # Safety
    /// A `P` was written here, and belongs to the sender.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn send_apart<P>(self, step: &Step, forwards: Forwards) -> Noticed<P> {
        let Step { index, then, .. } = *step;
        if self.at().is_observed() {
            if !self.is_allowed(step) {
                // SAFETY: by the caller; it was not published.
                let payload = unsafe { self.read::<P>(self.layout()) };
                let left = Left::Stopped(self);
                return Err(Unsent { payload, left });
            }
            let published = self.copy().publish_observed(step, forwards);
            // SAFETY: the receiver is gone, and by the caller a `P` was written here.
            return published.ok_or_else(|| unsafe { self.taken_back() });
        }
        // This function owns the payload while the driver is called, which may panic.
        // SAFETY: by the caller.
        let payload = unsafe { self.read::<P>(self.layout()) };
        if !(self.copy()).forward_before(then, needs_drop::<P>(), forwards) {
            let left = Left::Late(self);
            return Err(Unsent { payload, left });
        }
        // From here on the ring owns it, unless it was not published. A far end that has claimed the session may end
        // it, so then only this copy can be returned.
        let payload = ManuallyDrop::new(payload);
        let left = match self.copy().publish_collected(index, then) {
            Collected::Published(next, pending) => return Ok((next, pending)),
            Collected::Reported => return self.noticed(then, false),
            Collected::Alone => Left::Alone(self),
            Collected::Claimed => Left::Nothing,
        };
        let payload = ManuallyDrop::into_inner(payload);
        Err(Unsent { payload, left })
    }

    /// Has the driver forward what was sent before in this run, if that has to be done before this message is published
    /// and the caller does not do it. Returns false if the message must not be published: this side is late, and what it has
    /// sent waits for the connection.
    fn forward_before(self, then: Then, owns_memory: bool, forwards: Forwards) -> bool {
        let is_stored = then == Then::Stay && self.collects_in(self.layout());
        let stays = is_stored && !self.forwards_at_line(owns_memory);
        if stays || !self.is_inside_collected_run() {
            return true;
        }
        if self.is_late() && self.driver().is_some_and(|driver| driver.holds_back(None)) {
            return false;
        }
        if forwards == Forwards::Caller {
            return true;
        }
        // As in `has_room`: a transport of the program's own may panic.
        let leaves = LeavesInPanic(self.copy());
        if let Some(driver) = self.driver() {
            driver.collected(match then {
                Then::Stay => {
                    driver.catch_up();
                    Ahead::More
                }
                Then::Turn | Then::End => Ahead::Last,
            });
        }
        mem::forget(leaves);
        true
    }

    /// Publishes what was written here, as the table in `link::message::apart` says.
    fn publish_collected(self, index: u8, then: Then) -> Collected {
        let layout = *self.layout();
        let stamp = self.stamp(&layout, index, then);
        let mut waits = false;
        if then == Then::End && self.is_inside_collected_run() {
            waits = match self.announce_end() {
                Ending::Alone => return Collected::Alone,
                Ending::Claimed => return Collected::Claimed,
                Ending::Last { waits, .. } => waits,
            };
        } else if self.collects_in(&layout) {
            return match self.store_stamp(&layout, stamp) {
                true => Collected::Published(self.stepped(&layout, then), None),
                false => Collected::Reported,
            };
        }
        let old = self.word_in(&layout).swap(stamp, AcqRel);
        if old.is_dead() {
            return Collected::Alone;
        }
        waits |= old.is_awaited();
        // SAFETY: the swap lowered the peer's flag, or `announce_end` did.
        let pending = waits.then(|| unsafe { self.pending_wake() });
        Collected::Published(self.stepped(&layout, then), pending)
    }
}

impl Pipe {
    /// Whether the session's observer allows this message.
    pub(super) fn is_allowed(&self, step: &Step) -> bool {
        let watched = self.watched();
        watched.is_none_or(|watched| watched.allows(self.at().side(), step.names))
    }

    /// Publishes what was written here, by a swap, and reports it. Returns the sender's next pipe, and the receiver if the
    /// caller has to wake it; `None` if the receiver is gone.
    ///
    /// The observer is called after the receiver was woken. It may wait for a lock that the receiver's thread holds while
    /// it waits for the message, such as that of the standard output.
    pub(super) fn publish_observed(
        self,
        step: &Step,
        forwards: Forwards,
    ) -> Option<(Pipe, Option<PendingWake>)> {
        let Step { index, then, names } = *step;
        // After the last message, the receiver may end the session at any time.
        let watched = self.watched().map(Arc::clone)?;
        let layout = *self.layout();
        let stamp = self.stamp(&layout, index, then);
        // Before the receiver can report that it has the message.
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::Sends(Owner::current(), names.next));
        let publish = || {
            let old = self.word_in(&layout).swap(stamp, AcqRel);
            (!old.is_dead()).then_some(old)
        };
        let is_turn = then != Then::Stay;
        let old = watched.publish(self.at().side(), names, is_turn, publish)?;
        let next = self.stepped(&layout, then);
        // SAFETY: the swap lowered the peer's flag.
        let pending = (old.is_awaited()).then(|| unsafe { self.pending_wake() });
        if forwards == Forwards::Caller {
            // It wakes the receiver and delivers, once it holds no lock.
            return Some((next, pending));
        }
        if let Some(receiver) = pending.and_then(PendingWake::fetch) {
            guarded(|| receiver.wake());
        }
        watched.deliver();
        Some((next, None))
    }
}

impl Pipe {
    /// Whether the driver forwards before a message inside such a run, although far does not wait in the word there. `owns_memory`: the
    /// payloads do.
    #[inline]
    pub(super) fn forwards_at_line(&self, owns_memory: bool) -> bool {
        owns_memory && self.at().slot() == 0
    }

    /// The driver to call before the next message, if it forwards there inside such a run. For a sender that publishes
    /// under a lock and calls the driver after it: see [`Forwards::Caller`]. `owns_memory`: the payloads do.
    ///
    /// [`Forwards::Caller`]: super::message::Forwards::Caller
    #[inline]
    pub(crate) fn driver_at_segment(&self, owns_memory: bool) -> Option<Arc<dyn Driver>> {
        let is_stored = || self.collects_in(self.layout()) && !self.forwards_at_line(owns_memory);
        // An observed session has no driver.
        let may_forward = self.at().publishes_apart() && !self.at().begins_run();
        if !may_forward || is_stored() {
            return None;
        }
        self.driver().cloned()
    }
}
