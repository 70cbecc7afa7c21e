//! How a task registers a waiter and is certain to be seen, without running the barrier for each wait.
//!
//! A task announces in its flags (`TASK`), permanently, that it is a task. From then on it waits in the word in runs as
//! well, but only where it is certain that the sender has seen the announcement and swaps. That is certain
//!
//! - at every position after one at which the task announced this, ran the barrier, and found nothing: the sender's
//!   store there comes after the barrier, so its read of the flags after that store sees the announcement, and so do
//!   its reads for everything it sends later;
//! - at every position after one whose message has `KNOWS` in its word: its sender had seen the announcement;
//! - in every run after one in which the task announced this, if there was a turn between them: the sender has read a
//!   message that this side sent after the announcement, and it reads the flags before the first message of a run.
//!
//! Where it is not certain, a task waits in its flags. It announces that and then yields once. If messages come that
//! fast, the task has its message by then, and the next message or the one after it has `KNOWS`. If not, and no thread
//! has run the barrier in the meantime, the task runs it, on behalf of all tasks that have yielded.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::Waker;

use super::{Armed, Watched};
use crate::backoff::Backoff;
use crate::barrier;
use crate::flags::{self, TASK, WAITING};
use crate::pipe::{Found, Pipe, KNOWS, WAITS};
use crate::position::{EPOCH_SHIFT, KEY};
use crate::relook::{self, Pause};
use crate::sync::AtomicU64;
use crate::wait::{Place, Waiter};

/// What a side records about itself: it announced that it is a task, and the sender has seen that after this position.
const KNOWN: u64 = 1 << 26;
/// It announced, at this position, that it is a task.
const SAID: u64 = 1 << 27;
/// It then yielded there, instead of waiting.
const PUT_OFF: u64 = 1 << 28;
/// How often it has waited there without the barrier: a three-bit number.
const LOOKS_SHIFT: u32 = 29;
const LOOKS: u64 = 7 << LOOKS_SHIFT;

/// Two pointers that distinguish a living waker from others.
pub(crate) fn pointers(waker: &Waker) -> [usize; 2] {
    [
        waker.data() as usize,
        std::ptr::from_ref(waker.vtable()) as usize,
    ]
}

impl Pipe {
    /// What this side has recorded about being a task. Only this side accesses it.
    fn task(&self) -> &AtomicU64 {
        // SAFETY: as for the accessors of `Pipe`.
        unsafe { &*std::ptr::addr_of!((*self.side(self.at().side())).task) }
    }

