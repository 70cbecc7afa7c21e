//! Yielding to other threads before going to sleep, as long as that is not more expensive than sleeping.
//!
//! If the peer is about to run on this processor, yielding hands the processor over for a fraction of what sleeping and
//! being woken costs. But the kernel may hand it to any thread: if other programs are busy, it comes back only after
//! milliseconds, while a thread that sleeps is scheduled soon after it is woken. So some yields are timed. After a
//! slow one, no thread of the process yields for 32 times as long, so that no more than a thirtieth of the time is lost
//! by trying.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::sync::yield_now;

/// Yields that take longer than this, in nanoseconds, count as slow. This is less than the time slice that the kernel
/// gives a thread that only computes, and more than a hundred threads need to each handle one message and yield.
const SLOW: u64 = 1_000_000;

/// After a slow yield, no thread yields for this many times as long as that yield took.
const PAUSE: u64 = 32;

/// After that pause, every yield is timed for this many nanoseconds. If none was slow, only one in `SAMPLE` is timed
/// again: reading the clock costs a tenth of a yield.
const PROBATION: u64 = 1_000_000_000;
const SAMPLE: u32 = 32;

/// What the process has learned from its yields: when to try them again, in nanoseconds on a clock that never shows 0,
/// or 0 if there is no reason to doubt them. Reading an outdated value does no harm, so no ordering is needed.
struct Doubt(AtomicU64);

/// Whether to yield.
#[derive(Debug, PartialEq, Eq)]
enum Advice {
    Yield,
    YieldAndTime,
    Sleep,
}

impl Doubt {
    fn advice(&self, now: impl FnOnce() -> u64, is_sample: impl FnOnce() -> bool) -> Advice {
        let again = self.0.load(Relaxed);
        if again == 0 {
            return if is_sample() {
                Advice::YieldAndTime
            } else {
                Advice::Yield
            };
        }
        let now = now();
        if now < again {
            return Advice::Sleep;
        }
        if now - again > PROBATION {
            self.0.store(0, Relaxed);
        }
        Advice::YieldAndTime
    }

    /// Records a yield that was timed: when it ended, and how long it took.
    fn learn(&self, now: u64, took: u64) {
        if took > SLOW {
            self.0
                .store(now.saturating_add(took.saturating_mul(PAUSE)), Relaxed);
        }
    }
}

static DOUBT: Doubt = Doubt(AtomicU64::new(0));

/// Nanoseconds since some time before the first call.
fn now() -> u64 {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    let since = BEGINNING.get_or_init(Instant::now).elapsed() + Duration::from_nanos(1);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

thread_local! {
    /// How many yields of this thread were not timed since the last one that was.
    static UNTIMED: Cell<u32> = const { Cell::new(SAMPLE) };
}

fn is_sample() -> bool {
    let count = |untimed: &Cell<u32>| {
        let is_sample = untimed.get() >= SAMPLE;
        untimed.set(if is_sample { 1 } else { untimed.get() + 1 });
        is_sample
    };
    // A thread that is exiting no longer counts.
    UNTIMED.try_with(count).unwrap_or(false)
}

/// Yields to other threads. Returns false, without yielding, if it is better for this thread to sleep.
pub(crate) fn yield_unless_slow() -> bool {
    if cfg!(any(duologue_loom, duologue_without = "timed-yields")) {
        // What is learned would outlive the current execution of a model.
        yield_now();
        return true;
    }
    match DOUBT.advice(now, is_sample) {
        Advice::Sleep => return false,
        Advice::Yield => yield_now(),
        Advice::YieldAndTime => {
            let start = now();
            yield_now();
            let end = now();
            DOUBT.learn(end, end - start);
        }
    }
    true
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    #[test]
    fn after_a_slow_yield_there_is_none_for_a_while_and_then_each_is_timed() {
        let doubt = Doubt(AtomicU64::new(0));
        let at = |now, is_sample| doubt.advice(move || now, move || is_sample);
        assert_eq!(at(1, false), Advice::Yield);
        assert_eq!(at(1, true), Advice::YieldAndTime);
        doubt.learn(1_000, SLOW);
        assert_eq!(at(1_000, false), Advice::Yield);

        let took = SLOW + 1;
        doubt.learn(1_000, took);
        let again = 1_000 + took * PAUSE;
        assert_eq!(at(again - 1, true), Advice::Sleep);
        assert_eq!(at(again, false), Advice::YieldAndTime);
        doubt.learn(again, 1);
        assert_eq!(at(again + PROBATION, false), Advice::YieldAndTime);
        assert_eq!(at(again + PROBATION + 1, false), Advice::YieldAndTime);
        assert_eq!(at(again + PROBATION + 2, false), Advice::Yield);

        doubt.learn(u64::MAX - 1, u64::MAX);
        assert_eq!(at(u64::MAX - 1, true), Advice::Sleep);
    }

    #[test]
    fn few_yields_are_timed() {
        let timed = std::thread::spawn(|| [(); 96].map(|()| is_sample()));
        let timed = timed.join().expect("no panic");
        let expected: Vec<bool> = (0..96).map(|count| count % 32 == 0).collect();
        assert_eq!(timed.as_slice(), expected);
    }
}
