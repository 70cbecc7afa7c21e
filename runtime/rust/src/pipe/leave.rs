//! How a session ends: by its last message, or because a side disconnects.
//!
//! # Where messages are swapped
//!
//! A sender disconnects by publishing `CLOSED` as its last message. A receiver disconnects by setting `DEAD` in the
//! word where it would read next; if there is a message already, it consumes that first. Both are read-modify-writes of
//! one word, so exactly one of the two sides sees that the other has gone. That side ends the session. After its last
//! swap, a sender accesses the session only if the word returned `WAITS` (to fetch the waiter, for which the receiver
//! waits in `Place::settle` before it ends the session) or `DEAD` (then the sender is alone).
//!
//! # Where messages are stored
//!
//! A receiver sets `LEAVING` in its flags, runs the barrier and checks again. The barrier (see `barrier`) ensures that,
//! if the receiver finds nothing, a sender that publishes here sees `LEAVING` or a value that comes after it. So:
//!
//! - *Nothing is there.* The receiver changes `LEAVING` to `GONE` and does not access the session any more: the sender
//!   finds that with its next message, takes the payload back and ends the session. If that change fails, the sender
//!   has found `LEAVING` first and changed it to `CLAIMED`: it has taken its payload back and does not access the
//!   session any more, and the receiver ends the session.
//! - *The message is there.* The receiver retracts `LEAVING` and consumes the message; or it finds `CLAIMED` and ends
//!   the session. A sender that has published further messages in the meantime did not see `LEAVING` at this position
//!   and ignores it at others, so what it published is consumed.
//!
//! The sender copies the payload before it tries to claim it, because afterwards the session may be ended at any time.
//! If the claim fails, the copy is forgotten. Nobody writes the slot in the meantime: its next writer would be this
//! sender, or the receiver after a turn, but a receiver that retracts consumes messages only to disconnect.
//!
//! # Where messages can be forgotten
//!
//! If no payload of a session has a destructor, nobody can tell whether a message that is not read is destroyed at once
//! or never. So the receiver saves the barrier, which takes microseconds if other threads are running. The receiver may
//! then disconnect without having seen what the sender stored a moment before. The sender finds `LEAVING` or `GONE`
//! later, for a position earlier than its own: with its next message, or when it ends. (If the position is later than
//! its own, they do not matter: the receiver had read this message when it disconnected.) The sender must not miss them
//!
//! - before it sleeps until there is an answer or space, or disconnects while it waits for an answer: it runs a full
//!   fence and then reads the flags. By the order of the two fences (the receiver accesses the flags, then the word;
//!   the sender the word, then the flags), either the receiver sees the messages, or the sender sees `LEAVING` or
//!   `GONE`. As long as the sender does not sleep, it reads the flags whenever it finds neither an answer nor space;
//! - when it ends: ending is a read-modify-write of the flags.
//!
//! A sender that then disconnects as a receiver reads the peer's flags after the fence that follows its own `LEAVING`.
//! Otherwise both sides could be `GONE`, each relying on the other. What the receiver did not read is forgotten by the
//! side that ends the session.
//!
//! # Where the barrier is lost
//!
//! If the kernel refuses the barrier to a session that relies on it (see `barrier`), the receiver may miss what the
//! sender stored a moment before, even though the message has a destructor. The receiver sets `LEAVING`, passes a full
//! fence, waits until the store can be expected to be visible ([`barrier::grace`]), and then checks. If it finds
//! nothing, it sets `GONE`. The sender finds that as where messages can be forgotten, by the same checks: after a fence
//! of its own, before it sleeps or disconnects as a receiver, and when it ends. Because both sides have a fence, it is
//! certain that the session ends, that no side sleeps waiting for a peer that is gone, and that a message is never
//! destroyed twice. Even without the waiting time, it is certain that either the other side sees the flags or this side
//! sees the message; the waiting time only decides which.
//!
//! If a store took longer than the grace period to become visible, its message would be neither read nor destroyed: its
//! memory would leak. Nothing else can destroy it: what the message borrows need not outlive the sender's later
//! endpoints, and the receiver has returned from its `drop`. Nor do other calls provide a barrier: running on each
//! processor in turn (`sched_setaffinity`) is one, but it may be refused as well, and it cannot be undone safely while
//! other threads change this thread's processors.
//!
//! Where the barrier is lost but messages must not be forgotten, a sender does not respond to `LEAVING` for an earlier
//! position, just as elsewhere: the receiver will see the message there, or is about to set `GONE`.
//!
//! *The last message*, or `CLOSED`, must be the sender's last access, so the sender cannot read the flags after it.
//! Instead, it sets `ENDING` before it, by a read-modify-write that takes over a waiter or finds `LEAVING`. A receiver
//! that is about to set a flag and finds `ENDING` knows that what it would wait for is only a few instructions away. If
//! the flags say that the receiver is a task, it may also wait or disconnect in the word: then the last word is
//! swapped.
//!
//! From a full ring, a sender disconnects through the credit word, after `ENDING` as everywhere else: see `room`.

