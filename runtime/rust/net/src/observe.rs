//! Observing sessions: for logs, traces and metrics.
//!
//! An [`Observer`] is given to [`Connector::observer`](crate::Connector::observer) and
//! [`Listener::observer`](crate::Listener::observer). With the feature `tracing`, `Spans` is one that opens a span of
//! the crate `tracing` for each session; with the feature `metrics`, `Metrics` is one that counts with the crate
//! `metrics`. A pair of observers is an observer.
//!
//! ```no_run
//! use duologue_net::observe::{End, Observer, Session};
//! use std::sync::Arc;
//!
//! struct Log;
//!
//! impl Observer for Log {
//!     fn ended(&self, session: &Session, end: &End) {
//!         let (sent, received) = (end.sent.messages, end.received.messages);
//!         println!("{}: {:?}, {sent} sent, {received} received", session.protocol, end.why);
//!     }
//! }
//!
//! # fn show<Login: duologue_net::Open + 'static>() -> Result<(), duologue_net::Error> {
//! let login: Login = duologue_net::Connector::new()
//!     .observer(Arc::new(Log))
//!     .connect("unix:/run/bank.sock")?;
//! # drop(login);
//! # Ok(())
//! # }
//! ```

mod kept;
#[cfg(feature = "metrics")]
mod numbers;
mod reports;
#[cfg(feature = "tracing")]
mod spans;

use std::fmt;
use std::time::Duration;

pub use duologue::observe::{Live, Recorder, Registry, Side};
use duologue::Why;

use crate::{Address, Error, Fingerprint, TraceContext, Verdict};

#[cfg(feature = "metrics")]
pub use numbers::Metrics;
pub(crate) use reports::{refused, Direction, Named, Reports, Seen, Tally};
#[cfg(feature = "tracing")]
pub use spans::Spans;

/// Called when a session begins, turns and ends, and when a session does not begin.
///
/// For each session `began` is called first, then `passed` for its messages, `turned` after each run, and `ended` once, after all others. Calls for
/// one session are made one after another, those for several sessions at the same time.
///
/// The thread that calls is the one on which the event occurred: the program's thread that connects, sends, waits or
/// drops an endpoint, a listener's thread, or one that works for all sessions of the process. So an observer must not
/// wait for anything. If it cannot keep up with a session, some messages and runs are not reported; the counts of `ended`
/// are complete. No lock of this crate is held. If an observer panics, the process's panic hook reports that, and the
/// session and later calls go on as if it had returned. `ended` may be called shortly after the program's last
/// operation has returned.
pub trait Observer: Send + Sync {
    /// A session has begun.
    fn began(&self, session: &Session) {
        let _ = session;
    }

    /// Messages of one name were taken from this side's program, to be sent, or have arrived for it.
    fn passed(&self, session: &Session, messages: &Messages) {
        let _ = (session, messages);
    }

    /// A run is over: the direction has changed, or the protocol's last message was sent or received.
    fn turned(&self, session: &Session, run: &Run) {
        let _ = (session, run);
    }

    /// A session has ended for the side in this process. Its last bytes may still have to be written.
    fn ended(&self, session: &Session, end: &End) {
        let _ = (session, end);
    }

    /// A session did not begin. On the connecting side this reports each error that `connect` returns.
    fn refused(&self, refusal: &Refusal<'_>) {
        let _ = refusal;
    }
}

duologue::observers! {
    began(session: &Session);
    passed(session: &Session, messages: &Messages);
    turned(session: &Session, run: &Run);
    ended(session: &Session, end: &End);
    refused(refusal: &Refusal<'_>);
}

/// A session that is observed.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Session {
    /// A number that no other observed session of this process has.
    pub id: u64,
    /// The protocol's name, with its package.
    pub protocol: &'static str,
    /// The fingerprint of this side's protocol.
    pub fingerprint: Fingerprint,
    /// Whether this side accepted the session; otherwise it connected.
    pub accepted: bool,
    /// Whether this side sends the protocol's first message.
    pub sends_first: bool,
    /// The state in which it begins, with the protocol's name: `bank.login`.
    pub state: &'static str,
    /// Which side of the protocol this is; `None` if the protocol's module does not say.
    pub side: Option<Side>,
    /// The peer's address. The connecting side has the address that it connects to. The accepting side has that of a
    /// TCP connection's other end; the other end of a Unix socket has no address, and neither does a connection
    /// that the program provides.
    pub peer: Option<Address>,
    /// The fingerprint of the peer's protocol.
    pub peer_fingerprint: Fingerprint,
    /// Whether that is one of the older fingerprints that this side accepts.
    pub peer_is_older: bool,
    /// The trace that the session belongs to, if the connecting side has sent one.
    pub trace: Option<TraceContext>,
}

/// Messages, and the bytes of their frames. Hellos, control frames and what TLS adds do not count.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// How many messages.
    pub messages: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Messages of one name that were sent one after another in one state.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Messages {
    /// The state, with the protocol's name: `bank.connected`.
    pub state: &'static str,
    /// The name in the protocol: `deposit`.
    pub name: &'static str,
    /// Whether this side sent them; otherwise it received them.
    pub sent: bool,
    /// How many.
    pub count: u64,
    /// The state that follows; `None` after the protocol's last message.
    pub next: Option<&'static str>,
    /// Whether this side sends next.
    pub sends_next: bool,
    /// How many messages the session had before. If a number is skipped, messages were not reported, because the observer did not keep up.
    pub number: u64,
}

/// Messages that one side sent until the other side's turn, or until the end of the protocol.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Run {
    /// The state that was left with the last message, with the protocol's name: `bank.connected`.
    pub state: &'static str,
    /// Whether this side sent the run; otherwise it received it.
    pub sent: bool,
    /// The run's messages.
    pub count: Count,
    /// The time since the previous run ended or the session began.
    pub duration: Duration,
}

/// How a session ended.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct End {
    /// Why. After the protocol's last message it is [`Left`](Why::Left), or another reason if that message could not
    /// be written.
    pub why: Why,
    /// The state in which the session ended early; `None` after the protocol's last message.
    pub state: Option<&'static str>,
    /// What this side has sent. If the session ended early, the peer may have received less.
    pub sent: Count,
    /// What has arrived and was valid, whether or not the program has received it.
    pub received: Count,
    /// How long the session lasted.
    pub duration: Duration,
}

/// A session that did not begin.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Refusal<'a> {
    /// Whether this is the accepting side. Otherwise it is the connecting side.
    pub accepted: bool,
    /// The protocol's name. On the accepting side, as the other side states it, if it got that far.
    pub protocol: Option<&'a str>,
    /// The other side's address, as in [`Session::peer`].
    pub peer: Option<&'a Address>,
    /// Why.
    pub cause: Cause<'a>,
}

/// Why a session did not begin.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The accepting side refused the hello.
    Verdict(Verdict),
    /// This is the accepting side, and the other side ended the connection before its hello, or sent something else.
    NoHello,
    /// Anything else.
    Error(&'a Error),
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Verdict(verdict) => {
                write!(f, "the accepting side refused the session: {verdict}")
            }
            Cause::NoHello => f.write_str("the other side sent no hello"),
            Cause::Error(error) => error.fmt(f),
        }
    }
}
