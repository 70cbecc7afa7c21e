//! Sending in a run that may have to wait for a free slot: without waiting, or in a task.
//!
//! Generated code has the method for tasks in each state, and the other one only where a send may wait, because each takes time to compile.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::endpoint::{Branch, Finished, Follow, Receiver, Sender, State, Transition};
use super::error::{Closed, SendError, TrySendError};
use super::futures::Endpoint;

/// The endpoint after a message, as generated code has it.
pub trait Following<M> {
    /// Wraps the endpoint that the runtime has.
    fn following(endpoint: M) -> Self;
}

impl<S> Following<Receiver<S>> for Receiver<S> {
    #[inline(always)]
    fn following(endpoint: Receiver<S>) -> Receiver<S> {
        endpoint
    }
}

impl<S> Following<Finished<S>> for Finished<S> {
    #[inline(always)]
    fn following(endpoint: Finished<S>) -> Finished<S> {
        endpoint
    }
}

impl Following<()> for () {
    #[inline(always)]
    fn following((): ()) {}
}

/// A generated endpoint that sends.
pub trait Waits: Endpoint + Following<Sender<Self::State>> {
    /// Its state.
    type State;
    /// The endpoint as the runtime has it.
    fn into_sender(self) -> Sender<Self::State>;
}

/// The payload of the message with this index.
type Payload<E, const INDEX: u8> = <<E as Waits>::State as Transition<INDEX>>::Payload;

/// The runtime's endpoint after the message with this index.
type Mine<S, const INDEX: u8> = <<S as Transition<INDEX>>::Next as Follow>::Mine;

/// What an attempt to send returns: the next endpoint, or why there is none.
type Tried<N, P, E> = Result<N, TrySendError<P, (E, P)>>;

impl<S: State> Sender<S> {
    /// Like [`send`](Sender::send), but never waits: if the ring is full, returns the endpoint and the payload in
    /// [`TrySendError::Full`].
    #[inline]
    pub fn try_send<E, N, const INDEX: u8>(self, payload: S::Payload) -> Tried<N, S::Payload, E>
    where
        S: Transition<INDEX>,
        E: Waits<State = S>,
        N: Following<Mine<S, INDEX>>,
    {
        let mut this = self;
        this.watch().0.never_waits();
        if !this.is_ready() {
            return Err(TrySendError::Full((E::following(this), payload)));
        }
        let sent = this.send::<INDEX>(payload);
        sent.map(N::following).map_err(TrySendError::Closed)
    }

    /// A future that waits until the ring is not full, and sends the message.
    ///
    /// # Cancel safety
    ///
    /// That of [`Sending`].
    #[inline]
    pub fn send_async<E, N, const INDEX: u8>(self, payload: S::Payload) -> Sending<E, N, INDEX>
    where
        S: Transition<INDEX>,
        E: Waits<State = S>,
        N: Following<Mine<S, INDEX>>,
    {
        Sending {
            unsent: Some((E::following(self), payload)),
            next: PhantomData,
        }
    }
}

/// The future of the `_async` methods of endpoint `E`, for the message with this index. It returns the next endpoint, `N`, or
/// [`SendError`], which contains the payload, if the peer has disconnected.
///
/// # Cancel safety
///
/// The future owns the endpoint and the payload. Dropping it before it completes drops the payload, unsent, and closes
/// the session. [`into_inner`](Sending::into_inner) returns both instead, and the session goes on.
#[must_use = "futures do nothing unless they are awaited, and a dropped endpoint closes its session, as `let _ = ...` does"]
pub struct Sending<E: Waits, N, const INDEX: u8>
where
    E::State: Transition<INDEX>,
{
    unsent: Option<(E, Payload<E, INDEX>)>,
    next: PhantomData<fn() -> N>,
}

// The endpoint and the payload are moved, never pinned.
impl<E: Waits, N, const INDEX: u8> Unpin for Sending<E, N, INDEX> where E::State: Transition<INDEX> {}

impl<E: Waits, N, const INDEX: u8> Sending<E, N, INDEX>
where
    E::State: Transition<INDEX>,
{
    /// Returns the endpoint and the payload, which was not sent; `None` if the future has completed.
    pub fn into_inner(self) -> Option<(E, Payload<E, INDEX>)> {
        let (mut endpoint, payload) = self.unsent?;
        drop(endpoint.watch().0.disarm());
        Some((endpoint, payload))
    }
}

