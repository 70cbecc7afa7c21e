//! Observing sessions within a process: what is reported, and what an observed session counts.
//!
//! An observed session begins in the mode in which messages are swapped, and the position of each side says that it is
//! observed, so other sessions do not look for an observer. [`Watched`] belongs to the session's block: where the block
//! is freed or kept for another session, the session is over for both sides.
//!
//! A message is published while the lock of [`Watched`] is held, and its event is queued before the lock is released. The
//! other side needs the lock to publish its answer, to disconnect or to end the session, so events are in the order in
//! which they occurred. They are delivered when that lock is not held, by one thread at a time.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "registry")]
use super::usage::Usage;
use crate::floor::sync::{Mutex, MutexGuard};
use crate::floor::waiting::guarded;

/// How many events may wait for a slow observer. Further messages and runs are not reported, but they are counted.
const MOST_WAITING: usize = 1 << 10;

/// Called when a session within this process begins, turns and ends, and for each of its messages.
///
/// For each session `began` is called first, then `sent` for each message, `turned` after the last message of each run,
/// and `ended` once, after all others. Calls for one session are made one after another, those for several sessions at
/// the same time.
///
/// The thread that calls is one that uses the session: it sends, finds that the session has ended, drops an endpoint or
/// calls [`observed`](crate::observed). So an observer should not wait for long. If it cannot keep up with a session,
/// some messages and runs are not reported; the counts of `ended` are complete. No lock of this crate is held, and the
/// receiver of a message has been woken. If an observer panics, the process's panic hook reports that, and the session
/// and later calls go on as if it had returned.
pub trait Observer: Send + Sync {
    /// A session has begun.
    fn began(&self, session: &Session) {
        let _ = session;
    }

    /// Whether a message may be sent, which is about to be. An error is the reason why not: then the message is not sent, and its
    /// sender closes the session, as [`Why::Stopped`](crate::Why::Stopped) tells both sides. [`End::stopped`] has the reason.
    ///
    /// The sender waits meanwhile, and may hold the lock of a [`SharedSender`](crate::SharedSender), so this must not use the
    /// session. If it panics, the message is sent.
    fn allows(&self, session: &Session, message: &Message) -> Result<(), String> {
        let _ = (session, message);
        Ok(())
    }

    /// A message was sent. Its receiver may not have received it yet.
    fn sent(&self, session: &Session, message: &Message) {
        let _ = (session, message);
    }

    /// A run is over: the direction has changed, or the protocol's last message was sent.
    fn turned(&self, session: &Session, run: &Run) {
        let _ = (session, run);
    }

    /// A session has ended for both sides.
    fn ended(&self, session: &Session, end: &End) {
        let _ = (session, end);
    }

    /// A side uses its endpoint, on the thread that calls: for a registry.
    #[cfg(feature = "registry")]
    #[doc(hidden)]
    fn used(&self, session: &Session, side: Side, usage: &Usage) {
        let _ = (session, side, usage);
    }
}

/// Makes an observer of an `Arc` of one, and of a pair. Takes the methods; a `?` is before
/// the `Result` of one that may keep the second from being called.
#[doc(hidden)]
#[macro_export]
macro_rules! observers {
    ($($(#[$when:meta])? $method:ident($($name:ident: $ty:ty),+) $(-> $ask:tt $answer:ty)?;)+) => {
        impl<O: Observer + ?Sized> Observer for ::std::sync::Arc<O> {
            $($(#[$when])? fn $method(&self, $($name: $ty),+) $(-> $answer)? {
                (**self).$method($($name),+)
            })+
        }

        /// Calls the first, then the second. If the first panics, the second is not called for that event.
        impl<A: Observer, B: Observer> Observer for (A, B) {
            $($(#[$when])? fn $method(&self, $($name: $ty),+) $(-> $answer)? {
                self.0.$method($($name),+)$($ask)?;
                self.1.$method($($name),+)
            })+
        }

        impl ::std::fmt::Debug for dyn Observer {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str("Observer")
            }
        }
    };
}

observers! {
    began(session: &Session);
    allows(session: &Session, message: &Message) -> ? Result<(), String>;
    sent(session: &Session, message: &Message);
    turned(session: &Session, run: &Run);
    ended(session: &Session, end: &End);
    #[cfg(feature = "registry")]
    used(session: &Session, side: Side, usage: &Usage);
}

/// A side of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The side of the first endpoint that a protocol's `init` returns.
    Server,
    /// The side of the second.
    Client,
}

