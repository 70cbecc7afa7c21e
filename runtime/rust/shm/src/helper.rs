//! A thread, one per process, that reads and writes for tasks and for threads that wait for several sessions, and
//! writes what a sender has collected for too long. It is started when first needed.
//!
//! A peer in another process cannot call a waker of this one: it wakes the threads that sleep on the flags of this
//! side. So this thread announces that it sleeps on the flags of each session that it watches, runs one barrier for all,
//! serves each once more, and sleeps on all of these words and on one of its own at once (`futex_waitv`, Linux 5.16).
//! Where the system has no such call, and for more sessions than it accepts, the sleep ends after a millisecond.
//!
//! A session is watched as long as it asks for that, which it decides each time the helper serves it. It
//! asks again with [`watch`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, Once, Weak};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::{guarded, sync};
use rustix::io::Errno;
use rustix::thread::futex::{self, Wait, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{clock_gettime, ClockId, Timespec};

use crate::end::{run_barrier, End, PERIOD};

/// How long messages of an unbounded run may be collected.
pub(crate) const LONGEST: Duration = Duration::from_millis(2);

/// The length of a sleep that not every event can end.
const SHORT_PERIOD: Duration = Duration::from_millis(1);

/// How many words the system accepts, minus the helper's own.
const MOST: usize = 127;

/// A session.
pub(crate) trait Served: Send + Sync {
    fn end(&self) -> &End;

    fn helped(&self) -> &Helped;

    /// Works without waiting. Returns whether the helper has to watch the session any longer, and whether it has to work
    /// for it once more at once.
    fn serve(self: Arc<Self>) -> (bool, bool);

    /// Forwards what was sent inside a run.
    fn flush(self: Arc<Self>);

    /// Whether the helper has to watch the session.
    fn is_watched(&self) -> bool;

    /// Announces that the helper sleeps. Returns the flags on which it does.
    fn announce(&self) -> u32;

    /// The helper does not sleep any more.
    fn retract(&self);
}

/// What the helper knows about a session.
#[derive(Default)]
pub(crate) struct Helped {
    /// Whether it is among those that are watched.
    is_watched: AtomicBool,
    /// Whether it has an entry.
    flushes: AtomicBool,
}

/// What other threads ask for.
struct Requests {
    /// Sessions to watch.
    watched: Vec<Weak<dyn Served>>,
    /// Sessions whose rings are checked, because something was sent inside a run or is about to be: by when, and by a number
    /// that no other has.
    entries: BTreeMap<(Instant, u64), Weak<dyn Served>>,
    last: u64,
}

static REQUESTS: Mutex<Requests> = Mutex::new(Requests {
    watched: Vec::new(),
    entries: BTreeMap::new(),
    last: 0,
});

/// Changes with every request; the helper sleeps on it.
static CHANGES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static IS_HELPER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is the helper, which never waits for a single session.
pub(crate) fn is_this_thread() -> bool {
    IS_HELPER.try_with(Cell::get).unwrap_or(false)
}

fn requests() -> MutexGuard<'static, Requests> {
    sync::lock(&REQUESTS)
}

/// Adds a request, and wakes the helper if that is necessary.
fn request(add: impl FnOnce(&mut Requests) -> bool) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("duologue-shm".to_owned());
        // Without the thread, tasks and sets are not woken, and what was collected is written when the run ends.
        let _started = thread.spawn(run);
    });
    if add(&mut requests()) {
        wake();
    }
}

fn wake() {
    CHANGES.fetch_add(1, SeqCst);
    // The helper may be awake. No error is possible.
    let _ = futex::wake(&CHANGES, futex::Flags::PRIVATE, 1);
}

/// Watches the session: reads for it, or writes.
pub(crate) fn watch<S: Served + 'static>(session: &Arc<S>) {
    // If it is watched already, the helper must check it once more all the same.
    let is_new = !session.helped().is_watched.swap(true, SeqCst);
    request(|requests| {
        if is_new {
            let session: Weak<S> = Arc::downgrade(session);
            requests.watched.push(session);
        }
        true
    });
}

/// Checks the ring of the session after a while, unless that is already scheduled.
pub(crate) fn flush_later<S: Served + 'static>(session: &Arc<S>) {
    if session.helped().flushes.swap(true, SeqCst) {
        return;
    }
    let at = Instant::now() + LONGEST;
    let session: Weak<S> = Arc::downgrade(session);
    request(|requests| {
        requests.last += 1;
        let key = (at, requests.last);
        requests.entries.insert(key, session);
        requests.entries.first_key_value().map(|(first, _)| *first) == Some(key)
    });
}

