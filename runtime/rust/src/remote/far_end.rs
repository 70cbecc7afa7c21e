//! The far end of a session: the side that belongs to a transport. It reads what the side in this process sends and
//! encodes it, and decodes what arrives and publishes it. It knows no types, only the table of its state.
//!
//! The ring does not distinguish such a session from one within the process. The far end waits for messages as a task
//! does: it registers a waker. The sender of a message calls that waker right after it has published, on its own thread
//! and when it holds its next endpoint, so the transport moves the message without another thread. Sessions with a far
//! end begin in the mode in which every message is swapped, where a task needs no barrier and no announcement. Inside an
//! unbounded run the far end itself checks what was sent: see `link::message::apart`.
//!
//! # The table of a state
//!
//! It says how the messages of the state are encoded. Generated code gives this description, as a [`Row`] for each message,
//! to the far end, which does not know the types.

use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::PoisonError;
use std::task::Waker;
use std::time::Duration;

use super::wire::{Coding, Decoder, Encoder, Malformed, Plain, Size, Wire};
use crate::floor::sync::{Mutex, MutexGuard};
use crate::floor::waiting::{guarded, PendingWake, Waiter};
use crate::link::drop_queue::stop_receiving;
use crate::link::message::{Then, Unsent};
use crate::link::wait::Wait;
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::LineWord;
use crate::typed::endpoint::{
    layout_in, End, Finish, Finished, Follow, Receiver, Sender, State, Stay, Transition, Turn,
};

/// What a far end does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It publishes what arrives: the peer's turn.
    Sends,
    /// It forwards what the side in this process sends.
    Receives,
    /// Nothing: the session has ended.
    Over,
}

/// What [`FarEnd::forward`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarded {
    /// A message was appended.
    Message,
    /// There is none at the moment.
    Nothing,
    /// The side in this process has disconnected.
    Left,
    /// There was a message that cannot be sent, because of its size or because its lists are nested too deeply.
    TooLarge,
}

/// How a far end waits for what the side in this process sends next, inside a run in which it checks the ring again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A thread of the transport checks again after a while.
    Later,
    /// The message wakes it, unless something was sent since the last check. The caller is that thread.
    Awaited,
    /// The message wakes it. The caller is the side's thread, which sends the message.
    AwaitedHere,
}

/// How what the side in this process does next is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Armed {
    /// It wakes the far end.
    Wakes,
    /// A thread of the transport has to check again after a while.
    ChecksAgain,
    /// Not: it is there already.
    Not,
}

/// The side of a session that belongs to a transport. Dropping it closes the session.
pub struct FarEnd(Far);

// SAFETY: as for the typed endpoints: payloads are `Send`, and two threads may access the session's words.
unsafe impl Send for FarEnd {}

impl FarEnd {
    pub(super) fn new(far: Far) -> FarEnd {
        FarEnd(far)
    }

    /// The far end of a session that has ended.
    #[must_use]
    pub fn over() -> FarEnd {
        FarEnd(Far::Over)
    }

    /// What it does next.
    #[must_use]
    #[inline]
    pub fn role(&self) -> Role {
        match self.0 {
            Far::Sends(..) => Role::Sends,
            Far::Receives(..) => Role::Receives,
            Far::Over => Role::Over,
        }
    }

