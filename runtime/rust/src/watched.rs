//! What a side waits for, and how it leaves a waiter there.
//!
//! # In the word
//!
//! The waiter is put into its place, then a flag is set in the awaited word with a compare-and-swap. The other side
//! changes that word by a read-modify-write, too, so the two are ordered:
//!
//! - flag first: the change returns the flag, and by Acquire also the waiter that was written before it: it wakes;
//! - change first: the compare-and-swap fails, and the side sees what it wanted to wait for.
//!
//! There is no third case. A sender waits for room in this way, and a receiver where messages are swapped.
//!
//! # In the flags
//!
//! Where messages are stored, a receiver puts its waiter into its place, says `WAITING` for its position in its flags,
//! runs the barrier and looks again. By the barrier either it sees the message, or the sender sees `WAITING` after its
//! store. Both may be: whoever lowers the flag by a compare-and-swap has the waiter. The flag is about one position, so
//! that a sender which is late with its look after an earlier message does not take the waiter of a later one.
//!
//! # Tasks
//!
//! A task says in its flags that it is one, for good, and from then on waits in the word also in runs: but only
//! where it is certain that the sender has seen it and swaps. It is certain
//!
//! - at every position after one at which it said so, ran the barrier, and found nothing: the sender's store there
//!   comes after the barrier, so its look at the flags after that store sees it, and so does what it sends later;
//! - at every position after one whose message has `KNOWS` in its word: its sender had seen it;
//! - in every run after one in which it said so, if there was a turn between them: the sender has read a message that
//!   this side sent after saying so, and looks at the flags before the first message of a run.
//!
//! Where it is not certain, a task waits in its flags. It says so, and then lets others run once: if messages come as fast as that it
//! has the message, and the next one or the one after it has `KNOWS`. If not, and nobody has run the barrier meanwhile, it runs it:
//! then for all who have let it run.
//!
//! # Without the barrier
//!
//! Where the kernel refuses the barrier (see `barrier`) a sender may miss what was said in the flags. So whoever left a
//! waiter there looks again now and then (see `relook`), and a task that ran it in vain does not note that its sender knows: that is certain
//! only by `KNOWS` or by a turn, both of which need no barrier.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::Waker;

use crate::flags::{self, ENDING, TASK, WAITING};
use crate::pipe::{Found, Pipe, Room, KNOWS, WAITS};
use crate::position::{EPOCH_SHIFT, KEY};
use crate::relook::{self, Pause};
use crate::sync::AtomicU64;
use crate::wait::{Moment, Place, Waiter};
use crate::{barrier, processor};

/// What a side notes of itself: it said that it is a task, and the sender has seen that behind this position.
const KNOWN: u64 = 1 << 26;
/// It said that it is a task, at this position.
const SAID: u64 = 1 << 27;
/// There it then let others run, instead of waiting.
const PUT_OFF: u64 = 1 << 28;
/// How often it has waited there without the barrier: a number of three bits.
const LOOKS_SHIFT: u32 = 29;
const LOOKS: u64 = 7 << LOOKS_SHIFT;

/// How a waiter was left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Armed {
    /// Not at all: there is nothing to wait for.
    No,
    /// It will be woken.
    Surely,
    /// It may be missed, for want of the barrier: look again.
    Perhaps,
}

/// A pipe that somebody waits for: for a message to read, or for room to send.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pipe: &'a Pipe,
    sends: bool,
}