    /// This side's ticket for the barrier, from when it last yielded. Only this side accesses it.
    fn ticket(&self) -> &AtomicU32 {
        // SAFETY: as for the accessors of `Pipe`.
        unsafe { &*std::ptr::addr_of!((*self.side(self.at().side())).ticket) }
    }

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
        word: &AtomicU64,
        value: u64,
        waker: &Waker,
    ) -> bool {
        let said = self.flags(self.at().side()).load(Relaxed);
        if said & WAITING != 0 || !self.waits_in_word() {
            return self.arm_task_in_flags(waker);
        }
        if value & WAITS != 0 {
            return self.arm_task_anew(forgets, word, value, waker);
        }
        self.say_task_in(said);
        let place = self.place();
        // SAFETY: this side owns the slot, and its flags are down.
        unsafe { (*place).put(Waiter::Task(waker.clone())) };
        if word
            .compare_exchange(value, value | WAITS, AcqRel, Acquire)
            .is_err()
        {
            // SAFETY: the flag was never raised.
            drop(unsafe { Place::take(place) });
            return false;
        }
        // At the compare-and-swap there was no message, and a sender that publishes one later finds the flag.
        barrier::after_exchange();
        !forgets && !barrier::is_lost() || !self.peer_may_be_gone() || self.stays_armed()
    }

    /// Like [`Pipe::arm_task`], where the task already has a waiter registered in the word.
    #[cold]
    #[inline(never)]
    fn arm_task_anew(self, forgets: bool, word: &AtomicU64, value: u64, waker: &Waker) -> bool {
        let _replaced = Watched::for_message(&self).disarm();
        self.again().arm_task(forgets, word, value & !WAITS, waker)
    }

    /// Like [`Pipe::arm_task`], where the task waits in its flags, or already has a waiter registered there.
    #[cold]
    #[inline(never)]
    fn arm_task_in_flags(self, waker: &Waker) -> bool {
        let watched = Watched::for_message(&self);
        if watched.is_ready() {
            drop(self.stops_waiting_in_flags());
            return false;
        }
        let noted = self.task().load(Relaxed);
        if noted & !LOOKS == SAID | PUT_OFF | self.at().key() {
            if self.still_waits(waker) && barrier::has_run_since(self.ticket().load(Relaxed)) {
                return watched.confirm(true);
            }
        } else if noted & KNOWN == 0 {
            return self.puts_off(waker);
        }
        match watched.arm(Waiter::Task(waker.clone())) {
            Armed::No => false,
            Armed::Surely => true,
            Armed::Perhaps => {
                self.look_again(noted, waker);
                true
            }
        }
    }

    /// Makes sure that a task that may be missed checks again.
    #[cold]
    fn look_again(&self, noted: u64, waker: &Waker) {
        let looks = (noted & LOOKS) >> LOOKS_SHIFT;
        let more = (looks + 1).min(LOOKS >> LOOKS_SHIFT) << LOOKS_SHIFT;
        self.task().store(noted & !LOOKS | more, Relaxed);
        relook::wake_after(Pause::after(looks as u32).next(), waker);
    }

    /// Announces in the flags that a task waits, and yields before it does. False if it does not have to wait.
    fn puts_off(&self, waker: &Waker) -> bool {
        let watched = Watched::for_message(self);
        let _replaced = watched.disarm();
        if !watched.announce_in_flags(Waiter::Task(waker.clone())) {
            return false;
        }
        self.ticket().store(barrier::ticket(), Relaxed);
        for (place, pointer) in self.own().waker.iter().zip(pointers(waker)) {
            place.store(pointer, Relaxed);
        }
        self.task().store(SAID | PUT_OFF | self.at().key(), Relaxed);
        waker.wake_by_ref();
        true
    }

    /// Whether the waker that was registered when this task yielded is this one, and is still there.
    fn still_waits(&self, waker: &Waker) -> bool {
        let here = flags::say(TASK, WAITING, self.at().key());
        let left = &self.own().waker;
        self.flags(self.at().side()).load(Relaxed) == here
            && left
                .iter()
                .map(|place| place.load(Relaxed))
                .eq(pointers(waker))
    }

    /// For a task that has found something here: announces that it is a task even though it does not have to wait, or
    /// records that its sender knows. Then it does not have to run the barrier when it waits in a run.
    #[inline]
    pub(crate) fn note_task(&self, found: Found) {
        if self.swaps() {
            return self.say_task();
        }
        let _stopped = self.stops_waiting_in_flags();
        if matches!(found, Found::Message(word) if word & KNOWS != 0) {
            self.note_known();
        }
    }

    fn note_known(&self) {
        if self.task().load(Relaxed) & KNOWN == 0 {
            self.task().store(KNOWN | self.at().key(), Relaxed);
        }
    }

    /// Whether the waiter that is armed here may stay because the peer is connected; otherwise takes it back.
    #[cold]
    #[inline(never)]
    fn stays_armed(self) -> bool {
        let mut backoff = Backoff::new();
        loop {
            match self.was_forgotten() {
                Some(false) => return true,
                Some(true) => {
                    drop(Watched::for_message(&self).disarm());
                    return false;
                }
                None => backoff.pass(),
            }
        }
    }

    /// Whether a receiver at this position waits and disconnects in the word; otherwise it does so in its flags.
    #[inline]
    pub(crate) fn waits_in_word(&self) -> bool {
        if self.swaps() {
            return true;
        }
        let (task, at) = (self.task().load(Relaxed), self.at());
        if task & KNOWN != 0 {
            task & KEY != at.key()
        } else {
            task & SAID != 0 && (task >> EPOCH_SHIFT) as u32 != at.epoch() && !at.is_lapping()
        }
    }

    /// Announces that this side is a task, where messages are swapped. This helps when it later waits in a run.
    pub(super) fn say_task(&self) {
        self.say_task_in(self.flags(self.at().side()).load(Relaxed));
    }

    /// Like [`Pipe::say_task`], for a side that has just read its flags.
    #[inline]
    fn say_task_in(&self, said: u64) {
        if said == 0 && !self.at().always_swaps() {
            // Nobody else changes 0 here: a sender does that only before its last message in a run.
            self.flags(self.at().side()).store(TASK, Relaxed);
            self.task().store(SAID | self.at().key(), Relaxed);
        }
    }

    /// After the barrier: records that the sender will see that this side is a task.
    pub(super) fn note_sleep(&self) {
        let said = self.flags(self.at().side()).load(Relaxed);
        if said & WAITING != 0 && said & TASK != 0 {
            self.task().store(KNOWN | self.at().key(), Relaxed);
        }
    }
}
