//! How a session ends: by its last message, or because a side disconnects.
//!
//! # Where messages are swapped
//!
//! A sender disconnects by publishing *closed* in place of a message. A receiver disconnects by marking the word as
//! dead where it would read next; if there is a message already, it consumes that first. Both are read-modify-writes of
//! one word, so exactly one of the two sides sees that the other has gone, and ends the session. After its last swap, a
//! sender accesses the session only if the word was awaited (to fetch the waiter, for which the receiver waits before
//! it ends the session) or dead (then the sender is alone).
//!
//! # Where messages are stored
//!
//! A receiver sets `Leaving` in its flags, runs the barrier and checks again. If it finds nothing then, a sender that
//! publishes here sees `Leaving` or a value that comes after it. So:
//!
//! - *Nothing is there.* The receiver changes `Leaving` to `Gone` and does not access the session any more: the sender
//!   finds that out with its next message, takes the payload back and ends the session. If that change fails, the sender
//!   has found `Leaving` first and changed it to `Claimed`: it has taken its payload back and does not access the
//!   session any more, and the receiver ends the session.
//! - *The message is there.* The receiver retracts `Leaving` and consumes the message; or it finds `Claimed` and ends
//!   the session. A sender that has published further messages in the meantime did not see `Leaving` at this position
//!   and ignores it at others, so what it published is consumed.
//!
//! The sender copies the payload before it tries to claim it, because afterwards the session may be ended at any time.
//! If the claim fails, the copy is forgotten. The slot is not written in the meantime: its next writer would be this
//! sender, or the receiver after a turn, but a receiver that retracts consumes messages only to disconnect.
//!
//! *The last message*, or *closed*, must be the sender's last access, so the sender cannot read the flags after it.
//! Instead, it sets `Ending` before it, by a read-modify-write that takes over a waiter or finds `Leaving`. A receiver
//! that is about to set a flag and finds `Ending` knows that what it would wait for is only a few instructions away. If
//! the flags say that the receiver is a task, it may also wait or disconnect in the word: then the last word is
//! swapped.
//!
//! From a full ring, a sender disconnects through the credit word, after `Ending` as everywhere else: see `peer`.
//!
//! Where messages can be forgotten, the receiver runs no barrier, and the sender checks more: see `peer`.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::wait::Wait;
use crate::floor::barrier;
use crate::floor::waiting::{guarded, Backoff, Waiter};
use crate::ring::driver::Ahead;
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::{Awaitable, LineWord, PeerFlags, Report};

/// What a sender finds when it announces its end.
pub(super) enum Ending {
    /// The receiver is gone and the session belongs to the sender.
    Alone,
    /// The receiver is disconnecting and will end the session.
    Claimed,
    /// The receiver is connected.
    Last {
        /// The receiver may be waiting in the word.
        swaps: bool,
        /// It waited in its flags, which are lowered.
        waits: bool,
    },
}

/// What a receiver finds when it announces that it disconnects.
enum Leaving {
    /// The session belongs to the sender.
    Gone,
    /// The sender has disconnected, and the session belongs to the receiver.
    Claimed,
    /// The receiver has to check again: there is a message, or the sender ends or disconnects as well, or the flags
    /// were different.
    Retracted,
}

impl Pipe {
    /// Announces that what is published here is the last.
    #[inline]
    pub(super) fn announce_end(&self) -> Ending {
        // Most receivers have reported nothing. Reading the flags first would fetch their cache line twice: to read it
        // and to write it.
        let is_task = self.at().knows_task();
        let guess = if is_task {
            PeerFlags::TASK
        } else {
            PeerFlags::NONE
        };
        match self.announces_end(guess) {
            Ok(_) => Ending::Last {
                swaps: is_task,
                waits: false,
            },
            Err(flags) => self.copy().answer_end(flags),
        }
    }

    /// Announces it if the receiver's flags are these.
    #[inline(always)]
    fn announces_end(&self, guess: PeerFlags) -> Result<PeerFlags, PeerFlags> {
        let ending = guess.reporting(Report::Ending, self.at().key());
        (self.flags_of_peer()).compare_exchange(guess, ending, AcqRel, Acquire)
    }

