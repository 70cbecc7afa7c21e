//! A registry: an observer that knows the sessions that have not ended, and what each waits for.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::recorder::quote;
use crate::ring::observer::{End, Message, Observer, Run, Session, Side};

/// An observer that knows the sessions that have not ended: in which state each is, for which side it waits, and since when.
///
/// Clones have the same sessions. A session takes about 100 bytes, and each message a lock in addition to what an observer takes; sessions
/// that are not observed cost nothing.
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

/// A session that has not ended.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Live {
    /// Its number, after `socket-` if it is over a socket.
    pub session: String,
    /// The protocol's name, with its package.
    pub protocol: &'static str,
    /// The state in which it is, with the protocol's name; `None` if the last message was sent, and an endpoint is still there.
    pub state: Option<&'static str>,
    /// The side whose turn it is to send.
    pub turn: Side,
    /// How long that side has sent nothing.
    pub waits: Duration,
    /// How many messages it had while it was observed.
    pub messages: u64,
}

/// `#7 bank.connected waits 12.3 s for the client, 5 messages`
impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, messages) = (self.waits.as_secs_f64(), self.messages);
        let word = if messages == 1 { "message" } else { "messages" };
        match self.state {
            Some(state) => write!(
                f,
                "#{} {state} waits {seconds:.1} s for the {}, {messages} {word}",
                self.session, self.turn
            ),
            None => write!(
                f,
                "#{} {} is over, but not received for {seconds:.1} s, {messages} {word}",
                self.session, self.protocol
            ),
        }
    }
}

struct Kept {
    protocol: &'static str,
    state: Option<&'static str>,
    turn: Side,
    since: Instant,
    messages: u64,
}

impl Registry {
    /// A registry without sessions.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<Name, Kept>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions that have not ended, by their numbers.
    #[must_use]
    pub fn sessions(&self) -> Vec<Live> {
        self.waiting(Duration::ZERO)
    }

    /// Those in which nothing was sent for at least this long.
    #[must_use]
    pub fn waiting(&self, least: Duration) -> Vec<Live> {
        let now = Instant::now();
        let live = self.live();
        let all = live.iter().map(|((kind, id), kept)| Live {
            session: format!("{kind}{id}"),
            protocol: kept.protocol,
            state: kept.state,
            turn: kept.turn,
            waits: now.saturating_duration_since(kept.since),
            messages: kept.messages,
        });
        all.filter(|session| session.waits >= least).collect()
    }

    /// The sessions as a list in JSON, of objects with `session`, `protocol`, `state` (`null` after the last message), `turn`, `waits` (in
    /// milliseconds) and `messages`.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = "[".to_owned();
        for (number, session) in self.sessions().iter().enumerate() {
            text += if number == 0 { "" } else { "," };
            let _always = write!(text, "{{\"session\":\"{}\",\"protocol\":", session.session);
            quote(&mut text, session.protocol);
            text += ",\"state\":";
            match session.state {
                Some(state) => quote(&mut text, state),
                None => text += "null",
            }
            let (turn, waits) = (session.turn, session.waits.as_millis());
            let messages = session.messages;
            let _always = write!(
                text,
                ",\"turn\":\"{turn}\",\"waits\":{waits},\"messages\":{messages}}}"
            );
        }
        text.push(']');
        text
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
    }

    fn sent(&self, session: &Session, message: &Message) {
        let total = message.number + 1;
        self.moves(("", session.id), message.next, None, total);
    }

    fn turned(&self, session: &Session, run: &Run) {
        if let Some(kept) = self.live().get_mut(&("", session.id)) {
            kept.turn = match run.sender {
                Side::Client => Side::Server,
                Side::Server => Side::Client,
            };
        }
    }

    fn ended(&self, session: &Session, _: &End) {
        self.ends(("", session.id));
    }
}
