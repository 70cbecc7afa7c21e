//! How a task registers a waiter and is certain to be seen, without running the barrier for each wait.
//!
//! A task announces in its flags, permanently, that it is a task. From then on it waits in the word in runs as
//! well, but only where it is certain that the sender has seen the announcement and swaps. That is certain
//!
//! - at every position after one at which the task announced this, ran the barrier, and found nothing: the sender's
//!   store there comes after the barrier, so its read of the flags after that store sees the announcement, and so do
//!   its reads for everything it sends later;
//! - at every position after one whose message says so in its word: its sender had seen the announcement;
//! - in every run after one in which the task announced this, if there was a turn between them: the sender has read a
//!   message that this side sent after the announcement, and it reads the flags before the first message of a run.
//!
//! Where it is not certain, a task waits in its flags. It announces that and then yields once. If messages come that
//! fast, the task has its message by then, and the next message or the one after it says that the announcement was
//! seen. If not, and no thread has run the barrier in the meantime, the task runs it, on behalf of all tasks that have
//! yielded.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::task::Waker;

use super::Wait;
use crate::floor::barrier;
use crate::floor::waiting::{pointers, WaitSlot, Waiter};
use crate::ring::pipe::{Found, Pipe};
#[cfg(feature = "registry")]
use crate::ring::usage::Usage;
use crate::ring::words::{Awaitable, LineWord, PeerFlags, Report, Shared, TaskNote};

