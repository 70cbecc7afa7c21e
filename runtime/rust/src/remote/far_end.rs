//! The far end of a session: the side that belongs to a transport. It reads what the side in this process sends and
//! encodes it, and decodes what arrives and publishes it. It knows no types, only the table of its state.
//!
//! The ring does not distinguish such a session from one within the process. The far end waits for messages as a task
//! does: it registers a waker. The sender of a message calls that waker right after it has published, on its own thread
//! and when it holds its next endpoint, so the transport moves the message without another thread. Sessions with a far
//! end begin in the mode in which every message is swapped, where a task needs no barrier and no announcement. Inside an
//! unbounded run the far end itself checks what was sent: see `link::message::apart`.

use std::task::Waker;
use std::time::Duration;

use super::decoder::{Decoder, Malformed};
use super::encoder::Encoder;
use super::table::{Arrival, Far, Limits, Messages, Woken};
use super::wire::Size;
use crate::link::drop_queue::stop_receiving;
use crate::link::wait::Wait;
use crate::ring::pipe::Found;

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
