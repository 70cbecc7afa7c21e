//! The thread, one per process, that works for sessions later: when a deadline of their cores has passed, and to write what a
//! sender has collected but not written for a while. It is started when the first session needs it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, Weak};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::guarded;

use crate::remote::session::Session;
use crate::sync;
use crate::transport::stream::left;

/// How long messages may be collected.
const LONGEST: Duration = Duration::from_millis(2);

/// What is done for a session.
#[derive(Clone, Copy)]
enum Task {
    Check,
    Flush,
}

struct Entries {
    /// By when they are due, and a number that no other has.
    all: BTreeMap<(Instant, u64), (Task, Weak<Session>)>,
    last: u64,
}

static ENTRIES: Mutex<Entries> = Mutex::new(Entries {
    all: BTreeMap::new(),
    last: 0,
});
static EARLIER: Condvar = Condvar::new();

fn entries() -> MutexGuard<'static, Entries> {
    sync::lock(&ENTRIES)
}

/// Calls the session at this time.
pub(crate) fn at(at: Instant, session: &Arc<Session>) {
    add(at, Task::Check, Arc::downgrade(session));
}

/// Flushes the session after a while, unless that is already scheduled.
pub(crate) fn flush(session: &Arc<Session>) {
    if !session.is_due.swap(true, SeqCst) {
        let at = Instant::now() + LONGEST;
        add(at, Task::Flush, Arc::downgrade(session));
    }
}

fn add(at: Instant, task: Task, session: Weak<Session>) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("duologue-timer".to_owned());
        // Without the thread no heartbeats are sent, so a peer that expects them considers the session lost; and what was
        // collected is written when the run ends.
        let _started = thread.spawn(run);
    });
    let mut entries = entries();
    entries.last += 1;
    let key = (at, entries.last);
    let is_first = (entries.all.first_key_value()).is_none_or(|(first, _)| key < *first);
    entries.all.insert(key, (task, session));
    drop(entries);
    if is_first {
        EARLIER.notify_one();
    }
}

fn run() {
    loop {
        let mut entries = entries();
        let first = entries.all.first_key_value().map(|((at, _), _)| left(*at));
        if let Some(None) = first {
            let entry = entries.all.pop_first();
            drop(entries);
            if let Some((_, (task, session))) = entry {
                act(task, session);
            }
        } else {
            drop(sync::wait(&ENTRIES, &EARLIER, entries, first.flatten()));
        }
    }
}

fn act(task: Task, weak: Weak<Session>) {
    let Some(session) = weak.upgrade() else {
        return;
    };
    let mut next = None;
    // Destructors of payloads run here, and may panic.
    match task {
        Task::Check => {
            let acted = guarded(|| session.on_time());
            // The session keeps its entry.
            next = acted.unwrap_or_else(|| Some(Instant::now() + Duration::from_secs(1)));
        }
        Task::Flush => {
            session.is_due.store(false, SeqCst);
            // After a panic, what was not written follows with the next message.
            if guarded(|| session.flush()).unwrap_or(false) {
                flush(&session);
            }
        }
    }
    // Destructors of the session's stream and observer may panic as well.
    guarded(|| drop(session));
    if let Some(at) = next {
        add(at, task, weak);
    }
}