    /// The state that it is in, with the protocol's name.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.0 {
            Far::Sends(_, table) | Far::Receives(_, table) => table.name,
            Far::Over => "",
        }
    }

    /// The side that sends in that state, `client` or `server`; empty if that is not known.
    #[must_use]
    pub fn sender(&self) -> &'static str {
        match self.0 {
            Far::Sends(_, table) | Far::Receives(_, table) => table.sender,
            Far::Over => "",
        }
    }

    /// The name of the message with this tag in that state; empty if there is none.
    #[must_use]
    pub fn name(&self, tag: usize) -> &'static str {
        match self.0 {
            Far::Sends(_, table) | Far::Receives(_, table) => {
                table.message(tag).map_or("", |row| row.name)
            }
            Far::Over => "",
        }
    }

    /// The messages of the state that it is in; `None` after the last.
    #[must_use]
    pub fn messages(&self) -> Option<Messages> {
        match self.0 {
            Far::Sends(_, table) | Far::Receives(_, table) => Some(Messages(table)),
            Far::Over => None,
        }
    }

    /// How long the state that it is in may last, if the protocol limits that.
    #[must_use]
    #[inline]
    pub fn within(&self) -> Option<Duration> {
        match self.0 {
            Far::Sends(_, table) | Far::Receives(_, table) => table.within,
            Far::Over => None,
        }
    }

    /// Takes messages of the side in this process and appends their frames: the tag plus 1, the number of bytes of the
    /// payload unless that is fixed, and the payload of at most `largest` bytes. Takes at least one, and then others with the
    /// same tag until `enough` bytes are collected. If there is a waiter, the caller wakes it. Also returns the name of the
    /// messages, which is empty if there is none. It cannot be asked for before: the message may be sent between the two.
    pub fn forward(
        &mut self,
        out: &mut Encoder,
        largest: usize,
        enough: usize,
    ) -> (Forwarded, &'static str, Option<Woken>) {
        let Far::Receives(pipe, table) = &self.0 else {
            return (Forwarded::Nothing, "", None);
        };
        let word = match pipe.find() {
            Found::Message(word) => word,
            Found::Nothing(_) => return (Forwarded::Nothing, "", None),
            Found::Closed => {
                let pipe = pipe.copy();
                self.0 = Far::Over;
                pipe.free();
                return (Forwarded::Left, "", None);
            }
        };
        // If this side has announced in its flags that it waits here, and was not woken, it has found the message by
        // itself: neither the sender of later messages nor this side at a later position is to find the announcement.
        drop(pipe.stops_waiting_in_flags());
        let tag = pipe.index(pipe.layout(), word);
        let Some(row) = table.message(usize::from(tag)) else {
            unreachable!("`{}` has no message {tag}", table.name)
        };
        let mut waiter = None;
        let limits = Limits {
            largest: largest.min(row.limit),
            enough,
        };
        let forwarded = match (row.forward)(&mut self.0, word, out, limits, &mut waiter) {
            true => Forwarded::Message,
            false => Forwarded::TooLarge,
        };
        (forwarded, row.name, waiter.map(Woken))
    }

    /// How many bytes the payload of the message with this tag takes, and how many it may take at most; `None` if there is no such
    /// message now. The form of a frame depends only on the first, which is the same in every version with this fingerprint.
    #[must_use]
    pub fn size(&self, tag: usize) -> Option<(Size, usize)> {
        match &self.0 {
            Far::Sends(_, table) => table.message(tag).map(|row| (row.size, row.limit)),
            Far::Receives(..) | Far::Over => None,
        }
    }

    /// Whether there is a free slot for what arrives next. If not, [`arm`](FarEnd::arm) waits for one.
    #[must_use]
    pub fn has_room(&self) -> bool {
        match &self.0 {
            Far::Sends(pipe, _) => Wait::for_room(pipe).is_ready(),
            Far::Receives(..) | Far::Over => false,
        }
    }

    /// Decodes this payload and publishes the message with this tag, which must exist (see [`size`](FarEnd::size)), in
    /// a slot that is free. `following` comes after the payload: if it begins with frames of the same message, and there
    /// are free slots, these are published as well, and the bytes are counted in `taken`.
    pub fn arrive(
        &mut self,
        tag: usize,
        payload: &[u8],
        following: &[u8],
        memory: usize,
        taken: &mut usize,
    ) -> Result<Arrival, Malformed> {
        self.arrive_payload(tag, Decoder::new(payload, memory), following, taken)
    }

    /// Decodes the payload at the beginning of these bytes and publishes the message with this tag, like
    /// [`arrive`](FarEnd::arrive). Returns how many bytes the payload has.
    pub fn arrive_first(
        &mut self,
        tag: usize,
        bytes: &[u8],
        memory: usize,
    ) -> Result<(Arrival, usize), Malformed> {
        let mut left = 0;
        let payload = Decoder::at_beginning(bytes, memory);
        let arrival = self.arrive_payload(tag, payload, &[], &mut left)?;
        Ok((arrival, bytes.len() - left))
    }

    fn arrive_payload(
        &mut self,
        tag: usize,
        payload: Decoder<'_>,
        following: &[u8],
        taken: &mut usize,
    ) -> Result<Arrival, Malformed> {
        let Far::Sends(_, table) = &self.0 else {
            return Err(Malformed("a message is out of turn"));
        };
        let Some(row) = table.message(tag) else {
            return Err(Malformed("a message has an unknown tag"));
        };
        (row.arrive)(&mut self.0, payload, following, taken)
    }

    /// Where the far end has found no message: makes sure that what the side in this process does next is noticed. Inside an
    /// unbounded run the side does not wake the far end by itself. `has_forwarded`: something was found since the last check.
    pub fn arm_next(&mut self, waker: &Waker, next: Next, has_forwarded: bool) -> Armed {
        let is_armed = match (&self.0, next) {
            (Far::Receives(pipe, _), next) if pipe.checks_ring_itself() => {
                let is_sender = match next {
                    Next::Awaited if !has_forwarded => false,
                    Next::AwaitedHere => true,
                    Next::Later | Next::Awaited => return Armed::ChecksAgain,
                };
                Wait::for_message(pipe).arm_far(waker, is_sender)
            }
            _ => self.arm(waker),
        };
        match is_armed {
            true => Armed::Wakes,
            false => Armed::Not,
        }
    }

    /// Registers a waker for the next message of the side in this process, or for a free slot. Returns false if the
    /// message or the slot is already there.
    pub fn arm(&mut self, waker: &Waker) -> bool {
        match &self.0 {
            Far::Sends(pipe, _) => Wait::for_room(pipe).arm_task(waker),
            Far::Receives(pipe, _) => Wait::for_message(pipe).arm_task(waker),
            Far::Over => true,
        }
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.0, Far::Over) {
            Far::Sends(pipe, _) => pipe.leave(),
            Far::Receives(pipe, _) => stop_receiving(pipe),
            Far::Over => {}
        }
    }
}

