//! What is attached to a session: its driver, its observer, and the time limits of its sides.
//!
//! The SAFETY of what accesses the block is that of the accessors in `ring::pipe`.

use std::ptr::addr_of;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use super::Pipe;
use crate::floor::layout::Part;
use crate::ring::block::Block;
use crate::ring::driver::{Attached, Driver, What};
use crate::ring::observer::{next_number, Observed, Watched};
#[cfg(feature = "registry")]
use crate::ring::usage::Usage;

impl Pipe {
    /// Sets the session's driver, to which this side belongs. It has none yet.
    pub(crate) fn attach(&self, driver: Arc<dyn Driver>) {
        let far = self.at.side();
        // SAFETY: see the module.
        unsafe { Block::attach(self.block, Attached::new(What::Driver { driver, far })) };
    }

    /// What drives the session, if the other side is in another process.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&Arc<dyn Driver>> {
        if !self.at.always_swaps() {
            return None;
        }
        self.driver_of_block()
    }

    #[cold]
    fn driver_of_block(&self) -> Option<&Arc<dyn Driver>> {
        // SAFETY: see the module.
        match &unsafe { Block::attached(self.block) }?.what {
            What::Driver { driver, far } => (*far != self.at.side()).then_some(driver),
            What::Observer(_) | What::Nothing => None,
        }
    }

    /// Whether this side has a time limit: see `link::limit`.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.limit_mark().load(Relaxed) != 0
    }

    /// Where a side notes that it has a time limit.
    #[inline]
    pub(crate) fn limit_mark(&self) -> &AtomicU32 {
        // SAFETY: see the module. It is atomic: threads that share a sender may access it at the same time. The other side never does.
        unsafe { &*addr_of!((*self.public(self.at.side())).is_limited) }
    }

    /// What is attached to the session, with the time limits of its sides and its number.
    pub(crate) fn attached(&self) -> &Attached {
        // SAFETY: see the module.
        unsafe { Block::attached_or_new(self.block) }
    }

    /// What the session reports, if it is observed.
    #[inline]
    pub(crate) fn watched(&self) -> Option<&Arc<Watched>> {
        if !self.at.is_observed() {
            return None;
        }
        // SAFETY: see the module.
        match &unsafe { Block::attached(self.block) }?.what {
            What::Observer(observed) => Some(&observed.0),
            What::Driver { .. } | What::Nothing => None,
        }
    }

    /// Reports how this side uses its endpoint, if the session is observed.
    #[cfg(feature = "registry")]
    #[inline(always)]
    pub(crate) fn note_use(&self, usage: impl FnOnce() -> Usage) {
        if self.at.is_observed() {
            self.copy().note_observed_use(&usage());
        }
    }

    /// Reports that the other side no longer waits, for this side, which is about to wake it, if the session is observed.
    #[cfg(feature = "registry")]
    pub(crate) fn note_waking(&self) {
        if let Some(watched) = self.watched() {
            watched.used(self.peer(), &Usage::StopsWaiting);
        }
    }

    #[cfg(feature = "registry")]
    #[cold]
    fn note_observed_use(self, usage: &Usage) {
        if let Some(watched) = self.watched() {
            watched.used(self.at.side(), usage);
        }
    }

    /// Notes that this side disconnects, if the session is observed.
    pub(crate) fn note_leaving(&self) {
        #[cfg(feature = "registry")]
        self.note_use(|| Usage::Leaves);
        if let Some(watched) = self.watched() {
            watched.leaves(self.at.side());
        }
    }

    /// Replaces a session in which both sides are at the same position, so that there is no message, by a new one of the
    /// same kind in the same state, which is observed. Neither side has a waiter. Returns false, and does nothing, if this
    /// is not such a session, or if something is attached to it. `begin` gets the name of the state.
    pub(crate) fn observe(
        sender: &mut Pipe,
        receiver: &mut Pipe,
        begin: impl FnOnce(&'static str) -> Arc<Watched>,
    ) -> bool {
        let is_quiet = sender.block == receiver.block
            && sender.at.side() != receiver.at.side()
            && sender.at.key() == receiver.at.key();
        // SAFETY: see the module.
        let attached = unsafe { Block::attached(sender.block) };
        if !is_quiet || attached.is_some_and(|old| !matches!(old.what, What::Nothing)) {
            return false;
        }
        let state = receiver.state();
        let watched = begin(state.name);
        let (first, second) = Pipe::begin(*sender.layout(), Part::Large, true);
        let new = Attached::new(What::Observer(Observed(watched)));
        let limits = attached.map(|old| &old.limits);
        for (new, old) in new.limits.iter().zip(limits.into_iter().flatten()) {
            new.set(old.at());
        }
        // SAFETY: see the module; the session is new.
        unsafe { Block::attach(first.block, new) };
        let old = sender.copy();
        for pipe in [&mut *sender, &mut *receiver] {
            let new = if pipe.at.side() == 0 { &first } else { &second };
            let mark = pipe.limit_mark().load(Relaxed);
            *pipe = new.moved(new.at.observed().in_state(pipe.at.stays()));
            pipe.limit_mark().store(mark, Relaxed);
        }
        // SAFETY: only this side accesses it, which has not begun to receive.
        unsafe { *receiver.private().state.get() = state };
        // SAFETY: both sides have left this session for the new one.
        unsafe { old.end() };
        true
    }

    /// A number of this session that no other session of this process has, for texts. It gets one when it is first asked for.
    #[cold]
    pub(crate) fn number(&self) -> u64 {
        if let Some(watched) = self.watched() {
            return watched.number();
        }
        let number = &self.attached().number;
        match number.load(Relaxed) {
            0 => {
                let new = next_number();
                match number.compare_exchange(0, new, Relaxed, Relaxed) {
                    Ok(_) => new,
                    Err(other) => other,
                }
            }
            number => number,
        }
    }
}
