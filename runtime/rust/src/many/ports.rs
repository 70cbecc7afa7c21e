//! Receiving endpoints of several states or protocols as values of one type.

use std::future::Future;

use crate::link::wait;
use crate::typed::endpoint::{Receiver, State};
use crate::typed::error::{Closed, TryRecvError};
use crate::typed::futures::Endpoint;

/// An endpoint that receives: a [`Receiver`], or an enum of receivers that [`ports!`](crate::ports) declared.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not receive",
    label = "not an endpoint that waits for a message",
    note = "in a state where this side sends, send a message first: that returns the endpoint that receives"
)]
pub trait Receive: Endpoint + Sized {
    /// What is received: the message, which contains the endpoint that follows.
    type Message;

    /// Like [`receive`](Receive::receive), but never waits: returns the endpoint in [`TryRecvError::Empty`] if there is
    /// no message yet.
    fn try_receive(self) -> Result<Self::Message, TryRecvError<Self>>;

    /// Blocks until the next message arrives. Fails with [`Closed`] if the peer has disconnected and everything it sent
    /// has been read.
    fn receive(self) -> Result<Self::Message, Closed> {
        let mut endpoint = self;
        loop {
            match endpoint.try_receive() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Closed(closed)) => return Err(closed),
                Err(TryRecvError::Empty(same)) => endpoint = same,
            }
            wait::until(endpoint.watch().0, None);
        }
    }

    /// Like [`receive`](Receive::receive), without blocking the thread: for code that is generic over endpoints.
    ///
    /// # Cancel safety
    ///
    /// The future owns the endpoint, so dropping it before it completes closes the session. To keep the endpoint, await
    /// [`ready`](Endpoint::ready) first.
    fn receive_async(self) -> impl Future<Output = Result<Self::Message, Closed>> + Send
    where
        Self: Send,
    {
        let mut endpoint = self;
        async move {
            loop {
                match endpoint.try_receive() {
                    Ok(message) => return Ok(message),
                    Err(TryRecvError::Closed(closed)) => return Err(closed),
                    Err(TryRecvError::Empty(same)) => endpoint = same,
                }
                endpoint.ready().await;
            }
        }
    }
}

impl<S: State> Receive for Receiver<S> {
    type Message = S::Message;

    fn try_receive(self) -> Result<S::Message, TryRecvError<Receiver<S>>> {
        self.try_recv()
    }
}

/// Declares an enum of endpoints, and an enum of their messages, so that sessions in different states or of different
/// protocols fit into one [`PortSet`](crate::PortSet).
///
/// ```
/// # use duologue_runtime as duologue;
/// # mod bank { pub mod server {
/// #     pub struct S;
/// #     impl duologue_runtime::generated::State for S {
/// #         type Message = duologue_runtime::Receiver<S>;
/// #         const NAME: &'static str = "bank.login";
/// #         fn open(branch: duologue_runtime::generated::Branch<Self>) -> Self::Message { branch.take::<0>().1 }
/// #     }
/// #     impl duologue_runtime::generated::Transition<0> for S { type Payload = (); type Next = duologue_runtime::generated::Stay<S>; }
/// #     pub struct T;
/// #     impl duologue_runtime::generated::State for T {
/// #         type Message = duologue_runtime::Receiver<T>;
/// #         const NAME: &'static str = "bank.connected";
/// #         fn open(branch: duologue_runtime::generated::Branch<Self>) -> Self::Message { branch.take::<0>().1 }
/// #     }
/// #     impl duologue_runtime::generated::Transition<0> for T { type Payload = (); type Next = duologue_runtime::generated::Stay<T>; }
/// #     pub type Login = duologue_runtime::Receiver<S>;
/// #     pub type Connected = duologue_runtime::Receiver<T>;
/// # } }
/// duologue::ports! {
///     /// A customer of the bank, before or after the login, and what it says.
///     pub enum Customer / Said {
///         Login(bank::server::Login),
///         Connected(bank::server::Connected),
///     }
/// }
/// # let mut set = duologue_runtime::PortSet::<Customer, usize>::new();
/// # assert!(set.try_recv().is_none());
/// ```
///
/// This declares `Customer` with its two variants, a `From` implementation for each of them, and `Said`, whose variants
/// have the same names and hold the messages. `Customer` implements [`Endpoint`] and [`Receive`].
#[macro_export]
macro_rules! ports {
    ($(#[$meta:meta])* $visibility:vis enum $port:ident / $message:ident {
        $($variant:ident($end:ty)),+ $(,)?
    }) => {
        $(#[$meta])*
        #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
        $visibility enum $port {
            $(
                #[allow(missing_docs)]
                $variant($end),
            )+
        }

        $(#[$meta])*
        #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
        $visibility enum $message {
            $(
                #[allow(missing_docs)]
                $variant(<$end as $crate::Receive>::Message),
            )+
        }

        $(
            impl ::core::convert::From<$end> for $port {
                fn from(end: $end) -> $port {
                    $port::$variant(end)
                }
            }
        )+

        impl $crate::Endpoint for $port {
            fn watch(&mut self) -> $crate::Watch<'_> {
                match self {
                    $($port::$variant(end) => $crate::Endpoint::watch(end),)+
                }
            }

            fn is_ready(&self) -> bool {
                match self {
                    $($port::$variant(end) => $crate::Endpoint::is_ready(end),)+
                }
            }
        }

        impl $crate::Receive for $port {
            type Message = $message;

            fn try_receive(self) -> ::core::result::Result<$message, $crate::TryRecvError<$port>> {
                match self {
                    $($port::$variant(end) => match $crate::Receive::try_receive(end) {
                        ::core::result::Result::Ok(message) => ::core::result::Result::Ok($message::$variant(message)),
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err($crate::TryRecvError::map(error, $port::$variant))
                        }
                    },)+
                }
            }
        }
    };
}
