//! A thread, one per process, that writes what a sender has collected but not written for a while. It is started when
//! the first sender needs it.

use std::collections::VecDeque;
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

/// The sessions to flush, each with the time when it is due. All delays are equal, so the first entry is due first.
struct Queue {
    due: Mutex<VecDeque<(Instant, Weak<Session>)>>,
    filled: Condvar,
}

static QUEUE: Queue = Queue {
    due: Mutex::new(VecDeque::new()),
    filled: Condvar::new(),
};

fn due() -> MutexGuard<'static, VecDeque<(Instant, Weak<Session>)>> {
    sync::lock(&QUEUE.due)
}

/// Lets the thread flush this session after a while. The caller has set `is_due`.
pub(crate) fn later(session: &Arc<Session>) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("duologue-flush".to_owned());
        // Without the thread, what was collected is written when the run ends.
        let _started = thread.spawn(run);
    });
    let mut due = due();
    due.push_back((Instant::now() + LONGEST, Arc::downgrade(session)));
    if due.len() == 1 {
        QUEUE.filled.notify_one();
    }
}

/// Lets the thread flush this session after a while, unless that is already scheduled.
pub(crate) fn again(session: &Arc<Session>) {
    if !session.is_due.swap(true, SeqCst) {
        later(session);
    }
}

fn run() {
    loop {
        let mut queue = due();
        let Some((at, _)) = queue.front() else {
            drop(sync::wait(&QUEUE.due, &QUEUE.filled, queue, None));
            continue;
        };
        if let Some(left) = left(*at) {
            drop(queue);
            thread::sleep(left);
            continue;
        }
        let session = queue.pop_front().and_then(|(_, session)| session.upgrade());
        drop(queue);
        if let Some(session) = session {
            session.is_due.store(false, SeqCst);
            // Destructors of payloads run here and may panic. What was not written then follows with the next message.
            if guarded(|| session.flush()).unwrap_or(false) {
                again(&session);
            }
            // So may those of the session's stream and observer.
            guarded(|| drop(session));
        }
    }
}