impl Pipe {
    /// Registers a task's waker for the message at this position. Its word had this value, in which the message was not
    /// there yet. Returns whether it did; if not, the next operation does not wait. Replaces an earlier waiter.
    /// `forgets` is what the layout says, and `word` is the word of the current line.
    ///
    /// A task does this for nearly every message, so the pipe is passed in registers, and everything else is in other
    /// functions.
    #[inline(never)]
    pub(crate) fn arm_task(
        self,
        forgets: bool,
        word: &Shared<LineWord>,
        value: LineWord,
        waker: &Waker,
    ) -> bool {
        let flags = self.own_flags().load(Relaxed);
        if flags.report(Report::Waiting) || !self.waits_in_word() {
            return self.arm_task_in_flags(waker);
        }
        if value.is_awaited() {
            return self.arm_task_anew(forgets, word, value, waker);
        }
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::waits_in_task(waker, false));
        self.announce_task();
        let slot = self.slot();
        // SAFETY: this side owns the slot, and its flags are down.
        unsafe { (*slot).put(Waiter::Task(waker.clone())) };
        if !word.raise(value) {
            // SAFETY: the flag was never raised.
            drop(unsafe { WaitSlot::take(slot) });
            return false;
        }
        // At the compare-and-swap there was no message, and a sender that publishes one later finds the flag.
        barrier::after_exchange();
        if let Some(driver) = self.driver() {
            driver.armed(false, true);
        }
        let stays = !forgets || !self.peer_may_be_gone();
        if self.is_limited() && self.is_late_for(waker) {
            return false;
        }
        stays || self.stays_armed()
    }

    /// Whether the side is late: then its waker is taken back. If not, makes sure that it is called when the limit passes.
    #[cold]
    #[inline(never)]
    fn is_late_for(&self, waker: &Waker) -> bool {
        self.wake_at_limit(waker);
        let is_late = self.is_late();
        if is_late {
            drop(Wait::for_message(self).disarm());
        }
        is_late
    }

    /// Like [`Pipe::arm_task`], where the task already has a waiter registered in the word.
    #[cold]
    #[inline(never)]
    fn arm_task_anew(
        self,
        forgets: bool,
        word: &Shared<LineWord>,
        value: LineWord,
        waker: &Waker,
    ) -> bool {
        let _replaced = Wait::for_message(&self).take_waiter();
        (self.copy()).arm_task(forgets, word, value.not_awaited(), waker)
    }

    /// Like [`Pipe::arm_task`], where the task waits in its flags, or already has a waiter registered there.
    #[cold]
    #[inline(never)]
    fn arm_task_in_flags(self, waker: &Waker) -> bool {
        let wait = Wait::for_message(&self);
        if wait.is_ready() {
            drop(self.stops_waiting_in_flags());
            return false;
        }
        let note = self.task_note().load(Relaxed);
        if note.is_deferred_at(self.at().key()) {
            if self.still_waits(waker) && barrier::has_run_since(self.ticket().load(Relaxed)) {
                if self.is_limited() {
                    // It was not set where the task yielded.
                    self.wake_at_limit(waker);
                }
                return wait.confirm(true);
            }
        } else if !note.is_known() && cfg!(not(duologue_without = "deferral")) {
            return self.defer(waker);
        }
        wait.arm(Waiter::Task(waker.clone()))
    }

    /// Announces in the flags that a task waits, and yields before it does. False if it does not have to wait.
    fn defer(&self, waker: &Waker) -> bool {
        let wait = Wait::for_message(self);
        let _replaced = wait.take_waiter();
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::waits_in_task(waker, false));
        if !wait.announce_in_flags(Waiter::Task(waker.clone())) {
            return false;
        }
        self.ticket().store(barrier::ticket(), Relaxed);
        for (place, pointer) in self.private().waker.iter().zip(pointers(waker)) {
            place.store(pointer, Relaxed);
        }
        self.task_note()
            .store(TaskNote::deferred(self.at().key()), Relaxed);
        waker.wake_by_ref();
        true
    }

    /// Whether the waker that was registered when this task yielded is this one, and is still there.
    fn still_waits(&self, waker: &Waker) -> bool {
        let here = PeerFlags::TASK.reporting(Report::Waiting, self.at().key());
        let left = &self.private().waker;
        self.own_flags().load(Relaxed) == here
            && left
                .iter()
                .map(|place| place.load(Relaxed))
                .eq(pointers(waker))
    }

    /// Takes back the waiter that this side registered in its flags, if it was not woken. A task that yielded there may
    /// have its message and, according to its flags, still wait: the sender need not have seen the flags.
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn stops_waiting_in_flags(&self) -> Option<Waiter> {
        let own = self.own_flags();
        let flags = own.load(Relaxed);
        if !flags.report(Report::Waiting) {
            return None;
        }
        own.compare_exchange(flags, flags.quiet(), AcqRel, Relaxed)
            .ok()?;
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { WaitSlot::take(self.slot()) }
    }

    /// For a task that has found something here: announces that it is a task even though it does not have to wait, or
    /// records that its sender knows. Then it does not have to run the barrier when it waits in a run.
    #[inline]
    pub(crate) fn note_task(&self, found: Found) {
        if self.swaps() {
            return self.announce_task();
        }
        let _stopped = self.stops_waiting_in_flags();
        let note = self.task_note();
        let knows = matches!(found, Found::Message(word) if word.knows_task());
        if knows && !note.load(Relaxed).is_known() {
            note.store(TaskNote::known(self.at().key()), Relaxed);
        }
    }

    /// Whether the waiter that is armed here may stay because the peer is connected; otherwise takes it back.
    #[cold]
    #[inline(never)]
    fn stays_armed(self) -> bool {
        let was_forgotten = self.was_forgotten();
        if was_forgotten {
            drop(Wait::for_message(&self).disarm());
        }
        !was_forgotten
    }

    /// Whether a receiver at this position waits and disconnects in the word; otherwise it does so in its flags.
    #[inline]
    pub(crate) fn waits_in_word(&self) -> bool {
        if self.swaps() {
            return true;
        }
        let (note, at) = (self.task_note().load(Relaxed), self.at());
        if note.is_known() {
            note.key() != at.key()
        } else {
            note.is_announced() && note.key().epoch() != at.epoch() && !at.is_lapping()
        }
    }

    /// Announces that this side is a task, where messages are swapped. This helps when it later waits in a run.
    #[inline]
    pub(super) fn announce_task(&self) {
        if self.own_flags().load(Relaxed) == PeerFlags::NONE && !self.at().always_swaps() {
            // Only this side changes the flags here: a sender does so only before its last message in a run.
            self.own_flags().store(PeerFlags::TASK, Relaxed);
            self.task_note()
                .store(TaskNote::announced(self.at().key()), Relaxed);
        }
    }

    /// After the barrier: records that the sender will see that this side is a task.
    pub(super) fn note_sleep(&self) {
        let flags = self.own_flags().load(Relaxed);
        if flags.report(Report::Waiting) && flags.is_task() {
            self.task_note()
                .store(TaskNote::known(self.at().key()), Relaxed);
        }
    }
}
