//! The unchanging part of a side that this process has: the region, and how the two sides wake each other.
//!
//! # Why no wake-up is lost
//!
//! A side that is about to sleep sets `ASLEEP` in its own flags, then checks once more for what it waits for, then
//! sleeps. The side that provides it stores it, then reads the other's flags. Each has a store before a load. Between them the
//! sleeper has the system call `membarrier`, which executes a full barrier on every processor that runs the peer, and
//! the provider has only a compiler barrier. If the peer's barrier falls after its store, the sleeper sees what was
//! stored; if it falls before, the provider's load comes after the sleeper's store and finds `ASLEEP`. Where one of the
//! two processes does not take part in the barrier, the provider reads the flags by a read-modify-write, just as the
//! sleeper sets them: one of the two comes first, and the other synchronizes with it. The system compares the flags once more
//! before it lets the sleeper sleep. No sleep is longer than [`PERIOD`], so even a peer that breaks these rules, or a
//! system that refuses the barrier later, cannot delay a sleeper forever.
//!
//! Several threads of this process may sleep on its flags. A peer that clears `ASLEEP` wakes all of them. This
//! process clears the flag only when none of them sleeps any more, which [`Sleepers`] counts.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{compiler_fence, AtomicBool, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use duologue::transport::{has_barrier, Why};
use rustix::thread::futex;
use rustix::thread::{membarrier, sched_getcpu, MembarrierCommand};
use rustix::time::Timespec;

use crate::lock::SideLock;
use crate::memory::{Memory, Side, ASLEEP, DONE, LEFT};

/// The longest sleep, after which a side checks whether its peer is alive.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// A side of a region.
pub(crate) struct End {
    pub(crate) memory: Memory,
    /// 0 for the side that sends first, otherwise 1.
    pub(crate) place: usize,
    /// Whether one of the two processes does not take part in the barrier, or that is not known yet.
    is_heavy: AtomicBool,
}

impl End {
    /// A side at this place, before the two have agreed.
    pub(crate) fn new(memory: Memory, place: usize) -> End {
        End {
            memory,
            place,
            is_heavy: AtomicBool::new(true),
        }
    }

    /// Both processes take part in the barrier. Called before the session begins.
    pub(crate) fn use_barrier(&self) {
        self.is_heavy.store(false, Relaxed);
    }

    /// Whether one of the two processes does not take part in the barrier.
    pub(crate) fn is_heavy(&self) -> bool {
        // Relaxed: it changes before other threads get the session.
        self.is_heavy.load(Relaxed)
    }

    pub(crate) fn own(&self) -> &Side {
        self.memory.side(self.place)
    }

    pub(crate) fn peer(&self) -> &Side {
        self.memory.side(1 - self.place)
    }

    /// Wakes the peer if it sleeps, because there is something for it.
    pub(crate) fn wake_peer(&self) {
        let flags = self.peer().flags();
        // AcqRel: ordered with the read-modify-write by which the peer announces that it sleeps.
        if flags.fetch_and(!ASLEEP, AcqRel) & ASLEEP != 0 {
            // If the system refuses this, the peer's sleep ends after its period.
            let _ = futex::wake(flags, futex::Flags::empty(), i32::MAX as u32);
        }
    }

    /// The peer's flags, read after something was stored that the peer may be waiting for.
    fn flags_after_store(&self) -> u32 {
        let flags = self.peer().flags();
        if self.is_heavy() {
            return flags.fetch_or(0, AcqRel);
        }
        // The peer's `membarrier` does the same for the processor.
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        flags.load(Acquire)
    }

    /// Publishes a word, and wakes the peer if it sleeps. Returns the peer's flags.
    pub(crate) fn publish(&self, word: &AtomicU64, value: u64) -> u32 {
        // Release: the peer that reads the word sees the cells and the bytes.
        word.store(value, Release);
        let flags = self.flags_after_store();
        if flags & ASLEEP != 0 {
            self.wake_peer();
        }
        flags
    }

    /// Reports as receiver what this side has finished with, in lines and bytes.
    pub(crate) fn report(&self, finished: [u64; 2]) {
        let own = self.own();
        // Release: this side has read what it has counted.
        own.lines_finished().store(finished[0], Release);
        own.bytes_finished().store(finished[1], Release);
        if self.flags_after_store() & ASLEEP != 0 {
            self.wake_peer();
        }
    }

