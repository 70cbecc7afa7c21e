//! What a side waits for, and how it registers a waiter there.
//!
//! # In the word
//!
//! The waiter is put into its slot, then a flag is set in the awaited word with a compare-and-swap. The other side also
//! changes that word by a read-modify-write, so the two are ordered:
//!
//! - flag first: the change returns the flag and, by Acquire, makes the waiter visible that was written before it, so
//!   the other side wakes it;
//! - change first: the compare-and-swap fails, and this side sees what it wanted to wait for.
//!
//! There is no third case. A sender waits for space in this way, and so does a receiver where messages are swapped.
//!
//! A sender of a session with a driver may also have to wait while there is space. So it gives a waker to the driver too.
//!
//! # In the flags
//!
//! Where messages are stored, a receiver puts its waiter into its slot, reports in its flags that it waits at its
//! position, runs the barrier and checks again. The barrier ensures that either it sees the message, or the sender sees
//! the report after its store. Both can happen; then the side that lowers the flag by a compare-and-swap gets the
//! waiter. The flag refers to one position, so that a sender that is late in checking the flags after an earlier
//! message does not take the waiter of a later one.
//!
//! Tasks take further steps to be seen without the barrier: see `arming/task.rs`.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::credit::Space;
use crate::floor::barrier::{self, Cpu};
use crate::floor::waiting::{Backoff, WaitSlot, Waiter};
use crate::ring::driver::Driver;
use crate::ring::pipe::{Found, Pipe};
#[cfg(feature = "registry")]
use crate::ring::usage::Usage;
use crate::ring::words::{Credit, LineWord, Report, Shared};

mod task;

/// A word whose change is awaited, and its value before that.
enum Unchanged<'a> {
    /// The word of a line, where a receiver waits for a message.
    Line(&'a Shared<LineWord>, LineWord),
    /// The credit word, where a sender waits for space.
    Credit(&'a Shared<Credit>, Credit),
}

impl Unchanged<'_> {
    /// See [`Shared::raise`].
    fn raise(&self) -> bool {
        match *self {
            Unchanged::Line(word, value) => word.raise(value),
            Unchanged::Credit(word, value) => word.raise(value),
        }
    }

    /// See [`Shared::lower`].
    fn lower(&self) -> bool {
        match *self {
            Unchanged::Line(word, value) => word.lower(value),
            Unchanged::Credit(word, value) => word.lower(value),
        }
    }
}

/// What a side waits for on its pipe: a message to read, or space to send.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    pipe: &'a Pipe,
    sends: bool,
}

impl<'a> Wait<'a> {
    /// A sender that waits for space.
    pub(crate) fn for_room(pipe: &'a Pipe) -> Wait<'a> {
        Wait { pipe, sends: true }
    }

    /// A receiver that waits for a message.
    pub(crate) fn for_message(pipe: &'a Pipe) -> Wait<'a> {
        Wait { pipe, sends: false }
    }

    /// The word whose change is awaited, and its value; `None` if it has changed.
    #[inline]
    fn unchanged(&self) -> Option<Unchanged<'a>> {
        if self.sends {
            match self.pipe.space() {
                Space::Free | Space::Leaving => None,
                Space::Full(credit) => Some(Unchanged::Credit(self.pipe.credit(), credit)),
            }
        } else {
            match self.pipe.find_in(self.pipe.layout()) {
                Found::Message(_) | Found::Closed => None,
                Found::Nothing(word) => Some(Unchanged::Line(self.pipe.word(), word)),
            }
        }
    }

    /// Like [`Wait::unchanged`], but also `None` if the word will never change because the peer disconnected without
    /// publishing anything.
    fn awaited(&self) -> Option<Unchanged<'a>> {
        let unchanged = self.unchanged()?;
        (!self.pipe.was_forgotten()).then_some(unchanged)
    }

    /// Whether the next operation would not wait, or should not.
    pub(crate) fn is_ready(&self) -> bool {
        self.awaited().is_none() && !self.is_held_back() || self.pipe.is_late()
    }

