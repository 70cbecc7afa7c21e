//! The endpoints: what they own, what happens when they are dropped, and what they can do: begin a session, send and receive,
//! and become the next one. What they do in tasks is in `futures`.
//!
//! # How generated code describes a protocol
//!
//! Both sides of a session use the same table: one [`State`] per state and one [`Transition`] per message. Rust allows
//! one implementation per state and index, so the sides cannot disagree about a payload's type or about what follows.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::error::{Closed, SendError, TryRecvError};
use crate::floor::layout::{Capacity, Layout, Session, Slot};
use crate::floor::waiting::PendingWake;
use crate::link::drop_queue::stop_receiving;
use crate::link::message::{Forwards, Sent, Step, Then, Unsent};
use crate::link::wait::{self, Wait};
use crate::ring::block::StateInfo;
use crate::ring::driver::Why;
use crate::ring::observer::Names;
use crate::ring::pipe::{Found, Pipe};
#[cfg(feature = "registry")]
use crate::ring::usage::{Owner, Usage};
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

/// Begins a session in state `S`. Returns the endpoint that sends first and the endpoint that receives first.
///
/// `slot` must fit every payload of the protocol (see [`Slot`]), and `capacity` is its longest run. Generated code
/// supplies both. If the slot is too small, a send panics; if the capacity is too small, a send waits. Allocates at
/// most once, and once more if a run is unbounded and its receiver falls behind: each thread keeps the memory of ended sessions for new ones, up to about 600 KiB, most of which is not
/// touched. The memory that threads hand over to each other takes at most about 260 KiB in total.
///
/// Panics if [`State::SESSION`] is known and differs: in the slot, in the capacity, or in which side sends in `S`.
#[inline(always)]
pub fn session<S: State>(slot: Slot, capacity: Capacity) -> (Sender<S>, Receiver<S>) {
    assert!(
        S::SESSION.follows(Session::of(slot, capacity, true), false),
        "the session does not match the state's `SESSION`"
    );
    let (first, second) = Pipe::pair(Layout::of(slot, capacity));
    (Sender::new(first), Receiver::new(second))
}

/// Like [`session`], for a session that gets a driver, to which side `far` belongs.
pub(crate) fn session_to_drive<S: State>(
    slot: Slot,
    capacity: Capacity,
    far: usize,
) -> (Sender<S>, Receiver<S>) {
    assert!(
        S::SESSION.follows(Session::of(slot, capacity, true), false),
        "the session does not match the state's `SESSION`"
    );
    let (first, second) = Pipe::pair_to_drive(Layout::of(slot, capacity), far);
    (Sender::new(first), Receiver::new(second))
}

/// The layout of this pipe's session, which is in state `S`: a compile-time constant if possible.
///
/// The constant equals the session's layout. For the first state, this is checked when the session begins, and for each
/// following state by every [`Sender::publish`] that leads there.
#[inline(always)]
pub(crate) fn layout_in<S: State>(pipe: &Pipe) -> Layout {
    match const { S::SESSION.layout() } {
        Some(layout) => layout,
        None => *pipe.layout(),
    }
}

/// The sender's next endpoint, and the receiver's waiter if the receiver waits for the message.
type Published<N, P> = Result<(<N as Follow>::Mine, Option<PendingWake>), Unsent<P>>;

impl<S: State> Sender<S> {
    #[inline(always)]
    fn new(pipe: Pipe) -> Sender<S> {
        Sender::of(pipe.sending(S::STAYS))
    }

    /// Like [`Sender::new`], for a side that continues to send after a state whose [`State::STAYS`] was `stayed`.
    #[inline(always)]
    fn after(pipe: Pipe, stayed: bool) -> Sender<S> {
        if stayed != S::STAYS {
            return Sender::new(pipe);
        }
        Sender::of(pipe)
    }

