//! How the messages of a protocol's states are encoded: the description that generated code gives to a far end,
//! which does not know the types.

use std::marker::PhantomData;
use std::time::Duration;

use super::bounds::{Coding, Plain};
use super::decoder::{Decoder, Malformed};
use super::encoder::Encoder;
use super::wire::{Size, Wire};
use crate::floor::wait_slot::{PendingWake, Waiter};
use crate::link::publish::Then;
use crate::link::publish::Unsent;
use crate::ring::line_word::LineWord;
use crate::ring::pipe::Pipe;
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
        S: Transition<INDEX, Payload: Wire, Next: Leads>,
    {
        Row::limited::<INDEX, Plain>(u64::MAX)
    }

    /// The message with this index, whose payload has bounds and takes at most `limit` bytes.
    #[must_use]
    #[inline(always)]
    pub const fn limited<const INDEX: u8, C>(limit: u64) -> Row<S>
    where
        S: Transition<INDEX, Payload: Wire, Next: Leads>,
        C: Coding<S::Payload>,
    {
        Row {
            message: Some(Message {
                index: INDEX,
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
    pub(crate) size: Size,
    /// The largest payload that is sent or accepted.
    pub(crate) limit: usize,
    /// Takes the message that was found in this word and appends its payload.
    pub(crate) forward: fn(Pipe, LineWord, &mut Encoder) -> (Far, Option<Waiter>),
    /// Decodes the payload and publishes the message. Takes the side out of the first argument if the payload is well
    /// formed.
    pub(crate) arrive: fn(&mut Far, Decoder<'_>) -> Result<Arrival, Malformed>,
}

/// The messages of one state, without its type.
pub struct Table {
    pub(crate) name: &'static str,
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

struct Of<S>(PhantomData<S>);

impl<S: Remote> Of<S> {
    const TABLE: &'static Table = &Table {
        name: S::NAME,
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
    pipe: Pipe,
    word: LineWord,
    out: &mut Encoder,
) -> (Far, Option<Waiter>)
where
    S: Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    // As in `Branch::take`, but the waiter of a sender that waits for space is returned: the caller holds a lock.
    let layout = *pipe.layout();
    let from = Receiver::<S>::INFO;
    // SAFETY: the caller found a message of state `S` with this index, so its payload has this type.
    let payload = unsafe { pipe.read::<S::Payload>(&layout) };
    let (next, waiter) = match S::Next::THEN {
        Then::Stay => match pipe.next_in_segment(&layout) {
            Some(next) => (S::Next::theirs(pipe.moved(next), from), None),
            None => {
                let next = pipe.copy().next_segment();
                let next = S::Next::theirs(pipe.moved(next), from);
                (next, pipe.report_emptied())
            }
        },
        Then::Turn => (S::Next::theirs(pipe.after_turn(&layout, word), from), None),
        Then::End => (S::Next::theirs(pipe, from), None),
    };
    C::put(&payload, out);
    (<S::Next as leads::Leads>::far_of_theirs(next), waiter)
}

fn arrive<S, const INDEX: u8, C>(
    far: &mut Far,
    mut payload: Decoder<'_>,
) -> Result<Arrival, Malformed>
where
    S: Transition<INDEX, Payload: Wire, Next: Leads>,
    C: Coding<S::Payload>,
{
    let value = C::get(&mut payload)?;
    payload.finish()?;
    let Far::Sends(pipe, _) = std::mem::replace(far, Far::Over) else {
        unreachable!("only a side that sends publishes what arrives")
    };
    match Sender::<S>::of(pipe).publish::<INDEX>(value) {
        Ok((next, pending)) => {
            *far = <S::Next as leads::Leads>::far_of_mine(next);
            let waiter = pending.and_then(PendingWake::fetch);
            Ok(Arrival::Published(waiter.map(Woken)))
        }
        Err(Unsent { left, .. }) => {
            left.end();
            Ok(Arrival::Gone)
        }
    }
}

/// What follows a message of a state that can leave the process.
pub trait Leads: Next + leads::Leads {}

impl<S: Remote> Leads for Stay<S> {}
impl<S: Remote> Leads for Turn<S> {}
impl Leads for End {}
impl<S> Leads for Finish<S> {}

/// Not accessible to users: a `Far` is an implementation detail.
mod leads {
    use super::Far;
    use crate::typed::scheme::Follow;

    pub trait Leads: Follow {
        fn far_of_mine(mine: Self::Mine) -> Far;
        fn far_of_theirs(theirs: Self::Theirs) -> Far;
    }
}

impl<S: Remote> leads::Leads for Stay<S> {
    fn far_of_mine(mine: Sender<S>) -> Far {
        Far::Sends(mine.into_pipe(), Of::<S>::TABLE)
    }

    fn far_of_theirs(theirs: Receiver<S>) -> Far {
        Far::Receives(theirs.into_pipe(), Of::<S>::TABLE)
    }
}

impl<S: Remote> leads::Leads for Turn<S> {
    fn far_of_mine(mine: Receiver<S>) -> Far {
        Far::Receives(mine.into_pipe(), Of::<S>::TABLE)
    }

    fn far_of_theirs(theirs: Sender<S>) -> Far {
        Far::Sends(theirs.into_pipe(), Of::<S>::TABLE)
    }
}

impl leads::Leads for End {
    fn far_of_mine((): ()) -> Far {
        Far::Over
    }

    fn far_of_theirs((): ()) -> Far {
        Far::Over
    }
}

impl<S> leads::Leads for Finish<S> {
    fn far_of_mine(_: Finished<S>) -> Far {
        Far::Over
    }

    fn far_of_theirs(_: Finished<S>) -> Far {
        Far::Over
    }
}

/// The far end of a session that begins with this sender.
pub(super) fn far_of_sender<S: Remote>(sender: Sender<S>) -> Far {
    Far::Sends(sender.into_pipe(), Of::<S>::TABLE)
}

/// The far end of a session that begins with this receiver.
pub(super) fn far_of_receiver<S: Remote>(receiver: Receiver<S>) -> Far {
    Far::Receives(receiver.into_pipe(), Of::<S>::TABLE)
}
