//! The traits and types with which generated code describes a protocol to the runtime.
//!
//! Both sides of a session use the same table: one [`State`] per state and one [`Transition`] per message. Rust allows
//! one implementation per state and index, so the sides cannot disagree about a payload's type or about what follows.

use std::fmt;
use std::marker::PhantomData;

use super::ends::Branch;
use crate::floor::layout::Session;

/// A state of a protocol, as a type that has no values.
pub trait State: Sized {
    /// What the receiving side gets: one variant per message, each with its payload and the next endpoint.
    type Message;

    /// The package, protocol and state, joined by dots: `acme.bank.login`.
    const NAME: &'static str;

    /// The side that sends in it, `client` or `server`, for texts. Empty if that is not known.
    const SENDER: &'static str = "";

    /// Whether the state may have a message after which the same side sends again. If it has none, a run ends here,
    /// which makes short dialogues faster. Both sides use the same value, so it affects only speed.
    const STAYS: bool = true;

    /// The parameters with which every session that reaches this state began, if they are always the same. Then the
    /// compiler knows where in the session everything is stored. If they are not known for a state, they are not
    /// known for the states after it either.
    const SESSION: Session = Session::UNKNOWN;

    /// Builds the message that was found, with the one `take` that matches its index.
    fn open(branch: Branch<Self>) -> Self::Message;
}

/// The message with this index among those of its state: what it carries and where it leads.
pub trait Transition<const INDEX: u8>: State {
    /// What the message carries: the value itself if there is one, a tuple if there are several, `()` if there is none.
    type Payload: Send;

    /// [`Stay`], [`Turn`], [`End`] or [`Finish`].
    type Next: Next;

    /// The message's name in the protocol, for observers.
    const MESSAGE: &'static str = "";
}

/// The same side sends again, in state `S`.
pub struct Stay<S>(PhantomData<fn(S) -> S>);

/// The other side sends next, in state `S`.
pub struct Turn<S>(PhantomData<fn(S) -> S>);

/// The session is over (`-> !`).
pub struct End(());

/// The session is over, in the terminal state `S`. Both sides get a [`Finished`] of that state.
pub struct Finish<S>(PhantomData<fn(S) -> S>);

/// What follows a message, for both sides. The runtime implements it for [`Stay`], [`Turn`], [`End`] and [`Finish`].
pub trait Next: follow::Follow {}

impl<S: State> Next for Stay<S> {}
impl<S: State> Next for Turn<S> {}
impl Next for End {}
impl<S> Next for Finish<S> {}

/// An endpoint in a terminal state: the session is over and nothing can be done with it.
pub struct Finished<S>(PhantomData<fn(S) -> S>);

impl<S> Finished<S> {
    /// Both endpoints of a session that is over before it begins.
    pub fn pair() -> (Finished<S>, Finished<S>) {
        (Finished::new(), Finished::new())
    }

    pub(super) fn new() -> Finished<S> {
        Finished(PhantomData)
    }
}

impl<S> fmt::Debug for Finished<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Finished")
    }
}

/// Not accessible to users, so that only the four types above can follow a message.
mod follow {
    use crate::floor::layout::Session;
    use crate::link::message::Then;
    use crate::ring::block::StateInfo;
    use crate::ring::pipe::Pipe;

    /// How the untyped side of a session becomes the next endpoint.
    pub trait Follow {
        /// The next endpoint of the side that sent the message.
        type Mine;
        /// The next endpoint of the side that received it.
        type Theirs;
        /// What the pipe does after the message.
        const THEN: Then;
        /// The name of the state that follows, unless the session is over.
        const NAME: Option<&'static str> = None;
        /// [`State::SESSION`](super::State::SESSION) of the state that follows.
        const SESSION: Session = Session::UNKNOWN;
        /// Creates the sender's next endpoint. `stayed` is [`State::STAYS`](super::State::STAYS) of the state that
        /// it comes from.
        fn mine(pipe: Pipe, stayed: bool) -> Self::Mine;
        /// Creates the receiver's next endpoint, or ends the session. The receiver comes from a state with this
        /// info.
        fn theirs(pipe: Pipe, from: &'static StateInfo) -> Self::Theirs;
    }
}

pub(crate) use follow::Follow;
