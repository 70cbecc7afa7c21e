//! A registry: an observer that knows the sessions that have not ended, and what each waits for.

mod deadlocks;
#[cfg(unix)]
mod serving;
mod snapshot;
#[cfg(feature = "registry")]
mod usage;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::floor::waiting::lock;
use crate::ring::observer::{End, Message, Observer, Run, Session, Side};
#[cfg(feature = "registry")]
use crate::ring::usage::Usage;

#[cfg(unix)]
pub use serving::Serving;
pub use snapshot::{Blocked, Deadlock, Live, LiveSide, Snapshot};

/// An observer that knows the sessions that have not ended: in which state each is, for which side it waits, and since when.
///
/// With the feature `registry` of this crate it also knows, of sessions within the process, the state of each side, which thread or task last
/// used its endpoint and whether that waits, and the messages in flight. So it finds deadlocks, also across several sessions.
///
/// Clones have the same sessions. A session takes about 300 bytes, and each message a lock in addition to what an observer takes, with the
/// feature up to four; sessions that are not observed cost nothing.
///
/// ```
/// # use duologue_runtime as duologue;
/// use duologue::observe::Registry;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// # fn show<S: duologue::observe::Observable, C: duologue::observe::Observable>(init: fn() -> (S, C)) {
/// let registry = Registry::new();
/// let (server, client) = duologue::observed(init(), Arc::new(registry.clone()));
/// for session in registry.waiting(Duration::from_secs(10)) {
///     eprintln!("{session}"); // "#7 bank.connected waits 12.3 s for the client, 5 messages"
/// }
/// eprint!("{}", registry.snapshot()); // all sessions, their sides, and deadlocks
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    live: Arc<Mutex<BTreeMap<Name, Kept>>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registry")
    }
}

/// What the sessions of a transport are called, and the number of this one.
type Name = (&'static str, u64);

struct Kept {
    protocol: &'static str,
    state: Option<&'static str>,
    turn: Side,
    since: Instant,
    messages: u64,
    /// The client's and the server's, if they are known.
    sides: Option<[KeptSide; 2]>,
}

impl Kept {
    fn live(&self, (kind, id): &Name, now: Instant) -> Live {
        let sides = self.sides.iter().flat_map(|both| {
            let in_flight = |to: usize| both[1 - to].sent.saturating_sub(both[to].received);
            [(0, Side::Client), (1, Side::Server)].map(|(at, side)| LiveSide {
                side,
                state: both[at].state,
                owner: both[at].owner.as_deref().map(str::to_owned),
                waits: (both[at].waits).map(|since| now.saturating_duration_since(since)),
                for_space: both[at].for_space,
                is_in_set: both[at].is_in_set,
                in_flight: in_flight(at),
                has_left: both[at].has_left,
            })
        });
        Live {
            session: format!("{kind}{id}"),
            protocol: self.protocol,
            state: self.state,
            turn: self.turn,
            waits: now.saturating_duration_since(self.since),
            messages: self.messages,
            sides: sides.collect(),
        }
    }
}

/// A side of a session.
#[derive(Default)]
struct KeptSide {
    state: Option<&'static str>,
    owner: Option<Arc<str>>,
    waits: Option<Instant>,
    for_space: bool,
    is_in_set: bool,
    sent: u64,
    received: u64,
    has_left: bool,
    /// Whether the owner is a task that has no name.
    #[cfg(feature = "registry")]
    is_anonymous_task: bool,
}

impl Registry {
    /// A registry without sessions.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<Name, Kept>> {
        lock(&self.live)
    }

    /// The sessions that have not ended, by their numbers.
    #[must_use]
    pub fn sessions(&self) -> Vec<Live> {
        self.waiting(Duration::ZERO)
    }

    /// Those in which nothing was sent for at least this long.
    #[must_use]
    pub fn waiting(&self, least: Duration) -> Vec<Live> {
        let mut all = self.snapshot().sessions;
        all.retain(|session| session.waits >= least);
        all
    }

    /// All sessions that have not ended, and the deadlocks among them.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let now = Instant::now();
        let live = self.live();
        let sessions = live.iter().map(|(name, kept)| kept.live(name, now));
        let sessions: Vec<Live> = sessions.collect();
        drop(live);
        let deadlocks = deadlocks::among(&sessions);
        Snapshot {
            sessions,
            deadlocks,
        }
    }

    /// The [`snapshot`](Registry::snapshot) as JSON, which `duologue top` shows.
    #[must_use]
    pub fn json(&self) -> String {
        self.snapshot().json()
    }

    /// A session begins.
    #[doc(hidden)]
    pub fn begins(&self, name: Name, protocol: &'static str, state: &'static str, turn: Side) {
        let kept = Kept {
            protocol,
            state: Some(state),
            turn,
            since: Instant::now(),
            messages: 0,
            sides: None,
        };
        self.live().insert(name, kept);
    }

    /// A session had messages, after which it is in this state. `turn`: the side that sends next, unless that is the same.
    #[doc(hidden)]
    pub fn moves(&self, name: Name, state: Option<&'static str>, turn: Option<Side>, total: u64) {
        if let Some(kept) = self.live().get_mut(&name) {
            kept.state = state;
            kept.turn = turn.unwrap_or(kept.turn);
            kept.since = Instant::now();
            kept.messages = total;
        }
    }

    /// A session has ended.
    #[doc(hidden)]
    pub fn ends(&self, name: Name) {
        self.live().remove(&name);
    }
}

impl Observer for Registry {
    fn began(&self, session: &Session) {
        let name = ("", session.id);
        self.begins(name, session.protocol, session.state, session.turn);
        #[cfg(feature = "registry")]
        self.knows_sides(session);
    }

    fn sent(&self, session: &Session, message: &Message) {
        let total = message.number + 1;
        self.moves(("", session.id), message.next, None, total);
    }

    fn turned(&self, session: &Session, run: &Run) {
        if let Some(kept) = self.live().get_mut(&("", session.id)) {
            kept.turn = run.sender.other();
        }
    }

    fn ended(&self, session: &Session, _: &End) {
        self.ends(("", session.id));
    }

    #[cfg(feature = "registry")]
    fn used(&self, session: &Session, side: Side, usage: &Usage) {
        let mut live = self.live();
        let kept = live.get_mut(&("", session.id));
        if let Some(sides) = kept.and_then(|kept| kept.sides.as_mut()) {
            sides[usize::from(side == Side::Server)].used(usage);
        }
    }
}
