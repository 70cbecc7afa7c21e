//! How a session forwards what the side in this process has sent.
//!
//! # Who looks next
//!
//! Inside an unbounded run the side does not wake the far end (see `link::collect` in the runtime), so somebody else has
//! to look. Whenever `core` is released and the far end receives, one of these holds; each leads to another look at the
//! ring by a thread that takes `core`:
//!
//! 1. *The far end is armed* where the next message, or the end, is published. What the side does there wakes it, which
//!    sets `again` and then works, or leaves that to the thread that holds `core`.
//! 2. *`flush` has an entry*, or the thread that has released `core` is about to make one: `After::flushes`.
//! 3. *`timer` has an entry*, likewise: `After::looks_after`. Only where the system refuses the barrier and the wake-up of
//!    1. may be missed.
//! 4. *There are bytes to write*, and `watch` writes them when the connection accepts more, or `flush` tries again:
//!    `After::writes`. Both then forward.
//!
//! [`Session::forward_until`] returns in one of two ways. If it has found nothing, `waits` has established 1, 2 or 3. If
//! [`COLLECTED`] bytes are pending, which it could not write, it has established 4. But 4 ends when the bytes are
//! written, also if that is done by the same thread before it releases `core`. So the thread that writes after forwarding
//! forwards again if bytes were pending: [`Session::forward_and_write`].
//!
//! `flush` clears `is_due` before it takes `core`. So if a thread finds `is_due` set after it has released `core`, the
//! look that is due comes after what that thread did.

use std::sync::atomic::Ordering::SeqCst;

use duologue::transport::{Forwarded, Role, Waits, Why};

use super::{After, Core, Patience, Session, COLLECTED};
use crate::{flush, frame};

/// Where a wake-up may be missed, each look that finds nothing is followed by a pause twice as long, up to
/// this many times: 128 ms.
const LOOK_DOUBLINGS: u32 = 6;

/// How a far end waits for what the side in this process sends next, inside a run in which it looks again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// `flush` looks again in a while.
    Later,
    /// The message wakes it, unless something came since `flush` has looked. This is `flush`.
    Awaited,
    /// The message wakes it. This is the side's thread, which sends the message.
    AwaitedHere,
}

impl Session {
    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    pub(super) fn forward(&self, core: &mut Core, after: &mut After) {
        self.forward_until(core, after, Next::Later);
    }

    pub(super) fn forward_until(&self, core: &mut Core, after: &mut After, next: Next) {
        let mut has_forwarded = false;
        if core.pending() >= COLLECTED && after.patience != Patience::None {
            // A thread that must not wait has left this.
            self.write(core, after);
        }
        while core.far.role() == Role::Receives {
            if core.pending() >= COLLECTED {
                // The connection takes nothing at the moment: the rest stays in the ring. What has to be written is
                // with `watch`, or with a caller that waits.
                after.writes = true;
                return;
            }
            let largest = self.terms.theirs;
            let (forwarded, woken) = core.far.forward(&mut core.out, largest, COLLECTED);
            after.wake(woken);
            match forwarded {
                Forwarded::Message => {
                    has_forwarded = true;
                    if core.far.role() != Role::Receives || core.pending() >= COLLECTED {
                        self.write(core, after);
                    }
                }
                Forwarded::Nothing if self.waits(core, after, next, has_forwarded) => break,
                Forwarded::Nothing => {}
                Forwarded::Left => return self.leave(core, after, Why::Left, &frame::LEFT),
                Forwarded::TooLarge => {
                    return self.leave(core, after, Why::TooLarge, &frame::TOO_LARGE);
                }
            }
        }
        match core.far.role() {
            Role::Over => self.end(core, after),
            Role::Sends if self.is_abandoned.load(SeqCst) => {
                self.leave(core, after, Why::Left, &frame::LEFT);
            }
            Role::Sends => {}
            Role::Receives => after.flushes |= core.pending() > 0,
        }
    }

    /// Where the far end has found nothing: makes sure that what the side in this process does next is noticed. Returns
    /// false if there is something by now.
    fn waits(&self, core: &mut Core, after: &mut After, next: Next, has_forwarded: bool) -> bool {
        let Some(waker) = &core.waker else {
            return true;
        };
        if !core.far.looks_again() {
            return core.far.arm(waker);
        }
        let is_sender = match next {
            Next::Awaited if !has_forwarded => false,
            Next::AwaitedHere => true,
            Next::Later | Next::Awaited => {
                core.quiet_looks = 0;
                after.flushes = true;
                return true;
            }
        };
        match core.far.arm_inside(waker, is_sender) {
            Waits::No => return false,
            Waits::Surely => {}
            Waits::Perhaps => {
                let doublings = core.quiet_looks.min(LOOK_DOUBLINGS);
                core.quiet_looks += 1;
                after.looks_after = Some(flush::LONGEST * (1 << doublings));
            }
        }
        true
    }
}