    /// Sends the message with this index and returns the endpoint that follows.
    ///
    /// Blocks only if the run is unbounded and the ring is full because the peer has not read enough. Fails with
    /// [`SendError`], which contains the payload, if the peer has disconnected. Panics if the session's slot is too
    /// small for the message.
    #[inline(always)]
    pub fn send<const INDEX: u8>(
        self,
        payload: S::Payload,
    ) -> Result<<S::Next as Follow>::Mine, SendError<S::Payload>>
    where
        S: Transition<INDEX>,
    {
        match self.publish(payload) {
            Ok((next, awaited)) => {
                if let Some(awaited) = awaited {
                    awaited.wake();
                }
                Ok(next)
            }
            Err(Unsent { payload, left }) => {
                let why = left.end();
                Err(SendError::new(payload, Closed::new(&S::NAME, why)))
            }
        }
    }

    /// Whether the session's slot is large enough for this message.
    #[inline(always)]
    pub(crate) fn fits<const INDEX: u8>(&self) -> bool
    where
        S: Transition<INDEX>,
    {
        layout_in::<S>(self.pipe()).fits::<S::Payload>(INDEX)
    }

    /// Sends the message. It is up to the caller to wake the receiver, or to end the session if the receiver is gone,
    /// because both run user code.
    #[inline(always)]
    pub(crate) fn publish<const INDEX: u8>(
        self,
        payload: S::Payload,
    ) -> Published<S::Next, S::Payload>
    where
        S: Transition<INDEX>,
    {
        self.publish_as(payload, Forwards::Sender)
    }

