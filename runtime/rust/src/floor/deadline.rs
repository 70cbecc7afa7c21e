//! A time limit that several threads read without a lock, and sleeping until one.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::sync::{park, park_timeout};

/// A point in time, or none. Reading it takes no lock.
///
/// The number is that of the nanoseconds after the first limit of the process was set, plus 1; 0 if there is none.
#[derive(Debug, Default)]
pub struct Deadline(AtomicU64);

static BASE: OnceLock<Instant> = OnceLock::new();

impl Deadline {
    /// No limit.
    #[must_use]
    pub const fn new() -> Deadline {
        Deadline(AtomicU64::new(0))
    }

    /// Replaces the limit. One that is further away than the number can hold, which is centuries, is none.
    pub fn set(&self, at: Option<Instant>) {
        let nanos = at.and_then(|at| {
            let base = *BASE.get_or_init(Instant::now);
            // What is before the base has passed, as the base has.
            let nanos = at.saturating_duration_since(base).as_nanos();
            u64::try_from(nanos).ok()?.checked_add(1)
        });
        // With the `Acquire` in `get`: a thread that finds the number also finds the base.
        self.0.store(nanos.unwrap_or(0), Release);
    }

    /// The limit.
    #[must_use]
    pub fn get(&self) -> Option<Instant> {
        let nanos = self.0.load(Acquire).checked_sub(1)?;
        BASE.get()?.checked_add(Duration::from_nanos(nanos))
    }

    /// The earlier of the limit and this one.
    #[must_use]
    pub fn or_earlier(&self, other: Option<Instant>) -> Option<Instant> {
        earlier(self.get(), other)
    }

    /// Whether the limit has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.get().is_some_and(|at| at <= Instant::now())
    }
}

/// Puts the thread to sleep until it is unparked, or until the deadline. May also return spuriously. Returns false,
/// without sleeping, if the deadline has passed.
pub(crate) fn sleep(deadline: Option<Instant>) -> bool {
    let Some(deadline) = deadline else {
        park();
        return true;
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return false;
    }
    park_timeout(left);
    true
}

/// The earlier of two limits.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_was_set() {
        let (limit, now) = (Deadline::new(), Instant::now());
        assert_eq!(limit.get(), None);
        let soon = now + Duration::from_secs(5);
        limit.set(Some(soon));
        assert_eq!(limit.get(), Some(soon));
        assert!(!limit.has_passed());
        assert_eq!(limit.or_earlier(Some(now)), Some(now));
        assert_eq!(limit.or_earlier(None), Some(soon));
        limit.set(now.checked_sub(Duration::from_secs(1)));
        assert!(limit.has_passed());
        limit.set(now.checked_add(Duration::from_secs(u64::from(u32::MAX) * 1_000)));
        assert_eq!(limit.get(), None, "centuries");
        limit.set(Some(soon));
        limit.set(None);
        assert!(limit.get().is_none() && !limit.has_passed());
    }
}
