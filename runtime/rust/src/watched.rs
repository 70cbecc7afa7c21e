//! What a side waits for, and how it leaves a waiter there.

use std::sync::atomic::Ordering::{AcqRel, Acquire};

use crate::pipe::{Found, Pipe, Room, WAITS};
use crate::sync::AtomicU64;
use crate::wait::{Place, Waiter};

/// A pipe that somebody waits for: for a message to read, or for room to send.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) pipe: &'a Pipe,
    pub(crate) sends: bool,
}

impl Watched<'_> {
    /// The word whose change is awaited, and its value; `None` when there is nothing to wait for.
    fn awaited(&self) -> Option<(&AtomicU64, u64)> {
        if self.sends {
            match self.pipe.room() {
                Room::Free | Room::Leaving => None,
                Room::Full(credit) => Some((self.pipe.credit(), credit)),
            }
        } else {
            match self.pipe.find() {
                Found::Message(_) | Found::Closed => None,
                Found::Nothing(word) => Some((self.pipe.word(), word)),
            }
        }
    }

    /// Whether the next operation would not wait.
    pub(crate) fn is_ready(&self) -> bool {
        self.awaited().is_none()
    }

    /// Leaves a waiter to be woken; false if there is nothing to wait for. Replaces an earlier waiter.
    pub(crate) fn arm(&self, waiter: Waiter) -> bool {
        self.announce(waiter);
        barrier();
        self.confirm()
    }

    /// The first third of [`Watched::arm`], for those who wait on many: says that this waiter is about to sleep, and
    /// replaces an earlier one. After it come [`barrier`], once for all, and [`Watched::confirm`] for each.
    ///
    /// From here on the waiter may be woken, also if `confirm` finds that there is nothing to wait for.
    pub(crate) fn announce(&self, waiter: Waiter) {
        self.disarm();
        let place = self.pipe.place(self.pipe.side());
        let mut waiter = Some(waiter);
        while let (Some((word, value)), Some(mine)) = (self.awaited(), waiter.take()) {
            // SAFETY: this side owns the place, and its flag is down: `disarm` lowered it, or the peer did.
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

    /// Whether the announced waiter has to sleep and will be woken; false if there is nothing to wait for.
    pub(crate) fn confirm(&self) -> bool {
        !self.is_ready()
    }

    /// Takes the waiter back, if it was not woken.
    pub(crate) fn disarm(&self) {
        if let Some((word, value)) = self.awaited() {
            if value & WAITS != 0
                && word
                    .compare_exchange(value, value & !WAITS, AcqRel, Acquire)
                    .is_ok()
            {
                // SAFETY: the compare-and-swap lowered the flag.
                drop(unsafe { Place::take(self.pipe.place(self.pipe.side())) });
            }
        }
    }
}

/// What comes between [`Watched::announce`] and [`Watched::confirm`]: either the other side has seen the announcement
/// when it looks for waiters, or this side sees what the other has done before. One is enough for many announcements.
///
/// Nothing is to be done as long as waiters are announced by a read-modify-write of the word that is awaited.
pub(crate) fn barrier() {}
