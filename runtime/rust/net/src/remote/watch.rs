//! A thread, one per process, that reads connections for tasks whose executor does not, and for threads that wait for several
//! sessions, and writes what a connection did not accept at once. It is started when first needed, and
//! watches only the connections on which a task or a thread waits.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::guarded;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;

use crate::remote::session::{Session, Written};
use crate::remote::timer;
use crate::sync;
use crate::transport::stream::{past, Stream};

/// What can be watched.
pub(crate) trait Watched {
    fn stream(&self) -> &dyn Stream;
    fn watch(&self) -> &Watch;
    /// Reads once what has arrived, waiting until the deadline, and publishes it.
    fn arrived(self: &Arc<Self>, deadline: Option<Instant>) -> Arrived;
}

/// What a session found when it read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arrived {
    /// Whether a waiter was woken, which requests more when it waits again, nothing more can be published, or another thread
    /// publishes and then reads on.
    pub(crate) is_settled: bool,
    /// Whether the peer is to send: otherwise nothing but the end of the session arrives.
    pub(crate) is_peers: bool,
    /// Whether the connection had nothing to read.
    pub(crate) is_drained: bool,
    /// Whether another thread reads, so that nothing was read or published here.
    pub(crate) is_busy: bool,
}

impl Arrived {
    /// Whether `watch` reads again when more arrives. While the peer is not to send, nothing is read here: whatever arrives
    /// then is read when the side in this process waits again.
    pub(crate) fn continues(self) -> bool {
        self.is_peers && !self.is_settled
    }
}

/// What a session remembers about being watched.
pub(crate) struct Watch {
    /// Its number, if its descriptor was registered; otherwise 0. Written under the lock of `wanted`.
    number: AtomicU64,
    /// Also held while the descriptor is registered, so that the last registration matches the last
    /// value.
    wanted: Mutex<Wanted>,
    /// For a stream without a descriptor: signaled when a task or a thread waits for input.
    changed: Condvar,
    has_thread: AtomicBool,
}

/// What a session waits for.
#[derive(Clone, Copy, Default)]
struct Wanted {
    reads: bool,
    writes: bool,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            number: AtomicU64::new(0),
            wanted: Mutex::default(),
            changed: Condvar::new(),
            has_thread: AtomicBool::new(false),
        }
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        sync::lock(&self.wanted)
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
    /// Indexed by their numbers. The descriptor of a session that is dropped is closed, which also
    /// unregisters it.
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
        sync::lock(&self.sessions)
    }

    /// Registers the session for the next of the wanted events. `now`: input that was read before may
    /// be waiting. Then it is also registered for writing, because a connection is nearly always
    /// writable, so an event occurs at once.
    fn register(&self, session: &Arc<Session>, wanted: Wanted, now: bool) -> Option<()> {
        let descriptor = session.stream().descriptor()?;
        let mut flags = EventFlags::ONESHOT;
        flags.set(EventFlags::IN, wanted.reads);
        flags.set(EventFlags::OUT, wanted.writes || now);
        // The caller holds the lock of what is wanted.
        let number = &session.watch().number;
        let known = number.load(SeqCst);
        if known != 0 {
            return epoll::modify(&self.epoll, descriptor, EventData::new_u64(known), flags).ok();
        }
        let new = self.last.fetch_add(1, Relaxed) + 1;
        number.store(new, SeqCst);
        self.sessions().insert(new, Arc::downgrade(session));
        epoll::add(&self.epoll, descriptor, EventData::new_u64(new), flags).ok()
    }
}

/// Reads and publishes what arrives next. `is_full`: input that was read before may be waiting.
pub(crate) fn until_readable(session: &Arc<Session>, is_full: bool) {
    let mut wanted = session.watch().wanted();
    wanted.reads = true;
    let now = is_full || session.stream().has_more();
    if register(session, *wanted, now).is_none() {
        drop(wanted);
        by_own_thread(session);
    }
}

/// Writes what is left when the connection accepts more.
pub(crate) fn until_written(session: &Arc<Session>) {
    let mut wanted = session.watch().wanted();
    wanted.writes = true;
    if register(session, *wanted, false).is_none() {
        wanted.writes = false;
        drop(wanted);
        timer::flush(session);
    }
}

fn register(session: &Arc<Session>, wanted: Wanted, now: bool) -> Option<()> {
    let watcher = WATCHER.get_or_init(Watcher::start).as_ref();
    watcher?.register(session, wanted, now)
}

/// Writes what the connection accepts now.
fn write(session: &Arc<Session>) {
    match session.write_on() {
        Written::Everything => {}
        Written::Some => until_written(session),
        Written::Unknown => timer::flush(session),
    }
}

/// An event has occurred for which the session was registered.
fn act(session: &Arc<Session>) {
    let wanted = mem::take(&mut *session.watch().wanted());
    if wanted.writes {
        write(session);
    }
    if wanted.reads && session.arrived(Some(past())).continues() {
        until_readable(session, false);
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
            // Destructors of payloads, streams and observers run here. A panic in one must not affect other sessions.
            guarded(move || act(&session));
        }
    }
}

/// For a stream without a descriptor: lets a separate thread read.
fn by_own_thread(session: &Arc<Session>) {
    let watch = session.watch();
    watch.wanted().reads = true;
    watch.changed.notify_one();
    if watch.has_thread.swap(true, SeqCst) {
        return;
    }
    let session = Arc::downgrade(session);
    let thread = thread::Builder::new().name("duologue-read".to_owned());
    let _started = thread.spawn(move || {
        while let Some(session) = session.upgrade() {
            let watch = session.watch();
            let mut wanted = watch.wanted();
            while !wanted.reads {
                // The end of the session is not signaled, so this thread checks for it from time to time.
                let pause = Duration::from_millis(100);
                wanted = sync::wait(&watch.wanted, &watch.changed, wanted, Some(pause));
                if Arc::strong_count(&session) == 1 {
                    return;
                }
            }
            wanted.reads = false;
            drop(wanted);
            // Other threads need the input from time to time.
            let until = Instant::now() + Duration::from_millis(100);
            let read = || session.arrived(Some(until)).continues();
            if guarded(read).unwrap_or(false) {
                watch.wanted().reads = true;
            }
        }
    });
}
