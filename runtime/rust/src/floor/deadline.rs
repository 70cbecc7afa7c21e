//! A time limit that several threads read without a lock, sleeping until one, and waking what waits when it passes: the time
//! limit of a side (see `link::wait`).
//!
//! A thread that waits for one session sleeps with the limit. Everything else, such as a task, is woken by a thread of the
//! runtime, which is started when the first one needs it and serves all of them. If it cannot be started, as under a filter
//! that forbids `clone`, a task is woken at once, and checks again whenever its executor has nothing else to do.
//!
//! There is at most one alarm for each side that has a limit. It belongs to the session, which takes it back when it ends.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::sync::{park, park_timeout, Mutex};

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

/// The time limit of one side, and its alarm.
#[derive(Default)]
pub(crate) struct SideLimit {
    at: Deadline,
    alarm: Mutex<Option<Alarm>>,
}

impl SideLimit {
    /// The limit.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.at.get()
    }

    /// Replaces the limit.
    pub(crate) fn set(&self, at: Option<Instant>) {
        self.at.set(at);
        drop(self.replace(None));
    }

    /// Calls the waker when the limit passes, instead of the one before.
    pub(crate) fn wake(&self, waker: &Waker) {
        if let Some(at) = self.at() {
            let earlier = self.replace(None);
            let alarm = Alarm::set(earlier, at, waker);
            drop(self.replace(alarm));
        }
    }

    fn replace(&self, alarm: Option<Alarm>) -> Option<Alarm> {
        let mut own = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *own, alarm)
    }
}

#[cfg(duologue_loom)]
struct Alarm;

#[cfg(duologue_loom)]
impl Alarm {
    /// loom has no clock: see `sync`.
    fn set(_earlier: Option<Alarm>, _at: Instant, waker: &Waker) -> Option<Alarm> {
        waker.wake_by_ref();
        None
    }
}

#[cfg(not(duologue_loom))]
use thread::Alarm;

#[cfg(not(duologue_loom))]
mod thread {
    use std::collections::BTreeMap;
    use std::mem;
    use std::sync::PoisonError;
    use std::task::Waker;
    use std::thread::Builder;
    use std::time::Instant;

    use crate::floor::sync::{park, park_timeout, unpark, Mutex, MutexGuard, Thread};
    use crate::floor::waiting::guarded;

    /// When it is due, and its number.
    type Key = (Instant, u64);

    struct Alarms {
        wakers: BTreeMap<Key, Waker>,
        last: u64,
        /// The thread that calls them, and its process. A forked process has only the thread that forked.
        server: Option<(u32, Thread)>,
    }

    static ALARMS: Mutex<Alarms> = Mutex::new(Alarms {
        wakers: BTreeMap::new(),
        last: 0,
        server: None,
    });

    impl Alarms {
        /// The thread in this process, which is started if there is none. `None` if it cannot be started.
        fn server(&mut self) -> Option<Thread> {
            let process = std::process::id();
            let known = self.server.as_ref();
            if let Some((_, thread)) = known.filter(|(served, _)| *served == process) {
                return Some(thread.clone());
            }
            let thread = Builder::new().name(String::from("duologue"));
            let thread = thread.spawn(serve).ok()?.thread().clone();
            // Under the thread sanitizer this is a type of its own.
            #[allow(clippy::useless_conversion)]
            let thread = Thread::from(thread);
            self.server = Some((process, thread.clone()));
            Some(thread)
        }
    }

    /// Nothing panics while the lock is held: wakers are cloned, woken and dropped outside of it.
    fn lock() -> MutexGuard<'static, Alarms> {
        ALARMS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A waker that is called at a certain time. Dropping it takes the waker back.
    pub(super) struct Alarm(Key);

    impl Alarm {
        /// Sets it in place of an earlier one. `None` if there is no thread to call the waker, which is then called at once.
        pub(super) fn set(earlier: Option<Alarm>, at: Instant, waker: &Waker) -> Option<Alarm> {
            let mine = waker.clone();
            let mut alarms = lock();
            let Some(server) = alarms.server() else {
                drop(alarms);
                mine.wake();
                return None;
            };
            let key = match earlier {
                Some(alarm) if alarm.0 .0 == at => alarm.keep(),
                other => {
                    alarms.last += 1;
                    let key = (at, alarms.last);
                    if let Some(alarm) = other {
                        let spare = alarms.wakers.remove(&alarm.keep());
                        drop(alarms);
                        drop(spare);
                        alarms = lock();
                    }
                    key
                }
            };
            let replaced = alarms.wakers.insert(key, mine);
            let is_first = alarms.wakers.first_key_value().map(|(key, _)| *key) == Some(key);
            drop(alarms);
            if is_first && replaced.is_none() {
                unpark(&server);
            }
            drop(replaced);
            Some(Alarm(key))
        }

        fn keep(self) -> Key {
            let key = self.0;
            mem::forget(self);
            key
        }
    }

    impl Drop for Alarm {
        fn drop(&mut self) {
            let waker = lock().wakers.remove(&self.0);
            drop(waker);
        }
    }

    /// Calls wakers when they are due. What sets an alarm that is due first unparks this thread, which then does not sleep.
    fn serve() {
        loop {
            let mut alarms = lock();
            let next = alarms.wakers.first_key_value().map(|(key, _)| key.0);
            let now = Instant::now();
            let due = match next {
                Some(at) if at <= now => alarms.wakers.pop_first(),
                Some(_) | None => None,
            };
            drop(alarms);
            match (due, next) {
                (Some((_, waker)), _) => {
                    guarded(|| waker.wake());
                }
                (None, Some(at)) => park_timeout(at - now),
                (None, None) => park(),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::sync::atomic::AtomicUsize;
        use std::sync::atomic::Ordering::SeqCst;
        use std::sync::Arc;
        use std::task::Wake;
        use std::time::Duration;

        struct Count(AtomicUsize);

        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, SeqCst);
            }
        }

        #[test]
        fn an_alarm_rings_once_or_is_taken_back() {
            let count = Arc::new(Count(AtomicUsize::new(0)));
            let waker = Waker::from(Arc::clone(&count));
            let now = Instant::now();
            let later = now + Duration::from_secs(3600);
            let never = Alarm::set(None, later, &waker);
            let never = Alarm::set(never, later, &waker);
            assert_eq!(Arc::strong_count(&count), 3, "one alarm");
            let soon = Alarm::set(never, now + Duration::from_millis(5), &waker);
            let until = now + Duration::from_secs(60);
            while count.0.load(SeqCst) == 0 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(count.0.load(SeqCst), 1);
            drop((soon, waker));
            let taken_back = || Arc::strong_count(&count) == 1;
            while !taken_back() && Instant::now() < until {
                std::thread::yield_now();
            }
            assert!(taken_back(), "nothing keeps the waker");
        }
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
