//! What can go wrong before a session exists. Failures within a session are reported as `Closed`.

use std::error;
use std::fmt;
use std::io;
use std::time::Duration;

use duologue::transport::NotAFingerprint;
use duologue::Closed;

/// Why an address could not be used, or a session did not begin.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The text is not an address.
    Address {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A `tls://` address was used without certificates.
    NoCertificates {
        /// The address.
        address: String,
    },
    /// A certificate, a key or a name for TLS cannot be used.
    Credentials {
        /// Which one.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The two sides could not begin TLS.
    Tls {
        /// Why.
        cause: String,
    },
    /// The other side speaks TLS, and this one does not.
    SpeaksTls,
    /// The text is not a fingerprint.
    Fingerprint(NotAFingerprint),
    /// The system could not connect, listen or accept.
    Io {
        /// What was attempted, and where.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The other side refused the session.
    Refused {
        /// Why.
        verdict: Verdict,
        /// How long to wait before another attempt, if the other side knows.
        retry_after: Option<Duration>,
    },
    /// The other side is not a Duologue listener, or has a version that this side does not know.
    NotDuologue,
    /// The other side closed the connection without an answer.
    NoAnswer,
    /// The session did not begin within the time limit.
    TimedOut,
    /// The other side's hello was not accepted, or did not arrive.
    NoSession {
        /// The protocol that was served.
        protocol: &'static str,
    },
    /// The listener is draining and has no more sessions.
    Drained,
    /// The session ended before the answer of the server: see [`health::check`](crate::health::check).
    Ended(Closed),
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Address { text, problem } => write!(
                f,
                "`{text}` is not an address: {problem}; write `unix:/path/to.sock`, `tcp://host:port` or `tls://host:port`"
            ),
            Error::NoCertificates { address } if cfg!(feature = "tls") => write!(
                f,
                "`{address}` requires certificates: pass them to `Connector::tls` or `Listener::bind_tls`"
            ),
            Error::NoCertificates { address } => write!(
                f,
                "`{address}` requires TLS: add the feature `tls` to the dependency on `duologue-net`"
            ),
            Error::Credentials { what, problem } => write!(f, "cannot use {what} for TLS: {problem}"),
            Error::Tls { cause } => write!(f, "TLS did not begin: {cause}"),
            Error::SpeaksTls => f.write_str(
                "the other side speaks TLS, and this one does not: use a `tls://` address on both sides or on neither",
            ),
            Error::Fingerprint(text) => text.fmt(f),
            Error::Io { what, .. } => write!(f, "could not {what}"),
            Error::Refused {
                verdict,
                retry_after: None,
            } => write!(f, "the other side refused the session: {verdict}"),
            Error::Refused {
                verdict,
                retry_after: Some(pause),
            } => write!(
                f,
                "the other side refused the session: {verdict}; try again after {pause:?}"
            ),
            Error::NotDuologue => f.write_str(
                "the other side does not speak this format: check that the address is that of a Duologue listener",
            ),
            Error::NoAnswer => f.write_str("the other side closed the connection without an answer"),
            Error::TimedOut => {
                f.write_str("no session began in time: check that the other side is running and not overloaded")
            }
            Error::NoSession { protocol } => {
                write!(f, "the other side did not begin a session of `{protocol}`")
            }
            Error::Drained => f.write_str("the listener is draining and accepts no more sessions"),
            Error::Ended(_) => f.write_str("the session ended before the server had answered"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Ended(closed) => Some(closed),
            Error::Address { .. }
            | Error::NoCertificates { .. }
            | Error::Credentials { .. }
            | Error::Tls { .. }
            | Error::SpeaksTls
            | Error::Fingerprint(_)
            | Error::Refused { .. }
            | Error::NotDuologue
            | Error::NoAnswer
            | Error::TimedOut
            | Error::NoSession { .. }
            | Error::Drained => None,
        }
    }
}

impl From<NotAFingerprint> for Error {
    fn from(text: NotAFingerprint) -> Error {
        Error::Fingerprint(text)
    }
}

/// An accepting side's response to a hello.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It does not serve a protocol with this fingerprint.
    UnknownProtocol,
    /// It does not know this version of the format.
    UnknownVersion,
    /// It has reached its session limit.
    Full,
    /// Its program does not admit this side.
    NotAdmitted,
    /// It accepts no further sessions.
    Draining,
    /// It could not read the hello.
    Malformed,
    /// Both sides would send first, or both would receive first.
    SameSide,
    /// A verdict that this version does not know.
    Other(u8),
}

impl Verdict {
    pub(crate) fn of(code: u8) -> Verdict {
        match code {
            16 => Verdict::UnknownProtocol,
            17 => Verdict::UnknownVersion,
            18 => Verdict::Full,
            19 => Verdict::NotAdmitted,
            20 => Verdict::Draining,
            21 => Verdict::Malformed,
            22 => Verdict::SameSide,
            other => Verdict::Other(other),
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Verdict::UnknownProtocol => 16,
            Verdict::UnknownVersion => 17,
            Verdict::Full => 18,
            Verdict::NotAdmitted => 19,
            Verdict::Draining => 20,
            Verdict::Malformed => 21,
            Verdict::SameSide => 22,
            Verdict::Other(code) => code,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::UnknownProtocol => {
                "it does not serve this protocol, or serves another version of it: compare `duologue fingerprint` of both sides"
            }
            Verdict::UnknownVersion => "it does not know this version of the format: update the older side",
            Verdict::Full => "it has reached its session limit",
            Verdict::NotAdmitted => "it does not admit this side",
            Verdict::Draining => "it is draining and accepts no further sessions",
            Verdict::Malformed => "it could not read the hello",
            Verdict::SameSide => "both programs are the same side of the protocol",
            Verdict::Other(code) => return write!(f, "verdict {code}, which this version does not know"),
        })
    }
}