    /// Like [`Sender::publish`], for a caller that may hold a lock.
    #[inline(always)]
    pub(crate) fn publish_as<const INDEX: u8>(
        self,
        payload: S::Payload,
        forwards: Forwards,
    ) -> Published<S::Next, S::Payload>
    where
        S: Transition<INDEX>,
    {
        const {
            assert!(
                S::Next::SESSION.follows(S::SESSION, matches!(S::Next::THEN, Then::Turn)),
                "the next state's `SESSION` does not match this state's"
            );
        }
        if !self.fits::<INDEX>() {
            does_not_fit(S::NAME);
        }
        let layout = layout_in::<S>(self.pipe());
        let pipe = self.into_pipe();
        let step = const {
            &Step {
                index: INDEX,
                then: S::Next::THEN,
                names: &Names {
                    state: S::NAME,
                    message: S::MESSAGE,
                    next: S::Next::NAME,
                },
            }
        };
        match pipe.send(&layout, S::STAYS, step, payload, forwards) {
            Sent::Published(pipe) => Ok((S::Next::mine(pipe, S::STAYS), None)),
            Sent::Noticed(noticed) => {
                noticed.map(|(pipe, awaited)| (S::Next::mine(pipe, S::STAYS), awaited))
            }
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn does_not_fit(state: &str) -> ! {
    panic!("the session of `{state}` was begun with a slot that is too small")
}

impl<S: State> Receiver<S> {
    pub(crate) const INFO: &'static StateInfo = &StateInfo {
        name: S::NAME,
        sender: S::SENDER,
        discard: |block, at| {
            drop(Receiver::<S>::new(Pipe::of(block, at)).try_recv());
        },
    };

    #[inline(always)]
    fn new(pipe: Pipe) -> Receiver<S> {
        let layout = layout_in::<S>(&pipe);
        Receiver::of(pipe.receiving(&layout, Self::INFO, S::STAYS))
    }

    /// Like [`Receiver::new`], for a side that continues to receive after a state with this info, which is most often
    /// the same one.
    #[inline(always)]
    fn after(pipe: Pipe, from: &'static StateInfo) -> Receiver<S> {
        if !std::ptr::eq(from, Self::INFO) {
            return Receiver::new(pipe);
        }
        Receiver::of(pipe)
    }

    /// Blocks until the next message arrives, and returns it together with the endpoint that follows. Fails with
    /// [`Closed`] if the peer has disconnected and everything it sent has been read.
    ///
    /// The message is an enum with a variant for each message of the state. The documentation of the endpoint in generated
    /// code links to the variants. **In a task, use [`recv_async`](Receiver::recv_async): this method blocks the thread.**
    #[inline(always)]
    pub fn recv(
        self, // An endpoint in a field: see `duologue::Held`.
    ) -> Result<S::Message, Closed> {
        let word = match self.find() {
            Found::Message(word) => word,
            Found::Closed | Found::Nothing(_) => match wait::for_message(self.pipe().copy()) {
                Some(word) => word,
                None => return Err(self.closed()),
            },
        };
        Ok(self.open(word))
    }

    /// What the next slot contains at this moment. Unlike [`Pipe::find`], does not detect a peer that disconnected
    /// without publishing anything.
    #[inline(always)]
    pub(crate) fn find(&self) -> Found {
        self.pipe().find_in(&layout_in::<S>(self.pipe()))
    }

    /// Registers a task's waker, as [`Pipe::arm_task`] does.
    #[inline(always)]
    pub(crate) fn arm_task(&self, value: LineWord, waker: &Waker) -> bool {
        let layout = layout_in::<S>(self.pipe());
        let word = self.pipe().word_in(&layout);
        let forgets = layout.forgets();
        self.pipe().copy().arm_task(forgets, word, value, waker)
    }

    /// Like [`recv`](Receiver::recv), but never waits: returns the endpoint in [`TryRecvError::Empty`] if there is no
    /// message yet.
    #[inline(always)]
    pub fn try_recv(self) -> Result<S::Message, TryRecvError<Receiver<S>>> {
        self.try_open(S::open)
    }

    /// Like [`try_recv`](Receiver::try_recv), for a message that is opened in another way.
    #[inline(always)]
    pub(super) fn try_open<T>(
        self,
        open: impl FnOnce(Branch<S>) -> T,
    ) -> Result<T, TryRecvError<Receiver<S>>> {
        let mut found = self.find();
        if let Found::Nothing(_) = found {
            found = self.pipe().find_driven();
        }
        match found {
            Found::Message(word) => Ok(open(self.branch(word))),
            Found::Closed => Err(TryRecvError::Closed(self.closed())),
            Found::Nothing(_) if self.pipe().is_late() => Err(TryRecvError::Closed(self.closed())),
            Found::Nothing(_) => Err(TryRecvError::Empty(self)),
        }
    }

    /// Like [`recv`](Receiver::recv), but blocks at most for this duration. After that, returns the endpoint in
    /// [`TryRecvError::Empty`].
    pub fn recv_timeout(self, patience: Duration) -> Result<S::Message, TryRecvError<Receiver<S>>> {
        wait::until(self.wait(), Instant::now().checked_add(patience));
        self.try_recv()
    }

    /// Opens the message that was found in this word.
    #[inline(always)]
    pub(crate) fn open(self, word: LineWord) -> S::Message {
        S::open(self.branch(word))
    }

    /// The message that was found in this word.
    #[inline(always)]
    pub(super) fn branch(self, word: LineWord) -> Branch<S> {
        Branch {
            pipe: self.into_pipe(),
            word,
            state: PhantomData,
        }
    }

    /// Ends a session that was found closed, or whose side is late.
    #[cold]
    fn closed(self) -> Closed {
        if self.pipe().is_limited() && !matches!(self.pipe().find(), Found::Closed) {
            drop(self);
            return Closed::new(&S::NAME, Why::Late);
        }
        let pipe = self.into_pipe();
        let why = pipe.why();
        pipe.free();
        Closed::new(&S::NAME, why)
    }
}

impl<S: State> Branch<S> {
    /// The index of the message among those of its state.
    #[inline(always)]
    pub fn index(&self) -> u8 {
        self.pipe.index(&layout_in::<S>(&self.pipe), self.word)
    }

    /// Takes the payload out and returns it with the endpoint that follows. Panics if the message has a different
    /// index.
    #[inline(always)]
    pub fn take<const INDEX: u8>(self) -> (S::Payload, <S::Next as Follow>::Theirs)
    where
        S: Transition<INDEX>,
    {
        if self.index() != INDEX {
            taken_wrongly(self.index(), INDEX, S::NAME);
        }
        let layout = layout_in::<S>(&self.pipe);
        let Branch { pipe, word, .. } = self;
        let from = Receiver::<S>::INFO;
        #[cfg(feature = "registry")]
        pipe.note_use(|| Usage::Receives(Owner::current(), S::Next::NAME));
        // SAFETY: a branch exists only for a message that was found. Its sender was in state `S` as well, since both ends
        // began together and follow the same transitions, so the payload is that of `Transition<INDEX>`.
        let payload = || unsafe { pipe.read::<S::Payload>(&layout) };
        match S::Next::THEN {
            Then::Stay => match pipe.next_in_segment(&layout) {
                Some(next) => (payload(), S::Next::theirs(pipe.moved(next), from)),
                // A path of its own: on a common one, the payload would have to survive the report.
                None => {
                    let next = pipe.copy().next_segment(word);
                    let taken = (payload(), S::Next::theirs(next, from));
                    pipe.report_segment(word);
                    taken
                }
            },
            Then::Turn => (
                payload(),
                S::Next::theirs(pipe.copy().after_turn(&layout, word), from),
            ),
            Then::End => (payload(), S::Next::theirs(pipe.copy(), from)),
        }
    }

    /// For the unreachable arm of a `match` on the index. Always panics.
    pub fn refuse(self) -> ! {
        unreachable!("there is no message {} in `{}`", self.index(), S::NAME)
    }
}

#[cold]
#[inline(never)]
fn taken_wrongly(index: u8, wanted: u8, state: &str) -> ! {
    panic!("message {index} of `{state}` taken as message {wanted}")
}

impl<S: State> Follow for Stay<S> {
    type Mine = Sender<S>;
    type Theirs = Receiver<S>;
    const THEN: Then = Then::Stay;
    const NAME: Option<&'static str> = Some(S::NAME);
    const SESSION: Session = S::SESSION;
    #[inline(always)]
    fn mine(pipe: Pipe, stayed: bool) -> Sender<S> {
        Sender::after(pipe, stayed)
    }
    #[inline(always)]
    fn theirs(pipe: Pipe, from: &'static StateInfo) -> Receiver<S> {
        Receiver::after(pipe, from)
    }
}

impl<S: State> Follow for Turn<S> {
    type Mine = Receiver<S>;
    type Theirs = Sender<S>;
    const THEN: Then = Then::Turn;
    const NAME: Option<&'static str> = Some(S::NAME);
    const SESSION: Session = S::SESSION;
    #[inline(always)]
    fn mine(pipe: Pipe, _: bool) -> Receiver<S> {
        Receiver::new(pipe)
    }
    #[inline(always)]
    fn theirs(pipe: Pipe, _: &'static StateInfo) -> Sender<S> {
        Sender::new(pipe)
    }
}

impl Follow for End {
    type Mine = ();
    type Theirs = ();
    const THEN: Then = Then::End;
    #[inline(always)]
    fn mine(_: Pipe, _: bool) {}
    #[inline(always)]
    fn theirs(pipe: Pipe, _: &'static StateInfo) {
        pipe.free();
    }
}

impl<S> Follow for Finish<S> {
    type Mine = Finished<S>;
    type Theirs = Finished<S>;
    const THEN: Then = Then::End;
    #[inline(always)]
    fn mine(_: Pipe, _: bool) -> Finished<S> {
        Finished::new()
    }
    #[inline(always)]
    fn theirs(pipe: Pipe, _: &'static StateInfo) -> Finished<S> {
        pipe.free();
        Finished::new()
    }
}
