//! What can go wrong in a session: the other side disconnects.

use std::error::Error;
use std::fmt;

use crate::ring::driver::Why;

/// The peer closed the session: its endpoint was dropped before the protocol ended.
///
/// ```
/// # fn show(closed: duologue_runtime::Closed) -> String {
/// closed.to_string() // "the peer closed the session in state `bank.login`"
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    // Twice by reference, so that a `Closed` takes two machine words.
    name: &'static &'static str,
    why: Why,
}

impl Closed {
    pub(crate) fn new(name: &'static &'static str, why: Why) -> Closed {
        Closed { name, why }
    }

    /// Why the session was closed. Within a process that is [`Why::Left`], or [`Why::Late`] if this side has a time limit
    /// ([`Endpoint::within`](crate::Endpoint::within)), or [`Why::Stopped`] if its observer has stopped it.
    pub fn why(&self) -> Why {
        self.why
    }

    /// The name of the protocol as in the protocol file, with its package: `acme.bank`.
    pub fn protocol(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or("", |(protocol, _)| protocol)
    }

    /// The name of the state in which the session was closed, as in the protocol file.
    pub fn state(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or(self.name, |(_, state)| state)
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.why {
            Why::Left => write!(f, "the peer closed the session in state `{name}`"),
            Why::Lost => write!(f, "the connection to the peer was lost in state `{name}`"),
            Why::Broken => write!(
                f,
                "the session was closed in state `{name}`: its format was violated"
            ),
            Why::Late => write!(
                f,
                "the session was closed in state `{name}`: a message was late"
            ),
            Why::TooLarge => write!(
                f,
                "the session was closed in state `{name}`: a message was too large for its receiver"
            ),
            Why::Stopped => write!(
                f,
                "the session was closed in state `{name}`: its observer did not allow a message"
            ),
        }
    }
}

impl fmt::Debug for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Closed({})", self.name)
    }
}

impl Error for Closed {}

/// A message was not sent because the peer has disconnected. The error contains the payload.
///
/// `?` converts it to [`Closed`], and to `Box<dyn Error + Send + Sync>` for payloads that are `Send + 'static`.
pub struct SendError<P> {
    payload: P,
    closed: Closed,
}

// SAFETY: nothing reaches the payload through a shared reference: there is no accessor that takes `&self`, and
// `Debug` and `Display` print the state only.
unsafe impl<P> Sync for SendError<P> {}

impl<P> SendError<P> {
    pub(crate) fn new(payload: P, closed: Closed) -> SendError<P> {
        SendError { payload, closed }
    }

    /// The payload of the message: the value itself if there is one, a tuple if there are several, `()` if there is
    /// none.
    pub fn into_payload(self) -> P {
        self.payload
    }

    /// The state in which the session was closed.
    pub fn closed(&self) -> Closed {
        self.closed
    }
}

impl<P> From<SendError<P>> for Closed {
    fn from(error: SendError<P>) -> Closed {
        error.closed
    }
}

impl<P> fmt::Display for SendError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.closed.fmt(f)
    }
}

impl<P> fmt::Debug for SendError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendError({})", self.closed.name)
    }
}

impl<P> Error for SendError<P> {}

/// Why [`try_recv`](crate::Receiver::try_recv) or [`recv_timeout`](crate::Receiver::recv_timeout) returned no message.
pub enum TryRecvError<E> {
    /// There is no message yet. Contains the endpoint, unchanged.
    Empty(E),
    /// The peer has disconnected, and everything it sent has been read.
    Closed(Closed),
}

impl<E> TryRecvError<E> {
    /// The same error with the endpoint wrapped in another type.
    pub fn map<F>(self, wrap: impl FnOnce(E) -> F) -> TryRecvError<F> {
        match self {
            TryRecvError::Empty(endpoint) => TryRecvError::Empty(wrap(endpoint)),
            TryRecvError::Closed(closed) => TryRecvError::Closed(closed),
        }
    }
}

impl<E> fmt::Display for TryRecvError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty(_) => f.write_str("no message has arrived yet"),
            TryRecvError::Closed(closed) => closed.fmt(f),
        }
    }
}

impl<E> fmt::Debug for TryRecvError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty(_) => f.write_str("Empty"),
            TryRecvError::Closed(closed) => closed.fmt(f),
        }
    }
}

impl<E> Error for TryRecvError<E> {}

/// Why a `try_` method did not send.
///
/// `F` is what it returns if the ring is full: the payload, if the method is a shared sender's, which is still there;
/// otherwise the endpoint and the payload.
pub enum TrySendError<P, F = P> {
    /// The ring is full: the peer has to read first.
    Full(F),
    /// The peer has disconnected. The error contains the payload.
    Closed(SendError<P>),
}

impl<P> TrySendError<P> {
    /// The payload of the message that was not sent.
    pub fn into_payload(self) -> P {
        match self {
            TrySendError::Full(payload) => payload,
            TrySendError::Closed(error) => error.into_payload(),
        }
    }
}

impl<P, F> fmt::Display for TrySendError<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full(_) => f.write_str("the ring is full: the peer has to read first"),
            TrySendError::Closed(error) => error.fmt(f),
        }
    }
}

impl<P, F> fmt::Debug for TrySendError<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full(_) => f.write_str("Full"),
            TrySendError::Closed(error) => error.fmt(f),
        }
    }
}

impl<P, F> Error for TrySendError<P, F> {}