impl Side {
    /// `client` or `server`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Client => "client",
        }
    }

    /// The other side.
    #[doc(hidden)]
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Server => Side::Client,
            Side::Client => Side::Server,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number that no other session has.
pub(crate) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

/// A session that is observed.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Session {
    /// A number that no other session observed by this crate has.
    pub id: u64,
    /// The protocol's name, with its package.
    pub protocol: &'static str,
    /// The state in which it was when it began to be observed, with the protocol's name: `bank.login`.
    pub state: &'static str,
    /// Which side sends in that state.
    pub turn: Side,
}

/// A message that was sent.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Message {
    /// The state that was left with the message, with the protocol's name: `bank.connected`.
    pub state: &'static str,
    /// The message's name in the protocol: `deposit`.
    pub name: &'static str,
    /// Which side sent it.
    pub sender: Side,
    /// The state that follows; `None` after the protocol's last message.
    pub next: Option<&'static str>,
    /// How many messages the observed session had before it. If a number is skipped, messages were not reported, because the observer
    /// did not keep up.
    pub number: u64,
}

/// Messages that one side sent until the other side's turn, or until the end of the protocol.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Run {
    /// The state that was left with the last message, with the protocol's name: `bank.connected`.
    pub state: &'static str,
    /// Which side sent the run.
    pub sender: Side,
    /// How many messages it had.
    pub messages: u64,
    /// The time since the previous run ended or the session began.
    pub duration: Duration,
}

/// How a session ended.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct End {
    /// The side that disconnected first; `None` after the protocol's last message.
    pub left: Option<Side>,
    /// The state in which the session ended early; `None` after the protocol's last message.
    pub state: Option<&'static str>,
    /// How many messages the client has sent, whether or not the server has received them.
    pub sent_by_client: u64,
    /// How many messages the server has sent, whether or not the client has received them.
    pub sent_by_server: u64,
    /// How long the session lasted.
    pub duration: Duration,
    /// The reason for which an observer [did not allow](Observer::allows) a message, which ended the session.
    pub stopped: Option<String>,
}

/// What a message is called, for reports.
pub(crate) struct Names {
    /// The state that it leaves.
    pub(crate) state: &'static str,
    /// The message.
    pub(crate) message: &'static str,
    /// The state that follows; `None` after the last message.
    pub(crate) next: Option<&'static str>,
}

enum Event {
    Sent(Message),
    Turned(Run),
    Ended(End),
}

struct Tally {
    state: Option<&'static str>,
    /// What the two sides have sent: side 0, side 1.
    sent: [u64; 2],
    /// The messages of the run that is not over.
    run: u64,
    run_began: Instant,
    left: Option<Side>,
    /// Why the observer did not allow a message.
    stopped: Option<String>,
    events: VecDeque<Event>,
    /// Whether a thread is inside [`Watched::deliver`].
    is_delivering: bool,
}

impl Tally {
    fn add(&mut self, event: Event) {
        if self.events.len() < MOST_WAITING || matches!(event, Event::Ended(_)) {
            self.events.push_back(event);
        }
    }
}

/// An observed session.
pub(crate) struct Watched {
    observer: Arc<dyn Observer>,
    session: Session,
    /// Which sides the numbers stand for.
    sides: [Side; 2],
    began: Instant,
    tally: Mutex<Tally>,
}