fn run() {
    IS_HELPER.with(|is_helper| is_helper.set(true));
    let mut watched: Vec<Arc<dyn Served>> = Vec::new();
    loop {
        let changes = CHANGES.load(SeqCst);
        let due = take_requests(&mut watched);
        due.iter().for_each(act);
        if !serve_all(&mut watched) && due.is_empty() {
            sleep(&mut watched, changes);
        }
    }
}

/// Takes what was requested. Returns the entries that are due.
fn take_requests(watched: &mut Vec<Arc<dyn Served>>) -> Vec<Weak<dyn Served>> {
    let now = Instant::now();
    let mut requests = requests();
    watched.extend(requests.watched.drain(..).filter_map(|new| new.upgrade()));
    let later = requests.entries.split_off(&(now, u64::MAX));
    let due = mem::replace(&mut requests.entries, later);
    due.into_values().collect()
}

fn act(session: &Weak<dyn Served>) {
    let Some(session) = session.upgrade() else {
        return;
    };
    session.helped().flushes.store(false, SeqCst);
    // Encoders of the program run here, and may panic for lack of memory. What was not written follows with the next
    // message.
    guarded(|| Arc::clone(&session).flush());
    guarded(|| drop(session));
}

/// Works for all watched sessions, and keeps those that are to be watched further. Returns whether it has to do so once
/// more at once.
fn serve_all(watched: &mut Vec<Arc<dyn Served>>) -> bool {
    let mut goes_on = false;
    watched.retain(|session| {
        let served = guarded(|| Arc::clone(session).serve());
        let Some((is_watched, is_unfinished)) = served else {
            return false;
        };
        goes_on |= is_unfinished;
        if is_watched {
            return true;
        }
        // In this order: a thread that asks in between finds that it is not watched, or is seen here.
        session.helped().is_watched.store(false, SeqCst);
        session.is_watched() && !session.helped().is_watched.swap(true, SeqCst)
    });
    goes_on
}

/// Sleeps until something happens in a watched session, or is requested.
fn sleep(watched: &mut Vec<Arc<dyn Served>>, changes: u32) {
    let announced: Vec<(Arc<dyn Served>, u32)> = watched
        .iter()
        .take(MOST)
        .map(|session| (Arc::clone(session), session.announce()))
        .collect();
    let is_truncated = watched.len() > MOST;
    if announced
        .iter()
        .any(|(session, _)| !session.end().is_heavy())
    {
        run_barrier();
    }
    if !serve_all(watched) {
        let limit = if is_truncated { SHORT_PERIOD } else { PERIOD };
        sleep_on_all(&announced, changes, limit_of(limit, watched.is_empty()));
    }
    for (session, _) in announced {
        session.retract();
        // Destructors of the program may run where a session ends.
        guarded(|| drop(session));
    }
}

/// How long to sleep: until the first entry is due, and for no longer than `most` if sessions are watched.
fn limit_of(most: Duration, is_idle: bool) -> Option<Duration> {
    let now = Instant::now();
    let first = requests().entries.first_key_value().map(|((at, _), _)| *at);
    let first = first.map(|at| at.saturating_duration_since(now));
    match (first, is_idle) {
        (Some(first), true) => Some(first),
        (Some(first), false) => Some(first.min(most)),
        (None, true) => None,
        (None, false) => Some(most),
    }
}

fn sleep_on_all(announced: &[(Arc<dyn Served>, u32)], changes: u32, limit: Option<Duration>) {
    let mut own = Wait::new();
    own.val = changes.into();
    own.uaddr = WaitPtr::new(CHANGES.as_ptr().cast());
    own.flags = WaitFlags::SIZE_U32 | WaitFlags::PRIVATE;
    let mut words = vec![own];
    for (session, flags) in announced {
        let mut word = Wait::new();
        word.val = (*flags).into();
        word.uaddr = WaitPtr::new(session.end().own().flags().as_ptr().cast());
        word.flags = WaitFlags::SIZE_U32;
        words.push(word);
    }
    // The call expects a time of the clock.
    let until = limit.map(|limit| after(clock_gettime(ClockId::Monotonic), limit));
    let ended = futex::waitv(
        &words,
        WaitvFlags::empty(),
        until.as_ref(),
        ClockId::Monotonic,
    );
    match ended {
        Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
        // Any other error (an older system, a filter, no memory) would occur again at once.
        Err(_) => thread::sleep(limit.map_or(SHORT_PERIOD, |limit| limit.min(SHORT_PERIOD))),
    }
}

fn after(now: Timespec, pause: Duration) -> Timespec {
    let nanoseconds = now.tv_nsec + i64::from(pause.subsec_nanos());
    let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: now.tv_sec.saturating_add(seconds) + nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}
