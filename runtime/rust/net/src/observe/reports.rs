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
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use duologue::transport::{guarded, FarEnd, Open, Role, Start};
use duologue::Why;

use super::{Count, End, Messages, Observer, Refusal, Run, Session, Side};
use crate::{sync, Address, Fingerprint, TraceContext};

/// How many events a thread delivers at once, so that a session whose observer is slow does not keep it from others.
const MOST_AT_ONCE: usize = 64;
/// How many events may wait. Further runs are not reported; their messages are in the counts of the end.
const MOST_WAITING: usize = 1 << 10;

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
    pub(crate) trace: Option<TraceContext>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

/// Whether this side sent or received a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Sent,
    Received,
}

/// Messages of this name.
pub(crate) type Named = (Direction, &'static str);

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
    /// Where this session's events wait.
    pub(crate) fn reports(&self) -> Arc<Reports> {
        Arc::clone(&self.reports)
    }

    /// Reports that the session begins. The caller holds no lock.
    pub(crate) fn begin<E: Open>(seen: Seen, accepted: bool, far: &FarEnd) -> Box<Tally> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let is_sender = far.role() == Role::Receives;
        let side = match (far.sender(), is_sender) {
            ("client", true) | ("server", false) => Some(Side::Client),
            ("server", true) | ("client", false) => Some(Side::Server),
            _ => None,
        };
        let session = Session {
            id: LAST.fetch_add(1, Relaxed) + 1,
            protocol: E::State::PROTOCOL,
            fingerprint: Fingerprint(E::State::FINGERPRINT),
            accepted,
            sends_first: E::SENDS_FIRST,
            state: far.state(),
            side,
            peer: seen.peer,
            peer_fingerprint: seen.fingerprint,
            peer_is_older: seen.is_older,
            trace: seen.trace,
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

    /// Counts messages of the state in which the session still is.
    pub(crate) fn add(&mut self, direction: Direction, messages: u64, bytes: usize) {
        let all = match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        };
        for count in [all, &mut self.run] {
            count.messages += messages;
            count.bytes += bytes as u64;
        }
    }

    /// Counts messages of one state and this name, after which the far end is where it is now.
    pub(crate) fn count(
        &mut self,
        (direction, name): Named,
        messages: u64,
        bytes: usize,
        far: &FarEnd,
        clock: fn() -> Instant,
    ) {
        let number = self.sent.messages + self.received.messages;
        self.add(direction, messages, bytes);
        let role = far.role();
        let next = (role != Role::Over).then(|| far.state());
        self.reports.add(Event::Passed(Messages {
            state: self.state.unwrap_or_default(),
            name,
            sent: direction == Direction::Sent,
            count: messages,
            next,
            sends_next: role == Role::Receives,
            number,
        }));
        let goes_on = match direction {
            Direction::Sent => Role::Receives,
            Direction::Received => Role::Sends,
        };
        let left = mem::replace(&mut self.state, next);
        if role == goes_on {
            return;
        }
        let now = clock();
        let began = mem::replace(&mut self.run_began, now);
        let run = Run {
            state: left.unwrap_or_default(),
            sent: direction == Direction::Sent,
            count: mem::take(&mut self.run),
            duration: now - began,
        };
        self.reports.add(Event::Turned(run));
    }

    /// The session has ended, which has to be delivered.
    pub(crate) fn end(&self, why: Why, now: Instant) {
        self.reports.add(Event::Ended(End {
            why,
            state: self.state,
            sent: self.sent,
            received: self.received,
            duration: now.saturating_duration_since(self.began),
        }));
    }
}

enum Event {
    Passed(Messages),
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
        sync::lock(&self.queue)
    }

    fn add(&self, event: Event) {
        let mut queue = self.queue();
        if queue.events.len() < MOST_WAITING || matches!(event, Event::Ended(_)) {
            queue.events.push_back(event);
        }
    }

    /// Calls the observer, unless another thread already does: then that one goes on. The caller holds no lock. Returns
    /// true if this thread has stopped although events are left: the caller sees to it that this is called again.
    pub(crate) fn deliver(&self) -> bool {
        if mem::replace(&mut self.queue().is_delivering, true) {
            return false;
        }
        let mut delivered = 0;
        loop {
            let mut queue = self.queue();
            // Nothing follows the end, and nobody may be there to deliver it later.
            let has_ended = matches!(queue.events.back(), Some(Event::Ended(_)));
            let stops = delivered >= MOST_AT_ONCE && !has_ended;
            let next = if stops {
                None
            } else {
                queue.events.pop_front()
            };
            queue.is_delivering = next.is_some();
            let is_rest = !queue.events.is_empty();
            drop(queue);
            let Some(event) = next else { return is_rest };
            delivered += 1;
            guarded(|| match &event {
                Event::Passed(messages) => self.observer.passed(&self.session, messages),
                Event::Turned(run) => self.observer.turned(&self.session, run),
                Event::Ended(end) => self.observer.ended(&self.session, end),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Counts(Mutex<Vec<Option<u64>>>);

    impl Observer for Counts {
        fn turned(&self, _: &Session, run: &Run) {
            self.0.lock().unwrap().push(Some(run.count.messages));
        }

        fn ended(&self, _: &Session, _: &End) {
            self.0.lock().unwrap().push(None);
        }
    }

    fn run(messages: u64) -> Event {
        let count = Count { messages, bytes: 0 };
        Event::Turned(Run {
            state: "bank.login",
            sent: true,
            count,
            duration: Duration::ZERO,
        })
    }

    fn end() -> Event {
        Event::Ended(End {
            why: Why::Left,
            state: None,
            sent: Count::default(),
            received: Count::default(),
            duration: Duration::ZERO,
        })
    }

    /// A thread delivers a part at a time, until the session has ended; and what waits is bounded.
    #[test]
    fn a_slow_observer_holds_up_little() {
        let counts = Arc::new(Counts(Mutex::default()));
        let reports = Reports {
            observer: Arc::clone(&counts) as Arc<dyn Observer>,
            session: Session {
                id: 1,
                protocol: "bank",
                fingerprint: Fingerprint([0; 16]),
                accepted: true,
                sends_first: false,
                state: "bank.login",
                side: None,
                peer: None,
                peer_fingerprint: Fingerprint([0; 16]),
                peer_is_older: false,
                trace: None,
            },
            queue: Mutex::default(),
        };
        let waiting = MOST_WAITING as u64;
        (0..waiting + 10).for_each(|number| reports.add(run(number)));
        assert!(reports.deliver());
        assert_eq!(counts.0.lock().unwrap().len(), MOST_AT_ONCE);
        reports.add(end());
        assert!(!reports.deliver());
        assert!(!reports.deliver());
        let expected = (0..waiting).map(Some).chain([None]);
        assert_eq!(*counts.0.lock().unwrap(), expected.collect::<Vec<_>>());
    }
}
