//! States in which one side sends payloads one after another, and may have a message that says that there are no more.

use super::ends::{Branch, Receiver, Sender};
use super::error::{Closed, SendError};
use super::scheme::State;

/// Such a state. Generated code implements it, for streams and sinks.
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