use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::{Found, Left, Noticed, Pipe, Then, Unsent, CLOSED, DEAD, INDEXES, WAITS};
use crate::backoff::Backoff;
use crate::barrier;
use crate::flags::{self, CLAIMED, ENDING, GONE, LEAVING, TASK, WAITING};
use crate::position::KEY;
use crate::wait::Waiter;
use crate::watched::Watched;

/// What a sender finds when it announces its end.
enum Ending {
    /// The receiver is gone and the session belongs to the sender.
    Alone,
    /// The receiver is disconnecting and will end the session.
    Claimed,
    /// The receiver is connected. Whether it may be waiting in the word, and whether it waited in its flags, which are
    /// lowered.
    Last(bool, bool),
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
    /// After a message was published in a run and before its sender advances: checks whether the receiver reported
    /// something for this position. `waits`: the caller has already found that the receiver waited, and has lowered its
    /// flag.
    #[cold]
    #[inline(never)]
    pub(super) fn noticed<P>(self, then: Then, mut waits: bool) -> Noticed<P> {
        let (key, mut at) = (self.at.key(), self.at);
        let flags = self.flags(self.peer());
        loop {
            let said = flags.load(Acquire);
            if said & TASK != 0 {
                at = at.knowing_task();
            }
            if !self.concerns(said, key) {
                break;
            }
            if said & GONE != 0 {
                // SAFETY: the receiver is gone, and the caller has written a payload of this type.
                return Err(unsafe { self.taken_back() });
            }
            if said & LEAVING != 0 {
                let claimed = flags::say(said, CLAIMED, key);
                // SAFETY: the payload was just written; it is forgotten unless the claim succeeds.
                let payload = ManuallyDrop::new(unsafe { self.read(self.layout()) });
                if flags
                    .compare_exchange(said, claimed, AcqRel, Relaxed)
                    .is_ok()
                {
                    let payload = ManuallyDrop::into_inner(payload);
                    let left = Left::Nothing;
                    return Err(Unsent { payload, left });
                }
            } else if said & WAITING == 0 {
                break;
            } else if flags
                .compare_exchange(said, flags::quiet(said), AcqRel, Relaxed)
                .is_ok()
            {
                waits = true;
                break;
            }
        }
        // SAFETY: the compare-and-swap lowered the peer's flag, or the caller's change did.
        let awaited = waits.then(|| unsafe { self.awaited(then) });
        Ok((self.moved(at).stepped(self.layout(), then), awaited))
    }

    /// Whether the receiver has announced that it is a task, as far as the sender can see.
    #[inline]
    pub(super) fn peer_is_task(&self) -> bool {
        self.flags(self.peer()).load(Relaxed) & TASK != 0
    }

    /// Publishes the last message of a session in a run.
    #[inline(never)]
    pub(super) fn finish<P>(self, index: u8, payload: P) -> Noticed<P> {
        match self.announce_end() {
            Ending::Alone => {
                let left = Left::Alone(self);
                Err(Unsent { payload, left })
            }
            Ending::Claimed => {
                let left = Left::Nothing;
                Err(Unsent { payload, left })
            }
            Ending::Last(swaps, mut waits) => {
                // SAFETY: as in `send`.
                unsafe { self.write(self.layout(), payload) };
                let stamp = self.stamp(self.layout(), index, Then::End);
                if swaps {
                    let old = self.word().swap(stamp, AcqRel);
                    if old & DEAD != 0 {
                        // SAFETY: the receiver is gone, and a payload of this type was written here.
                        return Err(unsafe { self.taken_back() });
                    }
                    waits |= old & WAITS != 0;
                } else {
                    self.word().store(stamp, Release);
                }
                // SAFETY: the swap lowered the peer's flag, or `announce_end` did.
                let awaited = waits.then(|| unsafe { self.awaited(Then::End) });
                Ok((self, awaited))
            }
        }
    }

