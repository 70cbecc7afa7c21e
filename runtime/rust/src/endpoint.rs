//! The typed endpoints that generated code is built on, and the session that connects two of them.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::burial::bury;
use crate::cell::Stance;
use crate::error::{Closed, SendError, TryRecvError};
use crate::layout::{Capacity, Layout, Session, Slot};
use crate::park;
use crate::pipe::Then;
use crate::pipe::{pair, Found, Pipe, Sent, Unsent};
use crate::ready::Recv;
use crate::scheme::{Follow, State, Transition};
use crate::wait::Awaited;
use crate::watched::Watched;

/// Begins a session in state `S`. Returns the endpoint that sends first and the endpoint that receives first.
///
/// `slot` must fit every payload of the protocol (see [`Slot`]), and `capacity` is its longest run. Generated code
/// supplies both. If the slot is too small, a send panics; if the capacity is too small, a send waits. Allocates at
/// most once: each thread keeps the memory of ended sessions for new ones, up to about 600 KiB, most of which is not
/// touched. The memory that threads hand over to each other takes at most about 260 KiB in total.
///
/// Panics if [`State::SESSION`] is known and differs: in the slot, in the capacity, or in which side sends in `S`.
#[inline(always)]
pub fn session<S: State>(slot: Slot, capacity: Capacity) -> (Sender<S>, Receiver<S>) {
    assert!(
        S::SESSION.follows(Session::of(slot, capacity, true), false),
        "the session does not match the state's `SESSION`"
    );
    let (first, second) = pair(Layout::of(slot, capacity));
    (Sender::new(first), Receiver::new(second))
}

/// The layout of this pipe's session, which is in state `S`: a compile-time constant if possible.
///
/// The constant equals the session's layout. For the first state, this is checked when the session begins, and for each
/// following state by every [`Sender::publish`] that leads there.
#[inline(always)]
fn layout_in<S: State>(pipe: &Pipe) -> Layout {
    match const { S::SESSION.layout() } {
        Some(layout) => layout,
        None => *pipe.layout(),
    }
}

/// The endpoint whose turn it is to send, in state `S`. Generated code wraps it in a type with one method per message.
/// Dropping it closes the session.
#[must_use = "a dropped endpoint closes its session"]
pub struct Sender<S> {
    pipe: ManuallyDrop<Pipe>,
    // Invariant: a longer-lived state must not be usable as a shorter-lived one, because the peer reads at the original
    // type.
    state: PhantomData<fn(S) -> S>,
}

/// The sender's next endpoint, and the receiver's waiter if the receiver waits for the message.
type Published<N, P> = Result<(<N as Follow>::Mine, Option<Awaited>), Unsent<P>>;

impl<S> Sender<S> {
    #[inline(always)]
    pub(crate) fn new(pipe: Pipe) -> Sender<S>
    where
        S: State,
    {
        Sender {
            pipe: ManuallyDrop::new(pipe.sending(S::STAYS)),
            state: PhantomData,
        }
    }

    /// Like [`Sender::new`], for a side that continues to send after a state whose [`State::STAYS`] was `stayed`.
    #[inline(always)]
    pub(crate) fn after(pipe: Pipe, stayed: bool) -> Sender<S>
    where
        S: State,
    {
        if stayed != S::STAYS {
            return Sender::new(pipe);
        }
        Sender {
            pipe: ManuallyDrop::new(pipe),
            state: PhantomData,
        }
    }