/// A state whose messages can travel between processes.
pub trait Remote: State {
    /// How long the side that receives waits for a message, in milliseconds; 0 without a limit.
    const WITHIN: u32 = 0;

    /// The message with this index, as [`Row::of`] makes it; [`Row::NONE`] if there is none.
    fn row(index: u8) -> Row<Self>;
}

/// A message of state `S`: how it is encoded.
pub struct Row<S> {
    message: Option<Message>,
    // Invariant, as in `Sender`.
    state: PhantomData<fn(S) -> S>,
}

impl<S> Row<S> {
    /// There is no such message.
    pub const NONE: Row<S> = Row {
        message: None,
        state: PhantomData,
    };

    /// The message with this index among those of its state.
    #[must_use]
    #[inline(always)]
    pub const fn of<const INDEX: u8>() -> Row<S>
    where
        S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
    {
        Row::limited::<INDEX, Plain>(u64::MAX)
    }

    /// The message with this index, whose payload has bounds and takes at most `limit` bytes.
    #[must_use]
    #[inline(always)]
    pub const fn limited<const INDEX: u8, C>(limit: u64) -> Row<S>
    where
        S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
        C: Coding<S::Payload>,
    {
        Row {
            message: Some(Message {
                index: INDEX,
                name: S::MESSAGE,
                size: <S::Payload as Wire>::SIZE,
                // No payload in memory is larger than `usize::MAX`.
                limit: if limit < usize::MAX as u64 {
                    limit as usize
                } else {
                    usize::MAX
                },
                forward: forward::<S, INDEX, C>,
                arrive: arrive::<S, INDEX, C>,
            }),
            state: PhantomData,
        }
    }
}

/// A message without the type of its state.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    index: u8,
    pub(crate) name: &'static str,
    pub(crate) size: Size,
    /// The largest payload that is sent or accepted.
    pub(crate) limit: usize,
    pub(crate) forward: Forward,
    pub(crate) arrive: Arrive,
}