    /// Ends the session for the peer: `LEFT` or `DONE`.
    pub(crate) fn set(&self, how: u32) {
        // Release: after everything that this side has stored.
        self.own().flags().fetch_or(how, Release);
        // This is a read-modify-write of the word in which the peer announces that it sleeps, so one of the two comes
        // first.
        self.wake_peer();
    }

    /// Whether the peer has disconnected. What it sent before can be read.
    pub(crate) fn has_left(&self) -> bool {
        // Acquire: what the peer stored before can be seen.
        self.peer().flags().load(Acquire) & (LEFT | DONE) != 0
    }

    /// Announces that a thread of this process sleeps. Returns the flags on which it sleeps. They contain nothing else,
    /// unless the peer writes there what it should not.
    pub(crate) fn announce(&self, sleepers: &mut Sleepers) -> u32 {
        sleepers.0 += 1;
        self.own().flags().fetch_or(ASLEEP, AcqRel) | ASLEEP
    }

    /// That thread does not sleep any more.
    pub(crate) fn retract(&self, sleepers: &mut Sleepers) {
        sleepers.0 -= 1;
        let flags = self.own().flags();
        // Relaxed: a wake-up that is not needed is harmless.
        if sleepers.0 == 0 && flags.load(Relaxed) & ASLEEP != 0 {
            flags.fetch_and(!ASLEEP, Relaxed);
        }
    }

    /// Between the announcement of a sleep and the last check.
    pub(crate) fn barrier(&self) {
        if !self.is_heavy() {
            run_barrier();
        }
    }

    /// Sleeps while the flags are these, for at most that long.
    pub(crate) fn sleep(&self, flags: u32, limit: Duration) {
        sleep_on(self.own().flags(), flags, limit);
    }

    /// Whether the peer may answer while this thread spins. Not if it last waited on the processor of this thread.
    pub(crate) fn may_spin(&self) -> bool {
        let here = u32::try_from(sched_getcpu()).unwrap_or(0).wrapping_add(1);
        // Relaxed: hints.
        let own = self.own().processor();
        if own.load(Relaxed) != here {
            own.store(here, Relaxed);
        }
        self.peer().processor().load(Relaxed) != here
    }
}

/// How many threads of this process sleep on its flags. Changed under one lock.
#[derive(Default)]
pub(crate) struct Sleepers(usize);

/// The part of the barrier for the side that sleeps.
pub(crate) fn run_barrier() {
    // If the system refuses this, the sleep that follows has a limit.
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

/// Registers this process for the barrier. Returns false if the system has none, or the program has turned it off.
pub(crate) fn registers_barrier() -> bool {
    has_barrier() && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Sleeps while a word is as expected, for at most that long. It may be in memory that processes share.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    let limit = timespec(limit);
    // It ends for many reasons, all of which the caller checks.
    let _ = futex::wait(word, futex::Flags::empty(), expected, Some(&limit));
}

pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The lock of the side, and what is known about the peer's.
pub(crate) struct Alive {
    lock: SideLock,
    checked_at: Instant,
    is_dead: bool,
}

impl Alive {
    /// The peer is checked at once.
    pub(crate) fn new(lock: SideLock) -> Alive {
        let now = Instant::now();
        Alive {
            lock,
            checked_at: now.checked_sub(PERIOD).unwrap_or(now),
            is_dead: false,
        }
    }

    /// Whether the peer has released its lock, as the system does when its process ends. Asks the system at most ten times
    /// per second.
    fn is_peer_dead(&mut self, end: &End) -> bool {
        if self.is_dead {
            return true;
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.checked_at) < PERIOD {
            return false;
        }
        self.checked_at = now;
        self.is_dead = !self.lock.is_held(1 - end.place);
        self.is_dead
    }

    /// Why the session is over, if the peer has disconnected or is dead.
    pub(crate) fn gone(&mut self, end: &End) -> Option<Why> {
        if end.has_left() {
            return Some(Why::Left);
        }
        self.death(end)
    }

    /// The same, as far as the peer's lock tells.
    pub(crate) fn death(&mut self, end: &End) -> Option<Why> {
        // A peer that disconnects announces that before it releases its lock, so it can be seen now.
        self.is_peer_dead(end).then(|| match end.has_left() {
            true => Why::Left,
            false => Why::Lost,
        })
    }
}