    /// Like [`Pipe::announce_end`], where the receiver has set these flags, or others since then.
    #[cold]
    #[inline(never)]
    fn answer_end(self, mut flags: PeerFlags) -> Ending {
        let key = self.at().key();
        loop {
            let is_here = self.concerns(flags, key);
            if is_here && flags.report(Report::Gone) {
                return Ending::Alone;
            }
            let claims = is_here && flags.report(Report::Leaving);
            // Anything else that is set refers to an earlier position, where there is a message.
            let answer = if claims {
                Report::Claimed
            } else {
                Report::Ending
            };
            let answer = flags.reporting(answer, key);
            let answered = (self.flags_of_peer()).compare_exchange(flags, answer, AcqRel, Acquire);
            if let Err(now) = answered {
                flags = now;
                continue;
            }
            if claims {
                return Ending::Claimed;
            }
            return Ending::Last {
                swaps: flags.is_task(),
                waits: flags.report(Report::Waiting),
            };
        }
    }

    /// Ends the session for a sender: publishes that it is gone. Never waits for the peer; a transport may wait for a
    /// limited time, to write what was sent before.
    #[inline(never)]
    pub(crate) fn leave(self) {
        let at = self.at();
        let swaps = !at.is_plain() || at.alternates();
        // As below, for most senders that disconnect in a run: a path without calls, so that no registers are saved.
        if !swaps && !at.begins_used_line() && self.announces_end(PeerFlags::NONE).is_ok() {
            return self.word().store(self.closed(), Release);
        }
        self.leave_slowly();
    }

    #[inline(never)]
    fn leave_slowly(self) {
        self.note_leaving();
        // It may have waited for space.
        let _left = Wait::for_room(&self).disarm();
        let is_collected = self.is_inside_collected_run();
        if is_collected {
            // If the transport panics, which the process's hook reports, the session ends all the same.
            guarded(|| {
                if let Some(driver) = self.driver() {
                    driver.collected(Ahead::Leaves);
                }
            });
        }
        let (swaps, waits) =
            if (self.at().always_swaps() || self.at().alternates()) && !is_collected {
                // The word alone decides.
                (true, false)
            } else {
                match self.announce_end() {
                    Ending::Alone => return self.free(),
                    Ending::Claimed => return,
                    Ending::Last { swaps, waits } => (swaps || is_collected, waits),
                }
            };
        if self.at().begins_used_line() && self.is_orphaned() {
            return self.wake_if(waits);
        }
        match self.publish_last(self.closed(), swaps, waits) {
            Some(waits) => self.wake_if(waits),
            None => self.free(),
        }
    }

    /// The word that says that this side is gone, after its messages in the current line.
    #[inline]
    fn closed(&self) -> LineWord {
        let closed = self.at().before().closed();
        if self.at().slot() > 0 {
            closed.with_indexes_of(self.word().load(Relaxed))
        } else {
            closed
        }
    }

    /// Publishes a sender's last word, after it has announced its end. Returns whether the receiver waits, as it did in
    /// its flags or does in the word; `None` if it is gone.
    pub(super) fn publish_last(&self, last: LineWord, swaps: bool, waits: bool) -> Option<bool> {
        if !swaps {
            self.word().store(last, Release);
            return Some(waits);
        }
        let old = self.word().swap(last, AcqRel);
        (!old.is_dead()).then_some(waits | old.is_awaited())
    }

    /// Wakes the receiver if it waits, for a sender that has lowered its flag and is disconnecting.
    fn wake_if(self, waits: bool) {
        if waits {
            // SAFETY: by the caller. The peer does not end the session before its waiter is fetched.
            unsafe { self.pending_wake() }.wake();
        }
    }

    /// Ends the session for a receiver, unless a message is there: then that has to be consumed first. If this side
    /// still has a waiter registered, it is put into `left`, for the caller to drop when everything is done.
    pub(crate) fn die(self, left: &mut Option<Waiter>) -> Result<(), Pipe> {
        // The session may end as soon as this side has disconnected.
        let driver = self.driver().cloned();
        self.note_leaving();
        self.die_undriven(left)?;
        if let Some(driver) = driver {
            driver.abandoned();
        }
        Ok(())
    }