/// Takes the message that was found in this word, and others with the same tag after it, and appends their frames.
/// Returns false if the last one that was taken cannot be sent. The waiter was waiting for free slots.
type Forward = fn(&mut Far, LineWord, &mut Encoder, Limits, &mut Option<Waiter>) -> bool;

/// Decodes the payload and publishes the message. Takes the side out of the first argument if the payload is well
/// formed. Does the same with frames of the same message that follow, and counts their bytes, or those that the decoder
/// has left over.
type Arrive = fn(&mut Far, Decoder<'_>, &[u8], &mut usize) -> Result<Arrival, Malformed>;

/// How much a far end forwards.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The largest payload that the peer accepts and that the message may have.
    pub(crate) largest: usize,
    /// How many collected bytes are enough.
    pub(crate) enough: usize,
}

/// The messages of one state, without its type.
pub struct Table {
    pub(crate) name: &'static str,
    /// The side that sends, `client` or `server`; empty if that is not known.
    pub(crate) sender: &'static str,
    /// How long the side that receives waits for a message.
    pub(crate) within: Option<Duration>,
    row: fn(u8) -> Option<Message>,
}

impl Table {
    /// The message with this index.
    #[inline]
    pub(crate) fn message(&self, index: usize) -> Option<Message> {
        let index = u8::try_from(index).ok()?;
        // Generated states list their messages in order. A state that does not is never given a payload of another
        // message's type.
        (self.row)(index).filter(|message| message.index == index)
    }
}

