//! Looking again, where the barrier was refused and a sender may not have seen that its receiver waits (see `barrier`).
//!
//! A waiter is left in the flags as always, and most senders see it. One that stored its message at the same moment may not;
//! but its store becomes visible some time, so whoever waits looks again, at first soon and then less often. A thread sleeps with a
//! time limit. A task cannot: so a thread of the runtime, which is started when the first task needs it, wakes the task after a
//! while. If no thread can be had, as under a filter that forbids `clone`, the task is woken at once, and looks again
//! whenever its executor has nothing else to do.
//!
//! That goes on for as long as a receiver waits in its flags, which it does only in a session that began before the barrier was
//! lost. A task waits in the word as soon as its sender knows that it is one (see `watched`), which is two messages later.

use std::time::{Duration, Instant};

use crate::sync::{park, park_timeout};

/// How long to wait before looking again: this, and each time twice as long, up to a limit of 128 ms.
const SHORTEST: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 7;

/// How long to wait before looking again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pause {
    doublings: u32,
}

impl Pause {
    /// After so many looks without success.
    pub(crate) fn after(looks: u32) -> Pause {
        Pause {
            doublings: looks.min(DOUBLINGS),
        }
    }

    /// How long to wait this time. The next time is longer.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = SHORTEST * (1 << self.doublings);
        *self = Pause::after(self.doublings + 1);
        pause
    }
}

/// Puts the thread to sleep until it is unparked, or until the deadline, or for a pause if there is one; or for no reason. False,
/// and at once, if the deadline is past.
pub(crate) fn sleep(deadline: Option<Instant>, pause: &mut Option<Pause>) -> bool {
    let pause = pause.as_mut().map(Pause::next);
    let left = match deadline {
        None => pause,
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            Some(pause.map_or(left, |pause| pause.min(left)))
        }
    };
    match left {
        None => park(),
        Some(left) => park_timeout(left),
    }
    true
}

#[cfg(loom)]
pub(crate) fn wake_after(_pause: Duration, waker: &std::task::Waker) {
    // loom has no clock: see `sync`.
    waker.wake_by_ref();
}

#[cfg(not(loom))]
pub(crate) use tasks::wake_after;

#[cfg(not(loom))]
mod tasks {
    use std::collections::BTreeMap;
    use std::mem;
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    use std::task::Waker;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Tasks to be woken, by the pointers of their wakers: one that asks several times is woken once.
    struct Tasks {
        wakers: BTreeMap<[usize; 2], (Instant, Waker)>,
        /// The process whose thread wakes them. A process that was forked has no other thread than the one that forked.
        served_in: Option<u32>,
    }

    static TASKS: Mutex<Tasks> = Mutex::new(Tasks {
        wakers: BTreeMap::new(),
        served_in: None,
    });

    /// Notified when a task came.
    static CAME: Condvar = Condvar::new();

    /// Nothing panics while the lock is held: wakers are cloned, woken and dropped outside.
    fn lock() -> MutexGuard<'static, Tasks> {
        TASKS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a task after a pause, or earlier.
    #[cold]
    pub(crate) fn wake_after(pause: Duration, waker: &Waker) {
        let at = Instant::now() + pause;
        let key = crate::watched::pointers(waker);
        let mine = waker.clone();
        let mut tasks = lock();
        let process = std::process::id();
        if tasks.served_in != Some(process) {
            let thread = thread::Builder::new().name(String::from("duologue"));
            if thread.spawn(serve).is_err() {
                drop(tasks);
                return mine.wake();
            }
            tasks.served_in = Some(process);
        }
        let spare = match tasks.wakers.get_mut(&key) {
            Some((earlier, _)) => {
                *earlier = at.min(*earlier);
                Some(mine)
            }
            None => {
                tasks.wakers.insert(key, (at, mine));
                None
            }
        };
        drop(tasks);
        CAME.notify_one();
        drop(spare);
    }

    fn serve() {
        let mut tasks = lock();
        loop {
            let now = Instant::now();
            let waiting = mem::take(&mut tasks.wakers);
            let (due, later) = waiting.into_iter().partition(|(_, (at, _))| *at <= now);
            tasks.wakers = later;
            if !due.is_empty() {
                drop(tasks);
                wake(due);
                tasks = lock();
                continue;
            }
            let next = tasks.wakers.values().map(|(at, _)| *at).min();
            tasks = match next {
                None => CAME.wait(tasks).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    CAME.wait_timeout(tasks, at - now)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    fn wake(due: BTreeMap<[usize; 2], (Instant, Waker)>) {
        for (_, waker) in due.into_values() {
            // A waker that panics keeps nobody else from being woken; nor does what it panicked with.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                mem::forget(panic);
            }
        }
    }
}
