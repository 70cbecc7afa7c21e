//! How a session within a process gets an observer.

use std::sync::Arc;

use super::endpoint::{Receiver, Sender};
use crate::link::wait::Wait;
use crate::ring::observer::{Observer, Side, Watched};
use crate::ring::pipe::Pipe;
#[cfg(feature = "registry")]
use crate::ring::usage::{Owner, Usage};

/// An endpoint whose session can be observed: one that generated code declares, not an enum of endpoints.
#[diagnostic::on_unimplemented(
    message = "the sessions of `{Self}` cannot be observed",
    label = "not an endpoint of a generated protocol",
    note = "pass the pair of endpoints that a protocol's `init` returns"
)]
pub trait Observable {
    /// The endpoint as the runtime sees it.
    #[doc(hidden)]
    fn handle(&mut self) -> Handle<'_>;
}

/// An endpoint as the runtime sees it.
#[doc(hidden)]
pub struct Handle<'a> {
    pipe: &'a mut Pipe,
    sends: bool,
}

impl<S> Observable for Sender<S> {
    fn handle(&mut self) -> Handle<'_> {
        let pipe = self.pipe_mut();
        Handle { pipe, sends: true }
    }
}

impl<S> Observable for Receiver<S> {
    fn handle(&mut self) -> Handle<'_> {
        let pipe = self.pipe_mut();
        Handle { pipe, sends: false }
    }
}

/// Says that the thread or task that calls uses this endpoint from now on, for [`Registry`](super::registry::Registry). It does so by itself
/// where an endpoint is used: call this where one was given to a thread that waits for something else first.
#[cfg(feature = "registry")]
pub fn adopt(endpoint: &mut impl Observable) {
    let handle = endpoint.handle();
    handle.pipe.note_use(|| Usage::Adopts(Owner::current()));
}

/// Observes a session within this process: the observer is called for each message, and when the session turns and ends.
///
/// Takes and returns both endpoints of a session, the server's first, as a protocol's `init` returns them. Their types and
/// everything that can be done with them stay the same. Other sessions are not slowed down. In an observed session each
/// message takes a lock, reads the clock if it ends a run, and calls the observer.
///
/// ```
/// # use duologue_runtime as duologue;
/// use duologue::observe::{End, Observer, Session};
/// use std::sync::Arc;
///
/// struct Log;
///
/// impl Observer for Log {
///     fn ended(&self, session: &Session, end: &End) {
///         println!("{}: {} messages of the client", session.protocol, end.sent_by_client);
///     }
/// }
///
/// # fn show<S: duologue::observe::Observable, C: duologue::observe::Observable>(init: fn() -> (S, C)) {
/// let (server, client) = duologue::observed(init(), Arc::new(Log));
/// # }
/// ```
///
/// # Panics
///
/// If the endpoints are not both of one session, if a message was sent that has not been received, or if the session is
/// already observed or leads to another process.
#[must_use = "dropped endpoints close their session"]
pub fn observed<Server: Observable, Client: Observable>(
    (mut server, mut client): (Server, Client),
    observer: Arc<dyn Observer>,
) -> (Server, Client) {
    let (one, other) = (server.handle(), client.handle());
    for handle in [&one, &other] {
        let wait = match handle.sends {
            true => Wait::for_room(handle.pipe),
            false => Wait::for_message(handle.pipe),
        };
        // A wait that was forgotten, not dropped, has left its waiter.
        drop(wait.disarm());
    }
    let sides = match one.pipe.at().side() {
        0 => [Side::Server, Side::Client],
        _ => [Side::Client, Side::Server],
    };
    let is_pair = one.sends != other.sends;
    let (sender, receiver) = match one.sends {
        true => (one.pipe, other.pipe),
        false => (other.pipe, one.pipe),
    };
    let turn = sides[sender.at().side()];
    let begin = |state| Watched::begin(observer, sides, state, turn);
    assert!(
        is_pair && Pipe::observe(sender, receiver, begin),
        "only both endpoints of one session within this process, without unread messages, can be observed, and only once"
    );
    (server, client)
}
