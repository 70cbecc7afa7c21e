//! A thread of the process that reads connections for tasks, and for threads that wait for several sessions. It is
//! started when the first of them needs it, and watches only the connections that somebody waits for.

use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use crate::session::Session;
use crate::stream::Stream;

/// What can be watched.
pub(crate) trait Watched {
    fn stream(&self) -> &dyn Stream;
    fn watch(&self) -> &Watch;
    /// Reads what has arrived, waiting until the deadline. Returns whether to watch further.
    fn arrived(self: &Arc<Self>, deadline: Option<Instant>) -> bool;
}

/// What a session remembers of being watched.
pub(crate) struct Watch {
    /// Its number, if its descriptor was registered; otherwise 0.
    number: AtomicU64,
    /// For a stream without a descriptor: whether somebody waits, and whether its thread was started.
    wanted: Mutex<bool>,
    changed: Condvar,
    has_thread: AtomicBool,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            number: AtomicU64::new(0),
            wanted: Mutex::new(false),
            changed: Condvar::new(),
            has_thread: AtomicBool::new(false),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let number = *self.number.get_mut();
        if number != 0 {
            if let Some(Some(watcher)) = WATCHER.get() {
                watcher.sessions().remove(&number);
            }
        }
    }
}

struct Watcher {
    epoll: OwnedFd,
    /// By their numbers. The descriptor of a session that is dropped is closed, which also unregisters it.
    sessions: Mutex<HashMap<u64, Weak<Session>>>,
    last: AtomicU64,
}

static WATCHER: OnceLock<Option<Watcher>> = OnceLock::new();

impl Watcher {
    fn start() -> Option<Watcher> {
        let watcher = Watcher {
            epoll: epoll::create(CreateFlags::CLOEXEC).ok()?,
            sessions: Mutex::new(HashMap::new()),
            last: AtomicU64::new(0),
        };
        let thread = thread::Builder::new().name("duologue-watch".to_owned());
        thread.spawn(run).ok()?;
        Some(watcher)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<u64, Weak<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the session for one event, or changes for what it is registered.
    fn add(&self, session: &Arc<Session>, flags: EventFlags) -> Option<()> {
        let descriptor = session.stream().descriptor()?;
        let number = &session.watch().number;
        let known = number.load(SeqCst);
        if known != 0 {
            return epoll::modify(&self.epoll, descriptor, EventData::new_u64(known), flags).ok();
        }
        let new = self.last.fetch_add(1, Relaxed) + 1;
        let mut sessions = self.sessions();
        if number.compare_exchange(0, new, SeqCst, SeqCst).is_err() {
            drop(sessions);
            return self.add(session, flags);
        }
        sessions.insert(new, Arc::downgrade(session));
        drop(sessions);
        epoll::add(&self.epoll, descriptor, EventData::new_u64(new), flags).ok()
    }
}

/// Reads and publishes what arrives next. `is_full`: something that was read before may be waiting.
pub(crate) fn watch(session: &Arc<Session>, is_full: bool) {
    let watcher = WATCHER.get_or_init(Watcher::start).as_ref();
    // A connection is nearly always writable, so this comes at once.
    let now = if is_full {
        EventFlags::OUT
    } else {
        EventFlags::empty()
    };
    let flags = EventFlags::IN | EventFlags::ONESHOT | now;
    if watcher
        .and_then(|watcher| watcher.add(session, flags))
        .is_none()
    {
        by_own_thread(session);
    }
}

fn run() {
    let watcher = loop {
        match WATCHER.get() {
            Some(Some(watcher)) => break watcher,
            Some(None) => return,
            None => thread::yield_now(),
        }
    };
    let mut events: Vec<Event> = Vec::with_capacity(64);
    loop {
        events.clear();
        let got = epoll::wait(
            &watcher.epoll,
            rustix::buffer::spare_capacity(&mut events),
            None,
        );
        if got.is_err() {
            continue;
        }
        for event in &events {
            let number = event.data.u64();
            let session = watcher.sessions().get(&number).and_then(Weak::upgrade);
            let Some(session) = session else { continue };
            // Wakers are called here; a panic of one is the executor's matter.
            let read = || session.arrived(Some(Instant::now()));
            if catch_unwind(AssertUnwindSafe(read)).unwrap_or(false) {
                watch(&session, false);
            }
        }
    }
}

/// For a stream without a descriptor: lets a thread of its own read.
fn by_own_thread(session: &Arc<Session>) {
    let watch = session.watch();
    *watch.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
    watch.changed.notify_one();
    if watch.has_thread.swap(true, SeqCst) {
        return;
    }
    let session = Arc::downgrade(session);
    let thread = thread::Builder::new().name("duologue-read".to_owned());
    let _started = thread.spawn(move || {
        while let Some(session) = session.upgrade() {
            let watch = session.watch();
            let mut wanted = watch.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            while !*wanted {
                // The session ends some time after its last message, which nobody reports here.
                let pause = std::time::Duration::from_millis(100);
                let waited = watch.changed.wait_timeout(wanted, pause);
                wanted = waited.unwrap_or_else(PoisonError::into_inner).0;
                if Arc::strong_count(&session) == 1 {
                    return;
                }
            }
            *wanted = false;
            drop(wanted);
            let read = || session.arrived(None);
            if catch_unwind(AssertUnwindSafe(read)).unwrap_or(false) {
                *watch.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
            }
        }
    });
}
