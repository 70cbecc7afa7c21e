//! What can go wrong before a session exists. Failures within a session are reported as `Closed`.

use std::error;
use std::fmt;
use std::io;

use rustix::io::Errno;

/// Why there is no region, or no session in it.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The system refused something.
    Io {
        /// What was attempted.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The name belongs to another user, or other users may open it.
    ForeignName,
    /// The file is not a region, or its memory could be taken away while it is used.
    NotARegion,
    /// The region is larger than this side allows. It was not touched.
    LargeRegion {
        /// Its size in bytes.
        size: usize,
    },
    /// The side is or was taken: a region has one session.
    Taken,
    /// The other side uses another protocol, or another version that neither side accepts.
    OtherProtocol,
    /// The other side did not attach in time. The region cannot be used again.
    TimedOut,
    /// The other side has ended the session, or its process has ended.
    PeerLeft,
    /// Something other than a region, or no file descriptor, arrived over the socket.
    NoRegion,
    /// The other end of the socket was closed.
    SocketClosed,
}

impl Error {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(Errno) -> Error {
        move |source| Error::Io {
            what,
            source: source.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { what, .. } => write!(f, "could not {what}"),
            Error::ForeignName => {
                f.write_str("the name belongs to another user, or other users may open it: use another name")
            }
            Error::NotARegion => f.write_str(
                "this is not a region, or its memory could be taken away: create it with `Region::create` or `Region::open`",
            ),
            Error::LargeRegion { size } => write!(
                f,
                "the region has {size} bytes, which is more than this side allows: see `Attach::max_region`"
            ),
            Error::Taken => f.write_str(
                "this side of the region is or was taken: a region has one session, and each program takes a different side",
            ),
            Error::OtherProtocol => f.write_str(
                "the other side uses another protocol, or another version of it: compare `duologue fingerprint` of both sides",
            ),
            Error::TimedOut => f.write_str("the other side did not attach in time"),
            Error::PeerLeft => f.write_str("the other side has ended the session, or its process has ended"),
            Error::NoRegion => f.write_str("the socket delivered no region"),
            Error::SocketClosed => f.write_str("the other end of the socket was closed"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::ForeignName
            | Error::NotARegion
            | Error::LargeRegion { .. }
            | Error::Taken
            | Error::OtherProtocol
            | Error::TimedOut
            | Error::PeerLeft
            | Error::NoRegion
            | Error::SocketClosed => None,
        }
    }
}