    /// Announces that what is published here is the last.
    #[inline]
    fn announce_end(&self) -> Ending {
        let flags = self.flags(self.peer());
        // Most receivers have reported nothing. Reading the flags first would fetch their cache line twice: to read it
        // and to write it.
        let guess = if self.at.knows_task() { TASK } else { 0 };
        let ending = flags::say(guess, ENDING, self.at.key());
        match flags.compare_exchange(guess, ending, AcqRel, Acquire) {
            Ok(_) => Ending::Last(guess != 0, false),
            Err(said) => self.again().answer_end(said),
        }
    }

    /// Like [`Pipe::announce_end`], where the receiver has set these flags, or others since then.
    #[cold]
    #[inline(never)]
    fn answer_end(self, mut said: u64) -> Ending {
        let key = self.at.key();
        let flags = self.flags(self.peer());
        loop {
            let is_here = self.concerns(said, key);
            if is_here && said & GONE != 0 {
                return Ending::Alone;
            }
            let claims = is_here && said & LEAVING != 0;
            // Anything else that is set refers to an earlier position, where there is a message.
            let answer = flags::say(said, if claims { CLAIMED } else { ENDING }, key);
            if let Err(now) = flags.compare_exchange(said, answer, AcqRel, Acquire) {
                said = now;
                continue;
            }
            if claims {
                return Ending::Claimed;
            }
            return Ending::Last(said & TASK != 0, said & WAITING != 0);
        }
    }

    /// Whether a receiver may have disconnected without having seen what was sent before: because messages can be
    /// forgotten, or because the barrier was lost.
    #[inline]
    pub(crate) fn forgets(&self) -> bool {
        self.layout().forgets() || barrier::is_lost()
    }

    /// Whether the peer has announced that it disconnects, or has disconnected: then [`Pipe::was_forgotten`] says more.
    #[inline]
    pub(crate) fn peer_may_be_gone(&self) -> bool {
        self.flags(self.peer()).load(Acquire) & (LEAVING | GONE) != 0
    }

    /// Whether the peer disconnected without having read what this side has sent, which may be all that it had to read
    /// before it answers or frees slots. It may also have disconnected later, after its answer: then the answer is
    /// visible at this point. `None` if the peer is about to decide, a few instructions away: then let a
    /// [`Backoff`] pass and check again, because a caller that relies on `Some(false)` may sleep.
    pub(crate) fn was_forgotten(&self) -> Option<bool> {
        if !self.forgets() {
            return Some(false);
        }
        let said = self.flags(self.peer()).load(Acquire);
        (said & LEAVING == 0).then_some(said & GONE != 0)
    }

    /// Whether what the receiver reports concerns a sender at the position with this key.
    #[inline]
    fn concerns(&self, said: u64, key: u64) -> bool {
        // A receiver that is disconnecting sees what must not be forgotten, or will be gone.
        let leaves = if self.layout().forgets() {
            LEAVING | GONE
        } else {
            GONE
        };
        flags::is_about(said, key)
            || said & leaves != 0 && self.forgets() && self.at.is_after(said & KEY)
    }

    /// Ends the session for a sender: publishes that it is gone. Never waits.
    #[inline(never)]
    pub(crate) fn leave(self) {
        if self.at.is_plain() && !self.at.alternates() && !self.at.is_lapping() {
            // As below, for most senders that disconnect in a run: the flags decide, nothing is swapped, and the line
            // is free.
            let ending = flags::say(0, ENDING, self.at.key());
            let flags = self.flags(self.peer());
            return match flags.compare_exchange(0, ending, AcqRel, Acquire) {
                Ok(_) => self.word().store(self.closed(), Release),
                Err(said) => {
                    let ending = self.again().answer_end(said);
                    self.leave_after(ending);
                }
            };
        }
        self.leave_otherwise();
    }

    #[inline(never)]
    fn leave_otherwise(self) {
        // It may have waited for space.
        let _left = Watched::for_room(&self).disarm();
        let ending = if self.swaps() {
            Ending::Last(true, false)
        } else {
            self.announce_end()
        };
        self.leave_after(ending);
    }

