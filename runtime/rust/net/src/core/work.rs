//! One piece of work on a session: how it may be done, and what has to be done after it.

use std::task::Waker;
use std::time::Instant;

use duologue::transport::{FarEnd, Woken};

use super::{COLLECTED, FAR_AHEAD};

/// What tells the time.
pub(crate) type Clock = fn() -> Instant;

/// How long a thread waits until the connection accepts what it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    /// For a limited time at each write. What is not written by then is lost.
    Brief,
    Endless,
}

/// How the work is done, and what has to be done once no lock is held.
pub(crate) struct Work {
    clock: Clock,
    /// How long this thread waits until the connection accepts what it writes.
    pub(crate) patience: Patience,
    /// How much is forwarded to a connection that accepts nothing.
    pub(super) enough: usize,
    /// The connection did not accept everything, and this thread does not try again.
    pub(crate) refused: bool,
    /// Whether something was forwarded.
    pub(super) has_forwarded: bool,
    /// The first waiter; nearly always the only one, for which nothing is allocated.
    pub(crate) woken: Option<Woken>,
    pub(crate) more_woken: Vec<Woken>,
    /// The side that was held back.
    pub(crate) released: Option<Waker>,
    /// A far end that disconnects.
    pub(crate) far: Option<FarEnd>,
    /// The connection has to be closed.
    pub(crate) closes: bool,
    /// What was collected has to be written after a while.
    pub(crate) flushes: bool,
    /// The rest has to be written when the connection accepts more.
    pub(crate) writes: bool,
    /// When [`Core::tick`](super::Core::tick) has to be called.
    pub(crate) check_at: Option<Instant>,
    /// Something waits for the session's observer.
    pub(crate) reports: bool,
    /// A buffer is larger than an idle session needs.
    pub(crate) shrinks: bool,
}

impl Work {
    /// `never_waits`: the side in this process does not wait where it sends, so this thread does not either.
    pub(crate) fn new(patience: Patience, never_waits: bool, clock: Clock) -> Work {
        let mut work = Work {
            clock,
            patience,
            enough: COLLECTED,
            refused: false,
            has_forwarded: false,
            woken: None,
            more_woken: Vec::new(),
            released: None,
            far: None,
            closes: false,
            flushes: false,
            writes: false,
            check_at: None,
            reports: false,
            shrinks: false,
        };
        if never_waits {
            work.never_waits();
        }
        work
    }

    /// The side in this process does not wait, from now on. How much memory the messages in the ring own is not known.
    /// A sender waits for the connection if it may; otherwise more is taken out of the ring, and it is held back by how
    /// much that is.
    pub(crate) fn never_waits(&mut self) {
        self.patience = Patience::None;
        self.enough = FAR_AHEAD;
    }

    /// Forwarding begins.
    pub(crate) fn begin_forwarding(&mut self) {
        self.has_forwarded = false;
    }

    pub(crate) fn waits(&self) -> bool {
        self.patience != Patience::None
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn now(&self) -> Instant {
        (self.clock)()
    }

    pub(super) fn wake(&mut self, woken: Option<Woken>) {
        let Some(woken) = woken else { return };
        match &self.woken {
            None => self.woken = Some(woken),
            Some(_) => self.more_woken.push(woken),
        }
    }

    /// Whether nothing has to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.woken.is_none()
            && self.released.is_none()
            && self.far.is_none()
            && !self.closes
            && !self.flushes
            && !self.writes
            && self.check_at.is_none()
            && !self.reports
    }
}
