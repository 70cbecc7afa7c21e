//! Waiting without consuming an endpoint, on a thread or in a task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::endpoint::State;
use super::endpoint::{Branch, Receiver, Sender};
use super::error::{Closed, TryRecvError};
use crate::link::wait;
use crate::link::wait::Wait;
use crate::ring::pipe::Found;

/// What every endpoint can do in addition to its messages: report whether its next operation would wait, and wait until
/// it would not.
///
/// Once an endpoint is ready it stays ready, because it has no other user. A receiving endpoint is ready when a message
/// has arrived or the peer has disconnected; a sending endpoint is ready when the ring is not full, which is always the
/// case in a bounded run. Over a socket, an endpoint inside an unbounded run that was awaited before is ready when the
/// connection has also accepted nearly all that was sent.
pub trait Endpoint {
    /// The endpoint as the runtime sees it. Exclusive, because an endpoint has space for only one waiter.
    #[doc(hidden)]
    fn watch(&mut self) -> Watch<'_>;

    /// Whether the next operation would not wait.
    fn is_ready(&self) -> bool;

    /// Blocks, for at most `patience`, until the next operation would not wait. Returns whether that is the case.
    fn ready_within(&mut self, patience: Duration) -> bool {
        wait::until(self.watch().0, Instant::now().checked_add(patience))
    }

    /// Bounds the time of a dialogue: once `limit` has passed, this side no longer waits. The same as
    /// [`until`](Endpoint::until) with this time from now.
    ///
    /// ```
    /// # use duologue_runtime::{Closed, Endpoint, Why};
    /// # use std::time::Duration;
    /// # fn talk<E: Endpoint>(client: E, talk: impl FnOnce(E) -> Result<(), Closed>) -> Result<(), Closed> {
    /// let client = client.within(Duration::from_secs(5));
    /// match talk(client) {
    ///     Err(closed) if closed.why() == Why::Late => println!("the peer took too long"),
    ///     other => return other,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    fn within(self, limit: Duration) -> Self
    where
        Self: Sized,
    {
        let mut this = self;
        let until = Instant::now().checked_add(limit);
        this.watch().0.set_limit(until);
        this
    }

    /// Bounds the time of a dialogue: after this time, this side no longer waits, in this endpoint or in those that
    /// follow it. An operation that would have to wait closes the session instead, and fails with [`Why::Late`](crate::Why::Late);
    /// one that has already begun to wait does so at that time. The peer finds that this side has closed the session. A send
    /// returns its payload, as always.
    ///
    /// A message that has arrived is received, however late, and a send that need not wait succeeds. A limit replaces the one
    /// before; [`unlimited`](Endpoint::unlimited) removes it. Nothing happens at that time to an endpoint that is not in use. The limit
    /// stays with the side when its endpoint is moved, also in a message of another session.
    ///
    /// With a peer in another process this also ends what a thread waits for when it sends, even if the peer reads nothing.
    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    fn until(self, limit: Instant) -> Self
    where
        Self: Sized,
    {
        let mut this = self;
        this.watch().0.set_limit(Some(limit));
        this
    }

    /// Removes the time limit of [`within`](Endpoint::within) and [`until`](Endpoint::until).
    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    fn unlimited(self) -> Self
    where
        Self: Sized,
    {
        let mut this = self;
        this.watch().0.set_limit(None);
        this
    }

    /// Writes what was sent, if the peer is in another process. Messages of a run are written when the run ends, before
    /// this side waits, and otherwise a few milliseconds later, so this is needed only where that delay matters. If
    /// the connection has failed, the next operation reports it.
    fn flush(&mut self) {
        if let Some(driver) = self.watch().0.driver() {
            driver.flush();
        }
    }

    /// A future that completes when the next operation would not wait.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: it borrows the endpoint, and neither sends nor receives.
    fn ready(&mut self) -> Ready<'_, Self>
    where
        Self: Sized,
    {
        Ready { endpoint: self }
    }
}

/// An endpoint as the runtime sees it.
#[doc(hidden)]
pub struct Watch<'a>(pub(crate) Wait<'a>);

// SAFETY: it represents the exclusive borrow of an endpoint, which is `Send`; only an exclusive borrow makes one.
unsafe impl Send for Watch<'_> {}
// SAFETY: a shared reference allows nothing outside this crate, and this crate arms and disarms through one only where
// it has taken the `Watch` from its caller.
unsafe impl Sync for Watch<'_> {}

