//! Streams and sinks of the crates `futures-core` and `futures-sink`, for states that are a series of payloads.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::{FusedStream, Stream};
use futures_sink::Sink;

use super::endpoint::Receiver;
use super::endpoint::State;
use super::error::Closed;
use super::futures::{poll, poll_message};
use super::held::Held;
use super::sending::Series;
use super::sending::Waits;
use crate::ring::driver::Why;

/// The payloads that a receiver gets, as a [`Stream`]: see [`Receiver::into_stream`].
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub struct Incoming<S> {
    receiver: Option<Receiver<S>>,
    closed: Option<Closed>,
}

impl<S: Series> Receiver<S> {
    /// The payloads that arrive from here on, as a [`Stream`], if the state has one message with a payload, which leads back to
    /// the state, and at most one other message, which has no payload and ends the session. The stream ends with that message,
    /// or when the session is closed: [`Incoming::closed`] says which.
    ///
    /// # Cancel safety
    ///
    /// A payload that the stream has not returned is still in the session, so futures such as `stream.next()` can be dropped
    /// at any time. Dropping the stream closes the session.
    pub fn into_stream(self) -> Incoming<S> {
        Incoming {
            receiver: Some(self),
            closed: None,
        }
    }
}

impl<S: Series> Incoming<S> {
    /// How the session was closed, if that has ended the stream. `None` if the stream has not ended, or the peer has sent the message
    /// that ends it.
    pub fn closed(&self) -> Option<Closed> {
        self.closed
    }

    /// Returns the endpoint; `None` if the stream has ended.
    pub fn into_inner(self) -> Option<Receiver<S>> {
        self.receiver?.recv_async().into_inner()
    }
}

impl<S: Series> Stream for Incoming<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        match poll_message(&mut self.receiver, context, S::next) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(Ok(Some((item, next))))) => {
                self.receiver = Some(next);
                Poll::Ready(Some(item))
            }
            Some(Poll::Ready(Ok(None))) | None => Poll::Ready(None),
            Some(Poll::Ready(Err(closed))) => {
                self.closed = Some(closed);
                Poll::Ready(None)
            }
        }
    }
}

impl<S: Series> FusedStream for Incoming<S> {
    fn is_terminated(&self) -> bool {
        self.receiver.is_none()
    }
}

/// A [`Sink`] for the payloads that an endpoint sends, in the same states as [`Receiver::into_stream`].
///
/// The sink waits only while no slot is free, and keeps nothing back. Closing it sends the message that ends the session, or drops the
/// endpoint if there is none. Afterwards it accepts no payload, and can be flushed and closed again. If the session is closed, the payload
/// is dropped with the error: the methods of the endpoint return it instead.
///
/// # Cancel safety
///
/// Waiting until the sink is ready, and flushing it, loses nothing if it is given up. A future of an adapter that has a
/// payload, such as `send`, drops it with itself if it was not sent.
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub struct Outgoing<E: Waits> {
    endpoint: Held<E>,
}

impl<E: Waits> Outgoing<E>
where
    E::State: Series,
{
    /// A sink that sends through this endpoint.
    pub fn new(endpoint: E) -> Outgoing<E> {
        Outgoing {
            endpoint: Held::new(endpoint),
        }
    }

    /// Returns the endpoint; `None` if the session is over.
    pub fn into_inner(mut self) -> Option<E> {
        let mut endpoint = self.endpoint.take()?;
        drop(endpoint.watch().0.disarm());
        Some(endpoint)
    }
}

impl<E: Waits> Unpin for Outgoing<E> {}

impl<E: Waits> Sink<<E::State as Series>::Item> for Outgoing<E>
where
    E::State: Series,
{
    type Error = Closed;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if self.endpoint.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let endpoint = self.endpoint.endpoint()?;
        poll(endpoint.watch().0, context).map(Ok)
    }

    fn start_send(
        mut self: Pin<&mut Self>,
        item: <E::State as Series>::Item,
    ) -> Result<(), Closed> {
        if self.endpoint.is_empty() {
            return Err(Closed::new(&<E::State as State>::NAME, Why::Left));
        }
        self.endpoint.with(|endpoint| {
            let next = <E::State as Series>::send(endpoint.into_sender(), item)?;
            Ok((E::following(next), ()))
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if !self.endpoint.is_empty() {
            self.endpoint.endpoint()?.flush();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if self.endpoint.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if self.as_mut().poll_ready(context)?.is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(self.endpoint.with(|endpoint| {
            <E::State as Series>::end(endpoint.into_sender())?;
            Ok((None, ()))
        }))
    }
}
