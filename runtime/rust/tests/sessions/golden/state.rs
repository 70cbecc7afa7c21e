//! States, in the shape that the compiler generates.

/// A state: its name, the side that sends, whether that side may send again after a message of it, its message and how it is opened, and
/// its transitions. The type parameters are in the brackets.
macro_rules! state {
    (@state [$($generics:tt)*] $state:ty, $name:literal, $sender:literal, $stays:literal, $message:ty, $branch:ident, $open:expr) => {
        impl<$($generics)*> ::duologue::generated::State for $state {
            type Message = $message;
            const NAME: &'static str = $name;
            const SENDER: &'static str = $sender;
            const STAYS: bool = $stays;

            #[inline]
            fn open($branch: ::duologue::generated::Branch<Self>) -> $message {
                $open
            }
        }
    };
    (@transition [$($generics:tt)*] $state:ty, $index:literal, $text:literal, $payload:ty, $next:ty) => {
        impl<$($generics)*> ::duologue::generated::Transition<$index> for $state {
            type Payload = $payload;
            type Next = $next;
            const MESSAGE: &'static str = $text;
        }
    };
    ($generics:tt $state:ty, $name:literal of $sender:literal, stays: $stays:literal, $message:ty, |$branch:ident| $open:expr;
     $($index:literal $text:literal($payload:ty) => $next:ty;)*) => {
        state!(@state $generics $state, $name, $sender, $stays, $message, $branch, $open);
        $(state!(@transition $generics $state, $index, $text, $payload, $next);)*
    };
}