/// The messages of the state in which a far end is.
#[derive(Clone, Copy)]
pub struct Messages(pub(super) &'static Table);

impl Messages {
    /// How many bytes the payload of the message with this tag takes; `None` if there is no such message. Those that
    /// exist are numbered from 0.
    #[must_use]
    pub fn size(self, tag: usize) -> Option<Size> {
        self.0.message(tag).map(|row| row.size)
    }
}

/// Whether they are those of the same state. Those of one state may differ, because a table may exist more than once.
impl PartialEq for Messages {
    fn eq(&self, other: &Messages) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Messages {}

struct Of<S>(PhantomData<S>);

impl<S: Remote> Of<S> {
    const TABLE: &'static Table = &Table {
        name: S::NAME,
        sender: S::SENDER,
        within: match S::WITHIN {
            0 => None,
            limit => Some(Duration::from_millis(limit as u64)),
        },
        row: |index| S::row(index).message,
    };
}

/// One side of a session without its types. The table is that of the state in which the side is.
pub enum Far {
    Sends(Pipe, &'static Table),
    Receives(Pipe, &'static Table),
    Over,
}

/// What became of a message that arrived.
pub enum Arrival {
    /// The message is published. If a thread or task waited for it, the caller wakes it.
    Published(Option<Woken>),
    /// The side in this process has disconnected.
    Gone,
}

/// A thread or task that has to be woken, where no lock is held.
#[must_use = "a waiter that is not woken sleeps forever"]
pub struct Woken(pub(super) Waiter);

impl Woken {
    /// Wakes it.
    pub fn wake(self) {
        self.0.wake();
    }
}

fn forward<S, const INDEX: u8, C>(
    far: &mut Far,
    mut word: LineWord,
    out: &mut Encoder,
    limits: Limits,
    waiter: &mut Option<Waiter>,
) -> bool
where
    S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    // From here on the old side must not be used again, even if encoding panics for lack of memory.
    let Far::Receives(mut pipe, _) = mem::replace(far, Far::Over) else {
        unreachable!("only a side that receives forwards")
    };
    let layout = layout_in::<S>(&pipe);
    let from = Receiver::<S>::INFO;
    loop {
        // As in `Branch::take`, but the waiter of a sender that waits for space is returned: the caller holds a lock.
        // SAFETY: the caller, or the end of this loop, found a message of state `S` with this index, so its payload has
        // this type.
        let payload = unsafe { pipe.read::<S::Payload>(&layout) };
        let mut is_last = false;
        let next = match S::Next::THEN {
            Then::Stay => match pipe.next_in_segment(&layout) {
                Some(next) => S::Next::theirs(pipe.moved(next), from),
                None => {
                    // A sender that is woken may wait again at once, so there is one waiter per segment.
                    is_last = true;
                    let next = pipe.copy().next_segment(word);
                    let next = S::Next::theirs(next, from);
                    *waiter = pipe.report_emptied();
                    next
                }
            },
            Then::Turn => S::Next::theirs(pipe.after_turn(&layout, word), from),
            Then::End => S::Next::theirs(pipe, from),
        };
        let next = next.into_far();
        let is_sent = frame::<S::Payload, C>(out, INDEX, &payload, limits.largest);
        discard(payload);
        match next {
            Far::Receives(next, table)
                if is_sent
                    && !is_last
                    && S::Next::THEN == Then::Stay
                    && ptr::eq(table, Of::<S>::TABLE)
                    && out.bytes().len() < limits.enough =>
            {
                pipe = next;
            }
            next @ (Far::Sends(..) | Far::Receives(..) | Far::Over) => {
                *far = next;
                return is_sent;
            }
        }
        if !needs_drop::<S::Payload>() && S::Payload::SIZE.fixed().is_some() {
            let is_sent;
            (pipe, is_sent) = forward_more::<S, INDEX, C>(pipe, out, limits);
            if !is_sent || out.bytes().len() >= limits.enough {
                *far = Far::Receives(pipe, Of::<S>::TABLE);
                return is_sent;
            }
        }
        match pipe.find_in(&layout) {
            Found::Message(found) if pipe.index(&layout, found) == INDEX => word = found,
            Found::Message(_) | Found::Nothing(_) | Found::Closed => {
                *far = Far::Receives(pipe, Of::<S>::TABLE);
                return true;
            }
        }
    }
}

/// Forwards what follows, as long as it is the same message in the same state, whose payloads have no destructor: all
/// messages of a line at once. Returns the side after that, and false if the last message cannot be sent.
fn forward_more<S, const INDEX: u8, C>(
    mut pipe: Pipe,
    out: &mut Encoder,
    limits: Limits,
) -> (Pipe, bool)
where
    S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    let layout = layout_in::<S>(&pipe);
    let mut is_sent = true;
    while is_sent && out.bytes().len() < limits.enough {
        let next = pipe.take_line::<S::Payload>(&layout, INDEX, |payload| {
            is_sent = frame::<S::Payload, C>(out, INDEX, payload, limits.largest);
            is_sent
        });
        if next == pipe.at() {
            break;
        }
        pipe = pipe.moved(next);
    }
    (pipe, is_sent)
}

/// Appends the frame of the message with this index: the index plus 1, the number of bytes of the payload unless that is
/// fixed, and the payload as `C` encodes it. Returns false if it was not accepted: see [`Encoder::framed`].
#[inline]
fn frame<P: Wire, C: Coding<P>>(out: &mut Encoder, index: u8, payload: &P, largest: usize) -> bool {
    out.framed(largest, |out| match P::SIZE.fixed() {
        Some(fixed) => {
            out.count(u64::from(index) + 1);
            C::put(payload, out);
            fixed
        }
        None => {
            out.count(u64::from(index) + 1);
            out.counted(|out| C::put(payload, out))
        }
    })
}

/// Drops a payload, whose destructor is not this crate's. If that panics, which the process's hook reports, the session
/// goes on: unwinding would not wake its waiters.
#[inline(always)]
fn discard<P>(payload: P) {
    if needs_drop::<P>() {
        guarded(|| drop(payload));
    }
}

fn arrive<S, const INDEX: u8, C>(
    far: &mut Far,
    mut payload: Decoder<'_>,
    following: &[u8],
    taken: &mut usize,
) -> Result<Arrival, Malformed>
where
    S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    let value = C::get(&mut payload)?;
    *taken = payload.end()?;
    let Far::Sends(pipe, _) = mem::replace(far, Far::Over) else {
        unreachable!("only a side that sends publishes what arrives")
    };
    match Sender::<S>::of(pipe).publish::<INDEX>(value) {
        Ok((next, pending)) => {
            *far = next.into_far();
            let mut waiter = pending.and_then(PendingWake::fetch);
            if S::Next::THEN == Then::Stay && !needs_drop::<S::Payload>() && waiter.is_none() {
                let mut following = following;
                let before = following.len();
                let is_connected = arrive_more::<S, INDEX, C>(far, &mut following, &mut waiter);
                *taken += before - following.len();
                if !is_connected {
                    return Ok(Arrival::Gone);
                }
            }
            Ok(Arrival::Published(waiter.map(Woken)))
        }
        Err(Unsent { left, payload }) => {
            left.end();
            discard(payload);
            Ok(Arrival::Gone)
        }
    }
}

