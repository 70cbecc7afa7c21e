//! A session begins in a small block, and moves to a large one when its receiver falls behind.
//!
//! Most sessions alternate, or their receiver waits for most messages. A few lines are enough for them, and a program with
//! many sessions fits into less memory and into the caches. A stream needs many lines. So a session whose runs are unbounded
//! begins in a small block, in which each lap has the same few lines, and which has neither segments nor credit. It has two
//! halves. Where a run has filled the first half, the second is free. From then on the last message of a half is different from
//! others, if it keeps the direction:
//!
//! - *The receiver waits for it*, in its flags or in the word, *or has waited for another message of this half*, which the
//!   sender's position remembers. Then the receiver has read everything in the other half, and the sender continues there. No
//!   report is needed.
//! - *Otherwise* the sender begins a large block and stores its address in the small one. Then it publishes the message as
//!   if it were the last of the session (see `leave`), with a word that says that the session moves, and continues in the
//!   large block, as at the beginning of a session. The receiver takes the message, reads the address, continues there as
//!   well, and ends the small block.
//!
//! # Why this is sound
//!
//! - *The receiver knows which.* The word says so in which it finds the message (Acquire), and the sender stores the address
//!   before that word (Release).
//! - *Free lines.* The receiver reads a payload, then announces that it waits for a later one (Release); the sender finds that
//!   (Acquire), then writes to the other half. An announcement in the flags names its position, and one in the word is lowered
//!   by the sender's next change of the word. So neither can be an old one.
//! - *The small block* is not accessed by the sender once the message is published, except to fetch a waiter, for which the
//!   receiver waits. That is the same as at the end of a session, and so are `Ending` in the flags and the swap.
//! - *The large block* is accessed by the receiver only after it has taken the message. Until then, its flags there are
//!   clear, and everything that the sender does there is as if the receiver were slow. A receiver that disconnects in the
//!   small block is either gone before the message is published, which the sender finds as it does with its last message; or it
//!   finds `Ending` or the message, which it consumes, and disconnects in the large block.
//! - *What is known about tasks* is not carried over to the large block. Both sides begin anew: the sender does not know that the
//!   receiver is a task, and the receiver knows that. In the small block, the position says that the run has lapped, so a task that
//!   relies on a turn does not mistake a lap for one.
//! - *What is attached* moves before the message is published, while the receiver may attach something: see
//!   [`Block::replace`]. Each side carries over what only it accesses.
//!
//! Each lap writes all lines of a small block, so only turns let a stamp grow old (see `position`).
//!
//! A session never moves back, and begins with a large block if it has a driver or an observer. If there is no memory for the large
//! block, the process ends, as it does where there is none for a session: a sender that waited for slots instead could wait for a
//! receiver on its own thread.
//!
//! [`Block::replace`]: crate::ring::block::Block::replace

use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::{Ending, Left, Noticed, Sent, Then, Unsent};
use crate::floor::waiting::PendingWake;
use crate::ring::pipe::Pipe;
use crate::ring::words::{Awaitable, Report};

/// How often a session has stayed in its small block, and how often one has grown, so that models can check what they explore.
#[cfg(duologue_loom)]
static DECIDED: [std::sync::atomic::AtomicUsize; 2] =
    [const { std::sync::atomic::AtomicUsize::new(0) }; 2];

/// How often a session has stayed in its small block, and how often one has grown.
#[cfg(duologue_loom)]
#[doc(hidden)]
pub fn model_growth() -> [usize; 2] {
    [0, 1].map(|grows: usize| DECIDED[grows].load(Relaxed))
}

impl Pipe {
    /// Publishes what was written here, the last message of a half of a small block.
    ///
    /// # Safety
    /// A `P` was written here, and belongs to the sender.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn end_half<P>(self, index: u8) -> Noticed<P> {
        let (at, layout) = (self.at(), *self.layout());
        let is_new = !at.is_lapping() && at.line() < layout.half();
        if !is_new && !self.keeps_up() {
            // SAFETY: by the caller.
            return unsafe { self.grow::<P>(index) };
        }
        let swaps = at.always_swaps();
        let is_task =
            !at.is_plain() || at.begins_run() && self.flags_of_peer().load(Relaxed).is_task();
        // SAFETY: by the caller.
        let sent = unsafe {
            if swaps || is_task {
                self.exchange::<P>(&layout, index, Then::Stay, swaps)
            } else {
                let payload = self.read::<P>(&layout);
                self.store(&layout, index, payload, Then::Stay, false)
            }
        };
        let next = |pipe: Pipe| pipe.moved(pipe.at().in_next_half());
        match sent {
            Sent::Published(pipe) => Ok((next(pipe), None)),
            Sent::Noticed(noticed) => noticed.map(|(pipe, pending)| (next(pipe), pending)),
        }
    }

    /// Whether the receiver waits for this message, or has waited for one of this half.
    fn keeps_up(&self) -> bool {
        let flags = self.flags_of_peer().load(Acquire);
        let keeps_up = self.at().was_awaited()
            || flags.report(Report::Waiting) && flags.key() == self.at().key()
            || self.word().load(Acquire).is_awaited();
        #[cfg(duologue_loom)]
        DECIDED[usize::from(!keeps_up)].fetch_add(1, Relaxed);
        keeps_up
    }

    /// Publishes what was written here, and continues in a large block.
    ///
    /// # Safety
    /// As for [`Pipe::end_half`].
    unsafe fn grow<P>(self, index: u8) -> Noticed<P> {
        // A receiver that is disconnecting may end the session as soon as it is claimed, so then only this copy can be
        // returned.
        // SAFETY: by the caller; it is forgotten unless the message is not published.
        let payload = ManuallyDrop::new(unsafe { self.read::<P>(self.layout()) });
        let large = self.begin_large();
        match self.leave_for(&large, index) {
            Ok(pending) => Ok((large, pending)),
            Err(left) => {
                // SAFETY: only this side has used the block.
                unsafe { large.end() };
                let payload = ManuallyDrop::into_inner(payload);
                Err(Unsent { payload, left })
            }
        }
    }

    /// Publishes the message. Returns the receiver if it waits.
    fn leave_for(&self, large: &Pipe, index: u8) -> Result<Option<PendingWake>, Left> {
        let (swaps, waits) = match self.at().always_swaps() {
            true => (true, false),
            false => match self.announce_end() {
                Ending::Alone => return Err(Left::Alone(self.copy())),
                Ending::Claimed => return Err(Left::Nothing),
                Ending::Last { swaps, waits } => (swaps, waits),
            },
        };
        self.grow_into(large);
        let stamp = self.stamp(self.layout(), index, Then::Stay).moving();
        let Some(waits) = self.publish_last(stamp, swaps, waits) else {
            self.stay_small(large);
            return Err(Left::Alone(self.copy()));
        };
        // SAFETY: the swap lowered the peer's flag, or `announce_end` did.
        Ok(waits.then(|| unsafe { self.pending_wake() }))
    }
}