macro_rules! endpoints {
    ($($end:ident),*) => {$(
        impl<S> Endpoint for $end<S> {
            fn watch(&mut self) -> Watch<'_> {
                Watch(self.wait())
            }

            fn is_ready(&self) -> bool {
                wait::is_ready(self.wait())
            }
        }
    )*};
}

endpoints!(Sender, Receiver);

/// Checks for readiness, and registers the task's waker if the endpoint is not ready.
#[inline]
pub(super) fn poll(wait: Wait<'_>, context: &mut Context<'_>) -> Poll<()> {
    if wait.arm_task(context.waker()) {
        return Poll::Pending;
    }
    wait.note_task();
    wait.never_waits();
    Poll::Ready(())
}

/// The future of [`Endpoint::ready`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Ready<'a, E: Endpoint> {
    endpoint: &'a mut E,
}

impl<E: Endpoint> Future for Ready<'_, E> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        poll(self.endpoint.watch().0, context)
    }
}

impl<E: Endpoint> Drop for Ready<'_, E> {
    fn drop(&mut self) {
        drop(self.endpoint.watch().0.disarm());
    }
}

/// The future of [`Receiver::recv_async`], which says what happens when it is dropped.
#[must_use = "futures do nothing unless they are awaited, and a dropped endpoint closes its session, as `let _ = ...` does"]
pub struct Recv<S> {
    receiver: Option<Receiver<S>>,
}

impl<S: State> Receiver<S> {
    /// A future that waits for the next message.
    ///
    /// # Cancel safety
    ///
    /// The future owns the endpoint. Dropping it before it completes closes the session, as dropping the endpoint does.
    /// To go on with the session, poll a reference to the future, as in `timeout(limit, &mut receiving).await`. Afterwards
    /// either poll it again or take the endpoint back with [`into_inner`](Recv::into_inner). No message is lost.
    pub fn recv_async(self) -> Recv<S> {
        Recv {
            receiver: Some(self),
        }
    }
}

impl<S: State> Recv<S> {
    /// Returns the endpoint; `None` if the message has been delivered.
    pub fn into_inner(self) -> Option<Receiver<S>> {
        let receiver = self.receiver?;
        drop(receiver.wait().disarm());
        Some(receiver)
    }
}

impl<S: State> Future for Recv<S> {
    type Output = Result<S::Message, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match poll_message(&mut self.receiver, context, S::open) {
            Some(message) => message,
            None => panic!("`Recv` polled after it had delivered its message"),
        }
    }
}

/// Opens the next message if it is there, which takes the receiver; otherwise registers the task's waker. `None` without
/// a receiver.
#[inline(always)]
pub(super) fn poll_message<S: State, T>(
    end: &mut Option<Receiver<S>>,
    context: &mut Context<'_>,
    open: impl FnOnce(Branch<S>) -> T,
) -> Option<Poll<Result<T, Closed>>> {
    let receiver = end.as_ref()?;
    let found = receiver.find();
    if let Found::Nothing(value) = found {
        if receiver.arm_task(value, context.waker()) {
            return Some(Poll::Pending);
        }
    }
    receiver.pipe().note_task(found);
    receiver.wait().never_waits();
    let receiver = end.take()?;
    if let Found::Message(word) = found {
        return Some(Poll::Ready(Ok(open(receiver.branch(word)))));
    }
    match receiver.try_open(open) {
        Ok(message) => Some(Poll::Ready(Ok(message))),
        Err(TryRecvError::Closed(closed)) => Some(Poll::Ready(Err(closed))),
        Err(TryRecvError::Empty(_)) => unreachable!("a ready endpoint stays ready"),
    }
}

/// Implements what all generated sending endpoints have in common: `Debug`, [`Endpoint`] and
/// [`Observable`](crate::observe::Observable). Takes the type, its side and the state's name.
#[doc(hidden)]
#[macro_export]
macro_rules! endpoint {
    ($name:ident $(<$($parameter:ident),+>)?, $side:ident $state:literal) => {
        impl $(<$($parameter),+>)? ::std::fmt::Debug for $name $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.describe(f, ::std::stringify!($side), $state)
            }
        }

        impl $(<$($parameter),+>)? $crate::Endpoint for $name $(<$($parameter),+>)? {
            fn watch(&mut self) -> $crate::Watch<'_> {
                $crate::Endpoint::watch(&mut self.0)
            }

            fn is_ready(&self) -> bool {
                $crate::Endpoint::is_ready(&self.0)
            }
        }

        impl $(<$($parameter),+>)? $crate::observe::Observable for $name $(<$($parameter),+>)? {
            fn handle(&mut self) -> $crate::observe::Handle<'_> {
                $crate::observe::Observable::handle(&mut self.0)
            }
        }
    };
}