    fn die_undriven(self, left: &mut Option<Waiter>) -> Result<(), Pipe> {
        if !self.swaps() && matches!(self.find_in(self.layout()), Found::Nothing(_)) {
            // A side that has set no flags has no waiter registered, and does not wait in the word.
            match self.vanish(PeerFlags::NONE) {
                Leaving::Gone => return Ok(()),
                Leaving::Claimed => return self.claimed(),
                Leaving::Retracted => {}
            }
        }
        let waits_in_word = self.waits_in_word();
        if !waits_in_word {
            *left = Wait::for_message(&self).disarm();
        }
        let mut backoff = Backoff::new();
        loop {
            barrier::full();
            let word = match self.find() {
                Found::Message(_) => return Err(self),
                Found::Closed => {
                    // No waiter is armed here either: a peer that disconnected without publishing anything did so
                    // before one was, because after that, by the two fences, it has to see this side's messages.
                    self.free();
                    return Ok(());
                }
                Found::Nothing(word) => word,
            };
            if waits_in_word {
                if word.is_awaited() {
                    *left = Wait::for_message(&self).disarm();
                    continue;
                }
                // Releases what this side has read. This side does not access the session after that; after a failure
                // it checks again.
                if self
                    .word()
                    .compare_exchange(word, word.dead(), Release, Relaxed)
                    .is_ok()
                {
                    return Ok(());
                }
            } else {
                match self.vanish(self.own_flags().load(Acquire)) {
                    Leaving::Gone => return Ok(()),
                    Leaving::Claimed => return self.claimed(),
                    Leaving::Retracted => backoff.pass(),
                }
            }
        }
    }

    /// Ends the session, for a receiver that found it closed or any other side that is alone with it.
    #[inline]
    pub(crate) fn free(self) {
        // SAFETY: the peer is gone, except that it may still be fetching this side's waiter.
        unsafe {
            if (*self.slot()).is_busy() {
                return self.settle();
            }
            self.end();
        }
    }

    /// Like [`Pipe::free`], where this side's waiter slot is in use: waits until the peer has fetched the waiter, or
    /// takes back a waiter that the peer has not seen.
    #[cold]
    #[inline(never)]
    fn settle(self) {
        let _stopped = self.stops_waiting_in_flags();
        // SAFETY: as above.
        unsafe {
            (*self.slot()).settle();
            self.end();
        }
    }

    /// Ends the session of a sender that has claimed it.
    fn claimed(self) -> Result<(), Pipe> {
        // Where messages can be forgotten, the sender may have been a lap ahead.
        self.moved(self.at().in_next_lap()).free();
        Ok(())
    }

    /// Announces that the receiver disconnects, if its flags still are these, and checks again.
    fn vanish(&self, flags: PeerFlags) -> Leaving {
        let key = self.at().key();
        let own = self.own_flags();
        let leaving = flags.reporting(Report::Leaving, key);
        if flags.report(Report::Ending)
            || own
                .compare_exchange(flags, leaving, AcqRel, Relaxed)
                .is_err()
        {
            return Leaving::Retracted;
        }
        let forgets = self.layout().forgets();
        if forgets {
            barrier::after_exchange();
        } else {
            barrier::heavy();
        }
        // After the barrier, as in `die`. The peer's flags are read before the word. So a side that finds that the peer
        // is disconnecting, and that has itself not read something, then sees that message. Two sides therefore do not
        // make each other retract forever.
        let is_alone = forgets && self.peer_may_be_gone();
        let next = match self.find_in(self.layout()) {
            Found::Nothing(_) if !is_alone => flags.reporting(Report::Gone, key),
            Found::Nothing(_) | Found::Message(_) | Found::Closed => flags.quiet(),
        };
        match own.compare_exchange(leaving, next, AcqRel, Acquire) {
            Ok(_) if next.report(Report::Gone) => Leaving::Gone,
            Err(now) if now.report(Report::Claimed) => Leaving::Claimed,
            Ok(_) | Err(_) => Leaving::Retracted,
        }
    }
}