/// Publishes what follows, as long as it is the same message in the same state, with a payload of fixed size and
/// without a destructor: all messages of a line at once. Stops where a waiter is to be woken, where the next frame is
/// not complete or not well formed, and where a segment of the ring begins, which the caller checks. All have the size
/// of the first payload, so the limits that the caller has applied to that one admit them. Returns whether the side in
/// this process is still connected.
fn arrive_more<S, const INDEX: u8, C>(
    far: &mut Far,
    following: &mut &[u8],
    waiter: &mut Option<Waiter>,
) -> bool
where
    S: Remote + Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    let Some(size) = <S::Payload as Wire>::SIZE.fixed() else {
        return true;
    };
    let Far::Sends(pipe, table) = far else {
        return true;
    };
    if !ptr::eq(*table, Of::<S>::TABLE) || INDEX >= 127 || !pipe.at().always_swaps() {
        return true;
    }
    let layout = layout_in::<S>(pipe);
    while waiter.is_none() {
        let mut next_value = || {
            let (tag, rest) = following.split_first()?;
            let (bytes, rest) = rest.split_at_checked(size)?;
            let mut decoder = Decoder::new(bytes, 0);
            let value = (*tag == INDEX + 1).then(|| C::get(&mut decoder));
            let value = value?.ok()?;
            *following = rest;
            Some(value)
        };
        match pipe.copy().send_line(&layout, INDEX, &mut next_value) {
            None => break,
            Some(Ok((next, pending))) => {
                *pipe = next;
                *waiter = pending.and_then(PendingWake::fetch);
            }
            Some(Err(left)) => {
                *far = Far::Over;
                left.end();
                return false;
            }
        }
    }
    true
}

/// What follows a message of a state that can leave the process.
pub trait Leads: crate::typed::endpoint::Next<Mine: IntoFar, Theirs: IntoFar> {}

impl<S: Remote> Leads for Stay<S> {}
impl<S: Remote> Leads for Turn<S> {}
impl Leads for End {}
impl<S> Leads for Finish<S> {}

/// Not accessible to users: a `Far` is an implementation detail.
mod leads {
    use super::{Far, Finished, Of, Receiver, Remote, Sender};

    /// An endpoint that becomes a far end.
    pub trait IntoFar {
        fn into_far(self) -> Far;
    }

    impl<S: Remote> IntoFar for Sender<S> {
        fn into_far(self) -> Far {
            Far::Sends(self.into_pipe(), Of::<S>::TABLE)
        }
    }

    impl<S: Remote> IntoFar for Receiver<S> {
        fn into_far(self) -> Far {
            Far::Receives(self.into_pipe(), Of::<S>::TABLE)
        }
    }

    impl IntoFar for () {
        fn into_far(self) -> Far {
            Far::Over
        }
    }

    impl<S> IntoFar for Finished<S> {
        fn into_far(self) -> Far {
            Far::Over
        }
    }
}

pub(super) use leads::IntoFar;