impl<'a> Watched<'a> {
    /// A sender that waits for room.
    pub(crate) fn for_room(pipe: &'a Pipe) -> Watched<'a> {
        Watched { pipe, sends: true }
    }

    /// A receiver that waits for a message.
    pub(crate) fn for_message(pipe: &'a Pipe) -> Watched<'a> {
        Watched { pipe, sends: false }
    }

    /// The pipe itself, for tests that do by hand what no endpoint does.
    #[cfg(all(test, target_os = "linux", not(loom)))]
    pub(crate) fn pipe(&self) -> &'a Pipe {
        self.pipe
    }

    /// The word whose change is awaited, and its value; `None` when it has changed.
    #[inline]
    fn unchanged(&self) -> Option<(&AtomicU64, u64)> {
        if self.sends {
            match self.pipe.room() {
                Room::Free | Room::Leaving => None,
                Room::Full(credit) => Some((self.pipe.credit(), credit)),
            }
        } else {
            match self.pipe.find_in(self.pipe.layout()) {
                Found::Message(_) | Found::Closed => None,
                Found::Nothing(word) => Some((self.pipe.word(), word)),
            }
        }
    }

    /// The same, but `None` also if it will never change because the peer is gone without a word.
    fn awaited(&self) -> Option<(&AtomicU64, u64)> {
        let mut moment = Moment::new();
        loop {
            let unchanged = self.unchanged()?;
            if let Some(was_forgotten) = self.pipe.was_forgotten() {
                return (!was_forgotten).then_some(unchanged);
            }
            moment.pass();
        }
    }

    /// Whether the next operation would not wait.
    pub(crate) fn is_ready(&self) -> bool {
        self.awaited().is_none()
    }

    /// Tells sessions apart.
    pub(crate) fn session(&self) -> usize {
        self.pipe.session()
    }

    /// The processor on which the peer last ran, in the place that words have for it; 0 if that is not known.
    pub(crate) fn processor_of_peer(&self) -> u64 {
        self.pipe.own().heard.load(Relaxed) & processor::IN_WORD
    }

    /// Leaves a task's waker unless the next operation would not wait, and says whether it did. Replaces an earlier waiter.
    #[inline]
    pub(crate) fn arm_task(&self, waker: &Waker) -> bool {
        match self.unchanged() {
            None => false,
            Some(_) if self.sends => self.arm_for_room(Waiter::Task(waker.clone())),
            Some((word, value)) => {
                let forgets = self.pipe.layout().forgets();
                self.pipe.again().arm_task(forgets, word, value, waker)
            }
        }
    }

    /// Leaves a waiter to be woken. Replaces an earlier waiter.
    pub(crate) fn arm(&self, waiter: Waiter) -> Armed {
        let is_certain = !self.announce(waiter) || barrier();
        match self.confirm(is_certain) {
            false => Armed::No,
            true if is_certain => Armed::Surely,
            true => Armed::Perhaps,
        }
    }

    /// The same for room, where no barrier is needed. Says whether there is something to wait for.
    pub(crate) fn arm_for_room(&self, waiter: Waiter) -> bool {
        self.arm(waiter) != Armed::No
    }

    /// Whether a waiter that was left here needs the barrier to be seen.
    pub(crate) fn needs_barrier(&self) -> bool {
        !self.sends && !self.pipe.waits_in_word()
    }

    /// As [`Pipe::note_task`], for a task that has looked here.
    #[inline]
    pub(crate) fn note_task(&self) {
        if !self.sends {
            self.pipe.note_task(self.pipe.find_in(self.pipe.layout()));
        }
    }

    /// The first third of [`Watched::arm`], for those who wait on many: says that this waiter is about to sleep, and
    /// replaces an earlier one. Then, if any announcement returned true, comes one [`barrier`] for all; and then
    /// [`Watched::confirm`] for each.
    ///
    /// From here on the waiter may be woken, also if `confirm` finds that there is nothing to wait for.
    pub(crate) fn announce(&self, waiter: Waiter) -> bool {
        self.disarm();
        if self.sends {
            self.pipe.stops_waiting_in_flags();
        } else {
            if !self.pipe.waits_in_word() {
                return self.announce_in_flags(waiter);
            }
            if matches!(waiter, Waiter::Task(_)) {
                self.pipe.say_task();
            }
        }
        self.announce_in_word(waiter);
        false
    }

    fn announce_in_word(&self, waiter: Waiter) {
        let place = self.pipe.place();
        let mut waiter = Some(waiter);
        while let (Some((word, value)), Some(mine)) = (self.awaited(), waiter.take()) {
            // SAFETY: this side owns the place, and its flags are down: `disarm` lowered them, or the peer did.
            unsafe { (*place).put(mine) };
            if word
                .compare_exchange(value, value | WAITS, AcqRel, Acquire)
                .is_ok()
            {
                return;
            }
            // SAFETY: the flag was never raised.
            waiter = unsafe { Place::take(place) };
        }
    }

    fn announce_in_flags(&self, waiter: Waiter) -> bool {
        if self.is_ready() {
            return false;
        }
        let place = self.pipe.place();
        let task = if matches!(waiter, Waiter::Task(_)) {
            TASK
        } else {
            0
        };
        // SAFETY: as in `announce_in_word`.
        unsafe { (*place).put(waiter) };
        let own = self.pipe.flags(self.pipe.at().side());
        let said = own.load(Relaxed);
        let waiting = flags::say(said | task, WAITING, self.pipe.at().key());
        if said & ENDING == 0 && own.compare_exchange(said, waiting, AcqRel, Relaxed).is_ok() {
            return true;
        }
        // SAFETY: the flag was never raised.
        drop(unsafe { Place::take(place) });
        // The sender is about to publish its last.
        let mut moment = Moment::new();
        while !self.is_ready() {
            moment.pass();
        }
        false
    }

    /// Whether the announced waiter has to sleep and will be woken; false if there is nothing to wait for. If it needed the barrier
    /// and did not get it, this is not certain, and it may be missed.
    pub(crate) fn confirm(&self, is_certain: bool) -> bool {
        barrier::full();
        if self.is_ready() {
            self.disarm();
            return false;
        }
        if !self.sends && is_certain {
            self.pipe.note_sleep();
        }
        true
    }

    /// Takes the waiter back, if it was not woken.
    #[inline]
    pub(crate) fn disarm(&self) {
        if self.sends && matches!(self.pipe.room(), Room::Free) {
            return;
        }
        self.disarm_slowly();
    }

    #[inline(never)]
    fn disarm_slowly(&self) {
        if !self.sends && self.pipe.stops_waiting_in_flags() {
            return;
        }
        if let Some((word, value)) = self.unchanged() {
            if value & WAITS != 0
                && word
                    .compare_exchange(value, value & !WAITS, AcqRel, Acquire)
                    .is_ok()
            {
                // SAFETY: the compare-and-swap lowered the flag.
                drop(unsafe { Place::take(self.pipe.place()) });
            }
        }
    }
}

/// What comes between [`Watched::announce`] and [`Watched::confirm`]: either the other side has seen the announcement
/// when it looks for waiters, or this side sees what the other has done before. One is enough for many announcements. False if
/// the kernel refuses it: then neither need be so yet.
#[must_use = "without the barrier a waiter may be missed"]
pub(crate) fn barrier() -> bool {
    barrier::heavy()
}

/// By what a waker that lives is told from others.
pub(crate) fn pointers(waker: &Waker) -> [usize; 2] {
    [
        waker.data() as usize,
        std::ptr::from_ref(waker.vtable()) as usize,
    ]
}

impl Pipe {
    /// When this side said that it is a task. Only this side looks there.
    fn task(&self) -> &AtomicU64 {
        // SAFETY: as for the accessors of `Pipe`.
        unsafe { &*std::ptr::addr_of!((*self.side(self.at().side())).task) }
    }

