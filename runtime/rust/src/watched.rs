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
//! Tasks do more to be seen without the barrier: see `watched/task.rs`.
//!
//! # Without the barrier
//!
//! Where the kernel refuses the barrier (see `barrier`) a sender may miss what was said in the flags. So whoever left a
//! waiter there looks again now and then (see `relook`), and a task that ran it in vain does not note that its sender knows: that is certain
//! only by `KNOWS` or by a turn, both of which need no barrier.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::task::Waker;

use crate::flags::{self, ENDING, TASK, WAITING};
use crate::pipe::{Found, Pipe, Room, WAITS};
use crate::sync::AtomicU64;
use crate::wait::{Moment, Place, Waiter};
use crate::{barrier, processor};

mod task;

pub(crate) use task::pointers;

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
    #[cfg(all(test, target_os = "linux", not(duologue_loom)))]
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
        let _replaced = self.disarm();
        if !self.sends {
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
        let _refused = unsafe { Place::take(place) };
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
            drop(self.disarm());
            return false;
        }
        if !self.sends && is_certain {
            self.pipe.note_sleep();
        }
        true
    }

    /// Takes the waiter back, if it was not woken. The caller drops it, which is foreign code.
    #[inline]
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn disarm(&self) -> Option<Waiter> {
        if self.sends && matches!(self.pipe.room(), Room::Free) {
            return None;
        }
        self.disarm_slowly()
    }

    /// The same for a sender that has room, and may still have the waiter of a receiver.
    #[inline(never)]
    pub(crate) fn disarm_slowly(&self) -> Option<Waiter> {
        if let Some(waiter) = self.pipe.stops_waiting_in_flags() {
            return Some(waiter);
        }
        let (word, value) = self.unchanged()?;
        if value & WAITS == 0 {
            return None;
        }
        word.compare_exchange(value, value & !WAITS, AcqRel, Acquire)
            .ok()?;
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { Place::take(self.pipe.place()) }
    }
}

/// What comes between [`Watched::announce`] and [`Watched::confirm`]: either the other side has seen the announcement
/// when it looks for waiters, or this side sees what the other has done before. One is enough for many announcements. False if
/// the kernel refuses it: then neither need be so yet.
#[must_use = "without the barrier a waiter may be missed"]
pub(crate) fn barrier() -> bool {
    barrier::heavy()
}

impl Pipe {
    /// Takes back the waiter that this side left in its flags, if it was not woken. Who let others run there may have
    /// its message and still wait, as far as the flags say: nobody need have seen them.
    #[must_use = "drop it where a panic loses nothing"]
    pub(crate) fn stops_waiting_in_flags(&self) -> Option<Waiter> {
        let own = self.flags(self.at().side());
        let said = own.load(Relaxed);
        if said & WAITING == 0 {
            return None;
        }
        own.compare_exchange(said, flags::quiet(said), AcqRel, Relaxed)
            .ok()?;
        // SAFETY: the compare-and-swap lowered the flag.
        unsafe { Place::take(self.place()) }
    }
}
