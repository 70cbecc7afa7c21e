//! How a session forwards what the side in this process has sent.
//!
//! # What checks the ring next
//!
//! Inside an unbounded run the side does not wake the far end (see `link::message::apart` in the runtime), so another thread has
//! to check the ring. Whenever a piece of work is done and the far end receives, one of these holds; each leads to another
//! check by a thread that works:
//!
//! 1. *The far end is armed* where the next message, or the end, is published. What the side does there wakes it, which
//!    sets `again` and then works, or leaves that to the thread that already works.
//! 2. *`flush` has an entry*, or the thread that has worked is about to make one: `Work::flushes`.
//! 3. *There are bytes to write*, and `watch` writes them when the connection accepts more, or `flush` tries again:
//!    `Work::writes`. Both then forward.
//!
//! [`Core::forward`] is done in one of two ways. If it has found nothing, `arms` has established 1 or 2. If
//! at least [`COLLECTED`] bytes are pending, which could not be written, it has established 3. But 3 ends when the bytes are
//! written, also if that is done in the same work. So the shell, when it writes after forwarding, forwards again if bytes
//! were pending.
//!
//! `flush` clears its mark of an entry before it works. So if a thread finds the mark after it has worked, the check that is
//! due comes after what that thread did.

use duologue::transport::{Armed, Forwarded, Role, Why};

use super::{Core, Next, State, Step, Work, COLLECTED};
use crate::observe::Direction;

impl Core {
    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    pub(crate) fn forward(&mut self, next: Next, work: &mut Work) -> Step {
        if self.is_open() && work.waits() && self.pending() >= COLLECTED && !work.refused {
            // A thread that must not wait has left this.
            return Step::Write;
        }
        while self.is_open() && self.far.role() == Role::Receives {
            if self.pending() >= work.enough {
                // The connection accepts nothing at the moment: the rest stays in the ring. `watch` writes what is
                // pending, or a caller that waits.
                work.writes = true;
                return Step::Done;
            }
            let largest = self.terms.theirs;
            let before = (self.out.frames(), self.out.bytes().len());
            let (forwarded, name, woken) = self.far.forward(&mut self.out, largest, COLLECTED);
            let messages = self.out.frames().wrapping_sub(before.0);
            let bytes = self.out.bytes().len() - before.1;
            work.wake(woken);
            match forwarded {
                Forwarded::Message => {
                    work.has_forwarded = true;
                    self.due = None;
                    self.count((Direction::Sent, name), messages, bytes, work);
                    let is_full = self.pending() >= COLLECTED && !work.refused;
                    if self.far.role() != Role::Receives || is_full {
                        return Step::Write;
                    }
                }
                Forwarded::Nothing if self.arms(next, work) => break,
                Forwarded::Nothing => {}
                Forwarded::Left => self.leave(Why::Left),
                Forwarded::TooLarge => {
                    if let Some(tally) = &mut self.tally {
                        tally.add(Direction::Sent, messages, bytes);
                    }
                    self.leave(Why::TooLarge);
                }
            }
        }
        match (&self.state, self.far.role()) {
            (State::Open, Role::Over) => self.end(),
            (State::Open, Role::Sends) if self.is_abandoned => self.leave(Why::Left),
            (State::Open, role) => {
                self.begin(work);
                work.flushes |= role == Role::Receives && self.pending() > 0;
                return Step::Done;
            }
            // The deadline closes the connection if the peer does not read the last bytes.
            (State::Lingering(_) | State::Closed, _) => return Step::Done,
            (State::Ending(..), _) => {}
        }
        Step::WriteLast
    }

    /// Where the far end has found nothing: makes sure that what the side in this process does next is noticed. Returns
    /// false if there is something by now.
    fn arms(&mut self, next: Next, work: &mut Work) -> bool {
        let Some(waker) = &self.waker else {
            return true;
        };
        let armed = self.far.arm_next(waker, next, work.has_forwarded);
        work.flushes |= armed == Armed::ChecksAgain;
        armed != Armed::Not
    }
}
