//! An endpoint in a field, where it can only be borrowed.

use std::fmt;
use std::future::Future;
use std::mem;

use super::error::{Closed, SendError, TrySendError};
use super::futures::Endpoint;

/// An endpoint in a field of a struct.
///
/// Each operation consumes its endpoint, so a method with `&mut self` cannot use one that is a field. A `Held` lends its
/// endpoint to a step, which returns the next endpoint in the same state:
///
/// - [`send`](Held::send), [`try_send`](Held::try_send) and [`send_async`](Held::send_async) send one message. If that fails, the payload
///   comes back.
/// - [`with`](Held::with) and [`with_async`](Held::with_async) run any operations, such as a question and its answer.
///
/// When a step has failed, the session is over, and the field is *closed*: every later call returns the same [`Closed`]
/// and does not run its step. So a map of fields survives a broadcast, and loses those whose peer has disconnected:
///
/// ```
/// # use duologue_runtime::{Closed, Held, SendError};
/// # fn broadcast<E>(users: &mut std::collections::HashMap<u32, Held<E>>, line: fn(E, String) -> Result<E, SendError<String>>) {
/// users.retain(|_, user| user.send("hello".to_owned(), line).is_ok());
/// # }
/// ```
///
/// # Panics
///
/// The field is *empty* once the endpoint was taken, the session has ended in a step, or a step has panicked or its future was
/// dropped, which closes the session. A step with an empty field is a mistake, and panics. [`is_open`](Held::is_open) and
/// [`take`](Held::take) never panic.
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub struct Held<E>(Inside<E>);

enum Inside<E> {
    Open(E),
    Closed(Closed),
    Empty,
}

impl<E> Held<E> {
    /// Holds an endpoint.
    #[inline]
    pub fn new(endpoint: E) -> Held<E> {
        Held(Inside::Open(endpoint))
    }

