//! Checking again, where the barrier was refused and a sender may not have seen that its receiver waits (see
//! `barrier`).
//!
//! The sender's store becomes visible eventually, so the side that waits checks again, soon at first and then less
//! often. A thread sleeps with a time limit. A task is woken after a while by a thread of the runtime, which is started
//! when the first task needs it. If no thread can be started, as under a filter that forbids `clone`, the task is woken
//! at once, and checks again whenever its executor has nothing else to do.
//!
//! That continues for as long as a receiver waits in its flags, which it does only in a session that began before the
//! barrier was lost. A task waits in the word as soon as its sender knows that it is a task (see `link::arming`), which
//! is two messages later.

use std::time::{Duration, Instant};

use crate::floor::sync::{park, park_timeout};

/// How long to wait before checking again for the first time. Each further wait is twice as long, up to 128 ms.
const SHORTEST: Duration = Duration::from_millis(1);
const DOUBLINGS: u32 = 7;

/// How long to wait before checking again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pause {
    doublings: u32,
}

impl Pause {
    /// After this many checks without success.
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

/// Puts the thread to sleep until it is unparked, until the deadline, or for a pause if there is one. May also return
/// spuriously. Returns false, without sleeping, if the deadline has passed.
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

#[cfg(duologue_loom)]
pub(crate) fn wake_after(_pause: Duration, waker: &std::task::Waker) {
    // loom has no clock: see `sync`.
    waker.wake_by_ref();
}

#[cfg(not(duologue_loom))]
pub(crate) use tasks::wake_after;

#[cfg(not(duologue_loom))]
mod tasks {
    use std::collections::BTreeMap;
    use std::mem;
    use std::sync::PoisonError;
    use std::task::Waker;
    use std::time::{Duration, Instant};

    use crate::floor::guard::guarded;
    use crate::floor::server::Server;
    use crate::floor::sync::{park, park_timeout, unpark, Mutex, MutexGuard};

    /// Tasks to be woken, by the pointers of their wakers: a task that asks several times is woken once.
    struct Tasks {
        wakers: BTreeMap<[usize; 2], (Instant, Waker)>,
        /// The thread that wakes them.
        server: Server,
    }

    static TASKS: Mutex<Tasks> = Mutex::new(Tasks {
        wakers: BTreeMap::new(),
        server: Server::NONE,
    });

    /// Nothing panics while the lock is held: wakers are cloned, woken and dropped outside of it.
    fn lock() -> MutexGuard<'static, Tasks> {
        TASKS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a task after a pause, or earlier.
    #[cold]
    pub(crate) fn wake_after(pause: Duration, waker: &Waker) {
        let at = Instant::now() + pause;
        let key = crate::floor::wait_slot::pointers(waker);
        let mine = waker.clone();
        let mut tasks = lock();
        let Some(server) = tasks.server.thread(serve) else {
            drop(tasks);
            return mine.wake();
        };
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
        unpark(&server);
        drop(spare);
    }

    /// Wakes tasks when they are due. A task that is added after the check of the tasks unparks this thread, which then
    /// does not sleep.
    fn serve() {
        loop {
            let now = Instant::now();
            let mut tasks = lock();
            let waiting = mem::take(&mut tasks.wakers);
            let (due, later) = waiting.into_iter().partition(|(_, (at, _))| *at <= now);
            tasks.wakers = later;
            let next = tasks.wakers.values().map(|(at, _)| *at).min();
            drop(tasks);
            if !due.is_empty() {
                wake(due);
                continue;
            }
            match next {
                None => park(),
                Some(at) => park_timeout(at - now),
            }
        }
    }

    fn wake(due: BTreeMap<[usize; 2], (Instant, Waker)>) {
        for (_, waker) in due.into_values() {
            guarded(|| waker.wake());
        }
    }
}
