//! How the messages of a protocol's states are encoded: the description that generated code gives to a far end,
//! which does not know the types.

use std::marker::PhantomData;
use std::mem::{self, needs_drop};
use std::ptr;
use std::time::Duration;

use super::bounds::{Coding, Plain};
use super::decoder::{Decoder, Malformed};
use super::encoder::Encoder;
use super::wire::{Size, Wire};
use crate::floor::waiting::{guarded, PendingWake, Waiter};
use crate::link::message::{Then, Unsent};
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::LineWord;
use crate::typed::endpoint::layout_in;
use crate::typed::ends::{Receiver, Sender};
use crate::typed::scheme::{End, Finish, Finished, Follow, Next, State, Stay, Transition, Turn};

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
pub trait Leads: Next<Mine: IntoFar, Theirs: IntoFar> {}

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