    /// Sends a message that leads back to the same state, such as `held.send(7, client::Counter::add)`. A message with several
    /// values, or none, needs a closure: `held.send((7, 8), |end, (x, y)| end.add(x, y))`.
    ///
    /// If the session is closed, the error contains the payload. Blocks where the method blocks: **in a task, use
    /// [`send_async`](Held::send_async).**
    #[inline]
    pub fn send<P>(
        &mut self,
        payload: P,
        send: impl FnOnce(E, P) -> Result<E, SendError<P>>,
    ) -> Result<(), SendError<P>> {
        let endpoint = match self.lend() {
            Ok(endpoint) => endpoint,
            Err(closed) => return Err(SendError::new(payload, closed)),
        };
        match send(endpoint, payload) {
            Ok(endpoint) => self.0 = Inside::Open(endpoint),
            Err(error) => {
                self.0 = Inside::Closed(error.closed());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Like [`send`](Held::send), but never waits, with the `try_` method of a message: `held.try_send(7, client::Counter::try_add)`. If the
    /// ring is full, the error contains the payload, and the session goes on.
    #[inline]
    pub fn try_send<P>(
        &mut self,
        payload: P,
        send: impl FnOnce(E, P) -> Result<E, TrySendError<P, (E, P)>>,
    ) -> Result<(), TrySendError<P>> {
        let endpoint = match self.lend() {
            Ok(endpoint) => endpoint,
            Err(closed) => return Err(TrySendError::Closed(SendError::new(payload, closed))),
        };
        match send(endpoint, payload) {
            Ok(endpoint) => self.0 = Inside::Open(endpoint),
            Err(TrySendError::Full((endpoint, payload))) => {
                self.0 = Inside::Open(endpoint);
                return Err(TrySendError::Full(payload));
            }
            Err(TrySendError::Closed(error)) => {
                self.0 = Inside::Closed(error.closed());
                return Err(TrySendError::Closed(error));
            }
        }
        Ok(())
    }

    /// Like [`send`](Held::send), with the same method, but waits for a free slot without blocking the thread.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future before it completes drops the payload, unsent. The session goes on.
    pub async fn send_async<P>(
        &mut self,
        payload: P,
        send: impl FnOnce(E, P) -> Result<E, SendError<P>>,
    ) -> Result<(), SendError<P>>
    where
        E: Endpoint,
    {
        if let Ok(endpoint) = self.endpoint() {
            endpoint.ready().await;
        }
        self.send(payload, send)
    }

    /// Like [`with`](Held::with), for a step that awaits: `held.with_async(|client| async move { ... })`.
    ///
    /// # Cancel safety
    ///
    /// The future owns the endpoint. Dropping it before it completes closes the session and leaves the field empty. To be able to give up
    /// waiting, wait before the step: `held.endpoint()?.ready().await` can be dropped at any time.
    pub async fn with_async<N: Into<Option<E>>, T, F>(
        &mut self,
        step: impl FnOnce(E) -> F,
    ) -> Result<T, Closed>
    where
        F: Future<Output = Result<(N, T), Closed>>,
    {
        let stepped = step(self.lend()?).await;
        self.after(stepped)
    }

    /// Runs a step that leads back to the same state, and returns its result. The step returns the next endpoint, or an
    /// `Option` that is `None` if the protocol has ended, and its result. `?` works in it on every operation.
    ///
    /// If the step fails, the endpoint is lost and the session closed, even if the error is that of another session. A payload
    /// that the step did not send is dropped with the error.
    #[inline]
    pub fn with<N: Into<Option<E>>, T>(
        &mut self,
        step: impl FnOnce(E) -> Result<(N, T), Closed>,
    ) -> Result<T, Closed> {
        let stepped = step(self.lend()?);
        self.after(stepped)
    }

    /// Holds what a step has returned.
    #[inline]
    fn after<N: Into<Option<E>>, T>(
        &mut self,
        stepped: Result<(N, T), Closed>,
    ) -> Result<T, Closed> {
        match stepped {
            Ok((next, result)) => {
                if let Some(endpoint) = next.into() {
                    self.0 = Inside::Open(endpoint);
                }
                Ok(result)
            }
            Err(closed) => {
                self.0 = Inside::Closed(closed);
                Err(closed)
            }
        }
    }

    /// Whether there is an endpoint.
    #[inline]
    pub fn is_open(&self) -> bool {
        matches!(self.0, Inside::Open(_))
    }

    /// Whether the endpoint was taken, the session has ended in a step, or a step has panicked.
    #[cfg(feature = "futures")]
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.0, Inside::Empty)
    }

    /// The endpoint, to wait for it.
    #[inline]
    pub fn endpoint(&mut self) -> Result<&mut E, Closed> {
        match &mut self.0 {
            Inside::Open(endpoint) => Ok(endpoint),
            Inside::Closed(closed) => Err(*closed),
            Inside::Empty => empty(),
        }
    }

    /// Takes the endpoint out, for a message that leads elsewhere; `None` if there is none.
    #[inline]
    pub fn take(&mut self) -> Option<E> {
        if !self.is_open() {
            return None;
        }
        match mem::replace(&mut self.0, Inside::Empty) {
            Inside::Open(endpoint) => Some(endpoint),
            Inside::Closed(_) | Inside::Empty => None,
        }
    }

    /// Holds this endpoint from now on. An endpoint that is already there is dropped.
    #[inline]
    pub fn put(&mut self, endpoint: E) {
        self.0 = Inside::Open(endpoint);
    }

    /// Takes the endpoint out for a step.
    #[inline]
    fn lend(&mut self) -> Result<E, Closed> {
        match mem::replace(&mut self.0, Inside::Empty) {
            Inside::Open(endpoint) => Ok(endpoint),
            Inside::Closed(closed) => {
                self.0 = Inside::Closed(closed);
                Err(closed)
            }
            Inside::Empty => empty(),
        }
    }
}

#[cold]
#[inline(never)]
fn empty() -> ! {
    panic!("a `Held` is used without an endpoint: it was taken, its session has ended, a step has panicked, or its future was dropped")
}

impl<E> From<E> for Held<E> {
    fn from(endpoint: E) -> Held<E> {
        Held::new(endpoint)
    }
}

impl<E: fmt::Debug> fmt::Debug for Held<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inside::Open(endpoint) => write!(f, "Held({endpoint:?})"),
            Inside::Closed(closed) => write!(f, "Held({closed:?})"),
            Inside::Empty => f.write_str("Held"),
        }
    }
}