impl Watched {
    /// Reports that a session begins, in the state with this name.
    pub(crate) fn begin(
        observer: Arc<dyn Observer>,
        sides: [Side; 2],
        state: &'static str,
        turn: Side,
    ) -> Arc<Watched> {
        let session = Session {
            id: next_number(),
            protocol: state.rsplit_once('.').map_or("", |(protocol, _)| protocol),
            state,
            turn,
        };
        guarded(|| observer.began(&session));
        let now = Instant::now();
        Arc::new(Watched {
            observer,
            session,
            sides,
            began: now,
            tally: Mutex::new(Tally {
                state: Some(state),
                sent: [0; 2],
                run: 0,
                run_began: now,
                left: None,
                stopped: None,
                events: VecDeque::new(),
                is_delivering: false,
            }),
        })
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // No other code runs while it is locked, except for the swap of a word.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message of this side with `publish`, and counts it if that returns something. `is_turn`: the run ends
    /// with this message. The caller delivers what is queued.
    pub(crate) fn publish<T>(
        &self,
        side: usize,
        names: &Names,
        is_turn: bool,
        publish: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let mut tally = self.tally();
        let published = publish()?;
        let sender = self.sides[side];
        let number = tally.sent[0] + tally.sent[1];
        tally.sent[side] += 1;
        tally.run += 1;
        tally.state = names.next;
        tally.add(Event::Sent(Message {
            state: names.state,
            name: names.message,
            sender,
            next: names.next,
            number,
        }));
        if is_turn {
            let now = Instant::now();
            let began = mem::replace(&mut tally.run_began, now);
            let messages = mem::take(&mut tally.run);
            tally.add(Event::Turned(Run {
                state: names.state,
                sender,
                messages,
                duration: now - began,
            }));
        }
        Some(published)
    }

    /// Asks the observer whether this side may send a message. If not, the caller closes the session.
    pub(crate) fn allows(&self, side: usize, names: &Names) -> bool {
        let sent = self.tally().sent;
        let message = Message {
            state: names.state,
            name: names.message,
            sender: self.sides[side],
            next: names.next,
            number: sent[0] + sent[1],
        };
        let mut allowed = Ok(());
        guarded(|| allowed = self.observer.allows(&self.session, &message));
        let Err(reason) = allowed else { return true };
        let mut tally = self.tally();
        tally.left.get_or_insert(message.sender);
        tally.stopped = Some(reason);
        false
    }

    /// Whether the observer has not allowed a message.
    pub(crate) fn is_stopped(&self) -> bool {
        self.tally().stopped.is_some()
    }

    /// This side uses its endpoint. The caller holds no lock of this crate, except for that of a shared sender.
    #[cfg(feature = "registry")]
    pub(crate) fn used(&self, side: usize, usage: &Usage) {
        guarded(|| self.observer.used(&self.session, self.sides[side], usage));
    }

    /// The session's number.
    pub(crate) fn number(&self) -> u64 {
        self.session.id
    }

    /// This side is about to disconnect.
    pub(crate) fn leaves(&self, side: usize) {
        self.tally().left.get_or_insert(self.sides[side]);
    }

    /// Calls the observer, unless another thread already does: then that one goes on.
    pub(crate) fn deliver(&self) {
        if mem::replace(&mut self.tally().is_delivering, true) {
            return;
        }
        loop {
            let mut tally = self.tally();
            let next = tally.events.pop_front();
            tally.is_delivering = next.is_some();
            drop(tally);
            let Some(event) = next else { return };
            guarded(|| match &event {
                Event::Sent(message) => self.observer.sent(&self.session, message),
                Event::Turned(run) => self.observer.turned(&self.session, run),
                Event::Ended(end) => self.observer.ended(&self.session, end),
            });
        }
    }

    /// The session has ended for both sides.
    fn end(&self) {
        let mut tally = self.tally();
        let of = |side| {
            let number = usize::from(self.sides[1] == side);
            tally.sent[number]
        };
        let end = End {
            left: tally.state.and(tally.left),
            state: tally.state,
            sent_by_client: of(Side::Client),
            sent_by_server: of(Side::Server),
            duration: self.began.elapsed(),
            stopped: tally.stopped.take(),
        };
        tally.add(Event::Ended(end));
        drop(tally);
        self.deliver();
    }
}

/// A session's own reference to what it reports. Dropping it reports the end.
pub(crate) struct Observed(pub(crate) Arc<Watched>);

impl Drop for Observed {
    fn drop(&mut self) {
        self.0.end();
    }
}