    #[inline(always)]
    fn into_pipe(self) -> Pipe {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the pipe is not used again.
        unsafe { ManuallyDrop::take(&mut this.pipe) }
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
                left.end();
                Err(SendError::new(payload, Closed::new(S::NAME)))
            }
        }
    }

    /// Whether the session's slot is large enough for this message.
    #[inline(always)]
    pub(crate) fn fits<const INDEX: u8>(&self) -> bool
    where
        S: Transition<INDEX>,
    {
        layout_in::<S>(&self.pipe).fits::<S::Payload>(INDEX)
    }

    /// Sends the message. It is up to the caller to wake the receiver, or to end the session if the receiver is gone,
    /// because both run foreign code.
    #[inline(always)]
    pub(crate) fn publish<const INDEX: u8>(
        self,
        payload: S::Payload,
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
        let layout = layout_in::<S>(&self.pipe);
        match self
            .into_pipe()
            .send(&layout, S::STAYS, INDEX, payload, S::Next::THEN)
        {
            Sent::Published(pipe) => Ok((S::Next::mine(pipe, S::STAYS), None)),
            Sent::Awaited(pipe, awaited) => Ok((S::Next::mine(pipe, S::STAYS), Some(awaited))),
            Sent::Noticed(Ok((pipe, awaited))) => Ok((S::Next::mine(pipe, S::STAYS), awaited)),
            Sent::Noticed(Err(unsent)) => Err(unsent),
        }
    }

    pub(crate) fn watched(&self) -> Watched<'_> {
        Watched::for_room(&self.pipe)
    }
}

#[cold]
#[inline(never)]
pub(crate) fn does_not_fit(state: &str) -> ! {
    panic!("the session of `{state}` was begun with a slot that is too small")
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
#[must_use = "a dropped endpoint closes its session"]
pub struct Receiver<S> {
    pipe: ManuallyDrop<Pipe>,
    // Invariant, as in `Sender`.
    state: PhantomData<fn(S) -> S>,
}

impl<S: State> Receiver<S> {
    const STANCE: &'static Stance = &Stance {
        name: S::NAME,
        discard: |pipe| {
            drop(Receiver::<S>::new(pipe).try_recv());
        },
    };

    #[inline(always)]
    pub(crate) fn new(pipe: Pipe) -> Receiver<S> {
        let layout = layout_in::<S>(&pipe);
        Receiver {
            pipe: ManuallyDrop::new(pipe.receiving(&layout, Self::STANCE, S::STAYS)),
            state: PhantomData,
        }
    }

    /// Like [`Receiver::new`], for a side that continues to receive after a state with this stance, which is most often
    /// the same one.
    #[inline(always)]
    pub(crate) fn after(pipe: Pipe, from: &'static Stance) -> Receiver<S> {
        if !std::ptr::eq(from, Self::STANCE) {
            return Receiver::new(pipe);
        }
        Receiver {
            pipe: ManuallyDrop::new(pipe),
            state: PhantomData,
        }
    }

    #[inline(always)]
    fn into_pipe(self) -> Pipe {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the pipe is not used again.
        unsafe { ManuallyDrop::take(&mut this.pipe) }
    }

    /// Blocks until the next message arrives, and returns it together with the endpoint that follows. Fails with
    /// [`Closed`] if the peer has disconnected and everything it sent has been read.
    #[inline(always)]
    pub fn recv(self) -> Result<S::Message, Closed> {
        let word = match self.find() {
            Found::Message(word) => word,
            Found::Closed | Found::Nothing(_) => match park::for_message(self.pipe.again()) {
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
        self.pipe.find_in(&layout_in::<S>(&self.pipe))
    }

    /// Records what a task learns from what it found here, as [`Pipe::note_task`] does.
    #[inline(always)]
    pub(crate) fn note_task(&self, found: Found) {
        self.pipe.note_task(found);
    }

    /// Registers a task's waker, as [`Pipe::arm_task`] does.
    #[inline(always)]
    pub(crate) fn arm_task(&self, value: u64, waker: &Waker) -> bool {
        let layout = layout_in::<S>(&self.pipe);
        let word = self.pipe.word_in(&layout);
        let forgets = layout.forgets();
        self.pipe.again().arm_task(forgets, word, value, waker)
    }

    /// Like [`recv`](Receiver::recv), but never waits: returns the endpoint in [`TryRecvError::Empty`] if there is no
    /// message yet.
    #[inline(always)]
    pub fn try_recv(self) -> Result<S::Message, TryRecvError<Receiver<S>>> {
        let mut found = self.find();
        if let Found::Nothing(_) = found {
            found = self.pipe.find();
        }
        match found {
            Found::Message(word) => Ok(self.open(word)),
            Found::Closed => Err(TryRecvError::Closed(self.closed())),
            Found::Nothing(_) => Err(TryRecvError::Empty(self)),
        }
    }

    /// Like [`recv`](Receiver::recv), but blocks at most for this duration. After that, returns the endpoint in
    /// [`TryRecvError::Empty`].
    pub fn recv_timeout(self, patience: Duration) -> Result<S::Message, TryRecvError<Receiver<S>>> {
        park::until(self.watched(), Instant::now().checked_add(patience));
        self.try_recv()
    }

    /// A future that waits for the next message. Dropping it closes the session, as dropping the endpoint does;
    /// [`Recv::into_inner`] returns the endpoint instead.
    pub fn recv_async(self) -> Recv<S> {
        Recv::new(self)
    }

    /// Opens the message that was found in this word.
    #[inline(always)]
    pub(crate) fn open(self, word: u64) -> S::Message {
        S::open(Branch {
            pipe: self.into_pipe(),
            word,
            state: PhantomData,
        })
    }

    /// Ends a session that was found closed.
    #[cold]
    fn closed(self) -> Closed {
        self.into_pipe().free();
        Closed::new(S::NAME)
    }
}

impl<S> Receiver<S> {
    pub(crate) fn watched(&self) -> Watched<'_> {
        Watched::for_message(&self.pipe)
    }
}

impl<S> Drop for Receiver<S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the pipe is not used again.
        stop_receiving(unsafe { ManuallyDrop::take(&mut self.pipe) });
    }
}