/// Holds back a side that does not wait where it sends, while it is too far ahead of its transport: a task, or a sender that shares
/// its endpoint with one that waits.
///
/// The thread that works for the session compares what the side has sent with what the transport has accepted, and releases
/// the side. Only the side's own thread holds it back, when it has sent a message: a side that was ready remains ready.
///
/// While another thread works, what the side sends stays in the ring, and nothing is compared. So a side whose
/// messages were passed over in this way is held back as well, until that thread has forwarded them. Then it has at most
/// the messages of two lines in the ring.
#[derive(Default)]
pub struct Hold {
    /// Whether the side is too far ahead. Changed by the thread that works.
    is_behind: AtomicBool,
    /// Whether what the side has sent was not forwarded, because another thread works. That thread forwards it, and
    /// changes this before.
    is_passed_over: AtomicBool,
    /// Whether the side is held back.
    is_held: AtomicBool,
    /// How often it has sent since then.
    sent: AtomicU32,
    /// What is called when it is released.
    waker: Mutex<Option<Waker>>,
}

impl Hold {
    /// Like [`compare`](Hold::compare), while the caller is not done with its work: only notes that the transport is behind.
    #[inline]
    pub fn note(&self, is_behind: bool) {
        if is_behind {
            self.is_behind.store(true, SeqCst);
        }
    }

    /// The side has sent messages that have to be forwarded. Called by the side's thread, before it has them forwarded.
    pub fn passed_over(&self) {
        self.is_passed_over.store(true, SeqCst);
    }

    /// What the side has sent is forwarded now. The caller is the thread that works.
    #[inline]
    pub fn forwards(&self) {
        // If this misses that the side has sent, the caller is asked to forward once more.
        if self.is_passed_over.load(Relaxed) {
            self.is_passed_over.store(false, SeqCst);
        }
    }

    /// Whether what the side has sent was not forwarded.
    #[must_use]
    pub fn is_passed_over(&self) -> bool {
        self.is_passed_over.load(SeqCst)
    }

    /// Notes whether the side is too far ahead. Returns what is to be called if the side was held back and no longer is. The
    /// caller is the thread that works.
    #[inline]
    pub fn compare(&self, is_behind: bool) -> Option<Waker> {
        // Only threads that work change it.
        let was_behind = self.is_behind.load(Relaxed);
        if is_behind != was_behind {
            self.is_behind.store(is_behind, SeqCst);
        }
        // If it was not behind before, the side was held back because it was passed over, if at all.
        match !is_behind && (was_behind || self.is_held.load(SeqCst)) {
            true => self.release(),
            false => None,
        }
    }

    /// Holds the side back if the transport is behind it, or if it was passed over. The caller is the side's thread, and
    /// holds no lock.
    pub fn hold(&self) {
        // If this misses that the transport is behind, the next call finds it.
        if !self.is_behind.load(Relaxed) && !self.is_passed_over.load(Relaxed) {
            return;
        }
        // Only decides when the side waits.
        self.sent.fetch_add(1, Relaxed);
        self.is_held.store(true, SeqCst);
        // This store and the next loads, the stores in `forwards` and `compare`, and after those the load of `compare` and the
        // swap of `release` are sequentially consistent. So either this thread finds that the transport has caught up
        // and nothing was passed over, or the thread that works finds that the side is held.
        if !self.is_behind.load(SeqCst) && !self.is_passed_over.load(SeqCst) {
            let released = self.release();
            guarded(|| released.into_iter().for_each(Waker::wake));
        }
    }

    /// How often the side was held back, and has sent all the same, since it was released.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.sent.load(Relaxed)
    }

    fn release(&self) -> Option<Waker> {
        if !self.is_held.swap(false, SeqCst) {
            return None;
        }
        self.sent.store(0, Relaxed);
        self.waker().take()
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the side is held back. Keeps the waker for when it is released.
    pub fn holds(&self, waker: Option<Waker>) -> bool {
        if waker.is_some() {
            let mut kept = self.waker();
            let replaced = std::mem::replace(&mut *kept, waker);
            drop(kept);
            // Where no lock is held: it may run user code.
            drop(replaced);
        }
        // If `release` took the lock before the waker was put there, then what this loads is not older than its swap.
        self.is_held.load(SeqCst)
    }
}
