//! The thread, one per process, that tells sessions when a deadline of their cores has passed. It is started when the first session needs
//! it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, Weak};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::guarded;

use crate::remote::session::Session;
use crate::sync;
use crate::transport::stream::left;

struct Entry {
    at: Instant,
    session: Weak<Session>,
}

/// The earliest entry is the greatest, because a heap returns the greatest first.
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.at == other.at
    }
}

impl Eq for Entry {}

static ENTRIES: Mutex<BinaryHeap<Entry>> = Mutex::new(BinaryHeap::new());
static EARLIER: Condvar = Condvar::new();

fn entries() -> MutexGuard<'static, BinaryHeap<Entry>> {
    sync::lock(&ENTRIES)
}

/// Calls the session at this time.
pub(crate) fn at(at: Instant, session: &Arc<Session>) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("duologue-timer".to_owned());
        // Without the thread no heartbeats are sent, so a peer that expects them considers the session lost.
        let _started = thread.spawn(run);
    });
    let session = Arc::downgrade(session);
    add(Entry { at, session });
}

fn add(entry: Entry) {
    let mut entries = entries();
    let is_first = entries.peek().is_none_or(|first| entry.at < first.at);
    entries.push(entry);
    drop(entries);
    if is_first {
        EARLIER.notify_one();
    }
}

fn run() {
    loop {
        let mut entries = entries();
        let time = entries.peek().map(|first| left(first.at));
        match time {
            None => drop(sync::wait(&ENTRIES, &EARLIER, entries, None)),
            Some(Some(left)) => drop(sync::wait(&ENTRIES, &EARLIER, entries, Some(left))),
            Some(None) => {
                let entry = entries.pop();
                drop(entries);
                if let Some(entry) = entry {
                    act(entry);
                }
            }
        }
    }
}

fn act(entry: Entry) {
    let Some(session) = entry.session.upgrade() else {
        return;
    };
    // Destructors of payloads run here. If one panics, the session keeps its entry.
    let acted = guarded(|| session.on_time());
    let next = acted.unwrap_or_else(|| Some(Instant::now() + Duration::from_secs(1)));
    // Destructors of the session's stream and observer may panic as well.
    guarded(|| drop(session));
    if let Some(at) = next {
        add(Entry { at, ..entry });
    }
}
