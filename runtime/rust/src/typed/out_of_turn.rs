//! What rustc says about a method that an endpoint does not have.

use std::marker::PhantomData;
use std::ops::Deref;

use super::endpoint::Receiver;

/// Implemented by nothing: a bound whose text rustc shows instead of "no method named `recv`".
#[diagnostic::on_unimplemented(
    message = "it is the turn of `{Self}` to send, not to receive",
    label = "send a message first: that returns the endpoint that receives"
)]
pub trait TurnToReceive {}

/// What a sending endpoint derefs to. It has the methods of a receiver, none of which can be called.
pub struct OutOfTurn<E>(PhantomData<fn() -> E>);

impl<E> OutOfTurn<E> {
    #[doc(hidden)]
    pub const NEW: OutOfTurn<E> = OutOfTurn(PhantomData);
}

macro_rules! methods {
    ($($name:ident),*) => {
        #[allow(missing_docs)]
        impl<E: TurnToReceive> OutOfTurn<E> {
            $(pub fn $name(&self) {})*
        }
    };
}

methods!(recv, try_recv, recv_timeout, recv_async);

/// What a receiver derefs to. It has no methods. But if a type derefs, rustc writes its arguments where it does not find a method, and those of a
/// receiver name the side and the state.
#[doc(hidden)]
pub struct Nothing(());

#[doc(hidden)]
impl<S> Deref for Receiver<S> {
    type Target = Nothing;

    fn deref(&self) -> &Nothing {
        &Nothing(())
    }
}