    /// Its ticket for the barrier, from when it last let others run. Only this side looks there.
    fn ticket(&self) -> &AtomicU32 {
        // SAFETY: as for the accessors of `Pipe`.
        unsafe { &*std::ptr::addr_of!((*self.side(self.at().side())).ticket) }
    }

    /// Leaves a task's waker for the message here, whose word had this value, in which there was nothing. Says whether it
    /// did: if not the next operation does not wait. Replaces an earlier waiter. `forgets` is what the layout says, and `word` is
    /// the one here.
    ///
    /// This is what a task does with nearly every message, so the pipe comes in registers, and all else stands apart.
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
            Watched::for_message(&self.again()).disarm();
        }
        let value = value & !WAITS;
        self.say_task_in(said);
        let place = self.place();
        // SAFETY: this side owns the place, and its flags are down.
        unsafe { (*place).put(Waiter::Task(waker.clone())) };
        if word
            .compare_exchange(value, value | WAITS, AcqRel, Acquire)
            .is_err()
        {
            // SAFETY: the flag was never raised.
            drop(unsafe { Place::take(place) });
            return false;
        }
        // By the exchange there was no message, and whoever publishes one finds the flag.
        barrier::after_exchange();
        !forgets && !barrier::is_lost() || !self.peer_may_be_gone() || self.stays_armed()
    }

    /// The same where the task waits in its flags, or has left a waiter there.
    #[cold]
    #[inline(never)]
    fn arm_task_in_flags(self, waker: &Waker) -> bool {
        let watched = Watched::for_message(&self);
        if watched.is_ready() {
            self.stops_waiting_in_flags();
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

    /// Sees to it that a task that may be missed looks again.
    #[cold]
    fn look_again(&self, noted: u64, waker: &Waker) {
        let looks = (noted & LOOKS) >> LOOKS_SHIFT;
        let more = (looks + 1).min(LOOKS >> LOOKS_SHIFT) << LOOKS_SHIFT;
        self.task().store(noted & !LOOKS | more, Relaxed);
        relook::wake_after(Pause::after(looks as u32).next(), waker);
    }

    /// Says in the flags that a task waits, and lets others run before it does; false if it need not wait.
    fn puts_off(&self, waker: &Waker) -> bool {
        let watched = Watched::for_message(self);
        watched.disarm();
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

    /// Whether the waker that was left when this task let others run is this one, and still there.
    fn still_waits(&self, waker: &Waker) -> bool {
        let here = flags::say(TASK, WAITING, self.at().key());
        let left = &self.own().waker;
        self.flags(self.at().side()).load(Relaxed) == here
            && left
                .iter()
                .map(|place| place.load(Relaxed))
                .eq(pointers(waker))
    }

    /// Takes back the waiter that this side left in its flags, and says whether there was one. Who let others run there may have
    /// its message and still wait, as far as the flags say: nobody need have seen them.
    pub(crate) fn stops_waiting_in_flags(&self) -> bool {
        let own = self.flags(self.at().side());
        let said = own.load(Relaxed);
        if said & WAITING == 0 {
            return false;
        }
        if own
            .compare_exchange(said, flags::quiet(said), AcqRel, Relaxed)
            .is_ok()
        {
            // SAFETY: the compare-and-swap lowered the flag.
            drop(unsafe { Place::take(self.place()) });
        }
        true
    }

    /// For a task that has found something here: says that it is one although it need not wait, or notes that its sender knows.
    /// Then it need not run the barrier when it waits in a run.
    #[inline]
    pub(crate) fn note_task(&self, found: Found) {
        if self.swaps() {
            return self.say_task();
        }
        self.stops_waiting_in_flags();
        if matches!(found, Found::Message(word) if word & KNOWS != 0) {
            self.note_known();
        }
    }

    fn note_known(&self) {
        if self.task().load(Relaxed) & KNOWN == 0 {
            self.task().store(KNOWN | self.at().key(), Relaxed);
        }
    }

    /// Whether the waiter that is armed here may stay because the peer is there; otherwise it is taken back.
    #[cold]
    #[inline(never)]
    fn stays_armed(self) -> bool {
        let mut moment = Moment::new();
        loop {
            match self.was_forgotten() {
                Some(false) => return true,
                Some(true) => {
                    Watched::for_message(&self).disarm();
                    return false;
                }
                None => moment.pass(),
            }
        }
    }

    /// Whether a receiver waits, and dies, in the word here; otherwise in its flags.
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

    /// Says that this side is a task where messages are swapped: of use when it later waits in a run.
    fn say_task(&self) {
        self.say_task_in(self.flags(self.at().side()).load(Relaxed));
    }

    /// The same for one that has just read its flags.
    #[inline]
    fn say_task_in(&self, said: u64) {
        if said == 0 && !self.at().always_swaps() {
            // Nobody else changes 0 here: a sender would only before its last message in a run.
            self.flags(self.at().side()).store(TASK, Relaxed);
            self.task().store(SAID | self.at().key(), Relaxed);
        }
    }

    /// After the barrier: notes that the sender will see that this side is a task.
    fn note_sleep(&self) {
        let said = self.flags(self.at().side()).load(Relaxed);
        if said & WAITING != 0 && said & TASK != 0 {
            self.task().store(KNOWN | self.at().key(), Relaxed);
        }
    }
}