impl<E: Waits, N, const INDEX: u8> Future for Sending<E, N, INDEX>
where
    E::State: Transition<INDEX>,
    N: Following<Mine<E::State, INDEX>>,
{
    type Output = Result<N, SendError<Payload<E, INDEX>>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((endpoint, _)) = &mut self.unsent else {
            panic!("`Sending` polled after completion")
        };
        let wait = endpoint.watch().0;
        if wait.arm_task(context.waker()) {
            return Poll::Pending;
        }
        wait.never_waits();
        let Some((endpoint, payload)) = self.unsent.take() else {
            unreachable!("the endpoint was there above")
        };
        // An endpoint that is ready stays ready, so this does not wait.
        let sent = endpoint.into_sender().send::<INDEX>(payload);
        Poll::Ready(sent.map(N::following))
    }
}

/// Implements what tasks need of an endpoint that sends.
#[doc(hidden)]
#[macro_export]
macro_rules! waits {
    ($name:ident $(<$($parameter:ident),+>)?) => {
        impl $(<$($parameter),+>)? $crate::generated::Following<$crate::Sender<super::state::$name $(<$($parameter),+>)?>>
            for $name $(<$($parameter),+>)?
        {
            #[inline(always)]
            fn following(endpoint: $crate::Sender<super::state::$name $(<$($parameter),+>)?>) -> Self {
                $name(endpoint)
            }
        }

        #[doc(hidden)]
        impl $(<$($parameter),+>)? ::std::ops::Deref for $name $(<$($parameter),+>)? {
            type Target = $crate::generated::OutOfTurn<Self>;

            fn deref(&self) -> &$crate::generated::OutOfTurn<Self> {
                &$crate::generated::OutOfTurn::NEW
            }
        }

        impl $(<$($parameter),+>)? $crate::generated::Waits for $name $(<$($parameter),+>)? {
            type State = super::state::$name $(<$($parameter),+>)?;

            #[inline(always)]
            fn into_sender(self) -> $crate::Sender<Self::State> {
                self.0
            }
        }
    };
}

/// A state in which one side sends payloads one after another, and which may have a message that says that there are no more.
/// Generated code implements it, for streams and sinks.
pub trait Series: State {
    /// A payload.
    type Item: Send;

    /// Takes the next payload out of a message; `None` if there are no more.
    fn next(branch: Branch<Self>) -> Option<(Self::Item, Receiver<Self>)>;

    /// Sends the next payload.
    fn send(sender: Sender<Self>, item: Self::Item) -> Result<Sender<Self>, SendError<Self::Item>>;

    /// Sends that there are no more payloads, or disconnects if no message says so.
    fn end(sender: Sender<Self>) -> Result<(), Closed>;
}

/// Implements [`Series`] for a state, whose message `$item` carries a payload and whose message `$end`, if there is one,
/// says that there are no more.
#[doc(hidden)]
#[macro_export]
macro_rules! series {
    ($name:ident $(<$($parameter:ident),+>)?, $item:literal $(, $end:literal)?) => {
        impl $(<$($parameter),+>)? $crate::generated::Series for $name $(<$($parameter),+>)?
        where
            Self: $crate::generated::Transition<$item, Next = $crate::generated::Stay<Self>>
                $(+ $crate::generated::Transition<$end, Payload = ()>)?,
        {
            type Item = <Self as $crate::generated::Transition<$item>>::Payload;

            fn next(
                branch: $crate::generated::Branch<Self>,
            ) -> ::std::option::Option<(Self::Item, $crate::Receiver<Self>)> {
                match branch.index() {
                    $item => ::std::option::Option::Some(branch.take::<$item>()),
                    $($end => {
                        let ((), _) = branch.take::<$end>();
                        ::std::option::Option::None
                    })?
                    _ => branch.refuse(),
                }
            }

            fn send(
                sender: $crate::Sender<Self>,
                item: Self::Item,
            ) -> ::std::result::Result<$crate::Sender<Self>, $crate::SendError<Self::Item>> {
                sender.send::<$item>(item)
            }

            fn end(sender: $crate::Sender<Self>) -> ::std::result::Result<(), $crate::Closed> {
                $crate::series!(@end sender $(, $end)?)
            }
        }
    };
    (@end $sender:ident) => {{
        ::std::mem::drop($sender);
        ::std::result::Result::Ok(())
    }};
    (@end $sender:ident, $end:literal) => {
        match $sender.send::<$end>(()) {
            ::std::result::Result::Ok(_) => ::std::result::Result::Ok(()),
            ::std::result::Result::Err(error) => ::std::result::Result::Err(error.closed()),
        }
    };
}
