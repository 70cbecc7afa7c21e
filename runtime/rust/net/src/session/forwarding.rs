//! How a session forwards what the side in this process has sent.
//!
//! # What checks the ring next
//!
//! Inside an unbounded run the side does not wake the far end (see `link::collect` in the runtime), so another thread has
//! to check the ring. Whenever `core` is released and the far end receives, one of these holds; each leads to another
//! check by a thread that takes `core`:
//!
//! 1. *The far end is armed* where the next message, or the end, is published. What the side does there wakes it, which
//!    sets `again` and then works, or leaves that to the thread that holds `core`.
//! 2. *`flush` has an entry*, or the thread that has released `core` is about to make one: `After::flushes`.
//! 3. *There are bytes to write*, and `watch` writes them when the connection accepts more, or `flush` tries again:
//!    `After::writes`. Both then forward.
//!
//! [`Session::forward_until`] returns in one of two ways. If it has found nothing, `waits` has established 1 or 2. If
//! at least [`COLLECTED`] bytes are pending, which it could not write, it has established 3. But 3 ends when the bytes are
//! written, also if that is done by the same thread before it releases `core`. So the thread that writes after forwarding
//! forwards again if bytes were pending: [`Session::forward_and_write`].
//!
//! `flush` clears `is_due` before it takes `core`. So if a thread finds `is_due` set after it has released `core`, the
//! check that is due comes after what that thread did.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use duologue::transport::{Forwarded, Role, Why};

use super::{After, Core, Patience, Session, COLLECTED, FAR_AHEAD};
use crate::observe::Direction;

/// How a far end waits for what the side in this process sends next, inside a run in which it checks again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// `flush` checks again after a while.
    Later,
    /// The message wakes it, unless something was sent since the last check. The caller is `flush`.
    Awaited,
    /// The message wakes it. The caller is the side's thread, which sends the message.
    AwaitedHere,
}

impl Session {
    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    pub(super) fn forward(&self, core: &mut Core, after: &mut After) {
        self.forward_until(core, after, Next::Later);
    }

    pub(super) fn forward_until(&self, core: &mut Core, after: &mut After, next: Next) {
        if core.is_closed {
            // `timer` closes the connection if the peer does not read the last bytes.
            return;
        }
        let mut has_forwarded = false;
        if core.pending() >= COLLECTED && after.patience != Patience::None {
            // A thread that must not wait has left this.
            self.write(core, after);
        }
        // How much memory the messages in the ring own is not known. The sender waits for the connection if it may; otherwise this
        // takes more out of the ring, and `hold` compares how much that is.
        let enough = match self.never_waits.load(Relaxed) {
            true => FAR_AHEAD,
            false => COLLECTED,
        };
        while core.far.role() == Role::Receives {
            if core.pending() >= enough {
                // The connection accepts nothing at the moment: the rest stays in the ring. `watch` writes what is
                // pending, or a caller that waits.
                after.writes = true;
                return;
            }
            let largest = self.terms.theirs;
            let before = (core.out.frames(), core.out.bytes().len());
            let (forwarded, name, woken) =
                core.far.forward_named(&mut core.out, largest, COLLECTED);
            let messages = core.out.frames().wrapping_sub(before.0);
            let bytes = core.out.bytes().len() - before.1;
            after.wake(woken);
            match forwarded {
                Forwarded::Message => {
                    has_forwarded = true;
                    core.due = None;
                    core.count((Direction::Sent, name), messages, bytes, after);
                    let is_full = core.pending() >= COLLECTED && !after.writes;
                    if core.far.role() != Role::Receives || is_full {
                        self.write(core, after);
                    }
                }
                Forwarded::Nothing if self.waits(core, after, next, has_forwarded) => break,
                Forwarded::Nothing => {}
                Forwarded::Left => return self.leave(core, after, Why::Left),
                Forwarded::TooLarge => {
                    if let Some(tally) = &mut core.tally {
                        tally.add(Direction::Sent, messages, bytes);
                    }
                    return self.leave(core, after, Why::TooLarge);
                }
            }
        }
        match core.far.role() {
            Role::Over => self.end(core, after),
            Role::Sends if self.is_abandoned.load(SeqCst) => {
                self.leave(core, after, Why::Left);
            }
            Role::Sends => self.begin(core, after),
            Role::Receives => {
                self.begin(core, after);
                after.flushes |= core.pending() > 0;
            }
        }
    }

    /// Where the far end has found nothing: makes sure that what the side in this process does next is noticed. Returns
    /// false if there is something by now.
    fn waits(&self, core: &mut Core, after: &mut After, next: Next, has_forwarded: bool) -> bool {
        let Some(waker) = &core.waker else {
            return true;
        };
        if !core.far.checks_again() {
            return core.far.arm(waker);
        }
        let is_sender = match next {
            Next::Awaited if !has_forwarded => false,
            Next::AwaitedHere => true,
            Next::Later | Next::Awaited => {
                after.flushes = true;
                return true;
            }
        };
        core.far.arm_inside(waker, is_sender)
    }
}