/// Ends a session, which in most cases the peer has closed already.
#[inline(never)]
fn stop_receiving(pipe: Pipe) {
    if pipe.is_closed() {
        pipe.free();
    } else {
        stop_first(pipe);
    }
}

/// Ends a session in which the peer has not published that it is closed.
#[inline(never)]
fn stop_first(pipe: Pipe) {
    let mut left = None;
    if let Err(pipe) = pipe.die(&mut left) {
        bury(pipe);
    }
    drop(left);
}

/// A message of state `S` that was found but has not been taken yet.
///
/// Only [`State::open`] gets one. If it is dropped instead of taken, which generated code never does, the message and
/// its session are leaked: the runtime does not know the payload's type.
pub struct Branch<S> {
    pipe: Pipe,
    word: u64,
    state: PhantomData<fn(S) -> S>,
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
        // SAFETY of both below: a branch exists only for a message that was found. Its sender was in state `S` as well,
        // since both ends began together and follow the same transitions, so the payload is that of `Transition<INDEX>`.
        if matches!(S::Next::THEN, Then::Stay) {
            let here = self.pipe.again();
            let in_segment = here.next_in_segment(&layout);
            let next = in_segment.unwrap_or_else(|| here.again().next_segment());
            // SAFETY: as above.
            let (payload, pipe) = unsafe { here.take_in_run::<S::Payload>(&layout, next) };
            let next = S::Next::theirs(Some(pipe), Receiver::<S>::STANCE);
            if in_segment.is_none() {
                here.report_segment();
            }
            return (payload, next);
        }
        let turns = matches!(S::Next::THEN, Then::Turn);
        // SAFETY: as above.
        let (payload, pipe) =
            unsafe { self.pipe.take_last::<S::Payload>(&layout, self.word, turns) };
        (payload, S::Next::theirs(pipe, Receiver::<S>::STANCE))
    }

    /// For the unreachable arm of a `match` on the index. Always panics.
    pub fn refuse(self) -> S::Message {
        unreachable!("there is no message {} in `{}`", self.index(), S::NAME)
    }
}

#[cold]
#[inline(never)]
fn taken_wrongly(index: u8, wanted: u8, state: &str) -> ! {
    panic!("message {index} of `{state}` taken as message {wanted}")
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

impl<S> fmt::Debug for Receiver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({})", self.pipe.state_name())
    }
}