    /// When this side's waits end.
    pub(crate) fn limit(&self) -> Option<Instant> {
        self.pipe.limit()
    }

    /// See [`Pipe::set_limit`].
    pub(crate) fn set_limit(&self, until: Option<Instant>) {
        self.pipe.set_limit(until);
    }

    /// [`Wait::is_ready`] for a sender, inlined where there is space.
    #[inline]
    pub(crate) fn has_space(&self) -> bool {
        debug_assert!(self.sends);
        let is_free = matches!(self.pipe.space(), Space::Free | Space::Leaving);
        is_free && !self.is_held_back() || self.is_ready()
    }

    /// Whether the driver holds this sender back, although there may be space.
    #[inline]
    fn is_held_back(&self) -> bool {
        self.sends && self.driver().is_some_and(|driver| driver.holds_back(None))
    }

    pub(crate) fn session(&self) -> usize {
        self.pipe.session()
    }

    /// The processor on which the peer last ran.
    pub(crate) fn peer_cpu(&self) -> Cpu {
        self.pipe.private().peer_cpu()
    }

    /// What drives the session, if the other side is in another process.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&'a Arc<dyn Driver>> {
        self.pipe.driver()
    }

    /// Tells the session's driver, if it has one, that this side must not wait where it sends.
    #[inline]
    pub(crate) fn never_waits(&self) {
        if let Some(driver) = self.driver() {
            driver.never_waits();
        }
    }

    /// Registers a task's waker unless the next operation would not wait, and returns whether it did. Replaces an
    /// earlier waiter.
    #[inline]
    pub(crate) fn arm_task(&self, waker: &Waker) -> bool {
        match self.unchanged() {
            None => self.is_held_back() && self.arm(Waiter::Task(waker.clone())),
            Some(Unchanged::Credit(..)) => self.arm(Waiter::Task(waker.clone())),
            Some(Unchanged::Line(word, value)) => {
                let forgets = self.pipe.layout().forgets();
                self.pipe.copy().arm_task(forgets, word, value, waker)
            }
        }
    }

    /// Registers a waiter to be woken. Replaces an earlier waiter. Returns false if there is nothing to wait for.
    pub(crate) fn arm(&self, waiter: Waiter) -> bool {
        let by_task = waiter.is_task();
        if self.announce(waiter) {
            barrier::heavy();
        }
        self.confirm(by_task)
    }

    /// Like [`Pipe::note_task`], for a task that has checked this pipe.
    #[inline]
    pub(crate) fn note_task(&self) {
        if !self.sends {
            self.pipe.note_task(self.pipe.find_in(self.pipe.layout()));
        }
    }

    /// Like [`Wait::arm`], for a far end whose waker is called for what its sender publishes next. `is_sender`: on the
    /// sender's own thread, which needs no barrier to see what it has done itself.
    pub(crate) fn arm_far(&self, waker: &Waker, is_sender: bool) -> bool {
        let waiter = Waiter::Task(waker.clone());
        if !is_sender {
            return self.arm(waiter);
        }
        self.announce(waiter);
        self.confirm(false)
    }

    /// The first of the three steps of [`Wait::arm`], for waiting on several pipes: announces that this waiter is
    /// about to sleep, and replaces an earlier one. If any announcement returned true, the second step is one
    /// call of [`barrier::heavy`] for all of them: after it, either the other side sees the announcement when it checks
    /// for waiters, or this side sees what the other side did before. The third step is [`Wait::confirm`] for each.
    ///
    /// From here on the waiter may be woken, even if `confirm` finds that there is nothing to wait for.
    pub(crate) fn announce(&self, waiter: Waiter) -> bool {
        let is_free = self.sends && matches!(self.pipe.space(), Space::Free);
        let _replaced = if is_free { None } else { self.take_waiter() };
        #[cfg(feature = "registry")]
        self.pipe.note_use(|| Usage::waits(&waiter, self.sends));
        if self.pipe.is_limited() {
            // A thread sleeps until the limit.
            if let Waiter::Task(waker) | Waiter::Bell(waker) = &waiter {
                self.pipe.wake_at_limit(waker);
            }
        }
        if !self.sends {
            if !self.pipe.waits_in_word() {
                return self.announce_in_flags(waiter);
            }
            if matches!(waiter, Waiter::Task(_)) {
                self.pipe.announce_task();
            }
        } else if let Some(driver) = self.driver() {
            // Before `confirm` asks the driver again: between the two, what this sender waits for may change.
            driver.holds_back(Some(waiter.waker()));
        }
        self.announce_in_word(waiter);
        false
    }

    /// After [`Wait::announce`], for a set of endpoints, in which they stay armed.
    #[cfg(feature = "registry")]
    pub(crate) fn note_in_set(&self) {
        self.pipe.note_use(|| Usage::StaysInSet);
    }

    fn announce_in_word(&self, waiter: Waiter) {
        let slot = self.pipe.slot();
        let mut waiter = Some(waiter);
        while let (Some(unchanged), Some(mine)) = (self.awaited(), waiter.take()) {
            // SAFETY: this side owns the slot, and its flags are down: `disarm` lowered them, or the peer did.
            unsafe { (*slot).put(mine) };
            if unchanged.raise() {
                return;
            }
            // SAFETY: the flag was never raised.
            waiter = unsafe { WaitSlot::take(slot) };
        }
    }

    fn announce_in_flags(&self, waiter: Waiter) -> bool {
        if self.is_ready() {
            return false;
        }
        let slot = self.pipe.slot();
        // A far end has the waker of a task, and waits as a thread does.
        let is_task = waiter.is_task() && !self.pipe.at().always_swaps();
        // SAFETY: as in `announce_in_word`.
        unsafe { (*slot).put(waiter) };
        let own = self.pipe.own_flags();
        let flags = own.load(Relaxed);
        let side = if is_task { flags.of_task() } else { flags };
        let waiting = side.reporting(Report::Waiting, self.pipe.at().key());
        if !flags.report(Report::Ending)
            && own
                .compare_exchange(flags, waiting, AcqRel, Relaxed)
                .is_ok()
        {
            return true;
        }
        // SAFETY: the flag was never raised.
        let _refused = unsafe { WaitSlot::take(slot) };
        // The sender is about to publish its last message, or that it disconnects.
        let mut backoff = Backoff::new();
        while !self.is_ready() {
            backoff.pass();
        }
        false
    }

    /// Whether the announced waiter has to sleep and will be woken; false if there is nothing to wait for. `by_task`: it
    /// is a task.
    pub(crate) fn confirm(&self, by_task: bool) -> bool {
        barrier::full();
        if self.is_ready() {
            drop(self.disarm());
            return false;
        }
        if !self.sends {
            self.pipe.note_sleep();
        }
        if let Some(driver) = self.driver() {
            // A sender may hold a lock of the program here, and its waiter may be the queue of a shared sender.
            driver.armed(self.sends, by_task && !self.sends);
        }
        true
    }

    /// Takes the waiter back, if it was not woken. The caller drops it, which runs user code.
    #[inline]
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn disarm(&self) -> Option<Waiter> {
        if self.sends && matches!(self.pipe.space(), Space::Free) {
            return None;
        }
        self.disarm_slowly()
    }

    /// Like [`Wait::disarm`], for a sender that has space and may still have a waiter from when it was the receiver.
    #[inline]
    pub(crate) fn disarm_slowly(&self) -> Option<Waiter> {
        let waiter = self.take_waiter();
        #[cfg(feature = "registry")]
        if waiter.is_some() {
            self.pipe.note_use(|| Usage::StopsWaiting);
        }
        waiter
    }

    /// Like [`Wait::disarm_slowly`], for a side that goes on to wait.
    #[inline(never)]
    fn take_waiter(&self) -> Option<Waiter> {
        if let Some(waiter) = self.pipe.stops_waiting_in_flags() {
            return Some(waiter);
        }
        if !self.unchanged()?.lower() {
            return None;
        }
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { WaitSlot::take(self.pipe.slot()) }
    }
}
