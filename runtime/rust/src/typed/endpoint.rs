//! What endpoints can do: begin a session, send and receive, and how each is turned into the next one.

use std::marker::PhantomData;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::ends::{Branch, Receiver, Sender};
use super::error::{Closed, SendError, TryRecvError};
use super::scheme::{End, Finish, Finished, Follow, State, Stay, Transition, Turn};
use crate::floor::layout::{Capacity, Layout, Session, Slot};
use crate::floor::waiting::PendingWake;
use crate::link::message::{Forwards, Sent, Step, Then, Unsent};
use crate::link::wait;
use crate::ring::block::StateInfo;
use crate::ring::driver::Why;
use crate::ring::observer::Names;
use crate::ring::pipe::{Found, Pipe};
#[cfg(feature = "registry")]
use crate::ring::usage::{Owner, Usage};
use crate::ring::words::LineWord;

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
