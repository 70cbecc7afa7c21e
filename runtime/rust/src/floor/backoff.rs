//! How a thread waits before it sleeps: one policy, with fixed limits, for every wait of this crate.
//!
//! Sleeping and being woken costs a few microseconds if the processor stays awake and tens of microseconds if it halts,
//! while a peer that is running answers in a tenth of a microsecond. So a thread spins [`SPINS`] times, which takes
//! about as long as one answer of a running peer. Then it yields [`YIELDS`] times: if the peer waits for a processor,
//! it gets this one for a fraction of what sleeping and being woken costs. This is what makes threads that outnumber
//! the processors fast. After that the thread sleeps, so a long wait takes no time from other threads. A thread whose
//! peer last ran on its own processor does not spin: the peer cannot run in the meantime.
//!
//! The limits do not adapt. A budget that learns from earlier waits has to be probed again and again, because two
//! threads that have learned to sleep both wait too long to learn anything else.
//!
//! A wait for something that the other side does within a few instructions uses [`Backoff`] instead, which never
//! sleeps.

use super::sync::{spin_loop, yield_now};
use super::yielding::yield_unless_slow;

/// How many times a thread checks what it waits for while it spins. A `spin_loop` takes 3 to 25 ns.
const SPINS: usize = 100;

/// How many times it then yields, unless yields are slow (see `yielding`).
const YIELDS: u32 = 32;

/// The remaining checks that a thread makes before it sleeps.
pub struct BeforeSleep {
    spins: usize,
    yields: u32,
}

impl BeforeSleep {
    /// Spins, then yields.
    #[must_use]
    pub const fn new() -> BeforeSleep {
        BeforeSleep {
            spins: SPINS,
            yields: YIELDS,
        }
    }

    /// Yields without spinning, where spinning cannot help: the peer last ran on this processor, or what is awaited is
    /// behind a lock that others need.
    #[must_use]
    pub const fn without_spinning() -> BeforeSleep {
        BeforeSleep {
            spins: 0,
            yields: YIELDS,
        }
    }

    /// Waits a little before the next check, after one that looked at this many endpoints. False if it is time to
    /// sleep: then this does not wait. Models sleep at once.
    #[inline]
    pub fn pass(&mut self, checks: usize) -> bool {
        if cfg!(duologue_loom) {
            return false;
        }
        if self.spins > 0 {
            self.spins = self.spins.saturating_sub(checks);
            spin_loop();
            return true;
        }
        self.pass_by_yielding()
    }

    #[inline(never)]
    fn pass_by_yielding(&mut self) -> bool {
        let yields = self.yields > 0 && yield_unless_slow();
        self.yields = if yields { self.yields - 1 } else { 0 };
        yields
    }
}

impl Default for BeforeSleep {
    fn default() -> BeforeSleep {
        BeforeSleep::new()
    }
}

/// A backoff for waiting until the other side has completed a step of a few instructions.
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
    /// How many times to spin before yielding: the other side may have been preempted on this processor.
    const SPINS: u32 = 64;

    pub(crate) const fn new() -> Backoff {
        Backoff { spins: 0 }
    }

    /// Waits a little: spins at first, then yields.
    pub(crate) fn pass(&mut self) {
        if self.spins < Backoff::SPINS && cfg!(not(duologue_loom)) {
            self.spins += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    /// How many checks are made before the thread sleeps, each of this many endpoints.
    fn checks(mut before: BeforeSleep, endpoints: usize) -> usize {
        let mut checks = 0;
        while before.pass(endpoints) {
            checks += 1;
        }
        assert!(!before.pass(endpoints), "sleeps from then on");
        checks
    }

    #[test]
    fn a_thread_checks_a_limited_number_of_times_before_it_sleeps() {
        // Yields may be too slow on a busy machine; then the thread sleeps earlier.
        let yields = YIELDS as usize;
        assert!((SPINS..=SPINS + yields).contains(&checks(BeforeSleep::new(), 1)));
        assert!((SPINS / 50..=SPINS / 50 + yields).contains(&checks(BeforeSleep::new(), 50)));
        assert!((1..=1 + yields).contains(&checks(BeforeSleep::new(), 10_000)));
        assert!(checks(BeforeSleep::without_spinning(), 1) <= yields);
    }
}
