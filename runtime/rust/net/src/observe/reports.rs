//! What an observed session counts and reports to its observer.
//!
//! A [`Tally`] is part of what the session's lock `core` protects. Its events are queued there, so they are in order, and
//! delivered when no lock is held, by whichever thread comes first. While it is inside the observer, others leave their
//! events to it, so that no two threads report the same session at once.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use duologue::transport::{FarEnd, Open, Role, Start};
use duologue::Why;

use super::{Count, End, Observer, Refusal, Run, Session};
use crate::session::guarded;
use crate::{Address, Fingerprint};

/// Reports to the observer, if there is one, that a session did not begin.
pub(crate) fn refused(observer: Option<&Arc<dyn Observer>>, refusal: &Refusal<'_>) {
    if let Some(observer) = observer {
        guarded(|| observer.refused(refusal));
    }
}

/// What is known about the peer of a session that is about to begin and is observed.
pub(crate) struct Seen {
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) peer: Option<Address>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) is_older: bool,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

/// Who has sent a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Sent,
    Received,
}

/// What an observed session has counted.
pub(crate) struct Tally {
    reports: Arc<Reports>,
    began: Instant,
    sent: Count,
    received: Count,
    /// The run that has not ended.
    run: Count,
    run_began: Instant,
    /// The state in which the session is; `None` after the protocol's last message.
    state: Option<&'static str>,
}

impl Tally {
    /// Reports that the session begins. The caller holds no lock.
    pub(crate) fn begin<E: Open>(seen: Seen, accepted: bool, far: &FarEnd) -> Box<Tally> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let session = Session {
            id: LAST.fetch_add(1, Relaxed) + 1,
            protocol: E::State::PROTOCOL,
            fingerprint: Fingerprint(E::State::FINGERPRINT),
            accepted,
            sends_first: E::SENDS_FIRST,
            peer: seen.peer,
            peer_fingerprint: seen.fingerprint,
            peer_is_older: seen.is_older,
        };
        guarded(|| seen.observer.began(&session));
        let now = Instant::now();
        Box::new(Tally {
            reports: Arc::new(Reports {
                observer: seen.observer,
                session,
                queue: Mutex::default(),
            }),
            began: now,
            sent: Count::default(),
            received: Count::default(),
            run: Count::default(),
            run_began: now,
            state: Some(far.state()),
        })
    }

    /// Counts messages of one state, after which the far end is where it is now. Returns what has to be delivered.
    pub(crate) fn count(
        &mut self,
        direction: Direction,
        messages: u64,
        bytes: usize,
        far: &FarEnd,
    ) -> Option<Arc<Reports>> {
        let (all, goes_on) = match direction {
            Direction::Sent => (&mut self.sent, Role::Receives),
            Direction::Received => (&mut self.received, Role::Sends),
        };
        for count in [all, &mut self.run] {
            count.messages += messages;
            count.bytes += bytes as u64;
        }
        let role = far.role();
        let next = (role != Role::Over).then(|| far.state());
        let left = mem::replace(&mut self.state, next);
        if role == goes_on {
            return None;
        }
        let now = Instant::now();
        let began = mem::replace(&mut self.run_began, now);
        let run = Run {
            state: left.unwrap_or_default(),
            sent: direction == Direction::Sent,
            count: mem::take(&mut self.run),
            duration: now - began,
        };
        Some(self.report(Event::Turned(run)))
    }

    /// The session has ended. Returns what has to be delivered.
    pub(crate) fn end(&self, why: Why) -> Arc<Reports> {
        self.report(Event::Ended(End {
            why,
            state: self.state,
            sent: self.sent,
            received: self.received,
            duration: self.began.elapsed(),
        }))
    }

    fn report(&self, event: Event) -> Arc<Reports> {
        self.reports.queue().events.push_back(event);
        Arc::clone(&self.reports)
    }
}

enum Event {
    Turned(Run),
    Ended(End),
}

/// What was not reported to the observer yet.
pub(crate) struct Reports {
    observer: Arc<dyn Observer>,
    session: Session,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// Whether a thread is inside [`Reports::deliver`].
    is_delivering: bool,
}

impl Reports {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the observer, unless another thread already does: then that one goes on. The caller holds no lock.
    pub(crate) fn deliver(&self) {
        if mem::replace(&mut self.queue().is_delivering, true) {
            return;
        }
        while let Some(event) = self.next() {
            guarded(|| match &event {
                Event::Turned(run) => self.observer.turned(&self.session, run),
                Event::Ended(end) => self.observer.ended(&self.session, end),
            });
        }
    }

    /// The next event. If there is none, this thread does not deliver any more.
    fn next(&self) -> Option<Event> {
        let mut queue = self.queue();
        let next = queue.events.pop_front();
        queue.is_delivering = next.is_some();
        next
    }
}
