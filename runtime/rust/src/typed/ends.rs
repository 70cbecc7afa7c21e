//! The endpoints as values: what they own, and what happens when they are dropped. What they can do is in `endpoint`
//! and `futures`.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::link::drop_queue::stop_receiving;
use crate::link::wait::Wait;
use crate::ring::pipe::Pipe;
use crate::ring::words::LineWord;

/// The endpoint whose turn it is to send, in state `S`. Generated code wraps it in a type with one method per message.
/// Dropping it closes the session.
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub struct Sender<S> {
    pipe: ManuallyDrop<Pipe>,
    // Invariant: a longer-lived state must not be usable as a shorter-lived one, because the peer reads at the original
    // type.
    state: PhantomData<fn(S) -> S>,
}

impl<S> Drop for Sender<S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the pipe is not used again.
        unsafe { ManuallyDrop::take(&mut self.pipe) }.leave();
    }
}

/// The endpoint that waits for a message of state `S`. Dropping it closes the session and destroys the messages that
/// were not read.
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub struct Receiver<S> {
    pipe: ManuallyDrop<Pipe>,
    // Invariant, as in `Sender`.
    state: PhantomData<fn(S) -> S>,
}

impl<S> Drop for Receiver<S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the pipe is not used again.
        stop_receiving(unsafe { ManuallyDrop::take(&mut self.pipe) });
    }
}

/// A message of state `S` that was found but has not been taken yet.
///
/// Only `State::open`, which generated code implements, gets one. If it is dropped instead of taken, which generated code never does, the message and
/// its session are leaked: the runtime does not know the payload's type.
pub struct Branch<S> {
    pub(crate) pipe: Pipe,
    pub(crate) word: LineWord,
    pub(crate) state: PhantomData<fn(S) -> S>,
}

/// What a sender and a receiver have in common: they own a pipe.
macro_rules! owns_pipe {
    ($($end:ident waits $what:ident;)*) => {$(
        impl<S> $end<S> {
            /// The endpoint of this pipe.
            #[inline(always)]
            pub(crate) fn of(pipe: Pipe) -> $end<S> {
                $end {
                    pipe: ManuallyDrop::new(pipe),
                    state: PhantomData,
                }
            }

            #[inline(always)]
            pub(crate) fn into_pipe(self) -> Pipe {
                let mut this = ManuallyDrop::new(self);
                // SAFETY: `this` is not dropped, so the pipe is not used again.
                unsafe { ManuallyDrop::take(&mut this.pipe) }
            }

            #[inline(always)]
            pub(crate) fn pipe(&self) -> &Pipe {
                &self.pipe
            }

            pub(super) fn pipe_mut(&mut self) -> &mut Pipe {
                &mut self.pipe
            }

            pub(crate) fn wait(&self) -> Wait<'_> {
                Wait::$what(&self.pipe)
            }
        }
    )*};
}

owns_pipe! {
    Sender waits for_room;
    Receiver waits for_message;
}

macro_rules! common {
    ($($end:ident),*) => {$(
        // SAFETY: every payload that can be in the session is `Send` (`Transition::Payload`), and the session's words
        // and waiter slots are designed for use by two threads.
        unsafe impl<S> Send for $end<S> {}
        // SAFETY: a shared reference only reads words, never a payload.
        unsafe impl<S> Sync for $end<S> {}
        impl<S> Unpin for $end<S> {}
        impl<S> UnwindSafe for $end<S> {}
        impl<S> RefUnwindSafe for $end<S> {}
    )*};
}

common!(Sender, Receiver, Branch);

impl<S> fmt::Debug for Sender<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<S> Sender<S> {
    /// What `Debug` of a generated endpoint writes: its side and state, and the session's number.
    #[doc(hidden)]
    pub fn describe(&self, f: &mut fmt::Formatter<'_>, side: &str, state: &str) -> fmt::Result {
        write!(f, "Sender({side}, {state} #{})", self.pipe.number())
    }
}

/// Side and state, and the number of the session: `Receiver(client, bank.login_response #7)`.
impl<S> fmt::Debug for Receiver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.pipe.state();
        let side = match state.sender {
            "client" => "server, ",
            "server" => "client, ",
            _ => "",
        };
        write!(f, "Receiver({side}{} #{})", state.name, self.pipe.number())
    }
}