    /// The word that says that this side is gone, after its messages in the current line.
    #[inline]
    fn closed(&self) -> u64 {
        let mut closed = self.at.before() | CLOSED;
        if self.at.place() > 0 {
            closed |= self.word().load(Relaxed) & INDEXES;
        }
        closed
    }

    fn leave_after(self, ending: Ending) {
        let (swaps, mut waits) = match ending {
            Ending::Alone => return self.free(),
            Ending::Claimed => return,
            Ending::Last(swaps, waits) => (swaps, waits),
        };
        if self.at.begins_used_line() && self.is_orphaned() {
            return self.wake_if(waits);
        }
        if swaps {
            let old = self.word().swap(self.closed(), AcqRel);
            if old & DEAD != 0 {
                return self.free();
            }
            waits |= old & WAITS != 0;
        } else {
            self.word().store(self.closed(), Release);
        }
        self.wake_if(waits);
    }

    /// Wakes the receiver if it waits, for a sender that has lowered its flag and is disconnecting.
    fn wake_if(self, waits: bool) {
        if waits {
            // SAFETY: by the caller. The peer does not end the session before its waiter is fetched.
            unsafe { self.awaited(Then::End) }.wake();
        }
    }

    /// Whether the sender has closed the session here. Then no waiter is armed: the sender took it over.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        let word = self.word().load(Acquire);
        self.at.ahead(word) == 0 && word & CLOSED != 0
    }

    /// Ends the session for a receiver, unless a message is there: then that has to be consumed first. If this side
    /// still has a waiter registered, it is put into `left`, for the caller to drop when everything is done.
    pub(crate) fn die(self, left: &mut Option<Waiter>) -> Result<(), Pipe> {
        if !self.swaps() && matches!(self.find_in(self.layout()), Found::Nothing(_)) {
            // A side that has set no flags has no waiter registered, and does not wait in the word.
            match self.vanish(0) {
                Leaving::Gone => return Ok(()),
                Leaving::Claimed => return self.claimed(),
                Leaving::Retracted => {}
            }
        }
        let waits_in_word = self.waits_in_word();
        if !waits_in_word {
            *left = Watched::for_message(&self).disarm();
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
                if word & WAITS != 0 {
                    *left = Watched::for_message(&self).disarm();
                    continue;
                }
                let dead = word | DEAD;
                // Releases what this side has read. This side does not access the session after that; after a failure
                // it checks again.
                if self
                    .word()
                    .compare_exchange(word, dead, Release, Relaxed)
                    .is_ok()
                {
                    return Ok(());
                }
            } else {
                match self.vanish(self.flags(self.at.side()).load(Acquire)) {
                    Leaving::Gone => return Ok(()),
                    Leaving::Claimed => return self.claimed(),
                    Leaving::Retracted => backoff.pass(),
                }
            }
        }
    }

    /// Ends the session of a sender that has claimed it.
    fn claimed(self) -> Result<(), Pipe> {
        // Where messages can be forgotten, the sender may have been a lap ahead.
        self.moved(self.at.in_next_lap()).free();
        Ok(())
    }

    /// Announces that the receiver disconnects, if its flags still are `said`, and checks again.
    fn vanish(&self, said: u64) -> Leaving {
        let key = self.at.key();
        let flags = self.flags(self.at.side());
        let leaving = flags::say(said, LEAVING, key);
        if said & ENDING != 0
            || flags
                .compare_exchange(said, leaving, AcqRel, Relaxed)
                .is_err()
        {
            return Leaving::Retracted;
        }
        if self.layout().forgets() {
            barrier::after_exchange();
        } else if !barrier::heavy() {
            barrier::grace();
        }
        // After the barrier, as in `die`. The peer's flags are read before the word. So a side that finds that the peer
        // is disconnecting, and that has itself not read something, then sees that message. Two sides therefore do not
        // make each other retract forever.
        let is_alone = self.was_forgotten() != Some(false);
        let next = match self.find_in(self.layout()) {
            Found::Nothing(_) if !is_alone => flags::say(said, GONE, key),
            Found::Nothing(_) | Found::Message(_) | Found::Closed => flags::quiet(said),
        };
        match flags.compare_exchange(leaving, next, AcqRel, Acquire) {
            Ok(_) if next & GONE != 0 => Leaving::Gone,
            Err(now) if now & CLAIMED != 0 => Leaving::Claimed,
            Ok(_) | Err(_) => Leaving::Retracted,
        }
    }
}
